"""With the flag `override` options replace contact parameters of geoms and pairs."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.derivatives import derivative_errors
from tests.oracle_tools import (
    differences,
    forward_worlds,
    load,
    row_differences,
    world,
    worlds,
)

XML = """
<mujoco><option cone="{cone}" o_margin="0.04" o_solref="0.03 0.7" o_solimp="0.7 0.9 0.02 0.4 3"
  o_friction="0.8 0.6 0.02 0.001 0.002"><flag override="enable"/></option>
<worldbody>
  <geom name="floor" type="plane" size="0 0 1" condim="4"/>
  <body pos="0 0 0.12"><freejoint/><geom size="0.1" friction="0.3"/></body>
  <body pos="0.3 0 0.13"><freejoint/>
    <geom type="capsule" size="0.1 0.1" euler="0 90 0" margin="0.001" gap="0.005"/></body>
  <body pos="-0.4 0 0.11"><freejoint/><geom name="own" size="0.1"/></body>
</worldbody>
<contact><pair geom1="floor" geom2="own" margin="0.3" gap="0.01" condim="6" solref="0.01 1"
  solreffriction="0.05 0.9" friction="2 1 0.1 0.01 0.01"/></contact></mujoco>
"""
FIELDS = {"qacc": 1e-7, "qfrc_constraint": 1e-7}
CONTACT = ("includemargin", "friction", "solref", "solreffriction", "solimp")


@pytest.mark.slow(but=1)
@pytest.mark.feature("B16", "C51", "C41")
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_override(cone: str) -> None:
    """Margins, references, impedances and frictions come from the options, even for pairs."""
    both = load(XML.format(cone=cone))
    theirs, start = worlds(both, range(4), spread=0.03)
    data = forward_worlds(both.ours, start)
    touched = 0
    for i, d in enumerate(theirs):
        mujoco.mj_forward(both.reference, d)
        ours = world(data, i)
        assert int(ours.ncon) == d.ncon
        touched += d.ncon
        assert not row_differences(ours, d)
        assert not differences(ours, d, FIELDS)
        on = np.asarray(ours.contact.dim) > 0
        for name in CONTACT:
            np.testing.assert_allclose(
                getattr(ours.contact, name)[on], getattr(d.contact, name), err_msg=name
            )
    assert touched > 4


@pytest.mark.feature("C51")
def test_derivatives() -> None:
    """The options have derivatives, and the geoms' own parameters have none."""
    both = load(XML.format(cone="elliptic"))
    _, start = worlds(both, [0], spread=0.02)
    data = world(forward_worlds(both.ours, start), 0)

    def run(x: dict[str, jax.Array]) -> tuple[Any, ...]:
        opt = both.ours.opt.replace(**{k: v for k, v in x.items() if k != "geom_friction"})
        model = both.ours.replace(opt=opt, geom_friction=x["geom_friction"])
        rows = mjjax.make_constraint(model, mjjax.collision(model, data))
        return rows.efc_pos, rows.efc_margin, rows.efc_aref, rows.efc_D, rows.contact.friction

    opt = both.ours.opt
    x = {k: getattr(opt, k) for k in ("o_margin", "o_solref", "o_solimp", "o_friction")}
    x["geom_friction"] = both.ours.geom_friction
    x = jax.tree.map(lambda a: jnp.asarray(a)[None], x)
    assert not derivative_errors(run, x, jax.tree.map(lambda a: 0.01 * jnp.ones_like(a), x))
