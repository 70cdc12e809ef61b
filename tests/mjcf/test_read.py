"""Files: includes, assets, hardened parsing, broken XML."""

from pathlib import Path

import mujoco
import pytest

from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError
from tests.compiler.oracle import assert_same, compare, compiled

GEOM = '<mujocoinclude><geom name="g" size="1"/></mujocoinclude>'


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes files and returns the path of the first one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / next(iter(files))


@pytest.mark.feature("B02")
def test_includes_are_merged_like_mujocos(tmp_path: Path) -> None:
    """Nested includes are looked up from the main file, then from the including one."""
    main = write(
        tmp_path,
        {
            "main.xml": '<mujoco><include file="sub/a.xml"/><worldbody><include file="sub/g.xml"/>'
            '<geom size="2"/></worldbody></mujoco>',
            "sub/a.xml": '<x><option timestep=".1"/><include file="b.xml"/></x>',
            "sub/b.xml": '<y><worldbody><body name="b"/></worldbody></y>',
            "sub/g.xml": GEOM,
        },
    )
    ours = compile_spec(mjcf.read_path(main))
    compare(mujoco.MjModel.from_xml_path(str(main)), ours)
    assert ours.origins["geom", 0].file.endswith("g.xml")


@pytest.mark.feature("A003")
def test_assets_come_before_the_disk(tmp_path: Path) -> None:
    """A file given in memory wins over a file of that name on disk."""
    (tmp_path / "g.xml").write_text("<mujoco/>", encoding="utf-8")
    xml = '<mujoco><worldbody><include file="g.xml"/></worldbody></mujoco>'
    files = {"g.xml": GEOM.encode()}
    spec = mjcf.read_string(xml, files, base=str(tmp_path))
    assert compile_spec(spec).names["geom"] == ("g",)


@pytest.mark.feature("B02")
def test_includes_in_memory() -> None:
    """A model given as strings needs no files."""
    xml = '<mujoco><worldbody><include file="g.xml"/></worldbody></mujoco>'
    assert compiled(xml, assets={"g.xml": GEOM.encode()}).names["geom"] == ("g",)


@pytest.mark.feature("B02")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<include file="a.xml"/><include file="a.xml"/>', "already included"),
        ('<include file="none.xml"/>', "cannot find"),
        ("<include/>", "'file' is required"),
        ('<include file="a.xml"><geom/></include>', "cannot have children"),
        ('<include file="self.xml"/>', "already included"),
        ('<include file="empty.xml"/>', "is empty"),
        ('<include file="broken.xml"/>', "broken XML"),
    ],
)
def test_bad_include(body: str, message: str) -> None:
    """A wrong include is refused with the place where it stands."""
    assets = {
        "a.xml": GEOM,
        "self.xml": '<x><include file="self.xml"/></x>',
        "empty.xml": "<x/>",
        "broken.xml": "<x>",
    }
    with pytest.raises(MjcfError, match=message) as caught:
        mjcf.read_string(
            f"<mujoco><worldbody>\n{body}</worldbody></mujoco>",
            {name: text.encode() for name, text in assets.items()},
            file="m.xml",
        )
    assert caught.value.file and caught.value.line


def test_missing_main_file() -> None:
    """A wrong path is an error that names it."""
    with pytest.raises(MjcfError, match=r"none\.xml"):
        mjcf.read_path("/nowhere/none.xml")


@pytest.mark.parametrize(
    ("xml", "line"),
    [("<mujoco>\n<worldbody>\n</mujoco>", 3), ("<mujoco>\n\n<a b></mujoco>", 3), ("", 0)],
)
def test_broken_xml_names_the_line(xml: str, line: int) -> None:
    """Broken XML is an error with file and line."""
    with pytest.raises(MjcfError) as caught:
        mjcf.read_string(xml, file="m.xml")
    assert caught.value.file == "m.xml" and caught.value.line == line


def test_what_mujoco_forgives_is_read() -> None:
    """Leading blanks, joined attributes, comments and foreign bytes do not matter."""
    xml = b'\n <?xml version="1.0" encoding="latin-1"?><!-- \xe9 --><mujoco><worldbody>'
    xml += b'<geom name="a"size="1"/></worldbody></mujoco>'
    assert compile_spec(mjcf.read_string(xml)).names["geom"] == ("a",)


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE m [<!ENTITY a "b">]><mujoco model="&a;"/>',
        '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco>&a;</mujoco>',
        '<!DOCTYPE m [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><mujoco><custom>&b;</custom></mujoco>',
    ],
)
def test_entities_are_refused(xml: str) -> None:
    """A file cannot make the parser read other files or grow without bound."""
    with pytest.raises(MjcfError):
        mjcf.read_string(xml)


def test_deep_nesting_is_an_error() -> None:
    """A hostile file ends in an error, not in a crash of the interpreter."""
    n = 100_000
    with pytest.raises(MjcfError):
        mjcf.read_string("<mujoco>" + "<worldbody>" * n + "</worldbody>" * n + "</mujoco>")


def test_other_roots() -> None:
    """Only MJCF and URDF are models."""
    with pytest.raises(MjcfError, match="root element"):
        mjcf.read_string("<html/>")


def test_bodies_outside_of_the_world_are_ignored() -> None:
    """Robots are written to be included into a world; alone they are empty, with a warning."""
    xml = '<mujoco><body name="a"><geom size="1"/></body><frame><geom size="1"/></frame></mujoco>'
    ours = assert_same(xml)
    assert ours.sizes["nbody"] == 1
    assert len(ours.warnings) == 2 and "not in the world" in ours.warnings[0]
