"""Islands: trees that rows connect are one optimisation problem; each island is its own problem.

All islands of a world iterate side by side, each with its own step length and its own end. Their
directions come from one linear solve whose matrix does not couple them. Sums over dofs and rows
become sums for each island. So the result of an island does not depend on the other islands.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import RowLayout
from mjjax.constraint.trees import item_trees, scalar_trees
from mjjax.core.enums import DisableBit, SolverType
from mjjax.core.struct import PyTree, static
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import WIDEST, sum_by_index
from mjjax.xla.linalg import matmul, total
from mjjax.xla.namespace import Array, where

DOFS_PER_PRODUCT = 16  # from so many dofs or rows per tree on, a product is faster than a scatter


class OneProblem(PyTree):
    """Everything is one problem, so each number per problem is a scalar."""

    def sum_dofs(self, *x: Array) -> list[Array]:
        """Sums () over dofs (nv,)."""
        return [jnp.sum(each) for each in x]

    def sum_rows(self, x: Array, contact: Array | None = None) -> Array:
        """Sum (...,) over rows (..., n), and over contacts (..., ncontact) if there are any."""
        # YNNPACK is slow for many sums at once, and makes no kernel for a single sum.
        total = matmul(x, jnp.ones(x.shape[-1], x.dtype)) if x.ndim > 1 else jnp.sum(x)
        return total if contact is None else total + jnp.sum(contact, axis=-1)

    def to_dofs(self, x: Array) -> Array:
        """Numbers (...,) of the problem, as factors of dofs (..., nv)."""
        return x[..., None]

    def to_rows(self, x: Array) -> Array:
        """Numbers (...,) of the problem, as factors of rows (..., nrow)."""
        return x[..., None]

    def to_contacts(self, x: Array) -> Array:
        """Numbers (...,) of the problem, as factors of contacts (..., ncontact)."""
        return x[..., None]


class Islands(PyTree):
    """Several problems. Each number per problem is an array (k,), where k is the number of trees.

    Trees without rows share the last place. No island needs this place if there are such trees.

    Attributes:
        tree: (k,) island of each tree.
        dof: (nv,) island of each dof.
        item: (nscalar + ncontact,) island of each scalar row and contact; k if they have no tree.
        used: (k,) whether the island exists.
        layout: row layout.
    """

    tree: Array
    dof: Array
    item: Array
    used: Array
    layout: RowLayout = static()

    def sum_dofs(self, *x: Array) -> list[Array]:
        """Sums (k,) over dofs (nv,)."""
        return list(
            self._sum(*self._by_tree(jnp.stack(x), self.layout.structure.dof_treeid, self.dof))
        )

    def sum_rows(self, x: Array, contact: Array | None = None) -> Array:
        """Sums (..., k) over rows (..., n), and over contacts (..., ncontact) if there are any."""
        n, per = self.layout.nscalar, self.layout.per_contact
        sums, place = self._by_tree(x[..., :n], scalar_trees(self.layout), self.item[:n])
        if not self.layout.ncontact:
            return self._sum(sums, place)
        if contact is None:
            contact = total(x[..., n + j :: per] for j in range(per))
        place = jnp.concatenate([place, self.item[n:]])
        return self._sum(jnp.concatenate([sums, contact], axis=-1), place)

    def _by_tree(self, x: Array, tree: np.ndarray, place: Array) -> tuple[Array, Array]:
        """Numbers (..., n) whose trees are static (-1 for none), with their islands.

        A scatter is slow, so the numbers of each tree are added up first if a tree has many.
        """
        count = len(self.used)
        if DOFS_PER_PRODUCT * count <= len(tree) <= WIDEST // count:
            return matmul(x, np.eye(count + 1, dtype=x.dtype)[tree, :count]), self.tree
        return x, place

    def _sum(self, x: Array, place: Array) -> Array:
        """Sums (..., k) of numbers (..., n) by island."""
        return sum_by_index(x, place, len(self.used))

    def to_dofs(self, x: Array) -> Array:
        """Numbers (..., k) for dofs (..., nv)."""
        return x[..., self.dof]

    def to_rows(self, x: Array) -> Array:
        """Numbers (..., k) for rows (..., nrow)."""
        items = self._items(x)
        contact = jnp.repeat(items[..., self.layout.nscalar :], self.layout.per_contact, axis=-1)
        return jnp.concatenate([items[..., : self.layout.nscalar], contact], axis=-1)

    def to_contacts(self, x: Array) -> Array:
        """Numbers (..., k) for contacts (..., ncontact)."""
        return self._items(x)[..., self.layout.nscalar :]

    def _items(self, x: Array) -> Array:
        return jnp.asarray(x).at[..., self.item].get(mode="fill", fill_value=0)


Parts = OneProblem | Islands


def are_apart(model: Model) -> bool:
    """Whether islands are separate problems: only for CG and Newton without noslip."""
    opt = model.opt
    primal = opt.solver in (SolverType.CG, SolverType.NEWTON)
    return primal and not opt.noslip_iterations and not opt.disabled(DisableBit.ISLAND)


def parts_of(model: Model, data: Data, layout: RowLayout) -> Parts:
    """The separate problems that the current rows form."""
    count = model.structure.ntree
    if count < 2 or not are_apart(model):
        return OneProblem()
    place = where(data.tree_island < 0, count - 1, data.tree_island)
    tree = item_trees(layout, data)
    return Islands(
        tree=place,
        dof=place[model.structure.dof_treeid],
        item=where(tree >= 0, place[tree], count),
        used=np.arange(count, dtype=np.int32) < data.nisland,
        layout=layout,
    )
