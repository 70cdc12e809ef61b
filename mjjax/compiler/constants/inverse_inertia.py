"""Joint-space inertia at `qpos0` and its inverse, tree by tree; the one place that needs it."""

import functools
from typing import NamedTuple

import numpy as np

from mjjax.dynamics.inertia import inertia_blocks
from mjjax.dynamics.tendon import tendon_blocks
from mjjax.dynamics.tree import in_dof_order, tree_plan
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import with_slope
from mjjax.xla.linalg import matmul
from mjjax.xla.namespace import Array, namespace


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


def tree_blocks(model: Model, data: Data) -> list[Array]:
    """Joint-space inertia (T, d, d) of the trees of each block, without the inertia of tendons."""
    s = model.structure
    return inertia_blocks(s, data.cinert, data.cdof, model.dof_armature)


def with_tendons(model: Model, data: Data, blocks: list[Array]) -> list[Array]:
    """Inertia of the trees and tendons; as in MuJoCo, tendons do not couple branches."""
    s = model.structure
    if s.terms["tendon_armature"].any():
        more = tendon_blocks(s, model.tendon_armature, data.ten_J)
        return [block + added for block, added in zip(blocks, more, strict=True)]
    return [
        with_slope(
            model, "tendon_armature", block, functools.partial(_tendons, s, i), (data.ten_J,)
        )
        for i, block in enumerate(blocks)
    ]


def _tendons(s: Structure, i: int, coefficients: dict[str, Array], arms: Array) -> Array:
    """The inertia that tendons add to a block."""
    return tendon_blocks(s, coefficients["tendon_armature"], arms)[i]


def inverse_inertia(s: Structure, blocks: list[Array]) -> InverseInertia:
    """Inverse of the joint-space inertia.

    As in C, it is NaN if the inertia of any tree is singular; `make_data` refuses such a model.
    """
    try:
        found = [namespace(inertia).linalg.inv(inertia) for inertia in blocks]
    except np.linalg.LinAlgError:
        found = [np.full_like(inertia, np.nan) for inertia in blocks]
    return InverseInertia(s, tuple(found))
