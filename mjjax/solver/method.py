"""The interface of a solver: its start, its preparation, and one iteration.

Solvers work on a `Problem` and know neither `Model` nor `Data`.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

import jax.numpy as jnp

from mjjax.core.struct import PyTree, static
from mjjax.solver.problem import Problem
from mjjax.xla.grouped_loop import grouped_loop
from mjjax.xla.namespace import Array

SMALLEST_TOLERANCE = 1e-6  # in float32


class Rules(PyTree):
    """When a solver stops.

    Attributes:
        tolerance: scaled decrease of the objective, and norm of its gradient, that are enough.
        ls_tolerance: slope at which a line search ends, relative to `tolerance`.
        noslip_tolerance: scaled decrease that ends noslip iterations.
        scale: factor of objective and gradient before they are compared; (k,) with islands.
        iterations: largest number of iterations.
        ls_iterations: largest number of evaluations of a line search.
        noslip_iterations: largest number of noslip iterations.
    """

    tolerance: Array
    ls_tolerance: Array
    noslip_tolerance: Array
    scale: Array
    iterations: int = static()
    ls_iterations: int = static()
    noslip_iterations: int = static()


class Start(NamedTuple):
    """Accelerations (nv,) to start from.

    Attributes:
        qacc_warmstart: acceleration of the step before, if it may be used.
        qacc_smooth: acceleration without constraints.
    """

    qacc_warmstart: Array | None
    qacc_smooth: Array


class Iterate(Protocol):
    """The properties of every solver's iterate; both are (k,) with islands."""

    @property
    def niter(self) -> Array:
        """Iterations so far."""
        ...

    @property
    def done(self) -> Array:
        """Whether the solver has stopped."""
        ...


class Progress(NamedTuple):
    """The progress of one iteration; all values are scaled, and (k,) with islands.

    Attributes:
        improvement: decrease of the objective.
        gradient: norm of the remaining gradient.
        lineslope: slope of the objective at the end of the line search.
        neval: number of evaluations of the line search.
    """

    improvement: Array
    gradient: Array
    lineslope: Array
    neval: Array


P = TypeVar("P")
Given = TypeVar("Given", contravariant=True)
I = TypeVar("I", bound=Iterate)  # noqa: E741 an iterate


class Iterates(Protocol[Given, I]):
    """The part of a method that makes iterations."""

    def iterate(
        self, problem: Problem, prepared: Given, rules: Rules, state: I
    ) -> tuple[I, Progress]:
        """One iteration."""
        ...

    def zones(self, problem: Problem, state: I) -> Array:
        """Zone (n,) of every row, as `ConstraintState`."""
        ...


class Method(Iterates[P, I], Protocol[P, I]):
    """A solver of the constrained dynamics, with its own iterates and its own preparation."""

    def prepare(self, problem: Problem) -> P:
        """Computes what is needed once per problem."""
        ...

    def initial(self, problem: Problem, prepared: P, start: Start, rules: Rules) -> I:
        """The first iterate."""
        ...

    def ahead(self, problem: Problem, rules: Rules, state: I) -> I:
        """The iterate from which the islands of a world start to iterate side by side.

        A method may solve a part of the problem ahead of that. If not, it returns `state`.

        Args:
            problem: the problem.
            rules: when to stop.
            state: the first iterate.
        """
        ...

    def result(self, problem: Problem, prepared: P, state: I) -> tuple[Array, Array, Array]:
        """The solution that an iterate stands for.

        Returns:
            Acceleration (nv,), row forces (n,), and the row residuals (n,) of which the forces are
            functions. The residuals decide which rows the derivative takes as active.
        """
        ...

    def gradient(self, problem: Problem, rules: Rules, state: I) -> Array:
        """Scaled norm of the remaining gradient, a generalized force; (k,) with islands."""
        ...


def solve(
    method: Method[Any, Any], problem: Problem, start: Start, rules: Rules
) -> tuple[Any, Array, Array, Array]:
    """The last iterate, which is within tolerance or the last that is allowed, and its result."""
    prepared = method.prepare(problem)
    state = method.initial(problem, prepared, start, rules)
    if rules.iterations > 1:
        state = method.ahead(problem, rules, state)
    state = run(method, problem, prepared, state, rules, rules.iterations)
    return state, *method.result(problem, prepared, state)


def run(
    method: Iterates[P, I], problem: Problem, prepared: P, state: I, rules: Rules, iterations: int
) -> I:
    """The iterate after at most `iterations` more iterations."""

    def body(constants: tuple[Problem, P, Rules], state: I) -> I:
        problem, prepared, rules = constants
        return method.iterate(problem, prepared, rules, state)[0]

    constants = (problem, prepared, rules)
    if iterations <= 1:
        return body(constants, state) if iterations else state
    loop = grouped_loop(body, lambda s: jnp.any((s.niter < iterations) & ~s.done))
    return loop(constants, state)


def in_single(x: Array) -> bool:
    """Whether numbers have single precision, in which MuJoCo's stopping rules may never hold."""
    return x.dtype == jnp.float32


def scaled_norm(problem: Problem, rules: Rules, force: Array) -> Array:
    """Scaled norm of a generalized force (nv,); (k,) with islands."""
    (square,) = problem.parts.sum_dofs(force * force)
    return rules.scale * jnp.sqrt(square)
