"""Programs are compiled once per structure, and do not grow with the model."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.extend import core

import mjjax
from mjjax.cli.engines import equations
from mjjax.cli.models import load


def chain(links: int) -> mjjax.Model:
    """Capsules hanging from each other, all of which can touch a floor."""
    body = '<body pos="0 0 -0.1"><joint/><geom size="0.02" fromto="0 0 0 0 0 -0.1"/>'
    return mjjax.Model.from_xml_string(
        '<mujoco><default><joint axis="0 1 0" damping="0.1"/>'
        '<geom type="capsule" contype="1" conaffinity="0"/></default><worldbody>'
        '<geom type="plane" size="0 0 1" pos="0 0 -1" contype="0" conaffinity="1"/>'
        f"{body * links}{'</body>' * links}</worldbody></mujoco>"
    )


@pytest.mark.feature("D13")
def test_new_numbers_run_the_same_program() -> None:
    """Protects sweeps and randomization from compiling again for every value."""
    model = chain(3)
    data = mjjax.make_data(model)
    step = jax.jit(mjjax.step)
    step(model, data)
    for other in (
        model.replace(opt=model.opt.replace(timestep=model.opt.timestep * 2)),
        model.replace(opt=model.opt.replace(gravity=model.opt.gravity * 0.5)),
        model.replace(body_mass=model.body_mass * 2, body_inertia=model.body_inertia * 2),
        model.replace(geom_friction=model.geom_friction * 0.5, geom_size=model.geom_size * 2),
        model.replace(dof_damping=model.dof_damping * 2),
    ):
        step(other, data)
    step(model, data.replace(qvel=jnp.ones_like(data.qvel)))
    assert step._cache_size() == 1


@pytest.mark.feature("D13")
def test_results_fit_back_in() -> None:
    """Protects against weak types and changed trees, which would compile the second step again."""
    model = chain(3)
    data = mjjax.make_data(model)
    step = jax.jit(mjjax.step)
    after = step(model, step(model, data))
    assert step._cache_size() == 1
    types = [jax.tree.map(lambda x: jax.typeof(x), d) for d in (data, after)]
    assert types[0] == types[1]


def test_few_functions_in_a_step() -> None:
    """Protects compile time: each function in a trace, such as `jnp.where`, is lowered alone."""
    model = load("humanoid")
    traced = jax.make_jaxpr(mjjax.step)(model, mjjax.make_data(model))
    assert functions(traced.jaxpr) < 40  # 197 with `jnp.where`


def functions(jaxpr: core.Jaxpr) -> int:
    """Calls of functions in a program and in the programs inside it."""
    called = sum(e.primitive.name in ("jit", "pjit") for e in jaxpr.eqns)
    return called + sum(map(functions, core.subjaxprs(jaxpr)))


@pytest.mark.parametrize(
    ("capacity", "most"), [({}, 1.05), ({"nconmax": 8, "njmax": 32}, 1.3)], ids=["default", "few"]
)
def test_program_does_not_grow_with_the_model(capacity: dict[str, Any], most: float) -> None:
    """Protects compile time: no Python loop over bodies, and contacts sought the same way."""
    counts = []
    for links in (10, 100):
        model = chain(links)
        data = mjjax.make_data(model, **capacity)
        counts.append(equations(jax.make_jaxpr(mjjax.step)(model, data).jaxpr))
    assert counts[1] < most * counts[0], counts
