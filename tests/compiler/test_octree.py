"""Octrees of SDF geoms and the trees over the triangles of meshes against MuJoCo's."""

import time

import mujoco
import numpy as np
import pytest

from mjjax.compiler.assets.face_tree import face_tree
from mjjax.compiler.assets.octree import octree
from tests.compiler.oracle import compiled

CUBE = "-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"
POINTS = np.random.default_rng(0).normal(size=(300, 3)).round(4)
MESHES = {
    "cube": f'vertex="{CUBE}" scale=".1 .1 .1"',
    "points": f'vertex="{" ".join(map(str, POINTS.ravel()))}" scale=".1 .1 .2"',
    "ball": 'builtin="sphere" params="2" scale=".1 .1 .1"',
    "ring": 'builtin="supertorus" params="12 .4 1 1" scale=".1 .1 .1"',
}


def model(geoms: str) -> str:
    assets = "".join(f'<mesh name="{name}" {text}/>' for name, text in MESHES.items())
    return f"<mujoco><asset>{assets}</asset><worldbody>{geoms}</worldbody></mujoco>"


@pytest.mark.feature("B48", "C73")
@pytest.mark.parametrize("mesh", MESHES)
def test_octrees_are_mujocos(mesh: str) -> None:
    """Cells, their order and boxes are equal; distances at the corners to rounding."""
    xml = model(f'<geom type="sdf" mesh="{mesh}"/><geom type="mesh" mesh="{mesh}"/>')
    theirs, ours = mujoco.MjModel.from_xml_string(xml), compiled(xml)
    for name in ("mesh_octadr", "mesh_octnum", "oct_depth", "oct_child", "oct_aabb"):
        np.testing.assert_array_equal(ours.fields[name], getattr(theirs, name), err_msg=name)
    np.testing.assert_allclose(ours.fields["oct_coeff"], theirs.oct_coeff, atol=1e-15, rtol=0)
    assert ours.sizes["noct"] == theirs.noct > 10_000
    for name in ("geom_rbound", "geom_aabb", "geom_pos", "geom_quat", "geom_size", "body_inertia"):
        np.testing.assert_allclose(ours.fields[name], getattr(theirs, name), atol=1e-9)


@pytest.mark.feature("C73")
@pytest.mark.parametrize("mesh", MESHES)
def test_boxes_of_triangles_are_tried_in_mujocos_order(mesh: str) -> None:
    """A walk by `mesh_nodeskip` meets the boxes in the order of MuJoCo's stack."""
    xml = model(f'<geom type="sdf" mesh="cube"/><geom type="mesh" mesh="{mesh}"/>')
    theirs, ours = mujoco.MjModel.from_xml_string(xml), compiled(xml)
    k = theirs.geom_dataid[1]
    own = slice(theirs.mesh_bvhadr[k], theirs.mesh_bvhadr[k] + theirs.mesh_bvhnum[k])
    child = theirs.bvh_child[own]
    stack, order = [0], []
    while stack:
        order.append(stack.pop())
        stack += [c for c in child[order[-1]] if c >= 0]
    f = ours.fields
    assert list(np.flatnonzero(f["mesh_nodenum"])) == [k]
    np.testing.assert_array_equal(f["mesh_nodeface"], theirs.bvh_nodeid[own][order])
    box = theirs.bvh_aabb[own][order]
    np.testing.assert_allclose(f["mesh_nodeball"][:, :3], box[:, :3], atol=1e-15)
    np.testing.assert_allclose(f["mesh_nodeball"][:, 3], np.linalg.norm(box[:, 3:], axis=1))
    last = f["mesh_nodeskip"] == np.arange(len(order)) + 1
    np.testing.assert_array_equal(last, f["mesh_nodeface"] >= 0)


def test_only_meshes_of_sdf_geoms_have_octrees() -> None:
    """Octrees are made only for SDF geoms, and then trees of boxes only for mesh geoms."""
    f = compiled(model('<geom type="mesh" mesh="ball"/>')).fields
    assert not len(f["oct_depth"]) and not len(f["mesh_nodeface"])
    assert (f["mesh_octadr"] == -1).all()
    f = compiled(model('<geom type="sdf" mesh="cube"/><geom type="mesh" mesh="ball"/>')).fields
    assert list(np.flatnonzero(f["mesh_octnum"])) == [0]
    assert list(np.flatnonzero(f["mesh_nodenum"])) == [list(MESHES).index("ball")]


def test_a_thousand_triangles_take_seconds() -> None:
    """An octree is made by whole arrays: a ball of 1,280 triangles does not take long."""
    fields = compiled(model("").replace('params="2"', 'params="3"')).fields
    k = list(MESHES).index("ball")
    vert = fields["mesh_vert"][fields["mesh_vertadr"][k] :][: fields["mesh_vertnum"][k]]
    face = fields["mesh_face"][fields["mesh_faceadr"][k] :][: fields["mesh_facenum"][k]]
    start = time.process_time()
    octree(np.asarray(vert, float), face, face_tree(np.asarray(vert, float), face))
    assert len(face) == 1280
    assert time.process_time() - start < 10
