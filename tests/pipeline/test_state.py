"""State vectors, resets and keyframes against MuJoCo."""

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import State
from tests.oracle_tools import Both, load, quick, random_state, stack, to_ours, world

XML = """
<mujoco>
  <size nuserdata="2"/>
  <option><flag contact="disable"/></option>
  <worldbody>
    <body name="mocap" mocap="true" pos="0 1 2"><geom size="0.1"/></body>
    <body name="b"><freejoint/><geom size="0.1"/></body>
    <body><joint name="a"/><geom size="0.1" pos="0.2 0 0"/></body>
  </worldbody>
  <equality><joint joint1="a"/><connect body1="b" anchor="0 0 0" active="false"/></equality>
  <actuator><general joint="a" dyntype="integrator" nsample="3" delay="0.004"/></actuator>
  <keyframe>
    <key time="2" qpos="1 0 0 1 0 0 0 0.5" qvel="1 2 3 4 5 6 7" act="0.3" ctrl="0.4"
      mpos="3 2 1" mquat="0 1 0 0"/>
    <key qpos="2 0 0 1 0 0 0 0.5"/>
  </keyframe>
</mujoco>
"""
SIGNATURES = [*(State(1 << k) for k in range(14)), State.PHYSICS, State.FULLPHYSICS, State.USER]
SIGNATURES += [State.INTEGRATION, State(0), State.QVEL | State.CTRL | State.TIME]
FIELDS = (
    "time qpos qvel act ctrl qfrc_applied xfrc_applied qacc_warmstart mocap_pos mocap_quat "
    "eq_active userdata history"
).split()


def state(seed: int) -> tuple[Both, mujoco.MjData, mjjax.Data]:
    """The same random state on both sides."""
    both = load(XML)
    d = random_state(both.reference, seed)
    d.time, d.userdata[:], d.eq_active[:] = 0.7, (3, 4), (0, 1)
    d.history[:] += 0.1
    data = to_ours(both.ours, d).replace(
        userdata=jnp.array([3.0, 4.0]),
        eq_active=jnp.array([False, True]),
        history=jnp.asarray(d.history),
    )
    return both, d, data


def vector(both: Both, d: mujoco.MjData, sig: int) -> np.ndarray:
    """MuJoCo's state vector."""
    out = np.zeros(mujoco.mj_stateSize(both.reference, sig))
    mujoco.mj_getState(both.reference, d, out, sig)
    return out


@pytest.mark.feature(
    "A035", "A036", "A037", "A039", "A040", "A041", "A042", "A043", "A044", "A045", "A046"
)
@pytest.mark.parametrize("sig", SIGNATURES, ids=lambda sig: str(int(sig)))
def test_components(sig: State) -> None:
    """Every component has MuJoCo's bit, size and place, read and written."""
    both, d, data = state(0)
    expected = vector(both, d, int(sig))
    assert mjjax.state_size(both.ours, sig) == len(expected)
    mine = mjjax.get_state(both.ours, data, sig)
    np.testing.assert_array_equal(mine, expected)
    fresh = mjjax.set_state(both.ours, mjjax.make_data(both.ours), mine, sig)
    other = mujoco.MjData(both.reference)
    mujoco.mj_setState(both.reference, other, expected, int(sig))
    copied = mjjax.copy_state(both.ours, data, mjjax.make_data(both.ours), sig)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(fresh, name), getattr(other, name), name)
        np.testing.assert_array_equal(getattr(copied, name), getattr(other, name), name)


@pytest.mark.feature("A045")
def test_unions_are_mujocos() -> None:
    """The named combinations have MuJoCo's bits."""
    for sig in State.__members__:
        assert int(State[sig]) == int(getattr(mujoco.mjtState, f"mjSTATE_{sig}"))


@pytest.mark.feature("A047", "A048")
def test_extract() -> None:
    """A part of a state vector is extracted; components that it lacks are an error."""
    both, d, data = state(1)
    whole = mjjax.get_state(both.ours, data, State.INTEGRATION)
    part = State.QVEL | State.CTRL | State.MOCAP_POS
    mine = mjjax.extract_state(both.ours, whole, State.INTEGRATION, part)
    np.testing.assert_array_equal(mine, vector(both, d, int(part)))
    with pytest.raises(ValueError, match="does not hold"):
        mjjax.extract_state(both.ours, mine, part, State.QPOS)


@pytest.mark.feature("A049")
def test_invalid_signatures_and_sizes() -> None:
    """Unknown components and vectors of the wrong size are errors."""
    both, _, data = state(0)
    for sig in (-1, 1 << 14):
        with pytest.raises(ValueError, match="signature"):
            mjjax.state_size(both.ours, sig)
    with pytest.raises(ValueError, match="shape"):
        mjjax.set_state(both.ours, data, jnp.zeros(3), State.QPOS)


@pytest.mark.feature("A050")
def test_same_state_gives_the_same_step() -> None:
    """The integration state determines the next step to the last bit."""
    both, _, data = state(0)
    step = quick(mjjax.step)
    used = step(both.ours, step(both.ours, data))
    vector = mjjax.get_state(both.ours, used, State.INTEGRATION)
    fresh = mjjax.set_state(both.ours, mjjax.make_data(both.ours), vector, State.INTEGRATION)
    one, two = step(both.ours, used), step(both.ours, fresh)
    for name in ("qpos", "qvel", "qacc", "xpos", "efc_force", "energy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)


@pytest.mark.feature("A051", "A053")
@pytest.mark.parametrize("key", [None, 0, 1, 2, -1])
def test_reset(key: int | None) -> None:
    """A reset gives MuJoCo's state; an invalid keyframe is a plain reset, static or traced."""
    both, d, data = state(0)
    used = data.replace(xpos=data.xpos + 1, warning=data.warning + 1)
    if key is None:
        mujoco.mj_resetData(both.reference, d)
        results = [mjjax.reset_data(both.ours, used)]
    else:
        mujoco.mj_resetDataKeyframe(both.reference, d, key)
        results = [mjjax.reset_data(both.ours, used, key)]
        results.append(jax.jit(mjjax.reset_data)(both.ours, used, jnp.int32(key)))
    for mine in results:
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(mine, name), getattr(d, name), name)
        assert not np.any(mine.warning)


@pytest.mark.feature("A051")
def test_reset_of_some_worlds() -> None:
    """Under `vmap` a mask tells which worlds restart, each at its own keyframe."""
    both, _, one = state(0)
    data = stack([one, state(1)[2], state(2)[2]])
    done, key = jnp.array([True, False, True]), jnp.array([0, 0, 5], jnp.int32)
    reset = jax.vmap(lambda d, k, w: mjjax.reset_data(both.ours, d, k, where=w))
    after = reset(data, key, done)
    assert after.time.tolist() == [2, 0.7, 0]
    np.testing.assert_array_equal(after.qpos[0], both.ours.key_qpos[0])
    np.testing.assert_array_equal(after.qpos[2], both.ours.qpos0)
    chex.assert_trees_all_equal(world(after, 1), world(data, 1))


@pytest.mark.feature("A054")
def test_set_keyframe() -> None:
    """The state becomes a keyframe of the model, as in MuJoCo."""
    both, d, data = state(0)
    mujoco.mj_setKeyframe(model := mujoco.MjModel.from_xml_string(XML), d, 1)
    mine = mjjax.set_keyframe(both.ours, data, 1)
    for name in "time qpos qvel act ctrl mpos mquat".split():
        theirs = getattr(model, f"key_{name}")
        np.testing.assert_array_equal(getattr(mine, f"key_{name}"), theirs, name)
    for k in (-1, 2):
        with pytest.raises(IndexError, match=f"no key {k}"):
            mjjax.set_keyframe(both.ours, data, k)
