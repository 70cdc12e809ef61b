"""A model file is not trusted: limits on what it may read and how much it may use."""

import dataclasses
import io
import os
import tempfile
from pathlib import Path

import pytest

import mjjax
from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError, UnsupportedFeature
from mjjax.core.limits import Limits
from tests.compiler.oracle import refusal

GEOM = '<x><geom name="g" size="1"/></x>'
TETRA = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def including(path: Path | str) -> str:
    """A model that includes a file."""
    return f'<mujoco><worldbody><include file="{path}"/></worldbody></mujoco>'


def write(path: Path, text: str) -> Path:
    """Writes a file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# ---- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../common/g.xml", "../../g.xml", "sub/../sub/g.xml", "sub/g.xml"]
)
def test_files_around_the_model_are_found(name: str, tmp_path: Path) -> None:
    """Robots share parts in the folders beside their own."""
    main = write(tmp_path / "robots" / "arm" / "m.xml", including(name))
    write(main.parent / "sub" / "keep", "")
    write(Path(os.path.normpath(main.parent / name)), GEOM)
    assert mjcf.read_path(main).geom("g") is not None


@pytest.mark.parametrize("climb", ["", "../" * 30])
def test_files_elsewhere_are_refused(climb: str, tmp_path: Path) -> None:
    """A downloaded model cannot read the machine's files, by full path or from the root down."""
    system = Path(os.__file__)
    main = write(
        tmp_path / "m.xml", including(f"{climb}{str(system).removeprefix('/' * bool(climb))}")
    )
    with pytest.raises(MjcfError, match=r"<include>: the file .* outside .*directories="):
        mjcf.read_path(main)


def test_symbolic_link_leads_nowhere_else(tmp_path: Path) -> None:
    """An archive cannot smuggle in a link to a file that it may not read."""
    (tmp_path / "g.xml").symlink_to(os.__file__)
    with pytest.raises(MjcfError, match="outside"):
        mjcf.read_path(write(tmp_path / "m.xml", including("g.xml")))


def test_shared_folder_is_not_around_the_model() -> None:
    """A model in the temporary folder cannot read files that others put there."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        secret = write(Path(other) / "g.xml", GEOM)
        main = write(Path(one) / "m.xml", including(f"../{Path(other).name}/g.xml"))
        with pytest.raises(MjcfError, match="outside"):
            mjcf.read_path(main)
        assert mjcf.read_path(main, directories=[secret.parent]).geom("g") is not None
        with pytest.raises(MjcfError, match="outside"):
            mjjax.Model.from_xml_path(main)
        assert mjjax.Model.from_xml_path(main, directories=[other]).ngeom == 1


def test_directories_hold_for_assets_of_attached_models() -> None:
    """A model's allowed folders also hold for its copies and where it is attached."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(other) / "t.obj", TETRA)
        xml = '<mujoco><asset><mesh file="{}/t.obj"/></asset><worldbody/></mujoco>'
        far = write(Path(one) / "m.xml", xml.format(other))
        with pytest.raises(MjcfError, match=r"<mesh>: the file .* outside"):
            compile_spec(mjcf.read_path(far))
        near = mjjax.Spec.from_file(write(Path(other) / "m.xml", xml.format(".")))
        whole = mjjax.Spec.from_file(write(Path(one) / "n.xml", "<mujoco/>"))
        whole.attach(near, prefix="p_")
        for spec in (whole, whole.copy(), mjjax.Spec.from_file(far, directories=[other])):
            assert compile_spec(spec).sizes["nmesh"] == 1


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    """A file that cannot be read is named."""
    write(tmp_path / "g.xml", GEOM).chmod(0)
    main = write(tmp_path / "m.xml", including("g.xml"))
    if os.access(tmp_path / "g.xml", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(MjcfError, match="cannot read the file"):
        mjcf.read_path(main)


def test_models_that_attach_themselves() -> None:
    """Attaching in a circle ends in an error; attaching much in turn ends at the limit."""
    xml = '<mujoco><asset><model name="n" file="{}"/><model name="o" file="{}"/></asset></mujoco>'
    circle = {"a.xml": xml.format("b.xml", "b.xml"), "b.xml": xml.format("a.xml", "a.xml")}
    many = {f"{i}.xml": xml.format(f"{i + 1}.xml", f"{i + 1}.xml") for i in range(40)}
    many["40.xml"] = "<mujoco/>"
    for files, error in ((circle, MjcfError), (many, UnsupportedFeature)):
        assets = {name: text.encode() for name, text in files.items()}
        with pytest.raises(error):
            mjcf.read_string(next(iter(files.values())), assets)


def test_includes_do_not_nest_without_end() -> None:
    """Depth is counted across files: no stack overflows."""
    frames, n = "<frame>" * 40, 20
    text = "<x>" + frames + '<include file="{}.xml"/>' + "</frame>" * 40 + "</x>"
    assets = {f"{i}.xml": text.format(i + 1).encode() for i in range(n)}
    assets[f"{n}.xml"] = GEOM.encode()
    with pytest.raises(UnsupportedFeature, match="in one another"):
        mjcf.read_string(including("0.xml"), assets)


# ---- sizes --------------------------------------------------------------------------------------

_BODY = '<body><joint/><geom size="1"/></body>'
_NESTED = '<replicate count="1000">' * 4 + '<geom size="1"/>' + "</replicate>" * 4
_HUGE = 2_000_000_000
_MANY = " ".join(f'a{i}="1"' for i in range(2000))
TOO_LARGE = {
    "replicate": f'<worldbody><replicate count="{_HUGE}">{_BODY}</replicate></worldbody>',
    "replicates in replicates": f"<worldbody>{_NESTED}</worldbody>",
    "degrees of freedom": f'<worldbody><replicate count="5001">{_BODY}</replicate></worldbody>',
    "bodies": '<worldbody><replicate count="12000"><body/></replicate></worldbody>',
    "cable": f'<worldbody><composite type="cable" curve="s" size="1" count="{_HUGE}"/></worldbody>',
    "user data": f'<size nuser_geom="{_HUGE}"/><worldbody><geom size="1"/></worldbody>',
    "nuserdata": f'<size nuserdata="{_HUGE}"/>',
    "keyframes": f'<size nkey="{_HUGE}"/>',
    "pixels": '<worldbody><site name="s"/><camera name="c" resolution="99999 99999"/></worldbody>'
    '<sensor><rangefinder camera="c"/></sensor>',
    "contacts of a sensor": f'<sensor><contact num="{_HUGE}"/></sensor>',
    "user sensor": f'<sensor><user dim="{_HUGE}"/></sensor>',
    "samples": f'<sensor><clock nsample="{_HUGE}"/></sensor>',
    "height field": f'<asset><hfield name="h" size="1 1 1 1" nrow="{_HUGE}" ncol="9"/></asset>',
    "texture": f'<asset><texture name="t" builtin="flat" width="{_HUGE}" height="9"/></asset>',
    "builtin mesh": '<asset><mesh name="m" builtin="supersphere" params="1e9 1 1"/></asset>',
    "builtin plate": '<asset><mesh name="m" builtin="plate" params="1e9 1e9"/></asset>',
    "builtin cone": '<asset><mesh name="m" builtin="cone" params="1e9 1"/></asset>',
    "length ranges": '<compiler><lengthrange timestep="1e-9"/></compiler>',
    "attributes": "<worldbody><geom " + _MANY + "/></worldbody>",
    "strange builtin mesh": '<asset><mesh name="m" builtin="cone" params="nan 1"/></asset>',
}


@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_would_fill_the_memory_is_refused(text: str) -> None:
    """A line of text cannot ask for gigabytes; the message says what is too large."""
    error = refusal(f"<mujoco>{text}</mujoco>")
    assert "limit" in error.hint or "more than" in error.what or "finite" in error.what


def test_xml_is_bounded() -> None:
    """A huge file is refused before it is parsed."""
    with pytest.raises(UnsupportedFeature, match="bytes of XML"):
        mjcf.read_string(b"<mujoco>" + b" " * Limits().xml_bytes + b"</mujoco>")


_OVER = {
    "xml_bytes": (200, "<custom><text name='t' data='" + "x" * 200 + "'/></custom>"),
    "file_bytes": (60, '<asset><mesh name="m" file="m.obj"/></asset>'),
    "elements": (4, "<worldbody><body><body><body/></body></body></worldbody>"),
    "bodies": (3, "<worldbody><body/><body/><body/></worldbody>"),
    "nv": (1, '<worldbody><body><geom size="1"/><joint/><joint axis="1 0 0"/></body></worldbody>'),
    "numbers": (4, '<size nuserdata="5"/>'),
    "pixels": (8, '<asset><texture name="t" builtin="flat" width="3" height="3"/></asset>'),
    "texture_bytes": (26, '<asset><texture name="t" builtin="flat" width="3" height="3" type="2d"/>'
                      '</asset>'),
    "keyframes": (2, '<size nkey="3"/>'),
    "steps": (99, '<compiler><lengthrange timestep=".01" inttotal="1"/></compiler>'),
}  # fmt: skip


def test_each_limit_is_an_argument(tmp_path: Path) -> None:
    """Every limit refuses what is just above it, and says how to raise it; the default does not."""
    write(tmp_path / "m.obj", TETRA)
    assert set(_OVER) == {field.name for field in dataclasses.fields(Limits)}
    for name, (most, text) in _OVER.items():
        path = write(tmp_path / "m.xml", f"<mujoco>{text}</mujoco>")
        with pytest.raises(UnsupportedFeature) as caught:
            mjjax.Spec.from_file(path, limits=mjjax.Limits(**{name: most})).compile()
        assert f"limits=mjjax.Limits({name}=...)" in str(caught.value), name
        assert len(str(caught.value)) < 300
        mjjax.Spec.from_file(path, limits=mjjax.Limits(**{name: 10 * most})).copy().compile()


def test_picture_that_unpacks_to_gigabytes() -> None:
    """A small picture file may hold a huge picture."""
    from PIL import Image

    picture = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(picture, "PNG")
    xml = '<mujoco><asset><hfield name="h" file="h.png" size="1 1 1 1"/></asset></mujoco>'
    error = refusal(xml, assets={"h.png": picture.getvalue()})
    assert "pixels" in error.what


def test_long_cable_loads() -> None:
    """A cable below the limits loads, even if it nests deeper than the interpreter can call."""
    xml = '<composite type="cable" curve="s" size="1" count="1500" initial="none">'
    xml += '<geom type="capsule" size=".01"/></composite>'
    assert (
        compile_spec(
            mjcf.read_string(f"<mujoco><worldbody>{xml}</worldbody></mujoco>").copy()
        ).sizes["nbody"]
        == 1500
    )
