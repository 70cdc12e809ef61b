"""The joint-space inertia as an operator agrees with the matrix, and has its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.dynamics.inertia import com_pos
from mjjax.dynamics.joint_inertia import inertia_of
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.tendon import tendon
from mjjax.model.trees import dense_blocks
from mjjax.xla.definite import solve_definite, solve_symmetric
from mjjax.xla.linalg import solve
from mjjax.xla.namespace import Array
from tests.dynamics.scenes import driven
from tests.oracle_tools import quick

ARMATURE = driven().replace('<fixed name="fixed"', '<fixed name="fixed" armature=".3"')
LINK = '<body pos="0 0 -0.1"><joint axis="1 1 0"/><geom size="0.04" pos="0.1 0 0"/>'
KINDS = "".join(LINK * n + "</body>" * n for n in range(1, 6))
STEP = 1e-5


def results(model: mjjax.Model, data: mjjax.Data, q: Array) -> tuple[Array, ...]:
    """Products and solutions (4, nv) at a displacement (nv,); M; products; triangles.

    The products are two with the matrix, the triangles (2, 3, nv, nv) those of M and of two sums,
    each in both of the forms that there are.
    """
    s, n = model.structure, model.nv
    qpos = mjjax.integrate_pos(model, model.qpos0, 0.3 * jnp.cos(jnp.arange(n)) + q, 1)
    placed = tendon(model, com_pos(model, kinematics(model, data.replace(qpos=qpos))))
    inertia, v = inertia_of(model, placed), jnp.sin(1 + jnp.arange(n)) + q
    damped = inertia.plus_diagonal(s, jnp.linspace(0.1, 0.3, n) + 0.1 * q)
    skew = inertia.plus(0.01 * jnp.cos(jnp.arange(len(inertia.M))) * (1 + q[0]))
    found = [
        inertia.times(s, v),
        inertia.solve(s, solve_definite, v),
        damped.solve(s, solve_symmetric, v),
        skew.solve(s, solve, v),
    ]
    dense = dense_blocks(s, inertia.M)
    by_bodies = jax.jvp(lambda v: inertia.times(s, v), (jnp.zeros(n),), (v,))[1]
    three = [inertia, damped, skew]
    triangles = [[jnp.triu(dense_blocks(s, x)) for x in (i.M, i.upper)] for i in three]
    return (
        jnp.stack(found),
        dense,
        jnp.stack([dense @ v, by_bodies]),
        jnp.stack([jnp.stack(pair) for pair in triangles], axis=1),
    )


@pytest.mark.slow(but=1)
@pytest.mark.feature("D02")
@pytest.mark.parametrize(
    "scene",
    [driven(), ARMATURE, f"<mujoco><worldbody>{KINDS}</worldbody></mujoco>"],
    ids=["scene", "tendon armature", "five kinds of trees"],
)
def test_operator_and_its_derivatives(scene: str) -> None:
    """Products by bodies are the matrix's; derivatives are exact in both modes, twice."""
    model = mjjax.Model.from_xml_string(scene)
    data, n = mjjax.make_data(model), model.nv
    along, weight = jnp.cos(2 + jnp.arange(n)), jnp.sin(jnp.arange(4 * n)).reshape(4, n)

    def f(q: Array) -> Array:
        return results(model, data, q)[0]

    def rate(q: Array) -> Array:
        return jax.jvp(f, (q,), (along,))[1]

    def everything(q: Array) -> tuple:
        slope = jax.grad(lambda q: jnp.sum(weight * f(q)))(q)
        bend = jax.jvp(rate, (q,), (along,))[1]
        return results(model, data, q), rate(q), slope @ along, bend

    run = quick(jax.vmap(everything))
    (value, dense, both, triangles), first, slope, second = run(
        jnp.outer(jnp.asarray([0, -STEP, STEP]), along)
    )
    np.testing.assert_allclose(both[:, 1], both[:, 0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dense, dense.swapaxes(1, 2), atol=1e-12)
    np.testing.assert_allclose(triangles[:, 0], triangles[:, 1], atol=1e-12)
    tolerance = {"rtol": 1e-6, "atol": 1e-6 * np.abs(first).max()}
    np.testing.assert_allclose(first[0], (value[2] - value[1]) / (2 * STEP), **tolerance)
    np.testing.assert_allclose(slope[0], jnp.sum(weight * first[0]), rtol=1e-9)
    tolerance["atol"] = 1e-6 * np.abs(second).max()
    np.testing.assert_allclose(second[0], (first[2] - first[1]) / (2 * STEP), **tolerance)
