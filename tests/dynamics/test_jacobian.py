"""Jacobians of points have MuJoCo's values and give the velocities of their points."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests.oracle_tools import Both, load, quick, random_state, to_ours
from tests.random_models import random_mjcf


@functools.cache
def posed() -> tuple[Both, mujoco.MjData, mjjax.Data]:
    """A random model in a random state, positions computed on both sides."""
    both = load(random_mjcf(3))
    d = random_state(both.reference, 0)
    mujoco.mj_forward(both.reference, d)
    start = quick(lambda m, d: mjjax.com_pos(m, mjjax.kinematics(m, d)))
    return both, d, start(both.ours, to_ours(both.ours, d))


@pytest.mark.feature("A124", "A125")
@pytest.mark.parametrize(
    "ours, theirs, count",
    [
        (mjjax.jac_body, mujoco.mj_jacBody, "nbody"),
        (mjjax.jac_body_com, mujoco.mj_jacBodyCom, "nbody"),
        (mjjax.jac_geom, mujoco.mj_jacGeom, "ngeom"),
        (mjjax.jac_site, mujoco.mj_jacSite, "nsite"),
    ],
)
def test_values_are_mujocos(ours, theirs, count: str) -> None:
    """Every body, geom and site has MuJoCo's Jacobians, static ones zero."""
    both, d, data = posed()
    model, n = both.reference, getattr(both.reference, count)
    mine = quick(lambda data: [ours(both.ours, data, i) for i in range(n)])(data)
    for i in range(n):
        theirs(model, d, jacp := np.zeros((3, model.nv)), jacr := np.zeros((3, model.nv)), i)
        np.testing.assert_allclose(mine[i][0], jacp, atol=1e-12)
        np.testing.assert_allclose(mine[i][1], jacr, atol=1e-12)


@pytest.mark.feature("A124", "A166")
def test_jacobian_is_the_derivative_of_the_pose() -> None:
    """d site_xpos along integrate_pos is J qvel: kinematics, its derivative and `jac` agree."""
    both, _, data = posed()
    model, site = both.ours, 3

    def position(t: jax.Array) -> jax.Array:
        qpos = mjjax.integrate_pos(model, data.qpos, data.qvel, t)
        return mjjax.kinematics(model, data.replace(qpos=qpos)).site_xpos[site]

    def both_ways(data: mjjax.Data) -> tuple[Array, Array]:
        rate = jax.jvp(position, (jnp.asarray(0.0),), (jnp.asarray(1.0),))[1]
        return rate, mjjax.jac_site(model, data, site)[0] @ data.qvel

    rate, product = quick(both_ways)(data)
    assert np.abs(rate).max() > 0.01
    np.testing.assert_allclose(rate, product, atol=1e-12)
    point = data.site_xpos[site]
    body = int(model.site_bodyid[site])
    same = quick(lambda data: mjjax.jac(model, data, point, body)[0])(data)
    np.testing.assert_allclose(same @ data.qvel, rate, atol=1e-12)
