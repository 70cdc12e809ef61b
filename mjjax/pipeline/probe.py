"""Stages of a step one by one: their derivatives, and differences to compare these with.

An input moves along a direction to eight points beside a state. Each stage takes the results of
the stages before it at these points, so that its differences need no derivative, and its own
derivative is taken along the differences of what enters it: an error stays in its stage.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.dynamics.actuation import fwd_actuation
from mjjax.dynamics.position import integrate_pos
from mjjax.math.namespace import Array
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline import forward
from mjjax.pipeline.integrate import integrate

StageFunction = Callable[[Model, Data, Callbacks], Data]
Reals = dict[str, Any]

# The pipeline, by the names of its stages; sensors and energies belong to the stage before them.
STAGES: dict[str, StageFunction] = {
    "fwd_position": lambda m, d, c: forward.position(m, d, c, skipsensor=False),
    "fwd_velocity": lambda m, d, c: forward.velocity(m, d, c, skipsensor=False),
    "control": forward.control,
    "fwd_actuation": fwd_actuation,
    "fwd_acceleration": lambda m, d, c: forward.fwd_acceleration(m, d),
    "fwd_constraint": lambda m, d, c: forward.constraint(m, d, c, skipsensor=False),
    "integrate": integrate,
}
# Lengths of the moves: rounding hides a derivative from short ones, curvature from long ones.
LENGTHS = 4e-6 * 4.0 ** np.arange(4)
POINTS = np.stack([LENGTHS, -LENGTHS], axis=1).ravel()
# Integers that are no decision of the collision or the constraints.
COUNTERS = frozenset({"warning", "solver_niter", "maxuse_con", "maxuse_efc"})
AT_ONCE = 16  # directions in one run of a program
MEMORY = 1 << 26  # bytes of moved data that they may take


class Move(NamedTuple):
    """A direction: one input, a field of the model or the data, and how it moves.

    Attributes:
        name: field; `opt.` in front for options.
        along: velocity of its entries; for `qpos` (nv,), in the tangent space.
    """

    name: str
    along: np.ndarray


class Outcome(NamedTuple):
    """What a stage made of n directions; all fields by name, with their shapes at the end.

    Attributes:
        value: (...) results at the state itself.
        pushed: (n, 3, ...) derivative along the differences of what entered.
        expected: (n, 3, ...) differences, of fourth order, from three lengths.
        sides: (n, 2, 2, ...) differences to the right and to the left, from two lengths.
        settled: (n, 3) whether no decision changed between the points.
        changed: (n, 8) whether a decision is another one than at the state.
        pulled: derivatives by inputs and results before of the products with `cotangent`.
        cotangent: random weights of the results.
        entered: (n, 3, ...) differences of what entered, which `pushed` multiplies.
        after: data at the state, after the stage.
        moved: the same at the points (n, 8).
    """

    value: Reals
    pushed: Reals
    expected: Reals
    sides: Reals
    settled: np.ndarray
    changed: np.ndarray
    pulled: Reals
    cotangent: Reals
    entered: Reals
    after: Data
    moved: Data


def name_of(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def reals(tree: Any) -> Reals:
    """Real leaves of a model or data by name."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {name_of(p): x for p, x in leaves if jnp.issubdtype(x.dtype, jnp.floating)}


def with_reals(tree: Any, new: Mapping[str, Any]) -> Any:
    """The same with other real leaves; does not widen a model's terms."""
    return jax.tree_util.tree_map_with_path(lambda path, x: new.get(name_of(path), x), tree)


@functools.partial(jax.jit, static_argnames=("stage", "callbacks"))
def run_stage(
    stage: str,
    callbacks: Callbacks,
    model: Model,
    data: Data,
    slopes: Reals,
    entered: Reals,
    moved: Data,
    cotangent: Reals,
) -> tuple[Data, Data, Reals, tuple[Reals, Reals]]:
    """A stage at a state and at points beside it, with its derivatives in both modes.

    Args:
        stage: name of the stage.
        callbacks: functions of the user's.
        model: model.
        data: data before the stage.
        slopes: (n, ...) directions of the model's leaves that have a derivative.
        entered: (n, 3, ...) directions of the data.
        moved: (n, 8, ...) data before the stage at the points of each direction.
        cotangent: (...) weights of the results.

    Returns:
        The results; those at the points; derivatives along the directions (n, 3, ...); derivatives
        of the weighted sum of the results by model and data.
    """
    function = STAGES[stage]

    def of_reals(numbers: Reals, state: Reals) -> tuple[Reals, Data]:
        after = function(with_reals(model, numbers), with_reals(data, state), callbacks)
        return reals(after), after

    def at_points(given: tuple[Reals, Data]) -> Data:
        slope, points = given

        def at(point: tuple[Array, Data]) -> Data:
            length, before = point
            numbers = {name: x + length * slope[name] for name, x in base.items()}
            return function(with_reals(model, numbers), before, callbacks)

        return jax.lax.map(at, (jnp.asarray(POINTS), points))

    leaves = reals(model)
    base, state = {name: leaves[name] for name in slopes}, reals(data)
    _, push, after = jax.linearize(of_reals, base, state, has_aux=True)
    pushed = jax.lax.map(lambda d: jax.lax.map(lambda v: push(d[0], v), d[1]), (slopes, entered))
    pulled = jax.linear_transpose(push, base, state)(cotangent)
    return after, jax.lax.map(at_points, (slopes, moved)), pushed, pulled


def probe(
    model: Model,
    data: Data,
    callbacks: Callbacks,
    names: Sequence[str],
    moves: Sequence[Move],
    until: str = "integrate",
    cotangents: Mapping[str, Reals] | None = None,
) -> dict[str, Outcome]:
    """Runs the stages, up to one of them, with `AT_ONCE` directions at most.

    Args:
        model: model.
        data: data at the state, whose quaternions are of unit length.
        callbacks: functions of the user's.
        names: leaves of the model that have a derivative.
        moves: directions.
        until: last stage.
        cotangents: weights of the results of some stages; by default random ones.
    """
    n = at_once(data)
    leaves = reals(model)
    slopes = {name: np.zeros((n, *leaves[name].shape)) for name in names}
    moved = jax.tree.map(lambda x: np.array(np.broadcast_to(x, (n, 8, *x.shape))), data)
    for i, move in enumerate(moves):
        if move.name in slopes:
            slopes[move.name][i] = move.along
        else:
            getattr(moved, move.name)[i] = _displaced(model, data, move)
    given, found = cotangents or {}, {}
    for stage in STAGES:
        if stage == "control" and callbacks.control is None:
            continue
        weights = given.get(stage, _random_like(reals(data)))
        entered = differences(reals(moved))
        after, ends, pushed, pulled = run_stage(
            stage, callbacks, model, data, slopes, entered, moved, weights
        )
        found[stage] = _outcome(after, ends, pushed, pulled, weights, entered)
        if stage == until:
            break
        data, moved = after, ends
    return found


def at_once(data: Data) -> int:
    """How many directions a run takes."""
    size = 8 * sum(x.nbytes for x in jax.tree.leaves(data))
    return int(np.clip(MEMORY // size, 1, AT_ONCE))


def _displaced(model: Model, data: Data, move: Move) -> np.ndarray:
    here = np.asarray(getattr(data, move.name))
    if move.name == "qpos":
        return np.stack([integrate_pos(model, here, move.along, h) for h in POINTS])
    return np.stack([here + h * move.along for h in POINTS])


def _random_like(tree: Reals) -> Reals:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=x.shape) for name, x in tree.items()}


def differences(points: Reals) -> Reals:
    """Derivatives (n, 3, ...) of fourth order from values (n, 8, ...) at the points."""
    return {name: _fourth_order(np.asarray(x)) for name, x in points.items()}


def _fourth_order(x: np.ndarray) -> np.ndarray:
    lengths = LENGTHS.reshape((-1,) + (1,) * (x.ndim - 2))
    slope = (x[:, 0::2] - x[:, 1::2]) / (2 * lengths)
    return (16 * slope[:, :-1] - slope[:, 1:]) / 15


def _sides(x: np.ndarray, here: np.ndarray) -> np.ndarray:
    lengths = LENGTHS[:2].reshape((-1,) + (1,) * (x.ndim - 2))
    return np.stack([(x[:, 0:4:2] - here) / lengths, (here - x[:, 1:4:2]) / lengths], axis=1)


def _outcome(
    after: Data,
    ends: Data,
    pushed: Reals,
    pulled: tuple[Reals, Reals],
    cotangent: Reals,
    entered: Reals,
) -> Outcome:
    value = {name: np.asarray(x) for name, x in reals(after).items()}
    points = {name: np.asarray(x) for name, x in reals(ends).items()}
    changed = _changed(after, ends)
    same = ~(changed[:, 0::2] | changed[:, 1::2])
    return Outcome(
        value=value,
        pushed={name: np.asarray(x) for name, x in pushed.items()},
        expected=differences(points),
        sides={name: _sides(points[name], value[name]) for name in points},
        settled=same[:, :-1] & same[:, 1:],
        changed=changed,
        pulled={name: np.asarray(x) for part in pulled for name, x in part.items()},
        cotangent=cotangent,
        entered=entered,
        after=after,
        moved=ends,
    )


def _changed(after: Data, ends: Data) -> np.ndarray:
    """Whether at a point (n, 8) some decision, an integer of the data, is another one."""
    here = jax.tree_util.tree_leaves_with_path(after)
    found = np.zeros(ends.ncon.shape, bool)
    for (path, x), y in zip(here, jax.tree.leaves(ends), strict=True):
        if not jnp.issubdtype(x.dtype, jnp.floating) and name_of(path) not in COUNTERS:
            other = np.asarray(y) != np.asarray(x)
            found |= other.reshape(*found.shape, -1).any(axis=-1)
    return found
