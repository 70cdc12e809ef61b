"""Rays against every kind of geom: MuJoCo's distances, geoms and normals; derivatives."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.dynamics.kinematics import kinematics
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, quick, to_ours

SCENE = """
<mujoco>
  <option><flag contact="disable"/></option>
  <asset>
    <mesh name="m" vertex="-.3 -.2 -.1 .3 -.25 -.1 0 .3 -.1 0.05 .03 .4 .1 .1 .35"/>
    <hfield name="h" nrow="3" ncol="4" size=".6 .8 .5 .2"
      elevation="0 1 0 .5 .2 .3 .9 .1 .5 .5 .7 0"/>
    <material name="clear" rgba="1 1 1 0"/>
    <material name="seen" rgba="1 1 1 1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="3 2 1" pos="0 0 -1.5"/>
    <geom type="hfield" hfield="h" pos="-1 0 -1" euler="5 10 20" group="3"/>
    <geom size=".4" pos="0 2 0" rgba="1 1 1 0"/>
    <geom size=".3" pos="0 -2 0" material="clear"/>
    <geom size=".3" pos="0 -.7 .8" material="seen" rgba="1 1 1 0" group="7"/>
    <body pos="0 0 0"><freejoint/>
      <geom type="box" size=".3 .2 .1" euler="10 20 30"/>
      <geom type="sphere" size=".3" pos="1 0 0" group="1"/>
      <geom type="capsule" size=".2 .4" pos="0 1 0" euler="40 20 0" group="2"/>
      <geom type="cylinder" size=".3 .2" pos="0 0 1" euler="40 20 0" group="3"/>
      <geom type="ellipsoid" size=".3 .2 .5" pos="1 1 0" euler="40 20 0" group="4"/>
      <geom type="mesh" mesh="m" pos="0 -1 0" euler="0 20 50" group="5"/>
    </body>
  </worldbody>
</mujoco>
"""
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"flg_static": False},
    {"bodyexclude": 1},
    {"geomgroup": (0, 1, 0, 1, 0, 1)},
)


def rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and directions: random ones, and others along the axes of the world."""
    rng = np.random.default_rng(0)
    start = rng.uniform(-1.5, 2, size=(n, 3))
    target = rng.uniform(-1, 1, size=(n, 3))
    along = (target - start) * rng.uniform(0.2, 3, size=(n, 1))
    along[::5] = np.eye(3)[np.arange(len(along[::5])) % 3]
    return start, along


def scene() -> tuple[Any, mujoco.MjData, mjjax.Data]:
    both = load(SCENE)
    d = mujoco.MjData(both.reference)
    d.qpos[:] = 0.1, 0.2, 0.05, 0.9, 0.1, 0.2, -0.1
    mujoco.mj_forward(both.reference, d)
    return both, d, kinematics(both.ours, to_ours(both.ours, d))


@pytest.mark.feature("A169", "A170", "A172", "A173")
def test_rays_are_mujocos() -> None:
    """Distance, geom and normal are MuJoCo's under every filter, from outside and from within."""
    both, d, data = scene()
    start, along = rays(400)
    run = quick(
        lambda m, d: [
            jax.vmap(lambda p, v, f=f: mjjax.ray(m, d, p, v, **f))(start, along) for f in FILTERS
        ]
    )
    for filters, hits in zip(FILTERS, run(both.ours, data), strict=True):
        groups = filters.get("geomgroup")
        groups = None if groups is None else np.array(groups, np.uint8)
        options = groups, filters.get("flg_static", True), filters.get("bodyexclude", -1)
        seen = set()
        for i, (p, v) in enumerate(zip(start, along, strict=True)):
            geom, normal = np.zeros(1, np.int32), np.zeros(3)
            x = mujoco.mj_ray(both.reference, d, p, v, *options, geom, normal)
            assert hits.geomid[i] == geom[0], i
            np.testing.assert_allclose(hits.dist[i], x, atol=1e-6, err_msg=str(i))
            np.testing.assert_allclose(hits.normal[i], normal, atol=1e-5, err_msg=str(i))
            seen.add(int(geom[0]))
        assert len(seen) > 3 if filters else seen == {-1, 0, 1, 4, 5, 6, 7, 8, 9, 10}


@pytest.mark.feature("A171")
@pytest.mark.parametrize("cutoff", [0.8, 1e10])
def test_many_rays_from_a_point(cutoff: float) -> None:
    """Geoms that are further than the cutoff are not seen."""
    both, d, data = scene()
    _, along = rays(200)
    point = np.array([0.4, 0.5, 0.3])
    hits = quick(lambda m, d: mjjax.multi_ray(m, d, point, along, cutoff=cutoff))(both.ours, data)
    geom, dist, normal = np.zeros(200, np.int32), np.zeros(200), np.zeros(600)
    mujoco.mj_multiRay(
        both.reference, d, point, along.ravel(), None, 1, -1, geom, dist, normal, 200, cutoff
    )
    np.testing.assert_array_equal(hits.geomid, geom)
    np.testing.assert_allclose(hits.dist, dist, atol=1e-6)
    np.testing.assert_allclose(hits.normal, normal.reshape(-1, 3), atol=1e-5)


@pytest.mark.feature("A171")
def test_many_rays_miss_nothing() -> None:
    """Many rays meet what single rays meet; MuJoCo misses one of a body's two geoms."""
    both = load(
        '<mujoco><worldbody><body><geom size=".1"/><geom size=".3" pos="1 0 0"/></body></worldbody>'
        "</mujoco>"
    )
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    point = np.array([0.0, 0.0, 3.0])
    along = np.array([[0.0, 0, -1], [1, 0, -3], [0, 1, -3]])
    seen = quick(lambda m, d: mjjax.multi_ray(m, mjjax.kinematics(m, d), point, along))
    hits = seen(both.ours, mjjax.make_data(both.ours))
    geom = np.zeros(1, np.int32)
    alone = [mujoco.mj_ray(both.reference, d, point, v, None, 1, -1, geom) for v in along]
    np.testing.assert_allclose(hits.dist, alone, atol=1e-12)
    np.testing.assert_array_equal(hits.geomid, [0, 1, -1])


@pytest.mark.slow
@pytest.mark.feature("A169", "D05")
def test_derivatives() -> None:
    """Derivatives by ray and scene are those of differences; misses give no NaN."""
    both, _, data = scene()
    start, along = rays(40)

    def meet(x: dict[str, jax.Array]) -> dict[str, Array]:
        moved = data.replace(geom_xpos=data.geom_xpos + x["shift"][None])
        hit = mjjax.ray(both.ours, moved, x["start"], x["along"])
        return {"dist": hit.dist, "normal": hit.normal}

    x = {"start": jnp.array(start), "along": jnp.array(along), "shift": jnp.zeros((40, 3))}
    v = jax.tree.map(lambda a: 0.1 * a, directions(x, 0))
    assert not derivative_errors(meet, x, v, 1e-5)


@pytest.mark.slow
@pytest.mark.feature("D08")
def test_derivatives_at_singular_rays_are_finite() -> None:
    """Derivatives are finite for rays along axes or surfaces, from centres, or without length."""
    both, _, data = scene()
    data = data.replace(geom_xmat=jnp.tile(jnp.eye(3).ravel(), (both.ours.ngeom, 1)))
    start = jnp.concatenate([data.geom_xpos, data.geom_xpos + both.ours.geom_size])
    start = jnp.tile(start, (4, 1))
    along = jnp.repeat(jnp.concatenate([jnp.eye(3), jnp.zeros((1, 3))]), len(start) // 4, axis=0)

    def total(data: mjjax.Data, start: jax.Array, along: jax.Array) -> jax.Array:
        hits = jax.vmap(lambda p, v: mjjax.ray(both.ours, data, p, v))(start, along)
        return jnp.sum(hits.dist) + jnp.sum(hits.normal)

    slopes = quick(jax.grad(total, (0, 1, 2), allow_int=True))(data, start, along)
    chex.assert_tree_all_finite([x for x in jax.tree.leaves(slopes) if x.dtype == start.dtype])
