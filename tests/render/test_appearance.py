"""Colours: light, shadows, textures, transparency, mirrors and sky, computed by hand."""

import functools
import io

import jax
import numpy as np
import pytest
from PIL import Image

import mjjax
from mjjax.cli.engines import equations
from mjjax.render.smooth import posed

DARK = '<visual><headlight ambient="0 0 0" diffuse="0 0 0" specular="0 0 0"/></visual>'
PLAIN = '<visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>'
ABOVE = '<camera pos="0 0 4" projection="orthographic" fovy="2"/>'


def drawn(
    xml: str, width: int = 8, height: int = 8, assets: dict[str, bytes] | None = None
) -> np.ndarray:
    """Colours that the first camera sees."""
    model = mjjax.Model.from_xml_string(f"<mujoco>{xml}</mujoco>", assets)
    data = posed(model, mjjax.make_data(model))
    return np.asarray(mjjax.render(model, data, camera=0, width=width, height=height).rgb)


@pytest.mark.feature("D22")
def test_light_and_shadow() -> None:
    """Ambient, diffuse and specular light of a spot with attenuation; none of it in its shadow."""
    light = (
        '<light pos="0 0 2" dir="0 0 -1" ambient=".1 .1 .1" diffuse=".6 .5 .4" specular=".2 .2 .2" '
        'attenuation="1 .5 .25" cutoff="60" exponent="2"/>'
    )
    floor = '<geom type="plane" size="0 0 1" rgba=".5 1 1 1"/>'
    wall = '<geom type="box" size=".3 .3 .01" pos="-.5 0 1" rgba="1 0 0 1"/>'
    scene = f"{DARK}<worldbody>{light}{floor}{ABOVE}WALL</worldbody>"
    rgb = drawn(scene.replace("WALL", ""), 40, 40)
    place = (np.arange(40) + 0.5) / 20 - 1
    x, y = np.meshgrid(place, -place)
    point = np.stack([x, y, 0 * x], -1)
    dist = np.sqrt(x * x + y * y + 4)
    cosine = 2 / dist
    strength = cosine**2 / (1 + 0.5 * dist + 0.25 * dist**2)
    toward = [0, 0, 4] - point
    toward /= np.linalg.norm(toward, axis=-1, keepdims=True)
    half = ([0, 0, 2] - point) / dist[..., None] + toward
    shine = (half[..., 2] / np.linalg.norm(half, axis=-1)) ** 64
    matte = (0.1 + cosine[..., None] * [0.6, 0.5, 0.4]) * [0.5, 1, 1]
    wanted = strength[..., None] * (matte + 0.5 * 0.2 * shine[..., None])
    np.testing.assert_allclose(rgb, wanted, atol=1e-12)
    dark = drawn(scene.replace("WALL", wall), 40, 40)
    shadow = (x > -1) & (x < -0.45) & (np.abs(y) < 0.55)
    assert shadow.sum() > 200 and (dark[shadow & (x < -0.85)] == 0).all()
    lit = (x > 0) | (np.abs(y) > 0.7)
    np.testing.assert_allclose(dark[lit], wanted[lit], atol=1e-12)


@pytest.mark.feature("A178")
def test_checkered_floor() -> None:
    """The cells of a checkered plane are where they were counted to be: four by six on it."""
    assets = (
        '<asset><texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="64" '
        'height="64"/><material name="m" texture="t" texrepeat="2 3"/></asset>'
    )
    floor = '<geom type="plane" size="1 1 1" material="m"/>'
    rgb = drawn(f"{PLAIN}{assets}<worldbody>{floor}{ABOVE}</worldbody>", 24, 24)
    # a texture is centred in the middle of the plane, where four cells meet in its middle
    x = (np.arange(24) + 0.5) / 12 - 1
    column = np.floor((0.5 + 0.5 * 2 * x) * 2).astype(int)
    row = np.floor((0.5 - 0.5 * 3 * -x) * 2).astype(int)
    blue = (column[None] + row[:, None]) % 2
    np.testing.assert_array_equal(np.argmax(rgb, axis=2), 2 * blue)
    assert len(np.unique(column)) == 4 and len(np.unique(row)) == 6


def sides() -> dict[str, bytes]:
    """Six pictures of one colour, with a white corner at the upper left."""
    found = {}
    for k, side in enumerate("right left up down front back".split()):
        pixels = np.full((4, 4, 3), 20 * (k + 1), np.uint8)
        pixels[0, 0] = 255
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, "png")
        found[f"{side}.png"] = stream.getvalue()
    return found


LOOKS = {
    # side of the cube: where a camera is that sees it upright, by MuJoCo's pictures, and its axes
    "right": ("2 0 0", "0 0 -1 0 1 0"),
    "left": ("-2 0 0", "0 0 1 0 1 0"),
    "up": ("0 2 0", "1 0 0 0 0 -1"),
    "down": ("0 -2 0", "1 0 0 0 0 1"),
    "front": ("0 0 2", "1 0 0 0 1 0"),
    "back": ("0 0 -2", "-1 0 0 0 1 0"),
}


@pytest.mark.feature("A178")
@pytest.mark.parametrize("side", LOOKS)
def test_sides_of_cubes(side: str) -> None:
    """A cube texture lies on a box with the six pictures where MuJoCo draws them."""
    files = sides()
    pictures = " ".join(f'file{name[:-4]}="{name}"' for name in files)
    pos, axes = LOOKS[side]
    camera = f'<camera pos="{pos}" xyaxes="{axes}" projection="orthographic" fovy="1"/>'
    rgb = drawn(
        f'{PLAIN}<asset><texture name="t" {pictures}/><material name="m" texture="t"/></asset>'
        f'<worldbody><geom type="box" size=".5 .5 .5" material="m"/>{camera}</worldbody>',
        4,
        4,
        files,
    )
    colour = 20 * (list(LOOKS).index(side) + 1) / 255
    np.testing.assert_allclose(rgb[3, 3], colour, atol=1e-12)
    np.testing.assert_allclose(rgb[0, 0], 1, atol=1e-12)
    np.testing.assert_allclose(rgb[0, 3], colour, atol=1e-12)


@pytest.mark.feature("A178")
@pytest.mark.parametrize(
    ("way", "colour"),
    [("0 0 1", 60), ("0 0 -1", 80), ("1 0 0", 20), ("-1 0 0", 40), ("0 1 0", 120)],
)
def test_sky(way: str, colour: int) -> None:
    """The skybox is behind everything, with its upper side above."""
    files = sides()
    pictures = " ".join(f'file{name[:-4]}="{name}"' for name in files)
    back = " ".join(str(-int(x)) for x in way.split())
    rgb = drawn(
        f'<asset><texture type="skybox" {pictures}/></asset><worldbody>'
        f'<camera zaxis="{back}" fovy="20"/></worldbody>',
        3,
        3,
        files,
    )
    np.testing.assert_allclose(rgb[1, 1], colour / 255, atol=1e-12)


@pytest.mark.feature("D22")
def test_transparent_and_mirroring_surfaces() -> None:
    """Glass shows its front and back and what is behind; a mirror adds what it reflects."""
    glass = '<geom type="box" size=".5 .5 .1" pos="0 0 2" rgba="1 0 0 .25"/>'
    floor = '<geom type="plane" size="0 0 1" rgba="0 1 0 1"/>'
    rgb = drawn(f"{PLAIN}<worldbody>{floor}{glass}{ABOVE}</worldbody>")
    np.testing.assert_allclose(rgb[4, 4], [0.25 * (1 + 0.75), 0.75**2, 0], atol=1e-12)
    np.testing.assert_allclose(rgb[0, 0], [0, 1, 0], atol=1e-12)
    mirror = '<material name="m" rgba=".2 .2 .2 1" reflectance=".5"/>'
    rgb = drawn(
        f'{PLAIN}<asset>{mirror}</asset><worldbody><geom type="plane" size="0 0 1" material="m"/>'
        '<geom type="box" size="1 1 1" pos="3 0 1" rgba="0 0 1 1"/>'
        '<camera pos="-1 0 2" xyaxes="0 -1 0 1 0 1"/></worldbody>',
    )
    np.testing.assert_allclose(rgb[4, 4], [0.2, 0.2, 0.7], atol=1e-12)


@pytest.mark.feature("D22")
def test_colours_of_geoms_and_materials() -> None:
    """A colour of the geom goes before that of the material; groups above 2 are not drawn."""
    geoms = "".join(
        f'<geom type="box" size=".2 .2 .1" pos="{x} 0 0" {look}/>'
        for x, look in (
            (-0.75, 'material="m"'),
            (-0.25, 'material="m" rgba="0 1 0 1"'),
            (0.25, 'rgba="1 1 1 1" group="3"'),
            (0.75, ""),
        )
    )
    asset = '<asset><material name="m" rgba="1 0 0 1" emission=".5"/></asset>'
    rgb = drawn(f"{PLAIN.replace('1 1 1', '.4 .4 .4')}{asset}<worldbody>{geoms}{ABOVE}</worldbody>")
    wanted = [[0.9, 0, 0], [0, 0.9, 0], [0, 0, 0], [0.2, 0.2, 0.2]]
    np.testing.assert_allclose(rgb[4, [0, 2, 5, 7]], wanted, atol=1e-12)


def test_program_does_not_grow_with_the_scene() -> None:
    """Protects compile time: no Python loop over geoms, lights or textures."""
    counts = []
    for n in (2, 20):
        lights = "<light/>" * n
        textures = "".join(
            f'<texture name="{i}" type="2d" builtin="flat" width="2" height="2"/>'
            f'<material name="{i}" texture="{i}"/>'
            for i in range(n)
        )
        geoms = "".join(f'<geom size=".1" pos="{i} 0 0" material="{i}"/>' for i in range(n))
        model = mjjax.Model.from_xml_string(
            f"<mujoco><asset>{textures}</asset><worldbody>{lights}{geoms}</worldbody></mujoco>"
        )
        data = mjjax.make_data(model)
        draw = functools.partial(mjjax.render, width=4, height=4)
        counts.append(equations(jax.make_jaxpr(draw)(model, data).jaxpr))
    assert counts[0] == counts[1]
