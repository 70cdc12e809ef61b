"""What a solver is: where it starts, what it computes once, and one iteration.

Solvers work on a `Problem` and know neither `Model` nor `Data`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp

from mjjax.constraint.layout import RowLayout
from mjjax.solver.problem import Problem
from mjjax.xla.grouped_loop import grouped_loop
from mjjax.xla.namespace import Array

Prepared = Any

SMALLEST_TOLERANCE = 1e-6  # in float32


class Limits(NamedTuple):
    """Largest numbers of iterations, of evaluations of a line search, of noslip iterations."""

    iterations: int
    ls_iterations: int
    noslip_iterations: int


class Tolerances(NamedTuple):
    """Scaled tolerances, and what objective and gradient are multiplied by to scale them.

    Attributes:
        main, line_search, noslip: tolerances.
        scale: factor, (k,) with islands.
    """

    main: Array
    line_search: Array
    noslip: Array
    scale: Array


class Start(NamedTuple):
    """Accelerations (nv,) to start from: that of the step before, if it may be used; smooth."""

    warm: Array | None
    smooth: Array


class Iterate(Protocol):
    """What every solver's iterate has; the last two (k,) with islands."""

    @property
    def a(self) -> Array:
        """(nv,) acceleration."""
        ...

    @property
    def niter(self) -> Array:
        """Iterations so far."""
        ...

    @property
    def done(self) -> Array:
        """Whether the solver has stopped."""
        ...


class Progress(NamedTuple):
    """One iteration: decrease of the objective, what is left to improve, slope where the search
    ended, all scaled, and evaluations of the search; (k,) with islands.
    """

    improvement: Array
    left: Array
    lineslope: Array
    neval: Array


Iteration = Callable[[Problem, RowLayout, Prepared, Limits, Tolerances, Any], tuple[Any, Progress]]


class Method(NamedTuple):
    """A solver of the constrained dynamics.

    Attributes:
        prepare: what is computed once per problem.
        initial: first iterate.
        iterate: one iteration.
        result: acceleration (nv,) and row forces (n,) of an iterate, and the row residuals (n,) of
            which the forces are functions: they decide which rows the derivative takes as active.
        state: (n,) zone of every row, as `ConstraintState`.
        left: scaled norm of what is left to improve, a generalized force; (k,) with islands.
        ahead: the iterate before the islands of a world iterate side by side, from the first one;
            None for the first one itself.
    """

    prepare: Callable[[Problem, RowLayout], Prepared]
    initial: Callable[[Problem, RowLayout, Prepared, Start, Tolerances], Any]
    iterate: Iteration
    result: Callable[[Problem, RowLayout, Prepared, Any], tuple[Array, Array, Array]]
    state: Callable[[Problem, RowLayout, Any], Array]
    left: Callable[[Problem, RowLayout, Tolerances, Any], Array]
    ahead: Callable[[Problem, RowLayout, Limits, Tolerances, Any], Any] | None = None


def solve(
    method: Method,
    problem: Problem,
    layout: RowLayout,
    start: Start,
    limits: Limits,
    tolerances: Tolerances,
) -> tuple[Any, Array, Array, Array]:
    """Last iterate, within tolerance or as far as the iterations go, and its result."""
    prepared = method.prepare(problem, layout)
    state = method.initial(problem, layout, prepared, start, tolerances)
    iterate, count = method.iterate, limits.iterations
    if method.ahead and count > 1:
        state = method.ahead(problem, layout, limits, tolerances, state)
    state = run(iterate, problem, layout, prepared, state, limits, tolerances, count)
    return state, *method.result(problem, layout, prepared, state)


def run(
    iterate: Iteration,
    problem: Problem,
    layout: RowLayout,
    prepared: Prepared,
    state: Any,
    limits: Limits,
    tolerances: Tolerances,
    iterations: int,
) -> Any:
    """The iterate after at most `iterations` more."""

    def body(constants: tuple[Problem, Prepared, Tolerances], state: Any) -> Any:
        problem, prepared, tolerances = constants
        return iterate(problem, layout, prepared, limits, tolerances, state)[0]

    constants = (problem, prepared, tolerances)
    if iterations <= 1:
        return body(constants, state) if iterations else state
    loop = grouped_loop(body, lambda s: jnp.any((s.niter < iterations) & ~s.done))
    return loop(constants, state)


def in_single(x: Array) -> bool:
    """Whether numbers are in single precision, in which MuJoCo's stopping rules find no end."""
    return x.dtype == jnp.float32


def scaled_norm(problem: Problem, layout: RowLayout, tolerances: Tolerances, force: Array) -> Array:
    """Norm of a generalized force (nv,), scaled; (k,) with islands."""
    (square,) = problem.parts.sum_dofs(layout, force * force)
    return tolerances.scale * jnp.sqrt(square)
