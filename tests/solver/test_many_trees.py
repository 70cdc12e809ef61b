"""Scenes of many trees: contacts by bodies, inertia by trees, no matrix over the whole scene."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.constraint.jacobian import dense, edges, frame_forces, mul, mul_t, row_jacobian
from mjjax.constraint.layout import layout_of
from mjjax.solver.linear import solve_hessian
from mjjax.solver.objective import hessian, residual
from mjjax.solver.problem import problem_of
from mjjax.xla.linalg import cho_solve, cholesky
from tests.derivatives import derivative_errors
from tests.oracle_tools import quick, world
from tests.solver.scenes import Ready, ready_scene
from tests.solver.test_method_derivatives import inputs, solved

cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
# Chains and balls that touch one another and the floor, of all contact dimensions; equalities
# within and between trees.
CHAIN = """<body name="c{k}" pos="{x} 0 0.08"><freejoint/>
  <geom type="capsule" size="0.1 0.2" euler="0 85 0" condim="3"/>
  <body pos="0.25 0 0.02"><joint name="a{k}" axis="0 1 0" range="-3 3" frictionloss="0.4"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.25 0 -0.06" condim="4"/>
    <body pos="0.25 0 -0.06"><joint name="b{k}" axis="1 1 0" range="-4 20" frictionloss="0.05"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.2 0 0" condim="3"/></body></body></body>"""
BALL = """<body name="s{k}" pos="{x} 0.5 0.095"><freejoint/>
  <geom size="0.1" condim="{dim}" mass="2"/></body>"""


def scene(cone: str, chains: int = 4, balls: int = 6) -> str:
    """A file with so many trees."""
    bodies = [CHAIN.format(k=k, x=0.85 * k) for k in range(chains)]
    bodies += [BALL.format(k=k, x=0.19 * k, dim=(1, 3, 4, 6)[k % 4]) for k in range(balls)]
    return f"""
<mujoco><option cone="{cone}" timestep="0.004" impratio="2"/>
<default><geom friction="0.7 0.02 0.003" solref="0.01 1"/></default>
<worldbody><geom type="plane" size="0 0 1" condim="1"/>{"".join(bodies)}</worldbody>
<equality><connect body1="s0" anchor="0 0.1 0.1"/><weld body1="s1" body2="s3"/>
  <joint joint1="a0" joint2="b0"/><joint joint1="a1" joint2="a2"/></equality>
<tendon><fixed limited="true" range="-0.1 0.02" frictionloss="0.2">
  <joint joint="a1" coef="1"/><joint joint="b3" coef="-0.6"/></fixed></tendon>
</mujoco>"""


@functools.cache
def many(cone: str) -> Ready:
    """Four states in both engines."""
    return ready_scene(scene(cone))


@pytest.mark.feature("C45")
@cones
def test_accelerations_equal_mujocos(cone: str) -> None:
    """Accelerations and forces of the converged optimum are MuJoCo's."""
    at = many(cone)
    assert layout_of(at.both.ours, world(at.data, 0)).by_body
    for k, d in enumerate(at.theirs):
        mujoco.mj_forward(at.both.reference, d)
        ours = world(at.data, k)
        assert int(ours.nefc) == d.nefc
        for name in ("qacc", "qfrc_constraint"):
            expected = getattr(d, name)
            error = np.abs(getattr(ours, name) - expected).max() / np.abs(expected).max()
            assert error < 1e-8, (name, k, error)


@cones
def test_operators_equal_matrices(cone: str) -> None:
    """Products with the Jacobian and solutions with the Hessian are those of matrices."""
    at = many(cone)
    model, data = at.both.ours, world(at.data, 1)
    layout = layout_of(model, data)
    rng = np.random.default_rng(0)
    v, f = jnp.asarray(rng.normal(size=layout.nv)), jnp.asarray(rng.normal(size=layout.nrow))

    @quick
    def compare(data: mjjax.Data) -> dict[str, tuple[Any, Any]]:
        jac = row_jacobian(model, data, layout)
        matrix, problem = dense(jac), problem_of(model, data, layout)
        r = residual(problem, data.qacc)
        factor = cholesky(hessian(problem, r))
        frame = jac.contact.velocity(layout.structure, v)
        transposed = frame_forces(layout, jac.friction, f[layout.nscalar :])
        pair = jnp.sum(edges(layout, jac.friction, frame).reshape(-1) * f[layout.nscalar :])
        return {
            "J v": (mul(jac, v), matrix @ v),
            "J' f": (mul_t(jac, f), f @ matrix),
            "edges": (pair, jnp.sum(frame * transposed)),
            "M": (mjjax.mul_m(model, data, v), data.qM @ v),
            "M^-1": (mjjax.solve_m(model, data, v), jnp.linalg.solve(data.qM, v)),
            "H^-1": (
                solve_hessian(problem, r, v, exact=True),
                cho_solve(factor, v),
            ),
        }

    for name, (ours, expected) in compare(data).items():
        np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.feature("D02", "D03", "D04")
@cones
def test_derivatives(cone: str) -> None:
    """Derivatives by forces, inertia, rows and friction are exact in both modes."""
    at = many(cone)
    model, data = at.both.ours, world(at.data, 0)
    point = inputs(data)
    x, v = (jax.tree.map(lambda a: a[None], point[k]) for k in ("x", "v"))
    model = model.replace(opt=model.opt.replace(tolerance=jnp.asarray(1e-17)))
    assert not derivative_errors(lambda x: solved(model, data, x), x, v, 1e-5, (1e-5, 1e-4))


def boxes(count: int) -> mjjax.Model:
    """Free boxes side by side on the floor."""
    side = int(np.ceil(count**0.5))
    bodies = "".join(
        f'<body pos="{0.25 * (k % side)} {0.25 * (k // side)} 0.1"><freejoint/>'
        '<geom type="box" size="0.1 0.1 0.1"/></body>'
        for k in range(count)
    )
    floor = '<geom type="plane" size="0 0 1"/>'
    return mjjax.Model.from_xml_string(f"<mujoco><worldbody>{floor}{bodies}</worldbody></mujoco>")


@pytest.mark.feature("D17")
def test_memory_of_a_hundred_boxes() -> None:
    """With 400 contacts a world has 200 kB in float32; no array has the square of the dofs."""
    data = mjjax.make_data(boxes(100), nconmax=400)
    sizes = [x.size for x in jax.tree.leaves(data)]
    assert sum(sizes) * 4 < 200_000
    assert max(sizes) < 10 * len(data.contact.dist)


def test_program_does_not_grow_with_trees() -> None:
    """A step of a hundred boxes has the operations of one of twenty."""

    def operations(model: mjjax.Model) -> int:
        program = jax.make_jaxpr(mjjax.step)(model, mjjax.make_data(model))
        return len(str(program).splitlines())

    assert operations(boxes(100)) <= 1.02 * operations(boxes(20))
