"""Rays against SDF geoms: MuJoCo's steps, its distances in metres, and derivatives."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, quick, to_ours

SCENE = """
<mujoco><asset><mesh name="ball" builtin="sphere" params="1" scale=".1 .12 .15"/></asset>
<worldbody>
  <geom type="sdf" mesh="ball" pos="0 0 .1" euler="10 20 30"/>
  <body pos=".2 .1 0"><geom type="sdf" mesh="ball"/><geom size=".05" pos="0 .2 0"/></body>
</worldbody></mujoco>
"""


@pytest.mark.feature("A169", "C73")
def test_rays_are_mujocos() -> None:
    """Distance, geom and normal are MuJoCo's, also of rays that miss or start within."""
    both, rng = load(SCENE), np.random.default_rng(0)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    data = mjjax.kinematics(both.ours, to_ours(both.ours, d))
    start = rng.normal(size=(60, 3)) * 0.3
    along = rng.normal(size=(60, 3)) * 0.08 + [0.1, 0.05, 0.05] - start
    start[::10] *= 0.05
    found = quick(jax.vmap(mjjax.ray, (None, None, 0, 0)))(
        both.ours, data, jnp.asarray(start), jnp.asarray(along)
    )
    geom, met = np.zeros(1, np.int32), []
    for k in range(len(start)):
        normal = np.zeros(3)
        arguments = (start[k], along[k], None, 1, -1, geom, normal)
        dist = mujoco.mj_ray(both.reference, d, *arguments)
        np.testing.assert_allclose(found.dist[k], dist, atol=1e-9)
        assert found.geomid[k] == geom[0]
        np.testing.assert_allclose(found.normal[k], normal, atol=1e-6)
        met.append(int(geom[0]))
    assert set(met) >= {-1, 0, 1}


@pytest.mark.slow
@pytest.mark.feature("A169", "D05")
def test_derivatives() -> None:
    """The derivative of the distance is that of the first point on the surface."""
    model = load(SCENE).ours
    data = mjjax.kinematics(model, mjjax.make_data(model))

    def dist(x: dict[str, jax.Array]) -> dict[str, Array]:
        return {"dist": mjjax.ray(model, data, x["start"], x["along"]).dist}

    rng = np.random.default_rng(1)
    start = rng.normal(size=(8, 3))
    start *= 0.4 / np.linalg.norm(start, axis=1, keepdims=True)
    x = {"start": jnp.asarray(start), "along": jnp.asarray([0, 0, 0.1] - start)}
    bad = derivative_errors(dist, x, directions(x, 2), 1e-2, steps=(1e-4, 1e-5))
    assert not bad, bad
