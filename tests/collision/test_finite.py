"""No contact and no derivative of one is not a number; `finite.py` tries more poses."""

import jax.numpy as jnp
import pytest

from tests.collision.finite import GROUPS, check


@pytest.mark.slow
@pytest.mark.feature("D07", "D19")
@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_infinite(group: str) -> None:
    """Random and degenerate poses of every pair, in values and derivatives."""
    report = check(group, 300, jnp.float64)
    assert not report.bad.any(), report.examples
    assert (report.touching > 100).all()
