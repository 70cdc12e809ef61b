"""Linear systems with the Hessian of the constrained dynamics.

Up to a few trees the Hessian is a matrix with Cholesky's factor. In a scene of many trees this
matrix is never made. Instead, conjugate gradients multiply by it through the motion of bodies. The
preconditioner is the Hessian without the coupling between the two bodies of a contact. It has a
block for each tree, and is exact for trees that touch only themselves and the static world.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from mjjax.constraint.contact_rows import BodyRows
from mjjax.dynamics.by_tree import factor_by_tree, mul_by_tree, plus_diagonal, solve_factored
from mjjax.dynamics.inertia import coupled_by_tree
from mjjax.dynamics.tree import dof_sum
from mjjax.math import safe
from mjjax.math.components import split
from mjjax.model.trees import join_blocks, tree_groups
from mjjax.solver.objective import (
    Curvature,
    contact_blocks,
    curvature,
    hessian,
    single_curvature,
)
from mjjax.solver.problem import Problem
from mjjax.xla import definite
from mjjax.xla.layout import components_last
from mjjax.xla.linalg import einsum, matmul, mul_blocks, total, unstack
from mjjax.xla.loops import while_loop
from mjjax.xla.namespace import Array, where

LONGEST = 2  # iterations per dof after which only rounding errors are left


def solve_hessian(problem: Problem, Jaref: Array, b: Array, exact: bool = False) -> Array:
    """Solution x (nv,) of H x = b with the Hessian H at the residuals `Jaref` (n,).

    Args:
        problem: the problem.
        Jaref: (n,) row residuals.
        b: (nv,) right-hand side.
        exact: whether conjugate gradients go on until only rounding errors are left, as derivatives
            need. Otherwise they stop at the root of that, which suffices for a direction that
            Newton's method corrects.
    """
    layout = problem.layout
    contact = problem.jac.contact
    if not isinstance(contact, BodyRows):
        return definite.solve(definite.factor(hessian(problem, Jaref, whole=exact)), b)
    s, jac, bent = layout.structure, problem.jac, curvature(problem, Jaref)
    matrix = plus_diagonal(s, problem.inertia.M, single_curvature(layout, bent))
    general, bends = bent.scalar[layout.general], contact_blocks(layout, bent)

    def multiply(x: Array) -> Array:
        total = mul_by_tree(s, matrix, x)
        if len(layout.general):
            total = total + matmul(general * matmul(jac.general, x), jac.general)
        bend = mul_blocks(bends, contact.velocity(s, x)[..., None])
        return total + contact.force(s, bend[..., 0])

    factors = factor_by_tree(s, matrix + _held(problem, contact, bent, bends))
    eps = float(jnp.finfo(b.dtype).eps)
    tolerance, most = 8 * eps if exact else eps**0.5, LONGEST * layout.nv

    def precondition(x: Array) -> Array:
        return solve_factored(s, factors, x)

    def dot(a: Array, b: Array) -> Array:
        return problem.parts.sum_dofs(a * b)[0]

    def spread(x: Array) -> Array:
        return problem.parts.to_dofs(x)

    def solve(multiply: Operator, b: Array) -> Array:
        algebra = Algebra(multiply, precondition, dot, spread)
        return conjugate_gradients(algebra, b, tolerance, most)

    return lax.custom_linear_solve(multiply, b, solve, symmetric=True)


Operator = Callable[[Array], Array]


class Algebra(NamedTuple):
    """Systems that are solved side by side.

    Attributes:
        multiply: product of the matrix with (n,).
        precondition: product of a matrix near the inverse with (n,).
        dot: inner products (...,) of two vectors (n,), one for each system.
        spread: numbers (...,) of the systems, as factors of a vector (n,).
    """

    multiply: Operator
    precondition: Operator
    dot: Callable[[Array, Array], Array]
    spread: Operator


def conjugate_gradients(of: Algebra, b: Array, tolerance: float, iterations: int) -> Array:
    """Solution x (n,) of positive definite systems, until |b - A x| <= tolerance |b| in each."""
    enough = tolerance * tolerance * of.dot(b, b)

    def going(left: Array) -> Array:
        return of.dot(left, left) > enough

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        k, more, x, left, step, last = state
        ready = of.precondition(left)
        size = of.dot(left, ready)
        step = ready + of.spread(safe.divide(size, last)) * step
        moved = of.multiply(step)
        length = where(more, safe.divide(size, of.dot(step, moved)), 0)
        x, left = x + of.spread(length) * step, left - of.spread(length) * moved
        return k + 1, more & going(left), x, left, step, size

    zero = jnp.zeros_like(b)
    first = (jnp.int32(0), going(b), zero, b, zero, jnp.full(enough.shape, jnp.inf, b.dtype))
    end = while_loop(lambda s: jnp.any(s[1]) & (s[0] < iterations), advance, first)
    return end[2]


def _held(problem: Problem, contact: BodyRows, bent: Curvature, bends: Array) -> Array:
    """The matrix by trees that contacts and general rows add to the inertia."""
    layout = problem.layout
    s = layout.structure
    stiffness = contact.stiffness(s, bends)
    moved = dof_sum(s, stiffness.reshape(s.nbody, 36).T).reshape(6, 6, s.nv)
    axes = split(contact.cdof)
    momentum = total(x[None] * m for x, m in zip(axes, unstack(moved), strict=True))
    blocks = coupled_by_tree(s, components_last(momentum), contact.cdof)
    if len(layout.general):
        weight = bent.scalar[layout.general]
        for k, (_, dofs) in enumerate(tree_groups(s)):
            arms = problem.jac.general[:, dofs]
            blocks[k] = blocks[k] + einsum("nti,n,ntj->tij", arms, weight, arms)
    return join_blocks(blocks, contact.cdof)
