"""Callbacks as arguments: called where MuJoCo calls its own, with the same effect."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import Callbacks, GeomType, Stage
from tests.oracle_tools import differences, error, load, quick, random_state, to_ours, world, worlds

ARM = """
<mujoco>
  <option integrator="{integrator}" timestep="0.01"><flag {flag}/></option>
  <worldbody>
    <body><joint axis="0 1 0" damping="0.1"/><geom size="0.05" fromto="0 0 0 0.3 0 0"
      type="capsule" contype="0" conaffinity="0"/></body>
  </worldbody>
  <actuator><general joint="" gainprm="2"/></actuator>
</mujoco>
""".replace('joint=""', 'joint="j"').replace("<joint axis", '<joint name="j" axis')
STATE = {"time": 1e-12, "qpos": 1e-10, "qvel": 1e-10, "act": 1e-10, "ctrl": 1e-10}


@contextmanager
def theirs(**calls: Callable) -> Iterator[None]:
    """Sets MuJoCo's global callbacks for a while."""
    try:
        for name, function in calls.items():
            getattr(mujoco, f"set_mjcb_{name}")(function)
        yield
    finally:
        for name in calls:
            getattr(mujoco, f"set_mjcb_{name}")(None)


def control(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """Feedback that depends on the time of the sub-step."""
    ctrl = jnp.sin(40 * data.time) - data.qpos[:1]
    return data.replace(ctrl=ctrl, qfrc_applied=0.1 * data.qvel)


def their_control(model: mujoco.MjModel, d: mujoco.MjData) -> None:
    d.ctrl[:] = np.sin(40 * d.time) - d.qpos[:1]
    d.qfrc_applied[:] = 0.1 * d.qvel


@pytest.mark.feature("A031", "A032")
@pytest.mark.parametrize(
    "integrator, flag, split",
    [
        ("Euler", "", False),
        ("RK4", "", False),
        ("Euler", 'actuation="disable"', False),
        ("Euler", 'actuation="disable"', True),
    ],
)
def test_control(integrator: str, flag: str, split: bool) -> None:
    """Controls come from the callback in every sub-step; `step1` calls it in any case."""
    both = load(ARM.format(integrator=integrator, flag=flag))
    mine, calls = worlds(both, range(2))[1], Callbacks(control=control)

    def halves(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
        return mjjax.step2(model, mjjax.step1(model, data, calls), calls)

    def whole(model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
        return mjjax.step(model, data, callbacks=calls)

    step = quick(jax.vmap(halves if split else whole, in_axes=(None, 0)))
    others = [random_state(both.reference, seed) for seed in range(2)]
    for _ in range(3):
        mine = step(both.ours, mine)
        for d in others:
            with theirs(control=their_control):
                if split:
                    mujoco.mj_step1(both.reference, d)
                    mujoco.mj_step2(both.reference, d)
                else:
                    mujoco.mj_step(both.reference, d)
    for i, d in enumerate(others):
        assert not differences(world(mine, i), d, STATE)


@pytest.mark.feature("A140")
@pytest.mark.parametrize("flag", ["", 'spring="disable" damper="disable"'])
def test_passive(flag: str) -> None:
    """A passive force is added, unless springs and dampers are both disabled."""
    both = load(ARM.format(integrator="Euler", flag=f'constraint="disable" {flag}'))
    d = random_state(both.reference, 0)
    data = to_ours(both.ours, d)

    def force(model: mujoco.MjModel, d: mujoco.MjData) -> None:
        d.qfrc_passive[:] -= d.qvel**3

    with theirs(passive=force):
        mujoco.mj_forward(both.reference, d)
    calls = Callbacks(passive=lambda m, d: d.replace(qfrc_passive=d.qfrc_passive - d.qvel**3))
    data = quick(lambda m, d: mjjax.forward(m, d, calls))(both.ours, data)
    assert not differences(data, d, {"qfrc_passive": 1e-12, "qacc": 1e-9})


CROWD = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" contype="2" conaffinity="0"/>
    <body pos="0 0 0.05"><freejoint/><geom type="sphere" size="0.1" contype="0" conaffinity="2"/>
      <geom type="capsule" size="0.1 0.1" contype="1" conaffinity="1" condim="4"/></body>
    <body pos="0.05 0 0.1"><freejoint/>
      <geom name="box" type="box" size="0.1 0.1 0.1" contype="1" conaffinity="3"/>
      <geom name="small" size="0.12" contype="0" conaffinity="1"/></body>
    <body pos="0 0.05 0.1"><freejoint/><geom name="one" size="0.1" contype="4" conaffinity="1"/>
    </body>
  </worldbody>
  <contact><pair geom1="small" geom2="one"/></contact>
</mujoco>
"""


def touching(data: Any) -> list[tuple[int, int]]:
    """Pairs of geoms of the contacts, in order."""
    geom = np.asarray(data.contact.geom).reshape(-1, 2)
    return [tuple(pair) for pair in geom[geom[:, 0] >= 0].tolist()]


@pytest.mark.feature("A141")
@pytest.mark.parametrize("nconmax", [None, 4])
def test_contact_filter(nconmax: int | None) -> None:
    """The filter replaces the bitmasks of geoms, not those of bodies nor explicit pairs."""
    both = load(CROWD)
    d, calls = mujoco.MjData(both.reference), Callbacks(contact_filter=lambda m, d, a, b: odd(a, b))

    def odd(a: Any, b: Any) -> Any:
        return (a + 2 * b) % 3 == 1

    with theirs(contactfilter=lambda m, d, a, b: int(odd(a, b))):
        mujoco.mj_fwdPosition(both.reference, d)
    data = mjjax.make_data(both.ours, nconmax=nconmax, callbacks=calls)
    data = quick(lambda m, d: mjjax.fwd_position(m, d, calls))(both.ours, data)
    full = bool(data.warning[mjjax.WarningType.CONTACTFULL])
    plain = mujoco.MjData(both.reference)
    mujoco.mj_fwdPosition(both.reference, plain)
    assert d.ncon > 5 and touching(d) != touching(plain)
    if nconmax is None:
        assert touching(data) == touching(d) and int(data.nefc) == d.nefc
    else:
        assert full and set(touching(data)) <= set(touching(d))


def inner_sphere(pos1, mat1, size1, pos2, mat2, size2, margin):
    """A box that collides as the sphere inside it."""
    offset = pos2 - pos1
    length = jnp.sqrt(jnp.sum(offset**2))
    normal = offset / length
    dist = length - size1[0] - size2[0]
    point = pos1 + normal * (size1[0] + 0.5 * dist)
    dist = jnp.where(dist < margin, dist, 1e10)
    return dist[None], point[None], normal[None], jnp.zeros((1, 3), dist.dtype)


@pytest.mark.feature("A121", "A136", "A138")
def test_collision_table() -> None:
    """A function in the table makes the contacts of its pairs; None lets them pass through."""
    model = mjjax.Model.from_xml_string("""
      <mujoco><worldbody><geom type="plane" size="0 0 1"/>
        <body pos="0 0 0.09"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
        <body pos="0.15 0 0.09"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
      </worldbody></mujoco>""")
    pairs = {(GeomType.BOX, GeomType.BOX): inner_sphere, (GeomType.PLANE, GeomType.BOX): None}
    calls = Callbacks(collision=pairs)
    data = mjjax.make_data(model, callbacks=calls)
    program = quick(lambda m, d: mjjax.fwd_position(m, d, calls))
    data = program(model, data)
    apart = program(model, data.replace(qpos=data.qpos.at[7].add(1.0)))
    assert (int(apart.ncon), int(apart.maxuse_con), int(apart.maxuse_efc)) == (0, 1, 4)
    assert touching(data) == [(1, 2)]
    assert np.isclose(float(data.contact.dist[0]), -0.05)
    np.testing.assert_allclose(data.contact.pos[0], [0.075, 0, 0.09], atol=1e-12)
    assert int(data.nefc) == 4
    with pytest.raises(ValueError, match="lower"):
        Callbacks(collision={(GeomType.BOX, GeomType.PLANE): None})


USER = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <worldbody><body><joint name="j" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody>
  <actuator>
    <motor joint="j"/>
    <general joint="j" dyntype="user" gaintype="user" biastype="user" gainprm="3" biasprm="2"/>
    <general joint="j" dyntype="user" actdim="2" gainprm="2" dynprm="0.5"/>
    <general joint="j" gaintype="user" gainprm="4"/>
  </actuator>
</mujoco>
"""


@pytest.mark.feature("A143", "A144", "C38")
@pytest.mark.parametrize("given", [True, False])
def test_user_actuators(given: bool) -> None:
    """Rates, gains and biases of `user` types are the callbacks'; 0, 1 and 0 without them."""
    both = load(USER)
    d = random_state(both.reference, 0)
    data = to_ours(both.ours, d)

    def dyn(model: Any, d: Any, i: Any) -> Any:
        return 3 * d.ctrl[i] - d.act[0]

    def their_dyn(model: mujoco.MjModel, d: mujoco.MjData, i: int) -> float:
        if i == 2:
            d.act_dot[1:3] = d.act[1:3] * (1, 2)
        return dyn(model, d, i)

    def rate(model: mjjax.Model, data: mjjax.Data, i: Any) -> Any:
        several = data.act[1:3] * jnp.array([1.0, 2.0])
        return several if which(data, i) else dyn(model, data, i)

    # one function serves actuators with one and with two activations: shapes are static
    count = iter([False, True])

    def which(data: mjjax.Data, i: Any) -> bool:
        return next(count)

    def gain(model: Any, d: Any, i: Any) -> Any:
        return model.actuator_gainprm[i, 0] * d.qpos[0]

    def bias(model: Any, d: Any, i: Any) -> Any:
        return model.actuator_biasprm[i, 0] * d.qvel[0]

    both_sides = {"act_dyn": their_dyn, "act_gain": gain, "act_bias": bias} if given else {}
    with theirs(**both_sides):
        mujoco.mj_forward(both.reference, d)
    calls = Callbacks(act_dyn=rate, act_gain=gain, act_bias=bias) if given else None
    data = quick(lambda m, d: mjjax.forward(m, d, calls))(both.ours, data)
    fields: dict[str, float] = {"act_dot": 1e-10, "actuator_force": 1e-10, "qacc": 1e-10}
    assert not differences(data, d, fields)


def test_traced_values_of_the_surroundings() -> None:
    """A callback may use a policy's weights: gradients, batches and rollouts pass through it."""
    both = load(ARM.format(integrator="Euler", flag='constraint="disable"'))
    data = to_ours(both.ours, random_state(both.reference, 0))

    def end(gain: jax.Array, start: jax.Array) -> jax.Array:
        calls = Callbacks(control=lambda m, d: d.replace(ctrl=-gain * d.qpos))
        first = data.replace(qpos=start[None])
        return mjjax.rollout(both.ours, first, nstep=3, callbacks=calls)[0].qpos[0]

    gains, starts = jnp.array([0.5, 2.0]), jnp.array([0.1, -0.2])
    program = quick(jax.vmap(jax.value_and_grad(end)))
    value, slope = program(gains, starts)
    h = 1e-5
    numeric = (program(gains + h, starts)[0] - program(gains - h, starts)[0]) / (2 * h)
    assert error(slope, numeric) < 1e-8 and np.abs(slope).min() > 1e-6
    chex.assert_shape(value, (2,))


def test_same_functions_compile_once() -> None:
    """Callbacks made anew of the same functions are equal: a static argument of `jit`."""
    one, two = (
        Callbacks(control=control, collision={(GeomType.PLANE, GeomType.BOX): None})
        for _ in range(2)
    )
    assert one == two and hash(one) == hash(two) and one != Callbacks()


GAUGES = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <worldbody><body name="b"><joint axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody>
  <sensor>
    <user dim="2" needstage="pos" cutoff="0.5"/>
    <framepos objtype="xbody" objname="b"/>
    <user dim="1" needstage="vel"/>
    <user dim="1" needstage="acc"/>
  </sensor>
</mujoco>
"""


@pytest.mark.feature("A142", "C109")
def test_sensors() -> None:
    """User sensors are read once per stage, from zero, and their cutoffs apply after."""
    both = load(GAUGES)
    d = random_state(both.reference, 0)
    data = to_ours(both.ours, d)
    asked = []

    def their_sensor(model: mujoco.MjModel, d: mujoco.MjData, stage: int) -> None:
        asked.append(Stage(stage))
        if stage == Stage.POS:
            d.sensordata[:2] += (2, 0.1)
        if stage == Stage.VEL:
            d.sensordata[5] = d.subtree_linvel[1, 2]
        if stage == Stage.ACC:
            d.sensordata[6] = d.cacc[1, 5]

    def sensor(model: mjjax.Model, data: mjjax.Data, stage: Stage) -> mjjax.Data:
        asked.append(stage)
        read = data.sensordata
        if stage == Stage.POS:
            read = read.at[:2].add(jnp.array([2, 0.1]))
        if stage == Stage.VEL:
            read = read.at[5].set(data.subtree_linvel[1, 2])
        if stage == Stage.ACC:
            read = read.at[6].set(data.cacc[1, 5])
        return data.replace(sensordata=read)

    with theirs(sensor=their_sensor):
        mujoco.mj_forward(both.reference, d)
        mujoco.mj_forward(both.reference, d)
    assert asked == 2 * [Stage.POS, Stage.VEL, Stage.ACC]
    asked.clear()
    forward = quick(lambda m, d: mjjax.forward(m, d, Callbacks(sensor=sensor)))
    data = forward(both.ours, forward(both.ours, data))
    assert not differences(data, d, {"sensordata": 1e-10})
    assert asked == [Stage.POS, Stage.VEL, Stage.ACC]
    assert np.abs(d.sensordata[[0, 1, 5, 6]]).min() > 1e-3


TOUCHING = """
<mujoco><worldbody><geom type="plane" size="0 0 1" condim="1"/>
  <body pos="0 0 0.3"><freejoint/><geom name="low" type="box" size="0.1 0.1 0.1" condim="6"/></body>
  <body pos="0.15 0 0.33"><freejoint/><geom name="high" type="box" size="0.1 0.1 0.1" condim="6"/>
    <geom size="0.05" pos="0 0 -0.3" condim="1"/></body></worldbody>
  <sensor><contact geom1="low" geom2="high" data="force torque"/></sensor></mujoco>"""


@pytest.mark.feature("A121", "A136")
def test_rows_of_the_users_contacts() -> None:
    """Every stage reads the rows in the layout of `make_data`, six wide for the user's pair."""
    model = mjjax.Model.from_xml_string(TOUCHING)
    calls = Callbacks(collision={(GeomType.BOX, GeomType.BOX): inner_sphere})
    data = mjjax.make_data(model, callbacks=calls)
    data = quick(lambda m, d: mjjax.forward(m, d, calls))(model, data)
    slot = int(np.flatnonzero((np.asarray(data.contact.geom) == [1, 2]).all(axis=1))[0])
    first = int(data.contact.efc_address[slot])
    edges = np.asarray(data.efc_force)[first : first + 10]
    force = np.asarray(mjjax.contact_force(model, data, slot))
    assert edges.sum() > 1 and np.isclose(force[0], edges.sum())
    np.testing.assert_allclose(np.asarray(data.sensordata)[:6], force, atol=1e-12)
    pulled = mjjax.mul_jac_t_vec(model, data, data.efc_force)
    np.testing.assert_allclose(pulled, data.qfrc_constraint, atol=1e-9)


def test_callbacks_that_make_data_does_not_know_are_refused() -> None:
    """Colliders and filters decide the rows, so both calls must be given the same."""
    model = mjjax.Model.from_xml_string(TOUCHING.replace('"box" size', '"sphere" size'))
    plain = mjjax.make_data(model)
    calls = Callbacks(collision={(GeomType.SPHERE, GeomType.SPHERE): inner_sphere})
    with pytest.raises(ValueError, match=r"colliders.*make_data\(model, callbacks"):
        jax.eval_shape(lambda d: mjjax.forward(model, d, calls), plain)
    sieve = Callbacks(contact_filter=lambda m, d, one, two: one == two)
    with pytest.raises(ValueError, match=r"filter.*make_data\(model, callbacks"):
        jax.eval_shape(lambda d: mjjax.forward(model, d, sieve), plain)
    with pytest.raises(ValueError, match="filter"):
        jax.eval_shape(mjjax.forward, model, mjjax.make_data(model, callbacks=sieve))
