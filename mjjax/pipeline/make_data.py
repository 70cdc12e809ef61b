"""Allocation and reset of `Data`."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.driver import empty_contact
from mjjax.collision.plan.capacity import capacity_of
from mjjax.constraint.layout import row_layout, slots_of
from mjjax.core.below import does
from mjjax.core.enums import EnableBit, SleepPolicy
from mjjax.core.representation import short
from mjjax.core.struct import extents, specs
from mjjax.dynamics.history import initial_history
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import CollisionRules, Contact, Data
from mjjax.model.model import Model
from mjjax.model.rows import RowSlots
from mjjax.model.sleep import Sleep
from mjjax.model.state_fields import STATE_FIELDS
from mjjax.model.structure import Structure
from mjjax.model.terms import require_terms
from mjjax.model.trees import block_entries
from mjjax.model.view import View, element_id
from mjjax.pipeline.rest import asleep_at_first
from mjjax.pipeline.support import check_support, findings
from mjjax.sensor.table import rows_needed
from mjjax.xla.namespace import Array, where

ALL_ROWS = 1 << 30


def make_data(
    model: Model,
    *,
    nconmax: int | None = None,
    njmax: int | None = None,
    callbacks: Callbacks | None = None,
) -> Data:
    """Makes the data of one world, at rest at `qpos0` (`mj_makeData`).

    Args:
        model: model.
        nconmax: number of contact slots. By default, every candidate contact has a slot if there
            are few candidates; otherwise there are as many slots as contacts are expected (`mjjax
            info` says how many and why). Contacts that do not fit are dropped, shallowest first,
            and counted in `data.warning[WarningType.CONTACTFULL]`. `data.maxuse_con` is the largest
            number of contacts so far.
        njmax: number of slots for constraint rows; by default enough for all equalities, friction
            and limits, and for `nconmax` contacts.
        callbacks: callbacks of the simulation. Pass them if they filter or detect contacts, so that
            there is room for every contact that they may make.

    Raises:
        UnsupportedFeature: the model uses something that mjjax does not simulate.
        MjcfError: a tree that sleeps from the start is connected to one that is awake.
        AbsentTerm: a coefficient is set, but its term is off (`Model.terms`).
        ValueError: a capacity is negative or too small for the rows that belong to no contact.
    """
    data = allocated(model, (callbacks or NONE).rules, nconmax, njmax)
    return asleep_at_first(model, data, callbacks)


def allocated(model: Model, rules: CollisionRules, nconmax: int | None, njmax: int | None) -> Data:
    """The state of one world at `qpos0`, all awake; arguments and errors are as in `make_data`."""
    s = model.structure
    check_support(model, rules)
    require_terms(model)
    slots = capacity_of(model, rules).nconmax if nconmax is None else nconmax
    if slots < 0:
        raise ValueError(f"nconmax must not be negative, got {slots}")
    made = slots_of(model, rules)
    layout = row_layout(s, made, slots, ALL_ROWS)
    rows = layout.nrow if njmax is None else njmax
    if rows < layout.nscalar:
        raise ValueError(f"njmax must hold {layout.nscalar} rows besides contacts, got {rows}")
    sizes = sizes_of_data(s, made, slots, rows) | rows_needed(s)
    shapes = tuple(
        tuple((name, extents(spec.shape, sizes), spec.dtype) for name, spec in specs(cls).items())
        for cls in (Data, Contact, Sleep)
    )
    sleep = model.opt.enabled(EnableBit.SLEEP)
    return _allocated(model, (s, rules, made), shapes, sleep)


def sizes_of_data(s: Structure, slots: RowSlots, nconmax: int, njmax: int) -> dict[str, int]:
    """Sizes of the fields of `Data` by name, except those that sensors decide."""
    layout = row_layout(s, slots, nconmax, ALL_ROWS)
    return s.sizes | {
        "nconmax": nconmax,
        "njmax": njmax,
        "nscalar": layout.nscalar,
        "ngeneral": len(layout.general),
        "nitem": layout.nscalar + nconmax,
        "nmass": layout.nscalar + nconmax * slots.masses,
        "nelliptic": 0 if slots.pyramidal else nconmax,
        "narmature": armatures(s),
    }


def armatures(s: Structure) -> int:
    """Size of `Data.armature`."""
    return block_entries(s) if s.terms["tendon_armature"].any() else s.nv


@does("check of a compiled model")
def check_initial_sleep(model: Model) -> None:
    """Checks that trees can sleep from the start, as MuJoCo does when it loads a model.

    Raises:
        MjcfError: such a tree is connected to a tree that is awake.
    """
    policies = model.structure.tree_sleep_policy
    asleep = model.opt.enabled(EnableBit.SLEEP) and (policies == SleepPolicy.INIT).any()
    if asleep and not findings(model):
        make_data(model)


def reset_state(model: Model, data: Data) -> dict[str, Any]:
    """State and inputs after a reset: `qpos0`, mocap bodies in place, everything else zero."""
    zero = {name: jnp.zeros_like(getattr(data, name)) for name in STATE_FIELDS}
    return zero | _initial(model, data)


def blank_data(model: Model, data: Data) -> Data:
    """`Data` after a reset, with the capacities of `data`: no contacts, derived fields zero."""
    zeros = functools.cache(jnp.zeros)  # the dozens of fields share one array of each shape
    zero = jax.tree.map(lambda x: zeros(x.shape, x.dtype), data)
    return zero.replace(contact=empty_contact(zero.contact), **_initial(model, data))


_blank = jax.jit(blank_data, inline=True)  # no two of its leaves are one array


def reset_data(
    model: Model,
    data: Data,
    keyframe: Array | int | str | None = None,
    *,
    where: Array | bool = True,
) -> Data:
    """`data` with the state of a fresh `make_data`, or of a keyframe (`mj_resetDataKeyframe`).

    It works under `vmap`, with a keyframe or a mask per world. Capacities do not change. Derived
    fields are zero until you call `forward`.

    Args:
        model: model.
        data: data to reset, of which a reset keeps only the capacities.
        keyframe: name or id of a keyframe. The id may be traced; an invalid id gives a plain
            reset, as in MuJoCo.
        where: whether to reset; may be traced. If false, `data` is returned unchanged.

    Raises:
        KeyError: no keyframe has that name; the message lists the names of all keyframes.
    """
    if isinstance(keyframe, str | View):
        keyframe = element_id(model.structure, "key", keyframe, "reset_data")
    elif keyframe is not None and not jnp.issubdtype(jnp.result_type(keyframe), jnp.integer):
        raise TypeError(f"reset_data: keyframe is a name or an id, not {short(keyframe)}")
    fresh = _blank(model, data)
    nkey = model.structure.nkey
    if keyframe is not None and nkey:
        k = jnp.clip(jnp.asarray(keyframe, jnp.int32), 0, nkey - 1)
        stored = {
            "time": model.key_time[k],
            "qpos": model.key_qpos[k],
            "qvel": model.key_qvel[k],
            "act": model.key_act[k],
            "ctrl": model.key_ctrl[k],
            "mocap_pos": model.key_mpos[k].reshape(-1, 3),
            "mocap_quat": model.key_mquat[k].reshape(-1, 4),
        }
        valid = k == keyframe
        fresh = fresh.replace(
            **chosen(valid, stored, {name: getattr(fresh, name) for name in stored})
        )
    if where is True:
        return fresh
    return chosen(where, fresh, data)


def chosen(condition: Any, fresh: Any, now: Any) -> Any:
    """`fresh` where the condition holds, else `now`; arrays without entries stay as they are."""
    return jax.tree.map(lambda x, y: where(condition, x, y) if y.size else y, fresh, now)


Shapes = tuple[tuple[str, tuple[int, ...], type], ...]


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _allocated(
    model: Model,
    statics: tuple[Structure, CollisionRules, RowSlots],
    shapes: tuple[Shapes, Shapes, Shapes],
    sleep: bool,
) -> Data:
    """`Data` at `qpos0`, made by one program so that every leaf is an array of its own.

    If a leaf shared its array with the model or with another leaf, the data could not be donated.
    """
    made: tuple[dict[str, Any], ...] = tuple(
        {name: _zeros(shape, kind) for name, shape, kind in fields} for fields in shapes
    )
    structure, rules, slots = statics
    own, contact, resting = made
    own["contact"] = empty_contact(Contact(**contact))
    own["sleep"] = Sleep(**resting) if sleep else None
    data = Data(structure=structure, rules=rules, slots=slots, **own)
    return data.replace(**_initial(model, data))


def _zeros(shape: tuple[int, ...], kind: type) -> Array:
    return jnp.zeros(shape, {float: float, int: jnp.int32, bool: bool}[kind])


def _initial(model: Model, data: Data) -> dict[str, Any]:
    """State fields that do not start at zero."""
    mocap = np.flatnonzero(model.structure.body_mocapid >= 0)
    mocap = mocap[np.argsort(model.structure.body_mocapid[mocap])]
    real = data.qpos.dtype
    sleep, asleep = data.sleep, {}
    if sleep is not None:
        rest = sleep.replace(tree_asleep=sleep.tree_asleep0, qpos=jnp.asarray(model.qpos0, real))
        asleep = {"sleep": rest, "sensordata": sleep.sensordata0}
    return asleep | {
        "qpos": jnp.asarray(model.qpos0, real),
        "mocap_pos": jnp.asarray(model.body_pos[mocap], real),
        "mocap_quat": jnp.asarray(model.body_quat[mocap], real),
        "eq_active": jnp.asarray(model.structure.eq_active0.astype(bool)),
        "history": jnp.asarray(initial_history(model), real),
    }
