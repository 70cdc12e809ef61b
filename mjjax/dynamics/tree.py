"""Sums along the kinematic trees as products with constant masks.

The summed arrays have their components first, (k, n). A product with a mask from the right then has
the batch in front and needs no transpose. The bodies of one tree are a block, and trees of equal
size share one product. So a scene of a hundred robots costs a hundred small products, not one
product of the squared size. A small scene is one product as a whole. The masks are static, and the
number of operations does not depend on the number of bodies.
"""

import dataclasses
import functools

import numpy as np

from mjjax.model.dofs import dofs_of
from mjjax.model.structure import Structure
from mjjax.model.trees import dof_order, tree_groups
from mjjax.xla.indexing import gather, gather_columns
from mjjax.xla.linalg import einsum, matmul, mix_columns
from mjjax.xla.namespace import Array, namespace

DENSE = 1024  # entries of a mask up to which one product with a whole scene is used (measured)


@dataclasses.dataclass(frozen=True)
class Block:
    """Trees with the same number of bodies and of dofs.

    Attributes:
        bodies: (T, b) body ids of each tree.
        dofs: (T, d) dof ids of each tree.
        above: (T, b, d) whether the dof moves the body.
        before: (T, d, d) whether the second dof precedes the joint of the first on the way from the
            root.
        subtree: (T, b, b) whether the second body is in the subtree of the first.
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
        static_subtree: (static, static + tree) members of the subtree of each static body.
        moves: (nbody, nv) whether the dof moves the body, in the whole model (for contacts across
            trees).
        before: (nv, nv) `Block.before` for the whole model.
        subtree: (nbody, nbody) `Block.subtree` for the whole model.
    """

    blocks: tuple[Block, ...]
    static_bodies: np.ndarray
    static_subtree: np.ndarray
    moves: np.ndarray
    before: np.ndarray
    subtree: np.ndarray


def ancestors(parentid: np.ndarray) -> np.ndarray:
    """(n, n) mask: whether the second index is the first one or one of its ancestors."""
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
    # The dofs of earlier joints precede a dof. In a free joint, translations precede rotations.
    order, dofs = np.arange(s.nv), dofs_of(s)
    earlier = ~dofs.same_joint & (order[None, :] < order[:, None])
    earlier |= dofs.same_joint & dofs.turns[:, None] & dofs.shifts[None]
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
    """Sums over the dofs that move each body: (k, nv) -> (k, nbody), zero for static bodies."""
    xp, plan = namespace(x), tree_plan(s)
    if _is_small(plan.moves):
        return mix_columns(plan.moves, x)
    parts = [_mixed(b.above, gather_columns(x, b.dofs.ravel())) for b in plan.blocks]
    none = xp.zeros((len(x), len(plan.static_bodies)), x.dtype)
    return in_body_order(s, [none, *(y.reshape(len(x), -1) for y in parts)])


def before_sum(s: Structure, x: Array) -> Array:
    """Sums over the dofs that precede each dof's joint: (k, nv) -> (k, nv)."""
    plan = tree_plan(s)
    if _is_small(plan.before):
        return mix_columns(plan.before, x)
    if not plan.blocks:
        return x[:, :0]
    parts = [_mixed(b.before, gather_columns(x, b.dofs.ravel())) for b in plan.blocks]
    return in_dof_order(s, parts, 1)


def subtree_sum(s: Structure, x: Array) -> Array:
    """Sums over the subtree of each body, static ones included: (k, nbody) -> (k, nbody)."""
    xp, plan = namespace(x), tree_plan(s)
    if _is_small(plan.subtree):
        return mix_columns(plan.subtree, x)
    parts, heads = [], []
    for block in plan.blocks:
        total = _mixed(block.subtree, gather_columns(x, block.bodies.ravel()))
        heads.append(total[:, :, 0])
        parts.append(total.reshape(len(x), -1))
    static = xp.concatenate([gather_columns(x, plan.static_bodies), *heads], axis=1)
    return in_body_order(s, [mix_columns(plan.static_subtree, static), *parts])


def dof_sum(s: Structure, x: Array) -> Array:
    """Sums over the bodies that each dof moves: (k, nbody) -> (k, nv)."""
    plan = tree_plan(s)
    if _is_small(plan.moves):
        return mix_columns(plan.moves.T, x)
    if not plan.blocks:
        return x[:, :0]
    parts = [
        _mixed(b.above.swapaxes(1, 2), gather_columns(x, b.bodies.ravel())) for b in plan.blocks
    ]
    return in_dof_order(s, parts, 1)


def _is_small(mask: np.ndarray) -> bool:
    """Whether one product with the mask of a whole scene is no slower than products by blocks."""
    return 0 < mask.size <= DENSE


def _mixed(masks: np.ndarray, x: Array) -> Array:
    """Products (k, T, m) of the masks (T, m, n) of trees with each row of `x` (k, T n)."""
    blocks = x.reshape(len(x), len(masks), -1)
    if (masks == masks[0]).all():
        return matmul(blocks, masks[0].T)
    return einsum("tij,ktj->kti", masks, blocks)


def in_body_order(s: Structure, parts: list[Array]) -> Array:
    """Columns (k, nbody) in the order of bodies, from static bodies and those of each block."""
    return gather_columns(namespace(*parts).concatenate(parts, axis=1), _body_order(s))


def in_dof_order(s: Structure, parts: list[Array], axis: int) -> Array:
    """Values of the blocks, with trees and dofs along two axes, joined along one axis of nv."""
    xp = namespace(*parts)
    flat = [x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2 :])) for x in parts]
    if not flat:
        return xp.zeros((0,) * (axis + 1))
    joined, order = xp.concatenate(flat, axis=axis), dof_order(s)
    if (order == np.arange(s.nv)).all():
        return joined
    return gather(joined, order) if axis == 0 else gather_columns(joined, order)


@functools.lru_cache(maxsize=64)
def _body_order(s: Structure) -> np.ndarray:
    """Place of each body if static bodies come first, then the bodies block by block."""
    plan = tree_plan(s)
    bodies = [plan.static_bodies, *(block.bodies.ravel() for block in plan.blocks)]
    return np.argsort(np.concatenate(bodies).astype(int))
