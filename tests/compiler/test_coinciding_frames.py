"""Frames so close that MuJoCo treats them as one."""

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.compiler.constants.set_const import positions


@pytest.mark.feature("A079")
@pytest.mark.parametrize(
    ("inertial", "frame"),
    [
        ('pos="9e-7 0 0"', 'pos="0 -9e-7 0" quat="1 0 9e-7 0"'),
        ('pos="2e-6 0 0"', 'pos="2e-6 0 3e-7"'),
        ('pos="1 0 0" quat="1 1 0 0"', 'pos="1 9e-7 0" quat="1 1.000001 0 0"'),
        ('pos="1 0 0" quat="1 1 0 0"', 'pos="2 0 0" quat="-1 -1.000001 0 0"'),
        ('pos="1 0 0" quat="1 1 0 0"', 'pos="1 0 0" quat="1 1.000005 0 0"'),
        ('pos="0 0 0" quat="1 9e-7 0 0"', 'pos="5e-7 0 0" quat="-1 0 0 0"'),
    ],
)
def test_frames_that_coincide(inertial: str, frame: str) -> None:
    """Geoms, sites and inertias within a millionth of a frame count as being at it."""
    xml = f"""<mujoco><worldbody><body pos="1 2 3"><joint type="ball"/>
        <inertial {inertial} mass="1" diaginertia="1 2 2.5"/>
        <geom size="0.1" {frame}/><site {frame}/></body></worldbody></mujoco>"""
    reference, model = mujoco.MjModel.from_xml_string(xml), mjjax.Model.from_xml_string(xml)
    np.testing.assert_array_equal(model.structure.body_simple, reference.body_simple)
    d = mujoco.MjData(reference)
    d.qpos[:] = [0.1, 0.9, 0.3, 0.2]
    mujoco.mj_kinematics(reference, d)
    data = positions(jax.tree.map(np.asarray, model), d.qpos)
    for name in ("xipos", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat"):
        mine, theirs = getattr(data, name), getattr(d, name)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-13, err_msg=name)
