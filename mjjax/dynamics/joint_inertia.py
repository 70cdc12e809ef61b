"""The joint-space inertia as an operator: products and solutions, differentiated by its factors.

M v is the force that accelerates bodies of given inertias along their motion axes. A derivative of
the matrix has nv^2 entries for every direction, but a derivative of a product has only nv. So the
matrix is never differentiated, unless it is itself the result.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from mjjax.dynamics.by_tree import apply_by_tree, mul_by_tree, plus_diagonal
from mjjax.dynamics.inertia import blocks_and_upper
from mjjax.dynamics.tendon import tendon_blocks
from mjjax.dynamics.tree import body_sum, dof_sum
from mjjax.math import components
from mjjax.math.components import split
from mjjax.math.spatial import inertia_mul
from mjjax.math.tangents import derivative_of, jvp
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import slope_at_zero, with_slope
from mjjax.model.trees import join_blocks
from mjjax.xla.definite import solve_definite
from mjjax.xla.layout import components_first
from mjjax.xla.linalg import stack, unstack
from mjjax.xla.namespace import Array

Method = Callable[[Array, Array], Array]


class Inertia(NamedTuple):
    """A joint-space inertia and its factors.

    Attributes:
        M: the matrix by trees; see `mjjax.model.trees`.
        cinert: (nbody, 10) inertias of the bodies.
        cdof: (nv, 6) motion axes.
        diagonal: (nv,) numbers that are added on the diagonal.
        upper: the matrix by trees again. Only its entries on and above the diagonal have a meaning.
            Factors need no more, and it costs half as much. It has no derivative.
        rest: other entries that are added, by trees; None if there are none.
        spare: moment arms (ntendon, nv) and armature (ntendon,) of tendons, if the armature is zero
            and not in the program; only derivatives read it.
    """

    M: Array
    cinert: Array
    cdof: Array
    diagonal: Array
    upper: Array
    rest: Array | None = None
    spare: tuple[Array, Array] | None = None

    def plus_diagonal(self, s: Structure, more: Array) -> "Inertia":
        """The inertia with numbers (nv,) added on the diagonal."""
        return self._replace(
            M=plus_diagonal(s, self.M, more),
            diagonal=self.diagonal + more,
            upper=plus_diagonal(s, self.upper, lax.stop_gradient(more)),
        )

    def plus(self, more: Array) -> "Inertia":
        """The inertia with entries added, by trees; they need not be symmetric."""
        return self._replace(
            M=self.M + more,
            upper=self.upper + lax.stop_gradient(more),
            rest=more if self.rest is None else self.rest + more,
        )

    def times(self, s: Structure, v: Array) -> Array:
        """Product M v (nv,) with a vector (nv,); derivatives of every order are exact."""
        by_bodies = functools.partial(_by_bodies, s)
        return derivative_of(by_bodies)(functools.partial(_by_matrix, s))(self, v)

    def solve(self, s: Structure, method: Method, b: Array) -> Array:
        """Solution x (nv,) of M x = b; derivatives of every order are exact.

        Args:
            s: structure of the model.
            method: function of a matrix and a right-hand side that returns the solution, which is
                linear in the right-hand side; `solve_definite` gets the upper triangle.
            b: (nv,) right-hand side.
        """
        return _solve(s, method, self, b)


def inertia_of(model: Model, data: Data) -> Inertia:
    """The joint-space inertia of the current positions, with the armature of dofs and tendons.

    It is computed from `cinert` and `cdof` wherever it is needed; a compiled program does this
    once.
    """
    s = model.structure
    made_of = data.cinert, data.cdof, model.dof_armature
    matrix, upper = (join_blocks(x, data.cdof) for x in blocks_and_upper(s, *made_of))
    found = Inertia(matrix, *made_of, upper)
    if s.terms["tendon_armature"].any():
        more = tendon_blocks(s, model.tendon_armature, data.ten_J)
        return found.plus(join_blocks(more, data.cdof))
    if not s.ntendon:
        return found
    change = functools.partial(_tendon_entries, s)
    matrix = with_slope(model, "tendon_armature", matrix, change, (data.ten_J,))
    return found._replace(M=matrix, spare=(data.ten_J, jnp.asarray(model.tendon_armature)))


def _tendon_entries(s: Structure, coefficients: dict[str, Array], arms: Array) -> Array:
    """Inertia that tendons add, by trees."""
    return join_blocks(tendon_blocks(s, coefficients["tendon_armature"], arms), arms)


def _tendon_effort(
    s: Structure, coefficients: dict[str, Array], arms: Array, acceleration: Array
) -> Array:
    """Forces (nv,) that move what `_tendon_entries` adds."""
    return mul_by_tree(s, _tendon_entries(s, coefficients, arms), acceleration, symmetric=True)


def _by_matrix(s: Structure, inertia: Inertia, v: Array) -> Array:
    return mul_by_tree(s, inertia.M, v, symmetric=inertia.rest is None)


def _by_bodies(s: Structure, inertia: Inertia, v: Array) -> Array:
    axes = split(inertia.cdof)
    moved = unstack(body_sum(s, components_first(inertia.cdof) * v[None]))
    force = unstack(dof_sum(s, stack(inertia_mul(split(inertia.cinert), moved))))
    effort = components.dot(axes, force) + inertia.diagonal * v
    if inertia.spare is not None:
        arms, armature = inertia.spare
        change = functools.partial(_tendon_effort, s)
        effort = slope_at_zero(change, effort, {"tendon_armature": armature}, (arms, v))
    if inertia.rest is None:
        return effort
    return effort + mul_by_tree(s, inertia.rest, v, symmetric=False)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _solve(s: Structure, method: Method, inertia: Inertia, b: Array) -> Array:
    return apply_by_tree(s, method, _read_by(method, inertia), b, few_at_once=True)


@functools.partial(_solve.defjvp, symbolic_zeros=True)
def _solve_jvp(s, method, primals, tangents):
    inertia, b = primals
    moves, db = tangents
    x = _solve(s, method, inertia, b)
    if any(not isinstance(t, SymbolicZero) for t in jax.tree.leaves(moves)):
        _, change = jvp(lambda inertia: inertia.times(s, x), (inertia,), (moves,))
        db = -change if isinstance(db, SymbolicZero) else db - change
    return x, _solved_tangent(s, method, inertia, db)


def _solved_tangent(s: Structure, method: Method, inertia: Inertia, db: Array) -> Array:
    """`_solve` as a linear function of `db`; its derivatives are those of the whole matrix."""
    matrix = _read_by(method, inertia)
    if matrix is inertia.M:
        return apply_by_tree(s, method, matrix, db)
    return lax.custom_linear_solve(
        lambda x: mul_by_tree(s, inertia.M, x),
        db,
        lambda _, b: apply_by_tree(s, method, matrix, b),
        symmetric=True,
    )


def _read_by(method: Method, inertia: Inertia) -> Array:
    return inertia.upper if method is solve_definite else inertia.M
