"""Loops and branches inside `jax.shard_map`, with the checks that it makes by default."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, PartitionSpec

import mjjax
from tests.collision import scenes
from tests.dynamics.scenes import driven
from tests.pipeline.scenes_of_steps import SLEEPING

WORLDS = 4
# Between them: collision of meshes, boxes and height fields, all solvers, implicit integrators and
# RK4, tendons that wrap, sleeping trees.
SCENES = {
    "CG": driven('solver="CG" integrator="RK4"'),
    "noslip": driven('solver="PGS" cone="elliptic" noslip_iterations="2" integrator="implicit"'),
    "meshes": scenes.gripper(),
    "height field": scenes.car(rows=4, columns=4),
    "sleep": SLEEPING,
}


def spread(name: str) -> tuple[mjjax.Model, Any, Any]:
    """A model, shapes of worlds, and a step of these on two devices."""
    model = mjjax.Model.from_xml_string(SCENES[name])
    one = jax.eval_shape(mjjax.make_data, model)
    batch = jax.tree.map(lambda x: jax.ShapeDtypeStruct((WORLDS, *x.shape), x.dtype), one)
    each = PartitionSpec("worlds")

    def steps(model: mjjax.Model, batch: mjjax.Data) -> mjjax.Data:
        return jax.vmap(lambda data: mjjax.step(model, data))(batch)

    mesh, specs = AbstractMesh((2,), ("worlds",)), (PartitionSpec(), each)
    return model, batch, jax.shard_map(steps, mesh=mesh, in_specs=specs, out_specs=each)


@pytest.mark.slow(but=1)
@pytest.mark.feature("D14")
@pytest.mark.parametrize("name", SCENES)
def test_steps_pass_the_checks_of_shard_map(name: str) -> None:
    """Protects users who spread worlds with `jax.shard_map` and do not know `check_vma=False`."""
    model, batch, step = spread(name)
    assert jax.eval_shape(step, model, batch).qpos.shape == batch.qpos.shape


@pytest.mark.slow
@pytest.mark.feature("D14", "D02")
def test_derivatives_pass_the_checks_of_shard_map() -> None:
    """The derivative by a number that all worlds share is a sum over devices."""
    model, batch, step = spread("noslip")

    def height(gravity: jax.Array, batch: mjjax.Data) -> jax.Array:
        changed = model.replace(opt=model.opt.replace(gravity=gravity))
        return jnp.sum(step(changed, batch).qpos)

    slope = jax.eval_shape(jax.grad(height), model.opt.gravity, batch)
    assert slope.shape == (3,)
