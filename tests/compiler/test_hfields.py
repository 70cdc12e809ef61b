"""Height fields and textures: compared with MuJoCo."""

import io
import itertools
import struct

import numpy as np
import pytest
from PIL import Image

from mjjax.core.errors import MjcfError
from tests.compiler.oracle import (
    accepted_by_mujoco,
    assert_same,
    compiled,
    refusal,
    refused,
)

GREY = np.array([[0, 50, 100], [150, 200, 255]], np.uint8)
RGB = np.stack([GREY, GREY // 2, GREY // 3], axis=-1)
_COUNTER = itertools.count()


def unique(extension: str) -> str:
    """A file name that no other test uses: MuJoCo caches files by name."""
    return f"hfield{next(_COUNTER)}{extension}"


def png(image: np.ndarray | Image.Image) -> bytes:
    """A PNG file of pixels."""
    stream = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(stream, "png")
    return stream.getvalue()


def binary(nrow: int, ncol: int, count: int = 6) -> bytes:
    """A file in MuJoCo's own format."""
    return struct.pack("<2i", nrow, ncol) + np.arange(count, dtype=np.float32).tobytes()


def model(attributes: str) -> str:
    """A world with a height field."""
    return (
        f'<mujoco><asset><hfield name="h" {attributes}/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )


SIZE = 'size="1 2 3 .5"'


@pytest.mark.feature("B33", "A094")
@pytest.mark.parametrize(
    "grid",
    [
        'nrow="2" ncol="3"',
        'nrow="2" ncol="3" elevation="1 2 3 4 5 7"',
        'nrow="2" ncol="3" elevation="2 2 2 2 2 2"',
        'nrow="1" ncol="2" elevation="-1 1"',
    ],
)
def test_elevation(grid: str) -> None:
    """Elevations are scaled to the range from 0 to 1; the first row is the far one."""
    assert_same(model(f"{SIZE} {grid}"))


@pytest.mark.feature("B33")
@pytest.mark.parametrize(
    "image",
    [
        GREY,
        RGB,
        np.dstack([RGB, GREY]),
        np.stack([GREY, GREY], axis=-1),
        np.array([[0, 300, 1000], [65535, 40000, 5]], np.uint16),
        Image.fromarray(RGB).quantize(8),
        Image.fromarray(GREY > 120),
    ],
    ids=["grey", "rgb", "rgba", "grey-alpha", "16 bit", "palette", "1 bit"],
)
def test_picture(image: np.ndarray | Image.Image) -> None:
    """A PNG of any kind gives the elevations; nrow and ncol of the element do not count."""
    name = unique(".png")
    assert_same(model(f'{SIZE} file="{name}" nrow="9"'), assets={name: png(image)})


@pytest.mark.feature("B33")
@pytest.mark.parametrize("extension", [".bin", ".hf", ""])
def test_binary(extension: str) -> None:
    """MuJoCo's own format, whatever the file is called."""
    name = unique(extension)
    assert_same(model(f'{SIZE} file="{name}"'), assets={name: binary(2, 3)})


@pytest.mark.feature("B33")
def test_content_type() -> None:
    """The content type wins over the file's name; the height field is named after the file."""
    name = unique(".abc")
    xml = model(f'{SIZE} file="{name}" content_type="image/png"')
    assert_same(
        xml.replace('name="h" ', "").replace('"h"', f'"{name[:-4]}"'), assets={name: png(GREY)}
    )


INVALID = [
    'nrow="2" ncol="2" size="1 1 0 1"',
    'size="1 1 1 1" elevation="1"',
    'nrow="-1" ncol="2" size="1 1 1 1"',
    'nrow="2" ncol="2" size="1 1 1 1" elevation="1 2 3"',
    'nrow="2" ncol="2"',
    'size="1 1 1 1" file="none.png"',
    'size="1 1 1 1" file="FILE.png" content_type="image/jpeg"',
]
BROKEN = {
    ".png": b"not a picture",
    ".PNG": png(GREY)[:-40],
    ".bin": binary(2, 3, 5),
    ".hf": binary(-2, -3),
    ".x": b"12",
}


@pytest.mark.feature("B89")
@pytest.mark.parametrize("attributes", INVALID)
def test_invalid_hfield_is_refused(attributes: str) -> None:
    """A height field without cells, with a wrong size or number of values is an error."""
    assert refused(model(attributes), {"FILE.png": png(GREY)}).element == "hfield"


@pytest.mark.feature("B89")
@pytest.mark.parametrize("extension", BROKEN)
def test_broken_file_is_refused(extension: str) -> None:
    """A file that holds no elevations is an error that says which file."""
    name = unique(extension)
    assert name in str(refused(model(f'{SIZE} file="{name}"'), {name: BROKEN[extension]}))


def test_unnamed_hfield_is_refused() -> None:
    """A height field without a name is refused, because nothing could refer to it."""
    xml = f'<mujoco><asset><hfield nrow="2" ncol="2" {SIZE}/></asset></mujoco>'
    refused(xml)


PICTURES = {"a.png": png(np.zeros((4, 4, 3), np.uint8)), "b.png": png(np.zeros((8, 4), np.uint8))}
PICTURES |= {"c.bin": struct.pack("<2i", 2, 2) + bytes(12), "d.png": b"abc", "e.jpg": b"abc" * 99}
PICTURES |= {"f.png": png(np.zeros((12, 16, 3), np.uint8))}
TEXTURES = {
    '<texture name="t"/>': False,
    '<texture type="2d" builtin="flat" width="3" height="3"/>': False,
    '<texture builtin="flat" type="skybox" width="3" height="3"/>': True,
    '<texture name="t" builtin="flat"/>': False,
    '<texture name="t" builtin="flat" width="3"/>': True,
    '<texture name="t" type="2d" builtin="flat" width="3"/>': False,
    '<texture name="t" file="none.png"/>': False,
    '<texture name="t" fileright="none.png"/>': False,
    '<texture name="t" fileright="a.png"/>': True,
    '<texture name="t" type="2d" fileright="a.png"/>': False,
    '<texture type="2d" file="a.png"/>': True,
    '<texture name="t" file="b.png"/>': False,
    '<texture name="t" type="2d" file="b.png"/>': True,
    '<texture name="t" file="f.png" gridsize="3 4" gridlayout=".U..LFRB.D.."/>': True,
    '<texture name="t" file="f.png" gridsize="3 4" gridlayout=".U..LFRBxD.."/>': False,
    '<texture name="t" file="f.png" gridsize="3 4" gridlayout=".U..LFRB"/>': False,
    '<texture name="t" type="2d" file="c.bin"/>': True,
    '<texture name="t" type="2d" file="d.png"/>': False,
    '<texture name="t" type="2d" file="e.jpg"/>': False,
    '<texture name="t" type="2d" file="a.png" nchannel="5"/>': False,
    '<texture name="t" type="2d" file="a.png" content_type="image/jpeg"/>': False,
}


@pytest.mark.feature("B35")
@pytest.mark.parametrize("texture", TEXTURES)
def test_textures_are_checked(texture: str) -> None:
    """A model whose pictures are missing or do not fit is refused when it is loaded."""
    xml = f"<mujoco><asset>{texture}</asset></mujoco>"
    assert accepted_by_mujoco(xml, PICTURES) == TEXTURES[texture]
    if TEXTURES[texture]:
        assert compiled(xml, assets=PICTURES).sizes["ntex"] == 1
    else:
        error = refusal(xml, assets=PICTURES)
        assert isinstance(error, MjcfError) and error.element == "texture"
