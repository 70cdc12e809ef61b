"""Islands: trees that rows connect are one optimisation problem, others are problems of their own.

All islands of a world iterate side by side, each with its own step length and its own end: their
directions come from one linear solve whose matrix does not couple them, and sums over dofs and rows
become sums for each island. So the result of an island does not depend on what else is there.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.layout import RowLayout
from mjjax.constraint.trees import item_trees, scalar_trees
from mjjax.core.enums import DisableBit, SolverType
from mjjax.core.struct import PyTree, static
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import WIDEST
from mjjax.xla.linalg import matmul, total
from mjjax.xla.namespace import Array, where

DOFS_PER_PRODUCT = 16  # dofs or rows of a tree from where on a product is faster than a scatter


class OneProblem(PyTree):
    """Everything is one problem: a number of it is a scalar."""

    def sum_dofs(self, *x: Array) -> list[Array]:
        """Sums () over dofs (nv,)."""
        return [jnp.sum(each) for each in x]

    def sum_rows(self, x: Array, contact: Array | None = None) -> Array:
        """Sum (...,) over rows (..., n), and over contacts (..., ncontact) if there are any."""
        # of many sums at once YNNPACK's are slow, of one no kernel is made
        total = matmul(x, jnp.ones(x.shape[-1], x.dtype)) if x.ndim > 1 else jnp.sum(x)
        return total if contact is None else total + jnp.sum(contact, axis=-1)

    def to_dofs(self, x: Array) -> Array:
        """Numbers (...,) as what multiplies dofs (..., nv)."""
        return x[..., None]

    def to_rows(self, x: Array) -> Array:
        """Numbers (...,) as what multiplies rows (..., nrow)."""
        return x[..., None]

    def to_contacts(self, x: Array) -> Array:
        """Numbers (...,) as what multiplies contacts (..., ncontact)."""
        return x[..., None]


class Islands(PyTree):
    """Several problems: a number of theirs is an array (k,), k the number of trees.

    Trees without rows share the last place, which is free if there are any.

    Attributes:
        tree: (k,) island of each tree.
        dof: (nv,) island of each dof.
        item: (nscalar + ncontact,) island of each scalar row and contact; k for those of no tree.
        used: (k,) whether there is such an island.
        layout: row self.layout.
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
        """Numbers (..., n) of static trees, -1 for none, and their islands, in fewer numbers.

        A scatter is slow: those of a tree are added first, where there are many.
        """
        count = len(self.used)
        if DOFS_PER_PRODUCT * count <= len(tree) <= WIDEST // count:
            return matmul(x, np.eye(count + 1, dtype=x.dtype)[tree, :count]), self.tree
        return x, place

    def _sum(self, x: Array, place: Array) -> Array:
        """Sums (..., k) of numbers (..., n) by island."""
        zero = jnp.zeros((*x.shape[:-1], len(self.used)), x.dtype)
        return zero.at[..., place].add(x, mode="drop")

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
    """Whether islands are solved one by one: of solvers for accelerations, without noslip."""
    opt = model.opt
    primal = opt.solver in (SolverType.CG, SolverType.NEWTON)
    return primal and not opt.noslip_iterations and not opt.disabled(DisableBit.ISLAND)


def parts_of(model: Model, data: Data, layout: RowLayout) -> Parts:
    """The problems that the rows of now are."""
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
