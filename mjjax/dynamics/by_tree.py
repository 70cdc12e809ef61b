"""Algebra of matrices that couple only dofs of the same tree; see `mjjax.model.trees`."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from mjjax.dynamics.tree import in_dof_order
from mjjax.model.structure import Structure
from mjjax.model.trees import join_blocks, split_blocks, tree_groups
from mjjax.xla import definite
from mjjax.xla.indexing import gather
from mjjax.xla.linalg import by_entry, einsum, matmul
from mjjax.xla.namespace import Array, namespace
from mjjax.xla.ordering import in_turn

# Number of kinds of trees that are factored at once; each takes a thread that waits for others.
TREES_AT_ONCE = 3


def apply_by_tree(
    s: Structure,
    function: Callable[[Any, Array], Array],
    matrix: Array,
    x: Array,
    few_at_once: bool = False,
) -> Array:
    """Applies `function(block, part)` to each tree's block (d, d) and part (d, ...) of `x`.

    Args:
        s: structure of the model.
        function: function of a block and a part.
        matrix: matrix by trees.
        x: (nv, ...) array.
        few_at_once: whether only a few kinds of trees are computed at once; the result is then not
            linear in `x`.
    """
    return apply_to_blocks(s, function, split_blocks(s, matrix), x, few_at_once)


def apply_to_blocks(
    s: Structure,
    function: Callable[[Any, Array], Array],
    blocks: list[Array],
    x: Array,
    few_at_once: bool = False,
) -> Array:
    """`apply_by_tree` for blocks (T, d, d) of each group."""
    parts: list[Array] = []
    for block, (_, dofs) in zip(blocks, tree_groups(s), strict=True):
        block = _few_at_once(block, parts) if few_at_once else block
        parts.append(over_trees(function, block, gather(x, dofs)))
    return in_dof_order(s, parts, 0) if parts else x


def over_trees(function: Callable[..., Array], *arrays: Array) -> Array:
    """Applies a function of one tree to arrays with a leading axis of trees."""
    if len(arrays[0]) == 1:  # a batch of one would be another, slower program
        return function(*(a[0] for a in arrays))[None]
    if namespace(*arrays) is np:
        return np.stack([function(*row) for row in zip(*arrays, strict=True)])
    return jax.vmap(function)(*arrays)


def mul_by_tree(s: Structure, matrix: Array, v: Array, symmetric: bool = True) -> Array:
    """Product (nv,) of a matrix by trees with a vector.

    For a symmetric matrix it computes the vector times the matrix, because a processor has its
    vectors along rows.
    """
    parts = []
    for block, (_, dofs) in zip(split_blocks(s, matrix), tree_groups(s), strict=True):
        x = gather(v, dofs)
        if len(dofs) > 1:
            parts.append(einsum("ti,tij->tj" if symmetric else "tj,tij->ti", x, block))
        else:
            product = matmul(x[0], block[0]) if symmetric else matmul(block[0], x[0])
            parts.append(product[None])
    return in_dof_order(s, parts, 0) if parts else v


def factor_by_tree(s: Structure, matrix: Array) -> list[Array]:
    """Lower Cholesky factors (T, d, d) of the blocks of each group."""
    factors: list[Array] = []
    for block in split_blocks(s, matrix):
        factors.append(over_trees(definite.factor, _few_at_once(block, factors)))
    return factors


def _few_at_once(block: Array, before: list[Array]) -> Array:
    """The next block, held back until only a few of the results before it are missing."""
    if len(before) < TREES_AT_ONCE or namespace(block) is np:
        return block
    return in_turn(block, before[-TREES_AT_ONCE].reshape(-1)[0])


def solve_factored(s: Structure, factors: list[Array], b: Array) -> Array:
    """Solution (nv, ...) with the matrix that `factor_by_tree` has factored."""
    return apply_to_blocks(s, definite.solve, factors, b)


def plus_diagonal(s: Structure, matrix: Array, diagonal: Array) -> Array:
    """A matrix by trees with numbers (nv,) added on its diagonal."""
    return join_blocks(blocks_plus_diagonal(s, split_blocks(s, matrix), diagonal), matrix)


def blocks_plus_diagonal(s: Structure, blocks: list[Array], diagonal: Array) -> list[Array]:
    """`plus_diagonal` for blocks (T, d, d) of each group."""
    return [
        by_entry(
            operator.add,
            block,
            np.eye(dofs.shape[1], dtype=block.dtype)[None] * gather(diagonal, dofs)[:, None],
        )
        for block, (_, dofs) in zip(blocks, tree_groups(s), strict=True)
    ]


def diagonal_by_tree(s: Structure, blocks: Sequence[Array]) -> Array:
    """Diagonal (nv,) of blocks (T, d, d)."""
    diagonals = [x.reshape(len(x), -1)[:, :: x.shape[-1] + 1] for x in blocks]
    return in_dof_order(s, diagonals, 0)


def of_dense(s: Structure, matrix: Array) -> Array:
    """Entries by trees of a dense matrix (nv, nv); entries that couple trees are dropped."""
    return join_blocks([block_of(matrix, dofs) for _, dofs in tree_groups(s)], matrix)


def block_of(matrix: Array, dofs: np.ndarray) -> Array:
    """Entries (T, d, d) of a dense matrix (nv, nv) for the dofs (T, d) of trees."""
    return matrix[dofs[:, :, None], dofs[:, None, :]]
