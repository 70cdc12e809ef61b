"""The pixels of textures are MuJoCo's."""

import copy
import io
import pickle
import tracemalloc
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

import mjjax
from mjjax.core.errors import MjcfError, UnsupportedFeature
from mjjax.render.paint import textures_to_read
from mjjax.render.texture import texture_pool
from tests.compiler.oracle import assert_same, refused


def png(pixels: np.ndarray) -> bytes:
    """A PNG file."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "png")
    return stream.getvalue()


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


FILES = {
    "grey.png": png(numbers(4, 6)),
    "pair.png": png(numbers(4, 6, 2)),
    "rgb.png": png(numbers(4, 6, 3)),
    "rgba.png": png(numbers(4, 6, 4)),
    "deep.png": png(numbers(4, 6).astype(np.uint16) * 257),
    "square.png": png(numbers(4, 4, 3)),
    "grid.png": png(numbers(6, 8, 3)),
    "raw.tex": np.array([3, 2], "<i4").tobytes() + bytes(range(18)),
}
COLOURS = 'rgb1=".3 .55 .7" rgb2=".9 .2 .15"'
SIX = " ".join(f'file{side}="square.png"' for side in ("right", "up", "back"))


@pytest.mark.feature("B35")
@pytest.mark.parametrize("mark", ["none", "edge", "cross", "random"])
@pytest.mark.parametrize("builtin", ["gradient", "checker", "flat"])
@pytest.mark.parametrize("kind", ["2d", "cube", "skybox"])
def test_builtin(kind: str, builtin: str, mark: str) -> None:
    """Patterns and marks are MuJoCo's, also for few or odd numbers of pixels and channels."""
    marks = f'mark="{mark}" markrgb=".1 .2 .3" random=".2"'
    textures = "".join(
        f'<texture name="t{i}" type="{kind}" builtin="{builtin}" {COLOURS} {marks} {size}/>'
        for i, size in enumerate(
            (
                'width="20" height="14"',
                'width="1" height="1"',
                'width="7" height="3"',
                'width="9" height="4" nchannel="4"',
            )
        )
    )
    assert_same(f"<mujoco><asset>{textures}</asset></mujoco>")


@pytest.mark.feature("B35")
@pytest.mark.parametrize(
    "texture",
    [
        *(
            f'type="2d" file="{name}.png" nchannel="{n}"'
            for name in ("grey", "pair", "rgb", "rgba", "deep")
            for n in (1, 3, 4)
        ),
        'type="2d" file="rgb.png" hflip="true" gridsize="0 0"',
        'type="2d" file="rgb.png" vflip="true"',
        'type="cube" file="square.png" vflip="true"',
        'type="skybox" file="square.png" gridsize="2 2" gridlayout="RL.U" rgb1=".1 .2 .3"',
        'type="cube" file="grid.png" gridsize="3 4" gridlayout=".U..LFRB.D.." hflip="true"',
        'type="cube" file="grid.png" gridsize="3 4"',
        f'type="cube" {SIX} rgb1=".1 .2 .3"',
        'type="2d" file="raw.tex"',
    ],
)
def test_files(texture: str) -> None:
    """Pictures of every kind, cut, turned over and with the channels that were asked for."""
    assert_same(f'<mujoco><asset><texture name="t" {texture}/></asset></mujoco>', assets=FILES)


@pytest.mark.feature("B35")
@pytest.mark.parametrize(
    "texture",
    [
        'type="2d" file="rgb.png" nchannel="2"',
        'type="2d" file="broken.png"',
        'type="cube" file="square.png" gridsize="0 0"',
        'type="cube" file="square.png" gridsize="-1 1"',
        'type="cube" file="square.png" gridsize="4 4"',
        'type="cube" file="square.png" gridsize="3 3"',
        'type="cube" file="raw.tex"',
        'type="cube" fileup="raw.tex"',
        'type="cube" fileup="flat.tex"',
    ],
)
def test_broken_files(texture: str) -> None:
    """A picture that cannot be read is an error that names the texture."""
    broken = FILES | {"broken.png": FILES["rgb.png"][:-30]}
    broken["flat.tex"] = np.array([0, 2**31 - 1], "<i4").tobytes()
    xml = f'<mujoco><asset><texture name="t" {texture}/></asset></mujoco>'
    assert refused(xml, broken).element == "texture"


GRID = '<texture name="g" type="cube" file="grid.png" gridsize="3 4" gridlayout=".U..LFRB.D.."/>'
FLAT = '<texture name="t" type="2d" file="rgb.png"/><texture name="b" builtin="flat" width="3"/>'
SCENE = f"<mujoco><asset>{FLAT}{GRID}</asset></mujoco>"


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A model with three textures, two of them from files."""
    for name in ("rgb.png", "grid.png"):
        (tmp_path / name).write_bytes(FILES[name])
    (tmp_path / "m.xml").write_text(SCENE)
    return tmp_path / "m.xml"


@pytest.mark.feature("B35", "D25")
def test_pixels_outlive_their_files(scene: Path) -> None:
    """Saved models and files in memory keep MuJoCo's pixels; pixels on disk are not kept."""
    theirs = mujoco.MjModel.from_xml_path(str(scene))
    model = mjjax.Model.from_xml_path(scene)
    given = mjjax.Model.from_xml_string(SCENE, FILES)
    copies = [given, mjjax.Model.from_bytes(model.to_bytes()), copy.deepcopy(given)]
    copies.append(pickle.loads(pickle.dumps(copies[1])))
    for name in ("rgb.png", "grid.png"):
        (scene.parent / name).unlink()
    for one in copies:
        np.testing.assert_array_equal(one.tex_data, theirs.tex_data)
        np.testing.assert_array_equal(one.tex_adr, theirs.tex_adr)
        assert one.structure == model.structure and one.ntexdata == theirs.ntexdata
        texture_pool.cache_clear()
        assert len(texture_pool(one.structure, (0, 1, 2)).pixel) > 100
    with pytest.raises(MjcfError, match="cannot be read any more"):
        _ = model.tex_data
    with pytest.raises(MjcfError, match=r"Model\.save"):
        model.to_bytes()


@pytest.mark.feature("B35")
def test_files_that_change_after_loading(scene: Path) -> None:
    """A changed picture makes another model, and is not drawn for the loaded one."""
    model = mjjax.Model.from_xml_path(scene)
    assert mjjax.Model.from_xml_path(scene).structure == model.structure
    (scene.parent / "rgb.png").write_bytes(png(255 - numbers(4, 6, 3)))
    assert mjjax.Model.from_xml_path(scene).structure != model.structure
    with pytest.raises(MjcfError, match=r"has changed since .* load the model again"):
        _ = model.tex_data


@pytest.mark.feature("B35")
def test_part_of_the_pixels(scene: Path) -> None:
    """A slice equals that of all pixels, and reads only the textures that it touches."""
    pixels = mjjax.Model.from_xml_path(scene).structure.arrays["tex_data"]
    whole = np.asarray(pixels)
    (scene.parent / "grid.png").unlink()
    for first, last in ((0, 72), (70, 75), (10, 20), (72, 72 + 54)):
        np.testing.assert_array_equal(pixels[first:last], whole[first:last])


@pytest.mark.feature("B35")
def test_damage_that_only_shows_when_unpacked() -> None:
    """A picture with a good header and bad pixels is an error when it is read."""
    content = bytearray(FILES["square.png"])
    start = content.index(b"IDAT") + 6
    content[start : start + 8] = b"\xff" * 8
    xml = '<mujoco><asset><texture name="t" type="2d" file="square.png"/></asset></mujoco>'
    model = mjjax.Model.from_xml_string(xml, {"square.png": bytes(content)})
    with pytest.raises(MjcfError, match=r'texture name="t".*cannot be read'):
        _ = model.tex_data


@pytest.mark.feature("B35")
def test_half_a_gigabyte_of_textures_loads_in_little_memory() -> None:
    """Half a gigabyte of textures is accepted, as by MuJoCo, and not kept in memory."""
    stream = io.BytesIO()
    Image.new("1", (8000, 8000)).save(stream, "png", compress_level=1)
    textures = "".join(f'<texture name="t{i}" type="2d" file="a.png"/>' for i in range(3))
    xml, files = f"<mujoco><asset>{textures}</asset></mujoco>", {"a.png": stream.getvalue()}
    tracemalloc.start()
    model = mjjax.Model.from_xml_string(xml, files)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.ntexdata == 3 * 3 * 8000**2 and peak < 2**25
    with pytest.raises(UnsupportedFeature, match=r"limits=mjjax\.Limits\(texture_bytes=\.\.\.\)"):
        mjjax.Model.from_xml_string(xml, files, limits=mjjax.Limits(texture_bytes=2**28))


@pytest.mark.feature("B35")
def test_pictures_read_only_what_they_show(scene: Path) -> None:
    """Only textures of the sky and of used materials are read; other files may be missing."""
    shown = '<material name="m" texture="b"/></asset><worldbody><geom size="1" material="m"/>'
    xml = SCENE.replace("</asset>", shown + "</worldbody>")
    scene.write_text(xml)
    model = mjjax.Model.from_xml_path(scene)
    (scene.parent / "rgb.png").unlink()
    assert textures_to_read(model.structure) == (1,)
    assert np.asarray(texture_pool(model.structure, (1,)).pixel).min() < 2**32 - 1
    assert textures_to_read(mjjax.Model.from_xml_string(SCENE, FILES).structure) == ()
