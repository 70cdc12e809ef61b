"""Rays against large meshes: MuJoCo's results from few triangles."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.rays import ray_mesh
from mjjax.compiler.assets import mesh_tree
from mjjax.xla.namespace import Array
from tests.collision.loops import count_steps
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, quick, to_ours

SCENE = """
<mujoco><asset>
  <mesh name="ball" builtin="sphere" params="3" scale="1 1.2 .7"/>
  <mesh name="ring" builtin="supertorus" params="{} .4 1 1"/>
</asset><worldbody>
  <geom type="mesh" mesh="ball"/>
  <body pos="2 .5 0"><freejoint/><geom type="mesh" mesh="ring" euler="30 40 50"/></body>
  <geom type="mesh" mesh="ball" pos="0 0 3" euler="0 20 0" group="4" rgba="1 1 1 0"/>
  <geom size=".2" pos="-1 2 0"/>
</worldbody></mujoco>
"""


@functools.cache
def scene(resolution: int):
    both = load(SCENE.format(resolution))
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    return both, d, mjjax.kinematics(both.ours, to_ours(both.ours, d))


def rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """From outside and from within, towards the meshes and past them."""
    rng = np.random.default_rng(0)
    start = rng.uniform(-2, 3, size=(n, 3))
    return start, rng.uniform(-1, 2.5, size=(n, 3)) - start


@pytest.mark.feature("A169", "A172")
def test_rays_are_mujocos() -> None:
    """Distance, geom and normal are MuJoCo's with several meshes; one is used twice and unseen."""
    both, d, data = scene(12)
    start, along = rays(300)
    cast = quick(jax.vmap(lambda p, v: mjjax.ray(both.ours, data, p, v)))
    hits, seen = cast(jnp.asarray(start), jnp.asarray(along)), set()
    for i, (p, v) in enumerate(zip(start, along, strict=True)):
        geom, normal = np.zeros(1, np.int32), np.zeros(3)
        x = mujoco.mj_ray(both.reference, d, p, v, None, 1, -1, geom, normal)
        assert hits.geomid[i] == geom[0], i
        np.testing.assert_allclose(hits.dist[i], x, atol=1e-9, err_msg=str(i))
        np.testing.assert_allclose(hits.normal[i], normal, atol=1e-7, err_msg=str(i))
        seen.add(int(geom[0]))
    assert seen == {-1, 0, 2, 3}


@pytest.mark.feature("A172")
def test_few_triangles_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 triangles a ray tries a few hundred."""
    both, d, data = scene(100)
    faces = int(both.ours.mesh_facenum[1])
    assert faces >= 19_000
    start, along = rays(20)
    steps = count_steps(monkeypatch, ray_mesh)
    cast = quick(lambda p, v: mjjax.ray(both.ours, data, p, v).dist)
    geom = np.zeros(1, np.int32)
    for p, v in zip(start, along, strict=True):
        x = mujoco.mj_ray(both.reference, d, p, v, None, 1, -1, geom)
        np.testing.assert_allclose(cast(jnp.asarray(p), jnp.asarray(v)), x, atol=1e-9)
    jax.effects_barrier()
    assert len(steps) == len(start) and 20 < max(steps) < 0.05 * faces / mesh_tree.LEAF, steps


@pytest.mark.feature("A169", "D05")
def test_derivatives() -> None:
    """Distance and normal move with the ray, the geom and the vertices."""
    both, _, data = scene(12)
    start, along = rays(20)

    def meet(x: dict[str, jax.Array]) -> Array:
        moved = data.replace(geom_xpos=data.geom_xpos + x["shift"][None])
        model = both.ours.replace(mesh_vert=both.ours.mesh_vert * (1 + x["scale"]))
        return mjjax.ray(model, moved, x["start"], x["along"]).dist

    x = {"start": jnp.asarray(start), "along": jnp.asarray(along)}
    x |= {"shift": jnp.zeros((20, 3)), "scale": jnp.zeros(20)}
    v = jax.tree.map(lambda a: 0.1 * a, directions(x, 0))
    assert not derivative_errors(meet, x, v, 1e-5)


def test_tree_holds_every_triangle() -> None:
    """Leaves hold all triangles within their boxes; a skip leaves out the nodes below."""
    rng = np.random.default_rng(0)
    vert, face = rng.normal(size=(50, 3)), rng.integers(0, 50, (101, 3))
    tree = mesh_tree.tree(vert, face)
    leaves = np.flatnonzero(tree.face[:, 0] >= 0)
    assert set(tree.face[leaves].ravel()) == set(range(101))
    assert tree.skip[0] == len(tree.skip) == 2 * len(leaves) - 1
    for node, end in enumerate(tree.skip):
        below = tree.face[node:end]
        corner = vert[face[below[below >= 0]]]
        assert (corner >= tree.box[node, :3]).all() and (corner <= tree.box[node, 3:]).all()
