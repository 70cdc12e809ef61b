"""Infinite parameters, which MuJoCo accepts, for instance in ranges without an end."""

import jax
import mujoco
import numpy as np
import pytest

import mjjax


def scene(joints: int, special: str, geom: str) -> str:
    """Joints with limits and balls on a floor, one of each with a special attribute."""
    rng = np.random.default_rng(0)
    bodies, odd = "", min(7, joints - 1)
    for k in range(joints):
        kind = "slide" if rng.random() < 0.5 else "hinge"
        limit = 'limited="true" range="-1 -.2"' if rng.random() < 0.6 else ""
        loss = 'frictionloss=".1"' if rng.random() < 0.4 else ""
        what = special if k == odd else f"{limit} {loss}"
        bodies += f"""
  <body pos="{k} 1 1"><joint type="{kind}" axis="0 0 1" {what}/><geom size=".1"/></body>
  <body pos="{k} 0 .09"><freejoint/><geom size=".1" {geom if k == odd else ""}/></body>"""
    return f"""
<mujoco><compiler angle="radian"/>
<worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>"""


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("joints", "special", "geom"),
    [
        (20, 'limited="true" range="-inf inf"', ""),
        (20, 'limited="true" range="-1 inf"', ""),
        (20, 'frictionloss="inf"', ""),
        (2, "", 'solref="inf 1" pos="0 0 1"'),
    ],
)
def test_others_stay_as_they_are(joints: int, special: str, geom: str) -> None:
    """Infinite rows do not disturb others, although zero times infinity is NaN."""
    xml = scene(joints, special, geom)
    oracle = mujoco.MjModel.from_xml_string(xml)
    expected = mujoco.MjData(oracle)
    mujoco.mj_forward(oracle, expected)
    model = mjjax.Model.from_xml_string(xml)
    data = jax.jit(mjjax.forward)(model, mjjax.make_data(model))
    assert data.nefc == expected.nefc
    np.testing.assert_allclose(data.qacc, expected.qacc, rtol=1e-6, atol=1e-6)
