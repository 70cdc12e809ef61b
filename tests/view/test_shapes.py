"""Triangles that a browser draws have the right places and orientations."""

import jax
import numpy as np
import pytest
import trimesh

import mjjax
from mjjax.render.paint import paint
from mjjax.view.shapes import glb, joined, shape_of

SCENE = """
<mujoco>
  <asset>
    <mesh name="m" vertex="-.3 -.2 -.1 .3 -.25 -.1 0 .3 -.1 0.05 .03 .4 .1 .1 .35"/>
    <hfield name="h" nrow="3" ncol="4" size=".6 .8 .5 .2"
      elevation="0 1 0 .5 .2 .3 .9 .1 .5 .5 .7 0"/>
    <texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <material name="m" texture="t" texrepeat="2 3"/>
  </asset>
  <worldbody>
    <geom type="box" size=".3 .2 .1"/>
    <geom type="sphere" size=".3"/>
    <geom type="capsule" size=".2 .4"/>
    <geom type="cylinder" size=".3 .2"/>
    <geom type="ellipsoid" size=".3 .2 .5"/>
    <geom type="mesh" mesh="m"/>
    <geom type="hfield" hfield="h"/>
    <geom type="plane" size="2 1 1" material="m"/>
  </worldbody>
</mujoco>
"""
# solids: volume, and half of the box around them
SOLIDS = (
    (8 * 0.3 * 0.2 * 0.1, (0.3, 0.2, 0.1)),
    (4 / 3 * np.pi * 0.3**3, (0.3, 0.3, 0.3)),
    (np.pi * 0.2**2 * (0.8 + 4 / 3 * 0.2), (0.2, 0.2, 0.6)),
    (np.pi * 0.3**2 * 0.4, (0.3, 0.3, 0.2)),
    (4 / 3 * np.pi * 0.3 * 0.2 * 0.5, (0.3, 0.2, 0.5)),
)


@pytest.fixture(scope="module")
def model() -> mjjax.Model:
    return jax.device_get(mjjax.Model.from_xml_string(SCENE))


@pytest.mark.feature("A176")
@pytest.mark.parametrize("geom", range(len(SOLIDS)))
def test_solids_have_their_size_and_face_outward(model: mjjax.Model, geom: int) -> None:
    """Solids have the centre of the geom and nearly its volume, which is positive."""
    shape, (volume, half) = shape_of(model, geom), SOLIDS[geom]
    made = trimesh.Trimesh(shape.vert, shape.face)
    np.testing.assert_allclose(made.bounds, np.outer([-1, 1], half), atol=0.01)
    assert 0.93 * volume < made.volume <= 1.001 * volume


@pytest.mark.feature("A178")
def test_meshes_and_fields_have_the_models_points(model: mjjax.Model) -> None:
    """A mesh has its own corners and faces, a height field its heights, a plane its edges."""
    mesh, field, plane = (shape_of(model, i) for i in (5, 6, 7))
    corners = {tuple(x) for x in np.round(np.asarray(model.mesh_vert, float), 6)}
    assert {tuple(x) for x in np.round(mesh.vert, 6)} == corners
    assert trimesh.Trimesh(mesh.vert, mesh.face).volume > 0
    assert len(field.vert) == 12 and len(field.face) == 12
    np.testing.assert_allclose(field.vert[:, 2].reshape(3, 4)[-1], [0, 0.5, 0, 0.25], atol=1e-6)
    np.testing.assert_allclose(field.vert[0, :2], [-0.6, -0.8])
    assert (trimesh.Trimesh(field.vert, field.face).face_normals[:, 2] > 0).all()
    np.testing.assert_allclose(np.abs(plane.vert), [[2, 1, 0]] * 4)


def test_geoms_are_joined_at_their_poses(model: mjjax.Model) -> None:
    """Several geoms make one object, each where it belongs."""
    pos, mat = np.zeros((8, 3)), np.tile(np.eye(3), (8, 1, 1))
    pos[1] = [5, 0, 0]
    mat[0] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    vert, face = joined(model, pos, mat, np.array([0, 1]))
    box, ball = trimesh.Trimesh(vert, face).split()
    np.testing.assert_allclose(box.bounds[1], [0.2, 0.3, 0.1], atol=1e-9)
    np.testing.assert_allclose(ball.bounds.mean(axis=0), [5, 0, 0], atol=1e-9)


@pytest.mark.feature("A178")
def test_textures_go_with_geoms(model: mjjax.Model) -> None:
    """A checkered plane carries its picture, with two by three repeats on its four corners."""
    pos, mat = np.zeros((8, 3)), np.tile(np.eye(3), (8, 1, 1))
    content = glb(model, jax.device_get(paint(model)), pos, mat, 7)
    (made,) = trimesh.load(trimesh.util.wrap_as_stream(content), file_type="glb").geometry.values()
    uv = made.visual.uv
    np.testing.assert_allclose(np.ptp(uv, axis=0), [2, 3])
    picture = np.asarray(made.visual.material.baseColorTexture)
    np.testing.assert_array_equal(picture[0, 0, :3], [255, 0, 0])
