"""Geoms with a mesh or height field, and primitives fitted to a mesh."""

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from tests.compiler.oracle import (
    assert_same,
    refused,
)

MESH = (
    '<mesh name="m" vertex="0 0 0 1 0 0 0 2 0 0 0 3" face="0 2 1 0 1 3 1 2 3 0 3 2" material="x"/>'
    '<material name="x"/><material name="y"/>'
)
HFIELD = '<hfield name="h" nrow="2" ncol="3" size="1 2 3 .5" elevation="1 2 3 4 5 7"/>'


def model(geom: str, compiler: str = "", asset: str = MESH + HFIELD) -> str:
    """A free body with the geom."""
    return (
        f"<mujoco><compiler {compiler}/><asset>{asset}</asset>"
        f'<worldbody><body><freejoint/><geom pos="1 2 3" euler="10 20 30" {geom}/></body>'
        "</worldbody></mujoco>"
    )


@pytest.mark.feature("B32")
@pytest.mark.parametrize("compiler", ["", 'fitaabb="true"'])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_fitted_primitive(kind: str, compiler: str) -> None:
    """A primitive takes its size from the inertia or the bounding box of a mesh."""
    assert_same(model(f'type="{kind}" mesh="m" fitscale="1.2" size="9 9 9"', compiler))


@pytest.mark.feature("B48")
@pytest.mark.parametrize("kind", ["mesh", "sdf"])
@pytest.mark.parametrize(
    "more",
    [
        "",
        'mass="3"',
        'density="3"',
        'size="9 9 9"',
        'material="y"',
        'group="4"',
        'fluidshape="ellipsoid"',
    ],
)
def test_mesh_geom(kind: str, more: str) -> None:
    """Pose, size, bounds, mass, material and fluid coefficients of a geom with a mesh."""
    assert_same(model(f'type="{kind}" mesh="m" {more}'))


@pytest.mark.feature("B33", "B50")
@pytest.mark.parametrize("more", ["", 'mass="3"', 'shellinertia="true"', 'fluidshape="ellipsoid"'])
def test_hfield_geom(more: str) -> None:
    """A height field has the bounding box and the mass of its size."""
    assert_same(model(f'type="hfield" hfield="h" {more}'))


def test_shell_as_box() -> None:
    """The box with the inertia of a shell counts its area as volume."""
    asset = MESH.replace("<mesh", '<mesh inertia="shell"')
    assert_same(model('type="box" mesh="m"', asset=asset))


INVALID = [
    'type="mesh"',
    'type="mesh" mesh=""',
    'type="mesh" mesh="n"',
    'type="sdf"',
    'type="hfield"',
    'type="hfield" hfield="n"',
    'type="hfield" mesh="m"',
    'type="box" size="1 1 1" hfield="h"',
    'type="mesh" mesh="m" hfield="h"',
    'type="mesh" mesh="m" shellinertia="true"',
    'type="capsule" mesh="m" fitscale="-1"',
]


@pytest.mark.feature("B89")
@pytest.mark.parametrize("geom", [*INVALID, 'type="box" mesh="m" fromto="0 0 0 0 0 1"'])
def test_invalid_geom_is_refused(geom: str) -> None:
    """An asset that is missing or does not go with the type of the geom is an error."""
    xml = model(geom).replace(' pos="1 2 3" euler="10 20 30"', "")
    assert refused(xml).element == "geom"


def test_plane_cannot_be_fitted() -> None:
    """A plane has no size to fit."""
    geom = '<worldbody><geom type="plane" mesh="m"/></worldbody>'
    xml = f"<mujoco><asset>{MESH}</asset>{geom}</mujoco>"
    refused(xml)


def test_visual_mesh_is_simulated() -> None:
    """A mesh that cannot collide still gives its body inertia and moves with it."""
    geom = 'type="mesh" mesh="m" contype="0" conaffinity="0"'
    xml = model(geom).replace("<freejoint/>", '<joint axis="1 2 0"/>')
    reference = mujoco.MjModel.from_xml_string(xml)
    theirs = mujoco.MjData(reference)
    loaded = mjjax.Model.from_xml_string(xml)
    ours, step = mjjax.make_data(loaded), jax.jit(mjjax.step)
    for _ in range(20):
        mujoco.mj_step(reference, theirs)
        ours = step(loaded, ours)
    np.testing.assert_allclose(ours.qpos, theirs.qpos, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.geom_xpos, theirs.geom_xpos, rtol=0, atol=1e-10)
