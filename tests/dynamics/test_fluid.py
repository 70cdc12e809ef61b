"""The ellipsoid fluid model against MuJoCo, term by term, and its derivatives."""

import functools

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax.dynamics.ellipsoid import ellipsoid_derivative, ellipsoid_wrench
from mjjax.model.bounds import half_sizes
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors
from tests.oracle_tools import quick

DENSITY, VISCOSITY = 80.0, 0.3
TERMS = np.vstack([np.zeros(5), np.eye(5), [0.5, 0.3, 1.2, 0.4, 0.9]])
SHAPES = ("ellipsoid", "sphere", "capsule", "cylinder", "box")
ORDER = [3, 4, 5, 0, 1, 2]  # a free joint's dofs, rotation first


def floating(shape: str, coef: np.ndarray, size: str) -> mujoco.MjModel:
    """One body that floats in the medium."""
    text = " ".join(f"{x:g}" for x in coef)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option integrator="implicit" density="{DENSITY}" viscosity="{VISCOSITY}" '
        'gravity="0 0 0"/><worldbody><body><freejoint/>'
        f'<geom type="{shape}" size="{size}" fluidshape="ellipsoid" fluidcoef="{text}"/>'
        "</body></worldbody></mujoco>"
    )


def slope(model: mujoco.MjModel, velocity: np.ndarray) -> np.ndarray:
    """MuJoCo's velocity derivative of all smooth forces of one free body, rotation first."""
    d, full = mujoco.MjData(model), np.zeros((6, 6))
    d.qvel[ORDER] = velocity
    mujoco.mj_step(model, d)
    mujoco.mju_sparse2dense(full, d.qDeriv, model.D_rownnz, model.D_rowadr, model.D_colind)
    return full[ORDER][:, ORDER]


@functools.cache
def kernels():
    """Wrenches and their derivative of many ellipsoids."""

    def both(velocity, axes, prm):
        medium = jnp.asarray(DENSITY), jnp.asarray(VISCOSITY)
        return [f(velocity, axes, prm, *medium) for f in (ellipsoid_wrench, ellipsoid_derivative)]

    return quick(both)


@pytest.mark.feature("C59", "A199")
@pytest.mark.parametrize("speed", [3.0, 0.1, 1e-3])
def test_ellipsoid_terms(speed: float) -> None:
    """Each force and its derivative, on each shape, large and small, fast and slow."""
    rng = np.random.default_rng(0)
    models = [floating("ellipsoid", coef, ".08 .05 .06") for coef in TERMS]
    models += [floating("ellipsoid", coef, ".004 .001 .005") for coef in TERMS]
    models += [floating(shape, TERMS[-1], ".08 .05 .06") for shape in SHAPES]
    velocity = speed * rng.normal(size=(len(models), 6))
    axes = np.concatenate([half_sizes(m.geom_type, m.geom_size) for m in models])
    wrench, derivative = kernels()(
        *map(jnp.asarray, (velocity, axes, np.concatenate([m.geom_fluid for m in models])))
    )
    for i, model in enumerate(models):
        d = mujoco.MjData(model)
        d.qvel[ORDER] = velocity[i]
        mujoco.mj_forward(model, d)
        scale = np.abs(d.qfrc_fluid).max()
        np.testing.assert_allclose(wrench[i], d.qfrc_fluid[ORDER], rtol=0, atol=1e-12 * scale)
        # the same without a medium leaves the bias force
        full = slope(model, velocity[i])
        model.opt.density = model.opt.viscosity = 0
        expected = full - slope(model, velocity[i])
        scale = np.abs(full).max()
        np.testing.assert_allclose(derivative[i], expected, rtol=0, atol=1e-12 * scale)


NAMES = ("velocity", "axes", "prm", "density", "viscosity")


def wrenches(x: dict[str, jax.Array]) -> Array:
    """Wrench as a function of everything."""
    return ellipsoid_wrench(*(x[name] for name in NAMES))


def numbers(n: int, scale: float) -> dict[str, jax.Array]:
    """Random arguments of the kernel."""
    rng = np.random.default_rng(0)
    found = {
        "velocity": rng.normal(size=(n, 6)),
        "axes": rng.uniform(0.3, 0.5, (n, 3)),
        "prm": rng.uniform(0.5, 1, (n, 12)),
        "density": rng.uniform(1, 2),
        "viscosity": rng.uniform(1, 2),
    }
    return {name: jnp.asarray(scale * v)[None] for name, v in found.items()}


@pytest.mark.slow
@pytest.mark.feature("C59", "D02", "D05", "D07")
def test_ellipsoid_derivatives() -> None:
    """Derivatives by velocity, shape and medium are exact, and finite at rest."""
    x, v = numbers(8, 1.0), numbers(8, 0.1)
    bad = derivative_errors(wrenches, x, v, steps=(1e-4, 1e-3))
    assert not bad, bad
    one = {name: a[0] for name, a in x.items()}
    one["prm"] = one["prm"].at[:, 0].set(1)  # the derivative asks only whether it is zero

    def moved(velocity):
        return wrenches(dict(one, velocity=velocity))

    along = quick(jax.jacfwd(lambda v: jnp.sum(moved(v), axis=0)))(one["velocity"])
    derivative = ellipsoid_derivative(*(one[name] for name in NAMES))
    np.testing.assert_allclose(jnp.moveaxis(along, 1, 0), derivative, atol=1e-10)
    still = dict(one, velocity=jnp.zeros_like(one["velocity"]))

    def total(x):
        slopes = ellipsoid_derivative(*(x[name] for name in NAMES))
        return jnp.sum(jnp.sin(slopes)) + jnp.sum(wrenches(x))

    chex.assert_tree_all_finite(quick(jax.grad(total))(still))
