"""Derivatives of CG, PGS and noslip: exact in both modes, whatever the state."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import SolverType
from mjjax.dynamics.joint_inertia import inertia_of
from mjjax.xla.definite import solve_definite
from tests.derivatives import SMALL, derivative_errors, directions
from tests.oracle_tools import quick, world
from tests.solver.scenes import constrain_worlds, ready, with_options

FINISHED = {"iterations": 20000, "tolerance": 1e-17, "ls_tolerance": 1e-8}
# Newton's method needs a dozen, and never finds a gradient below its rounding.
CONVERGED = FINISHED | {"iterations": 100}
COARSE = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
INPUTS = ("qfrc_smooth", "cinert", "cdof", "efc_vel", "efc_spring")
cones = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])


def solved(model: mjjax.Model, data: mjjax.Data, x: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Results of the constraint stage with other inputs."""
    contact = data.contact.replace(friction=x["friction"], solimp=x["solimp"])
    moved = mjjax.make_constraint(model, data.replace(contact=contact))
    moved = moved.replace(**{name: x[name] for name in INPUTS})
    smooth = inertia_of(model, moved).solve(model.structure, solve_definite, moved.qfrc_smooth)
    moved = moved.replace(qacc_smooth=smooth)
    found = mjjax.fwd_constraint(model, moved)
    return {"qacc": found.qacc, "force": found.efc_force, "qfrc": found.qfrc_constraint}


def inputs(data: mjjax.Data) -> dict[str, Any]:
    """The inputs at a world, and a direction of about their sizes."""
    x = {name: getattr(data, name) for name in INPUTS}
    x |= {"friction": data.contact.friction, "solimp": data.contact.solimp}
    v = jax.tree.map(lambda v, a: 0.1 * v * a, directions(x, 1), x)
    return {"x": x, "v": v}


@pytest.mark.feature("D02", "D03", "D04")
@cones
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"solver": SolverType.CG} | FINISHED, id="cg", marks=pytest.mark.slow),
        pytest.param({"solver": SolverType.PGS} | FINISHED, id="pgs", marks=pytest.mark.slow),
        pytest.param({"noslip_iterations": 1} | CONVERGED, id="noslip1", marks=pytest.mark.slow),
        pytest.param({"noslip_iterations": 4, "noslip_tolerance": 0.0} | CONVERGED, id="noslip4"),
    ],
)
def test_derivatives(cone: str, options: dict[str, Any]) -> None:
    """Derivatives of accelerations and forces by forces, inertia, rows and friction are exact."""
    scene = ready(cone)
    model, data = with_options(scene, **options), world(scene.data, 0)
    at = inputs(data)
    x, v = (jax.tree.map(lambda a: a[None], at[k]) for k in ("x", "v"))
    # where CG and PGS stop, results carry errors of 1e-9 of the largest entry
    steps, floor = ((1e-5, 1e-4), SMALL) if "solver" not in options else (COARSE, 1.0)
    assert not derivative_errors(lambda x: solved(model, data, x), x, v, 1e-5, steps, floor)


@pytest.mark.slow(but=1)
@pytest.mark.feature("D02", "C47")
@cones
def test_finite_in_degenerate_states(cone: str) -> None:
    """No derivative is NaN at rest, with the least friction, or with nothing touching."""
    scene = ready(cone)
    model = with_options(scene, noslip_iterations=2, noslip_tolerance=0.0)
    data = scene.data

    @quick
    @jax.vmap
    def slopes(w: mjjax.Data, x: dict[str, jax.Array]) -> Any:
        return jax.grad(lambda x: sum(jnp.sum(y) for y in solved(model, w, x).values()))(x)

    x = jax.vmap(lambda w: inputs(w)["x"])(data)
    still = ("qfrc_smooth", "efc_vel", "efc_spring")
    rest = x | {name: jnp.zeros_like(x[name]) for name in still}
    smooth = {**x, "friction": 0 * x["friction"] + 1e-5}
    apart = data.replace(contact=data.contact.replace(dist=data.contact.dist + 1))
    for w, state in ((data, x), (data, rest), (data, smooth), (apart, x)):
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes(w, state)))


@pytest.mark.slow
@pytest.mark.feature("D03")
@cones
def test_second_derivative(cone: str) -> None:
    """Noslip's derivative has a derivative: Hessian times vector, forward over reverse."""
    scene = ready(cone)
    model = with_options(scene, noslip_iterations=2, noslip_tolerance=0.0, **CONVERGED)
    data = world(scene.data, 0)

    def total(smooth: jax.Array) -> jax.Array:
        at = inputs(data)["x"] | {"qfrc_smooth": smooth}
        return jnp.sum(jnp.sin(0.1 * solved(model, data, at)["qacc"]))

    @quick
    def both(x: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(jax.grad(total), (x,), (v,))

    x, v = data.qfrc_smooth, directions(data.qfrc_smooth, 3)
    by_hand = (both(x + 1e-5 * v, v)[0] - both(x - 1e-5 * v, v)[0]) / 2e-5
    exact = both(x, v)[1]
    np.testing.assert_allclose(exact, by_hand, rtol=1e-5, atol=1e-6 * np.abs(by_hand).max())


def test_nothing_is_left_to_solve() -> None:
    """The states of this file are solved: PGS has stopped by itself."""
    scene = ready("elliptic")
    model = with_options(scene, solver=SolverType.PGS, **FINISHED)
    data = constrain_worlds(model, scene.data)
    assert int(data.solver_niter[0]) < FINISHED["iterations"]
