"""Linear systems with the Hessian of the constrained dynamics.

Up to a few trees the Hessian is a matrix with Cholesky's factor. In a scene of many trees it is
never made: conjugate gradients multiply by it through the motion of bodies. They are preconditioned
by the Hessian without what couples two bodies of a contact, a block for each tree: exact for what
touches nothing but the static world.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from mjjax.constraint.contact_rows import BodyRows
from mjjax.constraint.layout import RowLayout
from mjjax.dynamics.by_tree import factor_by_tree, mul_by_tree, plus_diagonal, solve_factored
from mjjax.dynamics.inertia import coupled_by_tree
from mjjax.dynamics.tree import subtree_sum
from mjjax.math.linalg import cho_solve, cholesky, einsum, gather, matmul
from mjjax.math.namespace import Array
from mjjax.model.trees import join_blocks, tree_groups
from mjjax.solver.objective import (
    Curvature,
    contact_blocks,
    curvature,
    hessian,
    single_curvature,
    times_curvature,
)
from mjjax.solver.problem import Problem

LONGEST = 2  # iterations per dof after which rounding has won


def solve_hessian(
    problem: Problem, layout: RowLayout, r: Array, b: Array, exact: bool = False
) -> Array:
    """Solution x (nv,) of H x = b with the Hessian H at the residuals `r` (n,).

    Args:
        problem: the problem.
        layout: row layout.
        r: (n,) row residuals.
        b: (nv,) right-hand side.
        exact: whether conjugate gradients go on to rounding, or to its root: enough for a
            direction that Newton's method corrects.
    """
    contact = problem.jac.contact
    if not isinstance(contact, BodyRows):
        return cho_solve(cholesky(hessian(problem, layout, r)), b)
    s, jac, bent = layout.structure, problem.jac, curvature(problem, layout, r)
    matrix = plus_diagonal(s, problem.M, single_curvature(layout, bent))
    general = bent.scalar[layout.general]

    def multiply(x: Array) -> Array:
        total = mul_by_tree(s, matrix, x)
        if len(layout.general):
            total = total + matmul(general * matmul(jac.general, x), jac.general)
        bend = times_curvature(bent.contact, contact.velocity(s, x)[..., None])
        return total + contact.force(s, bend[..., 0])

    factors = factor_by_tree(s, matrix + _held(problem, layout, contact, bent))
    eps = float(jnp.finfo(b.dtype).eps)
    tolerance, most = 8 * eps if exact else eps**0.5, LONGEST * layout.nv

    def precondition(x: Array) -> Array:
        return solve_factored(s, factors, x)

    def solve(multiply: Operator, b: Array) -> Array:
        return conjugate_gradients(multiply, precondition, b, tolerance, most)

    return lax.custom_linear_solve(multiply, b, solve, symmetric=True)


Operator = Callable[[Array], Array]


def conjugate_gradients(
    multiply: Operator, precondition: Operator, b: Array, tolerance: float, iterations: int
) -> Array:
    """Solution x (n,) of a positive definite system, until |b - A x| <= tolerance |b|."""
    enough = tolerance * tolerance * jnp.sum(b * b)

    def going(state: tuple[Array, ...]) -> Array:
        k, _, left, *_ = state
        return (k < iterations) & (jnp.sum(left * left) > enough)

    def advance(state: tuple[Array, ...]) -> tuple[Array, ...]:
        k, x, left, step, last = state
        ready = precondition(left)
        size = jnp.sum(left * ready)
        step = ready + size / last * step
        moved = multiply(step)
        length = size / jnp.sum(step * moved)
        return k + 1, x + length * step, left - length * moved, step, size

    zero = jnp.zeros_like(b)
    first = (jnp.int32(0), zero, b, zero, jnp.full((), jnp.inf, b.dtype))
    return lax.while_loop(going, advance, first)[1]


def _held(problem: Problem, layout: RowLayout, contact: BodyRows, bent: Curvature) -> Array:
    """What contacts and general rows add to the blocks of the trees, by trees."""
    s = layout.structure
    stiffness = contact.stiffness(s, contact_blocks(layout, bent))
    total = subtree_sum(s, stiffness.reshape(s.nbody, 36)).reshape(s.nbody, 6, 6)
    momentum = einsum("nij,nj->ni", gather(total, s.dof_bodyid), contact.cdof)
    blocks = coupled_by_tree(s, momentum, contact.cdof)
    if len(layout.general):
        weight = bent.scalar[layout.general]
        for k, (_, dofs) in enumerate(tree_groups(s)):
            arms = problem.jac.general[:, dofs]
            blocks[k] = blocks[k] + einsum("nti,n,ntj->tij", arms, weight, arms)
    return join_blocks(blocks, contact.cdof)
