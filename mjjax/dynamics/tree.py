"""Sums along the kinematic trees as products with constant masks.

Bodies of one tree are a block; trees of equal size share one batched product, so that a scene of a
hundred robots costs a hundred small products, not one of the square of the scene. A small scene is
one product as a whole. The masks are static; the number of operations does not depend on the number
of bodies.
"""

import dataclasses
import functools

import numpy as np

from mjjax.math.indexing import gather, is_small, mix_rows
from mjjax.math.linalg import einsum
from mjjax.math.namespace import Array, namespace
from mjjax.model.structure import Structure
from mjjax.model.trees import dof_order, tree_groups


@dataclasses.dataclass(frozen=True)
class Block:
    """Trees with the same number of bodies and of dofs.

    Attributes:
        bodies: (T, b) body ids of each tree.
        dofs: (T, d) dof ids of each tree.
        above: (T, b, d) dof moves body.
        before: (T, d, d) second dof precedes the first one's joint on the way from the root.
        subtree: (T, b, b) second body is in the subtree of the first.
    """

    bodies: np.ndarray
    dofs: np.ndarray
    above: np.ndarray
    before: np.ndarray
    subtree: np.ndarray


@dataclasses.dataclass(frozen=True)
class TreePlan:
    """Static masks of a structure's trees.

    Attributes:
        blocks: trees grouped by size.
        static_bodies: ids of the bodies without dofs above them, the world first.
        static_subtree: (static, static + tree) what lies in the subtree of a static body.
        moves: (nbody, nv) dof moves body, over the whole model (for contacts across trees).
        before: (nv, nv) second dof precedes the first one's joint, over the whole model.
        subtree: (nbody, nbody) second body is in the subtree of the first, over the whole model.
    """

    blocks: tuple[Block, ...]
    static_bodies: np.ndarray
    static_subtree: np.ndarray
    moves: np.ndarray
    before: np.ndarray
    subtree: np.ndarray


def ancestors(parentid: np.ndarray) -> np.ndarray:
    """(n, n) mask: second index is the first or one of its ancestors."""
    n = len(parentid)
    mask = np.eye(n, dtype=bool)
    for i in range(1, n):
        mask[i] |= mask[parentid[i]]
    return mask


@functools.lru_cache(maxsize=64)
def tree_plan(s: Structure) -> TreePlan:
    """Masks of the trees of a structure."""
    above_body = ancestors(s.body_parentid)
    moves = above_body[:, s.dof_bodyid]
    # a dof is preceded by the dofs of earlier joints; a free joint's rotations by its translations
    order = np.arange(s.nv)
    earlier = (s.dof_jntid[None, :] != s.dof_jntid[:, None]) & (order[None, :] < order[:, None])
    within = order - s.jnt_dofadr[s.dof_jntid]
    free = s.jnt_type[s.dof_jntid] == 0
    same_free = (s.dof_jntid[None, :] == s.dof_jntid[:, None]) & free[:, None]
    earlier |= same_free & (within[:, None] >= 3) & (within[None, :] < 3)
    before = moves[s.dof_bodyid] & earlier

    blocks = [
        Block(
            b,
            d,
            np.stack([moves[np.ix_(i, j)] for i, j in zip(b, d, strict=True)]),
            np.stack([before[np.ix_(j, j)] for j in d]),
            np.stack([above_body[np.ix_(i, i)].T for i in b]),
        )
        for b, d in tree_groups(s)
    ]
    roots = [block.bodies[:, 0] for block in blocks]
    static = np.flatnonzero(s.body_treeid < 0)
    heads = np.concatenate([static, *roots]).astype(int)
    static_subtree = above_body[heads][:, static].T
    return TreePlan(tuple(blocks), static, static_subtree, moves, before, above_body.T)


def body_sum(s: Structure, x: Array) -> Array:
    """Sum over the dofs that move each body: (nv, k) -> (nbody, k), zero for static bodies."""
    mask = tree_plan(s).moves
    return mix_rows(mask, x) if is_small(mask, x) else _per_block(s, x, "dofs", "above", "bodies")


def before_sum(s: Structure, x: Array) -> Array:
    """Sum over the dofs that precede each dof's joint: (nv, k) -> (nv, k)."""
    mask = tree_plan(s).before
    return mix_rows(mask, x) if is_small(mask, x) else _per_block(s, x, "dofs", "before", "dofs")


def subtree_sum(s: Structure, x: Array) -> Array:
    """Sum over the subtree of each body, static ones included: (nbody, k) -> (nbody, k)."""
    xp = namespace(x)
    plan = tree_plan(s)
    if is_small(plan.subtree, x):
        return mix_rows(plan.subtree, x)
    parts, heads = [], []
    for block in plan.blocks:
        total = einsum("tij,tjk->tik", block.subtree, gather(x, block.bodies))
        heads.append(total[:, 0])
        parts.append(total.reshape(-1, x.shape[-1]))
    static = einsum(
        "ij,jk->ik", plan.static_subtree, xp.concatenate([gather(x, plan.static_bodies), *heads])
    )
    return in_body_order(s, [static, *parts])


def dof_sum(s: Structure, x: Array) -> Array:
    """Sum over the bodies that each dof moves: (nbody, k) -> (nv, k)."""
    xp, plan = namespace(x), tree_plan(s)
    if is_small(plan.moves, x):
        return mix_rows(plan.moves.T, x)
    parts = [
        einsum("tij,tjk->tik", b.above.swapaxes(1, 2), gather(x, b.bodies)).reshape(-1, x.shape[-1])
        for b in plan.blocks
    ]
    if not parts:
        return xp.zeros((0, x.shape[-1]), x.dtype)
    return gather(xp.concatenate(parts), dof_order(s))


def in_body_order(s: Structure, parts: list[Array]) -> Array:
    """Values (nbody, ...) of the static bodies and of those of each block, one after the other."""
    return gather(namespace(*parts).concatenate(parts), _body_order(s))


def in_dof_order(s: Structure, parts: list[Array], axis: int) -> Array:
    """Values of the blocks, with their trees and dofs along two axes, joined along one of nv."""
    xp = namespace(*parts)
    flat = [x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2 :])) for x in parts]
    if not flat:
        return xp.zeros((0,) * (axis + 1))
    joined, order = xp.concatenate(flat, axis=axis), dof_order(s)
    if (order == np.arange(s.nv)).all():
        return joined
    return gather(joined, order) if axis == 0 else xp.take(joined, order, axis=axis)


def _per_block(s: Structure, x: Array, source: str, mask: str, target: str) -> Array:
    """Products of the masks of the blocks with rows of `x`; zero for what is in no block."""
    xp = namespace(x)
    plan = tree_plan(s)
    none = plan.static_bodies[: None if target == "bodies" else 0]
    parts = [xp.zeros((len(none), x.shape[-1]), x.dtype)]
    for block in plan.blocks:
        picked = gather(x, getattr(block, source))
        parts.append(einsum("tij,tjk->tik", getattr(block, mask), picked).reshape(-1, x.shape[-1]))
    order = _body_order(s) if target == "bodies" else dof_order(s)
    return gather(xp.concatenate(parts), order)


@functools.lru_cache(maxsize=64)
def _body_order(s: Structure) -> np.ndarray:
    """Where each body stands: static ones first, then by block."""
    plan = tree_plan(s)
    bodies = [plan.static_bodies, *(block.bodies.ravel() for block in plan.blocks)]
    return np.argsort(np.concatenate(bodies).astype(int))
