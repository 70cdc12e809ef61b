"""Derivatives of the derived constants."""

import jax
import pytest

import mjjax
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, stack
from tests.random_models import random_mjcf

NAMES = "body_mass body_inertia body_ipos body_pos body_quat jnt_pos jnt_axis dof_armature qpos0"
RESULTS = (
    "body_subtreemass body_invweight0 dof_M0 dof_invweight0 actuator_acc0 actuator_length0 "
    "cam_pos0 cam_poscom0"
).split()


@pytest.mark.slow
@pytest.mark.feature("D05", "A085", "A088")
def test_constants_have_exact_derivatives() -> None:
    """Masses, inertias, armature, frames and qpos0 reach every constant, in both modes."""
    model = load(random_mjcf(1)).ours
    x = {name: getattr(model, name) for name in NAMES.split()}

    def constants(x: dict[str, jax.Array]) -> dict[str, jax.Array]:
        new = mjjax.set_const(model.replace(**x))
        return {name: getattr(new, name) for name in RESULTS} | {"inertia": new.stat.meaninertia}

    v = [jax.tree.map(lambda a: 0.02 * a, directions(x, seed)) for seed in range(3)]
    bad = derivative_errors(constants, stack([x] * 3), stack(v))
    assert not bad, bad
