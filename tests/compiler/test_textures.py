"""The pixels of textures are MuJoCo's."""

import io

import numpy as np
import pytest
from PIL import Image

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
    """Patterns and marks; also with few and odd numbers of pixels, and other channels."""
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
        'type="2d" file="rgb.png" hflip="true"',
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
    "texture", ['type="2d" file="rgb.png" nchannel="2"', 'type="2d" file="broken.png"']
)
def test_broken_files(texture: str) -> None:
    """What cannot be read is an error that names the texture."""
    broken = FILES | {"broken.png": FILES["rgb.png"][:-30]}
    xml = f'<mujoco><asset><texture name="t" {texture}/></asset></mujoco>'
    assert refused(xml, broken).element == "texture"
