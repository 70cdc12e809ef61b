"""Stages that wake trees, and the values that sleeping trees keep.

Nothing here has a derivative of its own, because integers decide which trees sleep. Values that a
sleeping tree keeps have the derivative that they had. Its velocity is zero and has derivative zero.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.core.enums import EnableBit, JointType
from mjjax.core.profile import stage
from mjjax.math.quat import normalize
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.sleep import sleeps
from mjjax.model.structure import Structure
from mjjax.sleep.cycles import awake_trees, least_in_cycle, wake, wake_neighbours
from mjjax.sleep.members import members
from mjjax.xla.bits import any_bit
from mjjax.xla.namespace import Array, where


def with_asleep(data: Data, tree_asleep: Array) -> Data:
    """`data` with another `tree_asleep`."""
    assert data.sleep is not None
    return data.replace(sleep=data.sleep.replace(tree_asleep=tree_asleep))


def any_in_tree(trees: np.ndarray, mask: Array, ntree: int) -> Array:
    """Which trees (ntree,) have an element in `mask` (n,); `trees` (n,) has -1 for no tree."""
    place = np.where(trees < 0, ntree, trees)
    return jnp.zeros(ntree, bool).at[place].max(mask, mode="drop")


def disturbed(s: Structure, data: Data) -> Array:
    """Trees (ntree,) on which the user applies a force, -0.0 included, as in MuJoCo."""
    joints = any_in_tree(s.dof_treeid, any_bit(data.qfrc_applied), s.ntree)
    bodies = jnp.any(any_bit(data.xfrc_applied), axis=1)
    return joints | any_in_tree(s.body_treeid, bodies, s.ntree)


@stage
def wake_changed(model: Model, data: Data) -> Data:
    """Wakes trees whose `qpos`, `qvel` or applied forces the user has changed (`mj_wake`).

    Velocities and forces wake a tree if any of their bits is set, so -0.0 wakes it too. Positions
    are compared with those of the last step; quaternions are normalized before.

    Raises:
        ValueError: the flag `sleep` was not on when the data was made.
    """
    if not model.opt.enabled(EnableBit.SLEEP):
        return data
    if data.sleep is None:
        raise ValueError("flag 'sleep' was off when the data was made: make_data(model) again")
    s = model.structure
    moved = any_in_tree(s.dof_treeid, any_bit(data.qvel), s.ntree) | disturbed(s, data)
    before, after = (_pose(s, x) for x in (data.sleep.qpos, data.qpos))
    moved |= any_in_tree(coordinate_trees(s), before != after, s.ntree)
    return with_asleep(data, wake(data.sleep.tree_asleep, moved))


def coordinate_trees(s: Structure) -> np.ndarray:
    """Tree of each coordinate of `qpos` (nq,)."""
    width = np.array([7, 4, 1, 1])[s.jnt_type]
    return np.repeat(s.body_treeid[s.jnt_bodyid], width)


def _pose(s: Structure, qpos: Array) -> Array:
    """Coordinates (nq,) with normalized quaternions."""
    start = s.jnt_qposadr + np.where(s.jnt_type == JointType.FREE, 3, 0)
    start = start[(s.jnt_type == JointType.FREE) | (s.jnt_type == JointType.BALL)]
    qpos = jnp.asarray(lax.stop_gradient(qpos))
    if not len(start):
        return qpos
    index = start[:, None] + np.arange(4)
    return qpos.at[index].set(normalize(qpos[index]), unique_indices=True)


@stage
def wake_tendons(model: Model, data: Data) -> Data:
    """Wakes trees that a tendon at its limit ties to an awake one (`mj_wakeTendon`)."""
    s = model.structure
    if not sleeps(model, data) or not s.ntendon:
        return data
    assert data.sleep is not None
    trees = members(s).tendon
    ids = np.flatnonzero(s.tendon_limited.astype(bool) & (trees.sum(axis=1) == 2))
    if not len(ids):
        return data
    links = np.stack([np.flatnonzero(trees[i]) for i in ids]).astype(np.int32)
    length, margin = data.ten_length[ids], model.tendon_margin[ids]
    low, high = model.tendon_range[ids].T
    near = jnp.minimum(length - low, high - length) < margin
    asleep = wake_neighbours(data.sleep.tree_asleep, jnp.asarray(links), near)
    return with_asleep(data, asleep)


@stage
def wake_equalities(model: Model, data: Data) -> Data:
    """Wakes trees that an active equality ties to others (`mj_wakeEquality`).

    The other tree is awake, or it sleeps but did not fall asleep together with the first one.
    """
    s = model.structure
    if not sleeps(model, data) or not s.neq:
        return data
    assert data.sleep is not None
    asleep, links = data.sleep.tree_asleep, members(s).equality.astype(np.int32)
    cycle = least_in_cycle(asleep, jnp.arange(s.ntree, dtype=jnp.int32))
    apart = cycle[links[:, 0]] != cycle[links[:, 1]]
    apart &= data.eq_active & (links >= 0).all(axis=1)
    woken = any_in_tree(links[:, 0], apart, s.ntree) | any_in_tree(links[:, 1], apart, s.ntree)
    return with_asleep(data, wake(asleep, woken))


def awake_dofs(model: Model, data: Data) -> Array:
    """Which dofs (nv,) belong to awake trees."""
    assert data.sleep is not None
    return awake_trees(data.sleep.tree_asleep)[model.structure.dof_treeid]


def any_awake(data: Data, trees: np.ndarray) -> Array:
    """Which sets of trees, given as masks (n, ntree), have an awake tree or are empty."""
    assert data.sleep is not None
    some = jnp.any(trees & awake_trees(data.sleep.tree_asleep)[None], axis=1)
    return some | ~trees.any(axis=1)


def keep_smooth(model: Model, old: Data, new: Data) -> Data:
    """`new`, with `qfrc_smooth` and `qacc_smooth` of sleeping trees from `old`.

    Their warm start is the solution, since no constraint acts on them.
    """
    if not sleeps(model, new):
        return new
    on = awake_dofs(model, new)
    qacc = where(on, new.qacc_smooth, old.qacc_smooth)
    return new.replace(
        qfrc_smooth=where(on, new.qfrc_smooth, old.qfrc_smooth),
        qacc_smooth=qacc,
        qacc_warmstart=where(on, new.qacc_warmstart, qacc),
    )
