"""The files that a model names are found where MuJoCo finds them."""

import io
from pathlib import Path

import mujoco
import pytest
from PIL import Image

from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError

CUBE = b"\n".join(b"v %d %d %d" % (x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1))
TAGS = {
    "mesh": '<mesh name="m" file="{}.obj"/>',
    "hfield": '<hfield name="m" size="1 1 1 1" file="{}.png"/>',
    "texture": '<texture name="m" type="2d" file="{}.png"/>',
}


def content(kind: str) -> bytes:
    """A file of an asset."""
    if kind == "mesh":
        return CUBE
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "PNG")
    return stream.getvalue()


def found(path: Path) -> tuple[bool, bool]:
    """Whether MuJoCo, and whether mjjax, loads the model."""
    try:
        mujoco.MjModel.from_xml_path(str(path))
        theirs = True
    except ValueError:
        theirs = False
    try:
        compile_spec(mjcf.read_path(path))
    except MjcfError:
        return theirs, False
    return theirs, True


@pytest.mark.parametrize("kind", TAGS)
@pytest.mark.parametrize(
    ("compiler", "file", "place"),
    [
        ('DIR="nowhere"', "../x", "x"),
        ('DIR="nowhere"', "../../x", "../x"),
        ('DIR="../other"', "../x", "../x"),
        ('assetdir="nowhere"', "../x", "x"),
        ('DIR="assets"', "../x", "x"),
        ('DIR="assets"', "../x", "assets/x"),
        ('DIR="assets"', "x", "x"),
        ("", "..\\x", "../x"),
        ('strippath="true"', "a\\b\\x", "x"),
    ],
)
def test_folders_cancel_as_in_mujoco(
    kind: str, compiler: str, file: str, place: str, tmp_path: Path
) -> None:
    """A path with ``..`` leads where its text says, also through folders that are not there."""
    folder = tmp_path / "around" / "model"
    (folder / "assets").mkdir(parents=True)
    target = folder / f"{place}{'.obj' if kind == 'mesh' else '.png'}"
    target.write_bytes(content(kind))
    compiler = compiler.replace("DIR", "texturedir" if kind == "texture" else "meshdir")
    asset = TAGS[kind].format(file)
    main = folder / "m.xml"
    main.write_text(f"<mujoco><compiler {compiler}/><asset>{asset}</asset></mujoco>")
    theirs, ours = found(main)
    assert ours == theirs


@pytest.mark.parametrize("name", ["nowhere/../i.xml", "..\\i.xml", "sub\\i.xml", "sub/j.xml"])
@pytest.mark.parametrize("tag", ["include", "model"])
def test_models_are_found_as_in_mujoco(name: str, tag: str, tmp_path: Path) -> None:
    """Included files and attached models are found as in MuJoCo."""
    folder = tmp_path / "around" / "model"
    (folder / "sub").mkdir(parents=True)
    for place in ("i.xml", "../i.xml", "sub/i.xml"):
        (folder / place).write_text('<mujoco><worldbody><body name="b"/></worldbody></mujoco>')
    element = f'<{tag} file="{name}"/>'
    main = folder / "m.xml"
    main.write_text(
        f"<mujoco>{element if tag == 'include' else f'<asset>{element}</asset>'}</mujoco>"
    )
    theirs, ours = found(main)
    assert ours == theirs == (name != "sub/j.xml")


def test_files_outside_are_refused_all_the_same(tmp_path: Path) -> None:
    """Cancelled folders do not lead to files that the model may not read."""
    main = tmp_path / "m.xml"
    asset = TAGS["mesh"].format("../" * 20 + "etc/passwd").replace(".obj", "")
    main.write_text(f'<mujoco><compiler meshdir="nowhere"/><asset>{asset}</asset></mujoco>')
    with pytest.raises(MjcfError, match="outside the folders"):
        compile_spec(mjcf.read_path(main))
