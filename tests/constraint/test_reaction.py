"""Forces on bodies: contacts, equalities, joints."""

import functools

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.xla.namespace import Array
from tests.oracle_tools import Both, differences, each_world, load, quick, stack, to_ours, world

XML = """
<mujoco><option cone="{cone}" timestep="0.005"/><default><geom condim="{condim}"/></default>
<worldbody>
  <geom type="plane" size="1 1 .1"/>
  <body name="a" pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/>
    <site name="s" pos=".1 0 0" euler="10 20 30"/>
    <body name="b" pos=".1 0 .2"><joint axis="0 1 0"/><geom size=".05"/>
      <body name="fixed" pos="0 .1 .1"><geom size=".03" condim="1"/></body>
    </body>
  </body>
  <body name="c" pos=".5 0 .05"><freejoint/><geom size=".06" condim="1"/>
    <site name="t" pos=".1 .2 0" euler="10 20 -30"/></body>
  <body name="d" pos="0 .5 .05"><joint type="ball"/>
    <geom size=".06" condim="4" pos=".01 0 0"/></body>
  <body name="static" pos="1 1 1"><geom size=".06"/></body>
</worldbody>
<equality>
  <weld body1="a" body2="c" anchor=".1 .2 .3" torquescale="2"/>
  <connect body1="d" body2="c" anchor="0 0 1"/>
  <weld site1="s" site2="t"/><connect body1="b" anchor="1 0 0"/>
</equality></mujoco>
"""


@functools.cache
def resting(cone: str, condim: int) -> tuple[Both, list[mujoco.MjData], mjjax.Data, jax.Array]:
    """A scene with contacts and equalities in both engines, after the constraint forces."""
    both = load(XML.format(cone=cone, condim=condim))
    theirs = []
    for seed in range(3):
        d = mujoco.MjData(both.reference)
        rng = np.random.default_rng(seed)
        d.qvel[:] = 0.3 * rng.normal(size=both.reference.nv)
        d.xfrc_applied[1:] = rng.normal(size=(both.reference.nbody - 1, 6))
        theirs.append(d)
    data = stack([to_ours(both.ours, d) for d in theirs])

    def run(model: mjjax.Model, data: mjjax.Data) -> tuple:
        data = mjjax.rne_postconstraint(model, mjjax.forward(model, data))
        data = mjjax.subtree_vel(model, data)
        forces = [mjjax.contact_force(model, data, i) for i in range(data.contact.dist.shape[0])]
        return data, jax.numpy.stack(forces)

    data, forces = each_world(run)(both.ours, data)
    for d in theirs:
        mujoco.mj_forward(both.reference, d)
        mujoco.mj_rnePostConstraint(both.reference, d)
        mujoco.mj_subtreeVel(both.reference, d)
    return both, theirs, data, forces


@pytest.mark.slow(but=1)
@pytest.mark.feature("A135", "A165")
@pytest.mark.parametrize("cone, condim", [("pyramidal", 3), ("elliptic", 6)])
def test_forces_on_bodies(cone: str, condim: int) -> None:
    """Contact forces, accelerations, external and internal forces, momenta are MuJoCo's."""
    both, theirs, data, forces = resting(cone, condim)
    fields = {"cacc": 1e-6, "cfrc_ext": 1e-6, "cfrc_int": 1e-6}
    fields |= {"subtree_linvel": 1e-10, "subtree_angmom": 1e-10}
    for i, d in enumerate(theirs):
        assert d.ncon > 5
        assert not differences(world(data, i), d, fields)
        mine = np.asarray(forces[i])[np.asarray(data.contact.geom[i, :, 0]) >= 0]
        expected = np.zeros((d.ncon, 6))
        for k in range(d.ncon):
            mujoco.mj_contactForce(both.reference, d, k, expected[k])
        np.testing.assert_allclose(mine, expected, atol=1e-5)


@pytest.mark.feature("A163", "A164")
def test_motion_of_objects() -> None:
    """Velocity and acceleration of every kind of object, in its frame and the world's."""
    both, theirs, data, _ = resting("pyramidal", 3)
    kinds = [(mjjax.ObjType.BODY, 2), (mjjax.ObjType.XBODY, 2), (mjjax.ObjType.GEOM, 2)]
    kinds += [(mjjax.ObjType.SITE, 0), (mjjax.ObjType.BODY, 6)]
    cases = [(*kind, local) for kind in kinds for local in (False, True)]

    def run(data: mjjax.Data) -> list[tuple[Array, Array]]:
        return [
            (
                mjjax.object_velocity(both.ours, data, *case),
                mjjax.object_acceleration(both.ours, data, *case),
            )
            for case in cases
        ]

    mine, d, expected = quick(run)(world(data, 0)), theirs[0], np.zeros(6)
    for (kind, index, local), (velocity, acceleration) in zip(cases, mine, strict=True):
        mujoco.mj_objectVelocity(both.reference, d, kind, index, expected, local)
        np.testing.assert_allclose(velocity, expected, atol=1e-9)
        mujoco.mj_objectAcceleration(both.reference, d, kind, index, expected, local)
        np.testing.assert_allclose(acceleration, expected, atol=1e-5)
