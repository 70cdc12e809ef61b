"""The kinematic trees that constraint rows act on, and the islands of trees that they connect."""

import functools

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import RowLayout
from mjjax.core.enums import ConstraintType, EqType
from mjjax.model.data import Data
from mjjax.model.structure import Structure
from mjjax.sleep.cycles import components
from mjjax.sleep.members import mask_of, members
from mjjax.xla.namespace import Array, where


@functools.lru_cache(maxsize=64)
def row_trees(layout: RowLayout) -> np.ndarray:
    """Mask (nscalar, ntree) of the trees that each scalar row acts on."""
    s = layout.structure
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
def _static_links(layout: RowLayout) -> tuple[np.ndarray, np.ndarray]:
    """Scalar rows that act on several trees (n,), and pairs of these trees (n, 2)."""
    rows, links = [], []
    for row, mask in enumerate(row_trees(layout)):
        trees = np.flatnonzero(mask)
        links += [(trees[0], other) for other in trees[1:]]
        rows += [row] * (len(trees) - 1)
    return np.array(rows, int), np.array(links, np.int32).reshape(-1, 2)


def tree_links(layout: RowLayout, data: Data) -> tuple[Array, Array]:
    """Pairs of trees (n, 2) that rows can connect, -1 for none, and whether (n,) a row does now."""
    rows, links = _static_links(layout)
    links, touching = jnp.asarray(links), _touching_trees(layout, data)
    return jnp.concatenate([links, touching]), _exist(layout, data)[_of_links(layout, rows)]


def item_trees(layout: RowLayout, data: Data) -> Array:
    """A tree (nscalar + ncontact,) that each scalar row and contact acts on, -1 if there is none.

    Rows count whether they are active or not, also rows with zero friction, which C does not have.
    """
    contact = jnp.max(_touching_trees(layout, data), axis=1)
    return jnp.append(jnp.asarray(scalar_trees(layout)), contact)


@functools.lru_cache(maxsize=64)
def scalar_trees(layout: RowLayout) -> np.ndarray:
    """A tree (nscalar,) that each scalar row acts on, -1 if there is none."""
    trees = row_trees(layout)
    return np.where(trees.any(axis=1), trees.argmax(axis=1), -1).astype(np.int32)


def find_islands(layout: RowLayout, data: Data) -> tuple[Array, Array]:
    """Island of each tree (ntree,), -1 for trees without rows, and the number of islands."""
    s = layout.structure
    if s.ntree == 1:
        some = data.nefc > 0
        return where(some, 0, jnp.full(1, -1, jnp.int32)), some.astype(jnp.int32)
    tree, label = item_trees(layout, data), components(s.ntree, *tree_links(layout, data))
    first = where(_exist(layout, data) & (tree >= 0), label[tree], s.ntree)
    used = jnp.zeros(s.ntree, bool).at[first].set(True, mode="drop")
    number = jnp.cumsum(used, dtype=jnp.int32) - 1
    return where(used, number, -1)[label], jnp.sum(used, dtype=jnp.int32)


def _touching_trees(layout: RowLayout, data: Data) -> Array:
    """Trees (ncontact, 2) of the contacts, -1 for static geoms."""
    geom = jnp.maximum(data.contact.geom[: layout.ncontact], 0)
    return jnp.asarray(members(layout.structure).geom, jnp.int32)[geom]


def _exist(layout: RowLayout, data: Data) -> Array:
    """Which scalar rows and contacts (nscalar + ncontact,) C has now."""
    n = layout.nscalar
    scalar = (data.efc_mass[:n] > 0) & ~layout.frictionless(data.efc_scalar_frictionloss)
    return jnp.append(scalar, data.contact.efc_address[: layout.ncontact] >= 0)


def _of_links(layout: RowLayout, rows: np.ndarray) -> np.ndarray:
    """Items of the links: rows, then contacts."""
    return np.append(rows, layout.nscalar + np.arange(layout.ncontact)).astype(np.int32)
