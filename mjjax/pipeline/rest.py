"""Trees that fall asleep: at the end of a step, and at a reset."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from mjjax.core.enums import DisableBit, SleepPolicy, Stage
from mjjax.core.errors import Origin
from mjjax.core.profile import stage
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.sleep import FULLY_AWAKE, sleeps
from mjjax.pipeline.forward import forward_skip
from mjjax.sleep.cycles import awake_trees, cycles, first_of_island
from mjjax.sleep.members import members
from mjjax.sleep.stages import (
    any_in_tree,
    awake_dofs,
    coordinate_trees,
    disturbed,
    with_asleep,
)
from mjjax.xla.all_worlds import largest_of_worlds
from mjjax.xla.loops import cond
from mjjax.xla.namespace import Array, where


@stage
def settled(model: Model, data: Data) -> Array:
    """`tree_asleep` (ntree,) at the end of a step (`mj_sleep`).

    An awake tree counts the steps in which it is slow and no force is applied to it. Connected
    trees fall asleep together once all of them have counted to -1. If islands are disabled, nothing
    changes while there are constraints. A tree that an active constraint ties to a mocap body stays
    awake; MuJoCo would stop with an error.
    """
    assert data.sleep is not None
    s, old = model.structure, data.sleep.tree_asleep
    ties = members(s)
    busy = disturbed(s, data) | any_in_tree(s.dof_treeid, _fast(model, data), s.ntree)
    for side in ties.equality.T:
        busy |= any_in_tree(side, data.eq_active & ties.mocap, s.ntree)
    up = jnp.minimum(old + 1, -1)
    counter = where(ties.may_sleep & ~busy, up, FULLY_AWAKE)
    awake = awake_trees(old)
    label = first_of_island(data.tree_island)
    unready = jnp.zeros(s.ntree, bool).at[label].max(awake & (counter < -1))
    new = where(awake & ~unready[label], cycles(label, awake), counter)
    new = where(awake, new, old)
    if model.opt.disabled(DisableBit.ISLAND):
        new = where(data.nefc > 0, old, new)
    return new


def _fast(model: Model, data: Data) -> Array:
    """Which dofs (nv,) move at the tolerance or faster; none at rest, unless it is negative."""
    tolerance = model.opt.sleep_tolerance
    speed = lax.stop_gradient(jnp.abs(data.qvel) * model.dof_length)
    return (speed >= tolerance) & ~((speed == 0) & (tolerance == 0))


def fall_asleep(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """Puts trees to sleep that have come to rest; their velocity becomes zero (`mj_sleep`).

    If a tree falls asleep, everything that depends on velocities is computed once more, as in
    MuJoCo. A batch does this if any of its worlds has to. A velocity that becomes zero has
    derivative zero.
    """
    if not sleeps(model, data):
        return data
    assert data.sleep is not None
    old, new = data.sleep.tree_asleep, settled(model, data)
    slept = awake_trees(old) & ~awake_trees(new)
    some = jnp.any(slept)

    def again(data: Data) -> Data:
        still = data.replace(qvel=where(slept[model.structure.dof_treeid], 0, data.qvel))
        return forward_skip(model, still, Stage.POS, callbacks=callbacks)

    repeated = cond(largest_of_worlds(some), again, lambda data: data, data)
    data = jax.tree.map(lambda x, y: where(some, x, y), repeated, data)
    return with_asleep(data, new)


def _settled_at(callbacks: Callbacks | None, model: Model, data: Data) -> tuple[Array, Array]:
    data = forward_skip(model, data, callbacks=callbacks)
    return settled(model, data), data.sensordata


_first = jax.jit(functools.partial(_settled_at, None))  # once for loading and making data


def asleep_at_first(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """`data` at `qpos0`, in which trees with the policy `init` are asleep (`mj_resetData`).

    The sensors of these trees have been read once, as if everything were awake.

    Raises:
        MjcfError: such a tree is connected to a tree with another policy. Traced data are not
            checked.
    """
    if data.sleep is None:
        return data
    s, sensordata = model.structure, data.sensordata
    awake = jnp.full(s.ntree, FULLY_AWAKE, jnp.int32)
    initial = np.flatnonzero(s.tree_sleep_policy == SleepPolicy.INIT)
    if len(initial):
        first = _first if callbacks is None else functools.partial(_settled_at, callbacks)
        awake, sensordata = first(model, with_asleep(data, awake.at[initial].set(-1)))
        _check_initial(model, awake, initial)
    rest = data.sleep.replace(tree_asleep=awake, tree_asleep0=awake, qpos=data.qpos)
    return data.replace(sleep=rest.replace(sensordata0=sensordata), sensordata=sensordata)


def _check_initial(model: Model, tree_asleep: Array, initial: np.ndarray) -> None:
    if isinstance(tree_asleep, Tracer):
        return
    s = model.structure
    for tree in initial[np.asarray(tree_asleep)[initial] < 0]:
        body = int(s.tree_bodyadr[tree])
        origin = s.origins.get(("body", body), Origin("body"))
        raise origin.error(
            "the body cannot sleep from the start: it is connected to one that is awake",
            "give all bodies that it touches sleep='init', or this one 'allowed'",
        )


def keep_asleep(model: Model, data: Data, old: Data) -> Data:
    """`data` after a step from `old`, in which sleeping trees do not move."""
    if not sleeps(model, data):
        return data
    assert data.sleep is not None
    on, tree = awake_dofs(model, data), coordinate_trees(model.structure)
    qpos = where(awake_trees(data.sleep.tree_asleep)[tree], data.qpos, old.qpos)
    return data.replace(
        qvel=where(on, data.qvel, old.qvel),
        qpos=qpos,
        sleep=data.sleep.replace(qpos=qpos),
    )
