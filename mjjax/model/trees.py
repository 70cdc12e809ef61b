"""Kinematic trees by size, and matrices that couple only the dofs of one tree.

Such a matrix is stored by the entries of its blocks, with trees of equal size together. So a scene
of a hundred robots has a hundred small matrices instead of one large matrix.
"""

import functools

import numpy as np

from mjjax.model.structure import Structure
from mjjax.xla.namespace import Array, namespace, where


@functools.lru_cache(maxsize=64)
def tree_groups(s: Structure) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Bodies (T, b) and dofs (T, d) of the trees that have equally many of both."""
    groups: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for tree in range(s.ntree):
        bodies = np.flatnonzero(s.body_treeid == tree)
        dofs = np.flatnonzero(s.dof_treeid == tree)
        groups.setdefault((len(bodies), len(dofs)), []).append((bodies, dofs))
    return tuple(
        (np.stack([m[0] for m in members]), np.stack([m[1] for m in members]))
        for members in groups.values()
    )


def block_entries(s: Structure) -> int:
    """Number of entries of a matrix by trees."""
    return sum(dofs.shape[0] * dofs.shape[1] ** 2 for _, dofs in tree_groups(s))


def split_blocks(s: Structure, entries: Array) -> list[Array]:
    """Blocks (..., T, d, d) of each group from the entries (..., n) of a matrix by trees."""
    found, start = [], 0
    for _, dofs in tree_groups(s):
        count, size = dofs.shape
        stop = start + count * size * size
        found.append(entries[..., start:stop].reshape(*entries.shape[:-1], count, size, size))
        start = stop
    return found


def join_blocks(blocks: list[Array], like: Array) -> Array:
    """Entries (n,) of a matrix by trees from its blocks (T, d, d); without blocks as `like`."""
    xp = namespace(like, *blocks)
    if not blocks:
        return xp.zeros(0, like.dtype)
    return xp.concatenate([block.reshape(-1) for block in blocks])


def dense_blocks(s: Structure, entries: Array) -> Array:
    """A matrix by trees as a dense one (..., nv, nv)."""
    xp = namespace(entries)
    lead = entries.shape[:-1]
    parts, start = [], 0
    for block in split_blocks(s, entries):
        count, size = block.shape[-3:-1]
        if count > 1:
            apart = np.eye(count, dtype=bool)[:, None, :, None]
            block = where(apart, block[..., :, :, None, :], 0)
        block = block.reshape(*lead, count * size, count * size)
        stop = start + count * size
        pad = [(0, 0)] * len(lead)
        parts.append(xp.pad(block, [*pad, (0, 0), (start, s.nv - stop)]))
        start = stop
    if not parts:
        return xp.zeros((*lead, s.nv, s.nv), entries.dtype)
    full = xp.concatenate(parts, axis=-2)
    order = dof_order(s)
    if (order == np.arange(s.nv)).all():
        return full
    return full[..., order[:, None], order[None]]


@functools.lru_cache(maxsize=64)
def dof_order(s: Structure) -> np.ndarray:
    """Place of each dof (nv,) among the dofs of all groups, one group after the other."""
    dofs = [d.ravel() for _, d in tree_groups(s)]
    return np.argsort(np.concatenate(dofs)) if dofs else np.zeros(0, int)
