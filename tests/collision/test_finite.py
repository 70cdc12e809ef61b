"""Contacts and their derivatives are always finite; `finite.py` tries more poses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.collision.finite import GROUPS, cast, check
from tests.oracle_tools import quick


@pytest.mark.slow
@pytest.mark.feature("D07", "D19")
@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_infinite(group: str) -> None:
    """Values and derivatives are finite in random and degenerate poses of every pair."""
    report = check(group, 300, jnp.float64)
    assert not report.bad.any(), report.examples
    assert (report.touching > 100).all()


TOWER = """
<mujoco><worldbody>
  <body mocap="true"><geom name="one" type="cylinder" size="0.0875 0.075"/></body>
  <body mocap="true"><geom name="two" type="cylinder" size="0.0875 0.15"/></body>
</worldbody><contact><pair geom1="one" geom2="two"/></contact></mujoco>
"""
# of the upper cylinder; the lower one's axis and the normal are its axis up to rounding
TILT = np.array(
    [
        [9.99999985e-01, -1.71874098e-04, 9.89449001e-06],
        [1.71874497e-04, 9.99999984e-01, -4.03488367e-05],
        [-9.88755493e-06, 4.03505367e-05, 9.99999999e-01],
    ]
)


@pytest.mark.slow
@pytest.mark.feature("D19")
def test_level_faces_in_single_precision() -> None:
    """Faces that are level up to rounding, touched at the rim, once had rates of 1e10 or NaN."""
    model = mjjax.Model.from_xml_string(TOWER)
    model = jax.tree.map(lambda x: cast(x, jnp.float32), model)
    data = jax.tree.map(lambda x: cast(x, jnp.float32), mjjax.make_data(model))
    turn = jnp.asarray(np.cross(np.eye(3), [0.6, 0.5, 0.4]), jnp.float32)
    quarter = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    mats = jnp.asarray(np.stack([quarter, quarter @ TILT]), jnp.float32)

    def contact(angle: jax.Array) -> jax.Array:
        moved = mats.at[1].add(angle * turn @ mats[1])
        pos = jnp.asarray(
            [[1.6891419, -0.99558597, 0.73438923], [1.6891419, -1.22058597, 0.73438923]],
            jnp.float32,
        )
        placed = data.replace(geom_xpos=pos, geom_xmat=moved.reshape(2, 9))
        found = mjjax.collision(model, placed).contact
        return jnp.concatenate([found.dist[:1], found.frame[0, :3]])

    zero, one = jnp.float32(0), jnp.float32(1)
    value, rate = quick(lambda: jax.jvp(contact, (zero,), (one,)))()
    np.testing.assert_allclose(value[1:], [0, -1, 0], atol=1e-4)
    assert np.abs(rate).max() < 10
