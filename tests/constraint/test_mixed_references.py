"""References that mix the standard format with the direct one."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import quick

MIXED = ("0.02 -1", "-100 1", "0 5", "0.02 0", "0.03 0.7", "-100 -5", "0 -5", "-5 0")
LIMITED = "".join(
    f'<body pos="{k} 3 0"><joint type="slide" range=".1 .2" solreflimit="{ref}"/>'
    '<geom size=".1" contype="0" conaffinity="0"/></body>'
    for k, ref in enumerate(MIXED)
)
BALLS = "".join(
    f'<body pos="{k} 0 .09"><freejoint/><geom name="b{k}" size=".1"/></body>'
    for k in range(len(MIXED))
)


def scene(cone: str, attribute: str) -> str:
    """Slides beyond their limits, and balls in the ground with references of every kind."""
    pairs = "".join(
        f'<pair geom1="ground" geom2="b{k}" {attribute}="{ref}"/>' for k, ref in enumerate(MIXED)
    )
    return (
        f'<mujoco><compiler autolimits="true"/><option cone="{cone}"/><worldbody>'
        f'<geom name="ground" type="plane" size="9 9 1"/>{LIMITED}{BALLS}</worldbody>'
        f"<contact>{pairs}</contact></mujoco>"
    )


@pytest.mark.parametrize(
    ("cone", "attribute"), [("pyramidal", "solref"), ("elliptic", "solreffriction")]
)
def test_mixed_formats_give_way_to_the_default(cone: str, attribute: str) -> None:
    """Protects from stiffness of 1 / MINVAL, and none, where MuJoCo warns and takes the default."""
    xml = scene(cone, attribute)
    reference, ours = mujoco.MjModel.from_xml_string(xml), mjjax.Model.from_xml_string(xml)
    d = mujoco.MjData(reference)
    d.qvel[:] = np.linspace(-0.3, 0.4, reference.nv)
    mujoco.mj_forward(reference, d)
    data = quick(mjjax.forward)(ours, mjjax.make_data(ours).replace(qvel=jnp.asarray(d.qvel)))
    np.testing.assert_allclose(data.qacc, d.qacc, rtol=1e-6, atol=1e-6)
