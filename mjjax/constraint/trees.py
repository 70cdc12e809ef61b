"""Which kinematic trees the constraint rows act on."""

import functools

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.core.enums import ConstraintType, EqType
from mjjax.math.namespace import Array
from mjjax.model.data import Data
from mjjax.model.structure import Structure
from mjjax.sleep.members import mask_of, members


@functools.lru_cache(maxsize=64)
def row_trees(layout: RowLayout, s: Structure) -> np.ndarray:
    """Trees (nscalar, ntree) of the scalar rows, as a mask."""
    its = members(s)
    dof = mask_of(s.dof_treeid[:, None], s.ntree)
    joint = dof[s.jnt_dofadr]
    of = {
        ConstraintType.EQUALITY: _equalities(s),
        ConstraintType.FRICTION_DOF: dof,
        ConstraintType.FRICTION_TENDON: its.tendon,
        ConstraintType.LIMIT_JOINT: joint,
        ConstraintType.LIMIT_TENDON: its.tendon,
    }
    found = np.zeros((layout.nscalar, s.ntree), bool)
    for kind, trees in of.items():
        mine = layout.kind == kind
        found[mine] = trees[layout.owner[mine]]
    return found


def _equalities(s: Structure) -> np.ndarray:
    its = members(s)
    found = mask_of(its.equality, s.ntree)
    for i in np.flatnonzero(s.eq_type == EqType.TENDON):
        tendons = [k for k in (s.eq_obj1id[i], s.eq_obj2id[i]) if k >= 0]
        found[i] = its.tendon[tendons].any(axis=0)
    return found


@functools.lru_cache(maxsize=64)
def _static_links(layout: RowLayout, s: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Scalar rows that act on several trees (n,), and pairs of these trees (n, 2)."""
    rows, links = [], []
    for row, mask in enumerate(row_trees(layout, s)):
        trees = np.flatnonzero(mask)
        links += [(trees[0], other) for other in trees[1:]]
        rows += [row] * (len(trees) - 1)
    return np.array(rows, int), np.array(links, np.int32).reshape(-1, 2)


def tree_links(layout: RowLayout, s: Structure, data: Data) -> tuple[Array, Array]:
    """Pairs of trees (n, 2) that rows can connect, -1 for none, and whether (n,) one does now."""
    rows, links = _static_links(layout, s)
    active = data.efc_D > 0
    lossy = layout.mask(*FRICTION)
    active &= ~(jnp.pad(lossy, (0, len(active) - len(lossy))) & (data.efc_frictionloss == 0))
    geom = data.contact.geom
    touching = jnp.asarray(members(s).geom, jnp.int32)[jnp.maximum(geom, 0)]
    pressed = data.contact.efc_address >= 0
    return jnp.concatenate([jnp.asarray(links), touching]), jnp.append(active[rows], pressed)
