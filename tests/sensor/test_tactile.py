"""Tactile sensors against MuJoCo."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.shape.contact_set import ContactSet
from mjjax.core.enums import GeomType
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import Both, load, quick, stack

SCENE = """
<mujoco><asset>
  <mesh name="plate" builtin="plate" params="4 3" scale=".1 .1 .1" refquat="1 .2 .3 .4"/>
  <mesh name="wedge" builtin="wedge" params="5 4 50 40 .2" scale=".12 .12 .12"/>
  <mesh name="round" builtin="sphere" params="1" scale=".11 .08 .09"/></asset>
<worldbody>
  <geom type="plane" size="3 3 .1" pos="0 0 -.07" euler="3 4 0"/>
  <body euler="10 20 30"><freejoint/>
    <geom name="pad" type="box" size=".1 .1 .08" euler="3 20 50"/>
    <body pos=".1 0 0" euler="0 10 40"><geom name="ball" size=".07"/></body></body>
  <body pos="0.02 0.01 .1" euler="30 10 0"><freejoint/><geom size=".1"/>
    <geom name="tip" type="capsule" size=".06 .05" pos=".1 .1 0"/></body>
  <body pos="0.15 0.1 0" euler="30 10 0"><freejoint/>
    <geom type="capsule" size=".08 .1" euler="0 30 0"/></body>
  <body pos="0.1 0 .08" euler="30 10 0"><freejoint/>
    <geom type="box" size=".12 .13 .14" contype="2" conaffinity="2"/>
    <geom type="ellipsoid" size=".14 .13 .12" contype="2" conaffinity="2"/>
    <geom type="cylinder" size=".12 .11" contype="2" conaffinity="2"/></body>
  <body name="probe" pos="0.1 0 0"><freejoint/>
    <geom name="probe" size=".13" contype="2" conaffinity="2"/></body>
</worldbody>
<sensor><tactile geom="pad" mesh="plate"/><tactile geom="ball" mesh="wedge"/>
  <tactile geom="tip" mesh="round"/><tactile geom="probe" mesh="wedge"/></sensor></mujoco>
"""


def near(
    pos1: Any, mat1: Any, size1: Any, pos2: Any, mat2: Any, size2: Any, margin: Any
) -> ContactSet:
    """One contact for any shapes: readings depend on which geoms touch, not on where."""
    up = jnp.zeros_like(pos1).at[2].set(1)
    return ContactSet(-jnp.ones_like(margin)[None], pos1[None], up[None], 0 * up[None])


ROUND = mjjax.Callbacks(
    collision={(GeomType.SPHERE, kind): near for kind in (GeomType.ELLIPSOID, GeomType.CYLINDER)}
)
STAGES = (mjjax.kinematics, mjjax.com_pos, mjjax.com_vel)


@quick
@functools.partial(jax.vmap, in_axes=(None, 0))
def contacts(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """Contacts and readings; the readings do not depend on forces."""
    data = functools.reduce(lambda d, stage: stage(model, d), STAGES, data)
    return mjjax.sensor_acc(model, mjjax.collision(model, data))


@functools.cache
def states(n: int) -> tuple[Both, list[mujoco.MjData], mjjax.Data]:
    """Worlds in motion with geoms in each other, before the forward pass."""
    both, theirs = load(SCENE), []
    for seed in range(n):
        rng, d = np.random.default_rng(seed), mujoco.MjData(both.reference)
        mujoco.mj_integratePos(both.reference, d.qpos, rng.normal(size=both.reference.nv), 0.02)
        d.qvel[:] = rng.normal(size=both.reference.nv)
        theirs.append(d)
    empty = mjjax.make_data(both.ours, callbacks=ROUND)
    ours = [empty.replace(qpos=jnp.asarray(d.qpos), qvel=jnp.asarray(d.qvel)) for d in theirs]
    return both, theirs, stack(ours)


@pytest.mark.feature("C108")
def test_agrees_with_mujoco() -> None:
    """Pressure and sliding in every shape, of meshes with and without tangents."""
    both, theirs, data = states(6)
    data = contacts(both.ours, data)
    m, felt = both.reference, np.zeros(both.reference.nsensordata, int)
    for i, d in enumerate(theirs):
        mujoco.mj_forward(m, d)
        np.testing.assert_allclose(data.sensordata[i], d.sensordata, atol=1e-6)
        felt += d.sensordata != 0
    for sensor in np.flatnonzero(m.sensor_type == mjjax.SensorType.TACTILE):
        adr, dim = m.sensor_adr[sensor], m.sensor_dim[sensor]
        channels = felt[adr : adr + dim].reshape(3, -1).sum(axis=1)
        framed = m.mesh_normalnum[m.sensor_objid[sensor]] > m.mesh_vertnum[m.sensor_objid[sensor]]
        assert (channels[1:] > 5).all() if framed else not channels[1:].any()
        assert channels[0] > 5


@pytest.mark.slow
@pytest.mark.feature("C108", "D05")
def test_derivatives() -> None:
    """Exact in both modes in motion, finite at rest, where sliding has a kink."""
    both, theirs, data = states(6)
    touching = jax.tree.map(lambda x: x[0], contacts(both.ours, data))

    def readings(x: dict[str, jax.Array]) -> jax.Array:
        data = touching.replace(**x)
        data = functools.reduce(lambda d, stage: stage(both.ours, d), STAGES, data)
        return mjjax.sensor_acc(both.ours, data).sensordata

    x = {"qpos": np.stack([theirs[0].qpos] * 3), "qvel": np.stack([theirs[0].qvel] * 3)}
    x["qpos"][1] += 1e-3
    x["qvel"][2] = 0
    point = jax.tree.map(jnp.asarray, x)
    bad = derivative_errors(readings, point, directions(point, 1), np.array([1e-6, 1e-6, np.inf]))
    assert not bad, bad


@pytest.mark.feature("C108")
def test_without_contact_nothing_is_felt() -> None:
    """Geoms count only if they touch: without a contact a taxel within another geom reads zero."""
    xml = SCENE.replace("<mujoco>", '<mujoco><option><flag contact="disable"/></option>')
    both = load(xml)
    empty = mjjax.make_data(both.ours, callbacks=ROUND)
    data = contacts(both.ours, stack([empty]))
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    np.testing.assert_array_equal(data.sensordata[0], d.sensordata)


FIELD = """
<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/>
  <mesh name="m" builtin="plate" params="2 2"/></asset>
<worldbody><geom type="hfield" hfield="h"/>
  <body><freejoint/><geom name="pad" type="sphere" size=".1"/></body></worldbody>
<sensor><tactile geom="pad" mesh="m"/></sensor></mujoco>
"""


@pytest.mark.feature("B91")
def test_shapes_without_distance_are_refused() -> None:
    """A height field that the user's callback collides: MuJoCo ends there, too."""
    model = mjjax.Model.from_xml_string(FIELD)
    field = mjjax.Callbacks(collision={(GeomType.HFIELD, GeomType.SPHERE): near})
    with pytest.raises(mjjax.UnsupportedFeature, match="cannot feel a geom of type 'hfield'"):
        mjjax.make_data(model, callbacks=field)


MESH = """
<mujoco><asset><mesh name="ball" builtin="sphere" params="1" scale=".1 .1 .1"/>
  <mesh name="m" builtin="plate" params="4 4" scale=".1 .1 .1"/></asset>
<worldbody><geom type="mesh" mesh="ball"/>
  <geom type="sdf" mesh="ball" contype="0" conaffinity="0"/>
  <body pos=".01 0 .08"><freejoint/><geom name="pad" type="sphere" size=".05"/></body></worldbody>
<sensor><tactile geom="pad" mesh="m"/></sensor></mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("B91", "C73")
def test_meshes_are_felt_by_the_octree_of_an_sdf() -> None:
    """A mesh has a distance where some SDF geom is made of it."""
    both = load(MESH)
    d = mujoco.MjData(both.reference)
    d.qvel[:] = 0.1, -0.2, 0.3, 1, 2, 3
    mujoco.mj_forward(both.reference, d)
    data = mjjax.make_data(both.ours).replace(qvel=jnp.asarray(d.qvel))
    found = jax.jit(mjjax.forward)(both.ours, data).sensordata
    assert np.count_nonzero(d.sensordata) > 10
    np.testing.assert_allclose(found, d.sensordata, atol=1e-8)
