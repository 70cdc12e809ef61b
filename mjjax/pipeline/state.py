"""The state as a vector: MuJoCo's components, in its order."""

import jax.numpy as jnp
import numpy as np

from mjjax.core.convert import whole_number
from mjjax.core.enums import State
from mjjax.core.representation import short
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.state_fields import COMPONENTS
from mjjax.model.view import element_id
from mjjax.xla.namespace import Array


def state_size(model: Model, sig: State | int) -> int:
    """Number of elements of the components `sig` (`mj_stateSize`).

    Raises:
        ValueError: `sig` has bits that name no component.
    """
    return sum(_size(model, part) for part in components(sig))


def get_state(model: Model, data: Data, sig: State | int) -> Array:
    """The components `sig` of the state as one vector, lowest bit first (`mj_getState`)."""
    dtype = data.qpos.dtype
    parts = [getattr(data, COMPONENTS[part]) for part in components(sig)]
    return jnp.concatenate(
        [jnp.zeros(0, dtype), *(jnp.reshape(part, -1).astype(dtype) for part in parts)]
    )


def set_state(model: Model, data: Data, state: Array, sig: State | int) -> Data:
    """`data` with the components `sig` from a vector (`mj_setState`).

    Raises:
        ValueError: `sig` is invalid, or the vector does not have its size.
    """
    state = _checked(model, state, sig)
    changes, start = {}, 0
    for part in components(sig):
        old = jnp.asarray(getattr(data, COMPONENTS[part]))
        new = state[start : start + old.size].reshape(old.shape)
        changes[COMPONENTS[part]] = (new != 0) if old.dtype == bool else new.astype(old.dtype)
        start += old.size
    return data.replace(**changes)


def copy_state(model: Model, src: Data, dst: Data, sig: State | int) -> Data:
    """`dst` with the components `sig` of `src` (`mj_copyState`)."""
    return dst.replace(
        **{COMPONENTS[part]: getattr(src, COMPONENTS[part]) for part in components(sig)}
    )


def extract_state(model: Model, state: Array, srcsig: State | int, dstsig: State | int) -> Array:
    """The components `dstsig` of a vector that holds `srcsig` (`mj_extractState`).

    Raises:
        ValueError: a signature or the size of the vector is invalid, or `dstsig` has components
            that `srcsig` lacks.
    """
    state = _checked(model, state, srcsig)
    if int(dstsig) & ~int(srcsig):
        raise ValueError(f"the state {State(int(srcsig))!r} does not hold {State(int(dstsig))!r}")
    wanted = components(dstsig)
    mask = [np.full(_size(model, part), part in wanted) for part in components(srcsig)]
    return state[np.flatnonzero(np.concatenate([np.zeros(0, bool), *mask]))]


def set_keyframe(model: Model, data: Data, k: int | str) -> Model:
    """`model` with the state of `data` stored in keyframe `k`, a name or id (`mj_setKeyframe`).

    Raises:
        LookupError: the model has no such keyframe.
    """
    k = element_id(model.structure, "key", k, "set_keyframe")
    fields = {
        "key_time": data.time,
        "key_qpos": data.qpos,
        "key_qvel": data.qvel,
        "key_act": data.act,
        "key_ctrl": data.ctrl,
        "key_mpos": data.mocap_pos.reshape(-1),
        "key_mquat": data.mocap_quat.reshape(-1),
    }
    return model.replace(**{name: getattr(model, name).at[k].set(x) for name, x in fields.items()})


def components(sig: State | int) -> list[State]:
    """The components of a signature that can have elements, lowest bit first."""
    bits = whole_number(sig, "a state signature is a mjjax.State, such as State.QPOS | State.QVEL")
    if not 0 <= bits < 1 << len(State):
        raise ValueError(f"state signature {bits} must be in 0 ... {(1 << len(State)) - 1}")
    return [part for part in COMPONENTS if bits & part]


def _size(model: Model, part: State) -> int:
    s = model.structure
    sizes = {
        State.TIME: 1,
        State.QPOS: s.nq,
        State.ACT: s.na,
        State.HISTORY: s.nhistory,
        State.CTRL: s.nu,
        State.XFRC_APPLIED: 6 * s.nbody,
        State.EQ_ACTIVE: s.neq,
        State.MOCAP_POS: 3 * s.nmocap,
        State.MOCAP_QUAT: 4 * s.nmocap,
        State.USERDATA: s.nuserdata,
    }
    return sizes.get(part, s.nv)


def _checked(model: Model, state: Array, sig: State | int) -> Array:
    size = state_size(model, sig)
    try:
        state = jnp.asarray(state)
    except (TypeError, ValueError):
        raise TypeError(f"a state is an array of numbers, not {short(state)}") from None
    if state.shape != (size,):
        raise ValueError(f"the state must have shape ({size},), not {state.shape}")
    return state
