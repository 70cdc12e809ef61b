"""MuJoCo's models and data as ours, and back."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.dynamics.scenes import driven
from tests.oracle_tools import quick

MESH = (
    '<mujoco model="shapes"><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>'
    '<texture name="t" type="2d" builtin="checker" width="4" height="4"/>'
    '<material name="mat" texture="t"/><hfield name="h" nrow="3" ncol="3" size="1 1 .1 .1"/>'
    '</asset><worldbody><geom type="hfield" hfield="h"/><body name="b" pos="0 0 .5"><freejoint/>'
    '<geom type="mesh" mesh="m" material="mat"/></body></worldbody>'
    '<custom><text name="w" data="words"/></custom></mujoco>'
)
FREE_FALL = (
    '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .09"><freejoint/>'
    '<geom name="g" size=".1"/></body></worldbody></mujoco>'
)


# A box on a box on the floor: contacts of the later pairs only; a limit, friction, an equality.
CONSTRAINED = """
<mujoco><worldbody><geom type="plane" size="2 2 .1"/><geom pos="1 0 0" size=".2"/>
<body pos="0 0 .2"><freejoint/><geom type="box" size=".2 .2 .2"/>
<body pos=".2 0 .2"><joint name="a" axis="0 1 0" range="-1 1" limited="true"/>
<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/><body pos=".3 0 0">
<joint name="b" axis="0 1 0" frictionloss=".2"/><joint name="c" axis="1 0 0"/>
<geom size=".1"/></body></body></body></worldbody>
<equality><joint joint1="b" joint2="c" polycoef="0 .5 0 0 0"/></equality></mujoco>
"""


@pytest.mark.parametrize("xml", [driven(), MESH], ids=["driven", "assets"])
def test_models_are_those_of_our_compiler(xml: str) -> None:
    """Protects users of `MjModel`: every field and name comes over."""
    ours = mjjax.Model.from_xml_string(xml)
    put = mjjax.put_model(mujoco.MjModel.from_xml_string(xml))
    assert ours.structure.sizes == put.structure.sizes
    assert ours.structure.names == put.structure.names
    for name, value in ours.structure.arrays.items():
        np.testing.assert_array_equal(value, put.structure.arrays[name], err_msg=name)
    for name in ours.terms:
        np.testing.assert_array_equal(ours.terms[name], put.terms[name], err_msg=name)
    leaves = dict(jax.tree_util.tree_leaves_with_path(put))
    for path, x in jax.tree_util.tree_leaves_with_path(ours):
        np.testing.assert_allclose(x, leaves[path], rtol=1e-6, atol=1e-7, err_msg=str(path))


def test_an_edited_model_steps_as_in_c() -> None:
    """Protects system identification in C: numbers changed there come over."""
    reference = mujoco.MjModel.from_xml_string(FREE_FALL)
    reference.body_mass[1] *= 3
    reference.opt.gravity[:] = 0.5, 0, -5
    reference.geom_friction[1] = 0.3, 0.01, 0.001
    theirs = mujoco.MjData(reference)
    mujoco.mj_setConst(reference, theirs)  # or C takes the inertia of before for simple bodies
    model = mjjax.put_model(reference)
    data = mjjax.put_data(reference, theirs)
    step = quick(mjjax.step)
    for _ in range(5):
        mujoco.mj_step(reference, theirs)
        data = step(model, data)
    np.testing.assert_allclose(data.qpos, theirs.qpos, atol=1e-9)
    np.testing.assert_allclose(data.qvel, theirs.qvel, atol=1e-7)
    # and back: state, results and contacts
    back = mjjax.get_data(reference, data)
    np.testing.assert_allclose(back.qpos, theirs.qpos, atol=1e-9)
    np.testing.assert_array_equal(back.xpos, data.xpos)
    assert len(back.contact.dist) == 1
    again = mjjax.put_data(reference, theirs)
    assert int(again.ncon) == theirs.ncon == 1 and again.contact.geom[0].tolist() == [0, 1]
    batch = mjjax.get_data(reference, jax.tree.map(lambda x: jnp.stack([x, x]), data))
    assert len(batch) == 2 and np.array_equal(batch[1].qvel, data.qvel)


def test_what_cannot_be_put_is_refused() -> None:
    """Protects from silence: soft bodies are refused by name, other data in a sentence."""
    soft = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><flexcomp name="f" type="grid" count="2 2 1" spacing=".1 .1 .1" '
        'dim="2"><contact selfcollide="none"/></flexcomp></worldbody></mujoco>'
    )
    with pytest.raises(mjjax.UnsupportedFeature, match="soft bodies"):
        mjjax.put_model(soft)
    one, two = (mujoco.MjModel.from_xml_string(x) for x in (FREE_FALL, MESH))
    with pytest.raises(ValueError, match="another model"):
        mjjax.put_data(one, mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>")))
    with pytest.raises(TypeError, match=r"mujoco\.MjModel"):
        mjjax.put_model(mujoco.MjData(two))


def test_rows_come_over_with_their_forces() -> None:
    """Stages that follow the rows can start from MuJoCo's data: solver, reactions, forces."""
    reference = mujoco.MjModel.from_xml_string(CONSTRAINED)
    theirs = mujoco.MjData(reference)
    theirs.qpos[2], theirs.qpos[7:] = 0.19, (1.2, 0.1, -0.3)
    theirs.qvel[:] = np.linspace(-1, 1, reference.nv)
    mujoco.mj_forward(reference, theirs)
    mujoco.mj_rnePostConstraint(reference, theirs)
    assert set(theirs.efc_type) == {0, 1, 3, 6}  # equality, friction, limits, contacts
    model = mjjax.put_model(reference)
    data = mjjax.put_data(reference, theirs)
    np.testing.assert_allclose(np.sum(data.efc_force), np.sum(theirs.efc_force), rtol=1e-9)
    found = quick(lambda m, d: mjjax.rne_postconstraint(m, mjjax.fwd_constraint(m, d)))(model, data)
    np.testing.assert_allclose(found.qacc, theirs.qacc, rtol=1e-6, atol=1e-6)
    felt = quick(mjjax.rne_postconstraint)(model, data)
    np.testing.assert_allclose(felt.cfrc_ext, theirs.cfrc_ext, rtol=1e-6, atol=1e-6)
    dense = np.zeros((reference.nv, reference.nv))
    mujoco.mj_fullM(reference, dense, theirs.qM)
    np.testing.assert_allclose(data.qM, dense, atol=1e-12)
