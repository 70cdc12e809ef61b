"""Joint-space inertia at `qpos0` and its inverse, tree by tree; the one place that needs it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mjjax.dynamics.inertia import coupled, dof_plan
from mjjax.dynamics.tree import Block, in_dof_order, subtree_sum, tree_plan
from mjjax.math.linalg import einsum, gather, matmul
from mjjax.math.namespace import Array, namespace
from mjjax.math.spatial import inertia_mul
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import complete_or_absent


class InverseInertia(NamedTuple):
    """Inverse inertia of the trees of a structure.

    Attributes:
        structure: structure.
        blocks: (T, d, d) for each block of the tree plan.
    """

    structure: Structure
    blocks: tuple[Array, ...]

    def of(self, arms: Array) -> Array:
        """Accelerations (n, nv) under joint-space forces (n, nv)."""
        if not self.blocks:
            return arms
        parts = []
        for block, inverse in zip(tree_plan(self.structure).blocks, self.blocks, strict=True):
            force = namespace(arms).swapaxes(arms[:, block.dofs], 0, 1)
            parts.append(namespace(arms).swapaxes(matmul(force, inverse), 0, 1))
        return in_dof_order(self.structure, parts, 1)


def tree_inertia(model: Model, data: Data) -> list[Array]:
    """Joint-space inertia (T, d, d) of the trees of each block."""
    s = model.structure
    momentum = inertia_mul(gather(subtree_sum(s, data.cinert), s.dof_bodyid), data.cdof)
    lower, found = dof_plan(s).lower, []
    for block in tree_plan(s).blocks:
        d = block.dofs
        inertia = coupled(momentum[d], data.cdof[d], _by_tree(lower, block))
        unit = np.eye(d.shape[1], dtype=inertia.dtype)[None]
        found.append(inertia + unit * model.dof_armature[d][:, None])
    return found


def tendon_blocks(model: Model, data: Data, blocks: list[Array]) -> list[Array]:
    """Inertia of the trees with that of tendons, which as in MuJoCo couples no branches."""
    s = model.structure
    if not s.terms["tendon_armature"].any():
        return [complete_or_absent(model, "tendon_armature", block) for block in blocks]
    xp, kept, found = namespace(data.ten_J), dof_plan(s).kept, []
    for block, inertia in zip(tree_plan(s).blocks, blocks, strict=True):
        arms = data.ten_J[:, block.dofs]
        added = einsum("nti,n,ntj->tij", arms, model.tendon_armature, arms)
        found.append(inertia + xp.where(_by_tree(kept, block), added, 0))
    return found


def _by_tree(mask: np.ndarray, block: Block) -> np.ndarray:
    """The parts (T, d, d) of a mask (nv, nv) that belong to the trees of a block."""
    return mask[block.dofs[:, :, None], block.dofs[:, None, :]]


def diagonal(s: Structure, blocks: Sequence[Array]) -> Array:
    """Diagonal (nv,) of a matrix that is given by tree."""
    return in_dof_order(s, [einsum("tii->ti", x) for x in blocks], 0)


def inverse_inertia(s: Structure, blocks: list[Array]) -> InverseInertia:
    """Inverse of the joint-space inertia.

    Not a number if the inertia of any tree is singular, as in C; `make_data` refuses such a model.
    """
    try:
        found = [namespace(inertia).linalg.inv(inertia) for inertia in blocks]
    except np.linalg.LinAlgError:
        found = [np.full_like(inertia, np.nan) for inertia in blocks]
    return InverseInertia(s, tuple(found))
