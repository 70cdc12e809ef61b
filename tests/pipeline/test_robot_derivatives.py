"""First and second derivatives of one step of whole robots, with default solver settings."""

import functools
import importlib.resources
from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.derivatives import difference
from tests.oracle_tools import quick

HEIGHT = {"ant": 2, "humanoid": 2}  # index of the root's height in qpos
every_robot = pytest.mark.parametrize("name", HEIGHT)


@functools.cache
def robot(name: str) -> tuple[mjjax.Model, Callable]:
    """A model, and the program for value, gradient, forward derivative and Hessian.

    `jacfwd` of `value_and_grad` is `jacfwd` and `hessian` of the objective at once.
    """
    path = importlib.resources.files("mjjax") / "assets" / f"{name}.xml"
    model = mjjax.Model.from_xml_path(str(path))
    data = mjjax.make_data(model)

    def objective(x: jax.Array, model: mjjax.Model) -> jax.Array:
        nq, nv = model.nq, model.nv
        start = data.replace(qpos=x[:nq], qvel=x[nq : nq + nv], ctrl=x[nq + nv :])
        after = mjjax.step(model, start)
        return jnp.sum(jnp.sin(after.qvel)) + jnp.sum(after.qpos**2)

    def orders(x: jax.Array, model: mjjax.Model) -> dict[str, jax.Array]:
        def both(x: jax.Array) -> tuple:
            found = jax.value_and_grad(objective)(x, model)
            return found, found

        (forward, hessian), (value, grad) = jax.jacfwd(both, has_aux=True)(x)
        return {"value": value, "grad": grad, "forward": forward, "hessian": hessian}

    return model, quick(orders)


def at_rest(model: mjjax.Model) -> np.ndarray:
    """The reference state."""
    return np.concatenate([model.qpos0, np.zeros(model.nv + model.nu)])


def on_the_floor(model: mjjax.Model, name: str) -> np.ndarray:
    """A moving state with the feet in the floor."""
    rng, x = np.random.default_rng(1), at_rest(model)
    x[:] += 0.05 * rng.normal(size=x.size)
    x[HEIGHT[name]] -= 0.1 if name != "ant" else 0.05
    return x


@pytest.mark.slow
@pytest.mark.feature("D02", "D03", "D04", "D16")
@every_robot
def test_derivatives_in_contact(name: str) -> None:
    """grad, jacfwd and hessian agree with central differences to 1e-6, feet on the ground."""
    model, program = robot(name)
    x = jnp.asarray(on_the_floor(model, name))
    found = program(x, model)
    data = mjjax.make_data(model).replace(qpos=x[: model.nq])
    touching = mjjax.collision(model, mjjax.com_pos(model, mjjax.kinematics(model, data)))
    assert int(touching.ncon) > 0
    np.testing.assert_allclose(found["grad"], found["forward"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["hessian"], found["hessian"].T, rtol=0, atol=1e-5)
    # differences need values beyond the solver's default tolerance
    exact = model.replace(opt=model.opt.replace(tolerance=jnp.asarray(1e-15)))
    rng = np.random.default_rng(2)
    for _ in range(2):
        v = jnp.asarray(rng.normal(size=x.shape))
        slope = difference(lambda x: program(x, exact), x, v, 1e-6)
        for order, below in (("grad", "value"), ("hessian", "grad")):
            scale = max(1.0, np.abs(slope[below]).max())
            np.testing.assert_allclose(
                found[order] @ v, slope[below], rtol=0, atol=1e-6 * scale, err_msg=order
            )


@pytest.mark.slow
@pytest.mark.feature("D07")
@every_robot
def test_derivatives_at_rest_are_finite(name: str) -> None:
    """At qpos0, at rest, all derivatives are finite, even if limits and springs are at zero."""
    model, program = robot(name)
    x = at_rest(model)
    for height in (x[HEIGHT[name]], 0.9 * x[HEIGHT[name]]):
        x[HEIGHT[name]] = height
        chex.assert_tree_all_finite(program(jnp.asarray(x), model))
