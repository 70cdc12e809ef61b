"""Runs the stages of a step one by one, with their derivatives and with differences.

An input moves along a direction to eight points beside a state. Each stage takes the results of
the stages before it at these points, so that its differences need no derivative. The derivative of
the stage is taken along the differences of its inputs. So an error stays in its own stage.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.dynamics.actuation import fwd_actuation
from mjjax.dynamics.position import integrate_pos
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline import forward
from mjjax.pipeline.integrate import integrate
from mjjax.xla.compiling import quick
from mjjax.xla.namespace import Array

StageFunction = Callable[[Model, Data, Callbacks], Data]
Fields = dict[str, Any]

# The stages of the pipeline by name; sensors and energies belong to the stage before them.
PROBED_STAGES: dict[str, StageFunction] = {
    "fwd_position": lambda m, d, c: forward.position(m, d, c, skipsensor=False),
    "fwd_velocity": lambda m, d, c: forward.velocity(m, d, c, skipsensor=False),
    "control": forward.control,
    "fwd_actuation": fwd_actuation,
    "fwd_acceleration": lambda m, d, c: forward.fwd_acceleration(m, d),
    "fwd_constraint": lambda m, d, c: forward.constraint(m, d, c, skipsensor=False),
    "integrate": integrate,
}
# Lengths of the moves. Rounding spoils the differences of short moves, curvature those of long
# ones.
MOVE_LENGTHS = 4e-6 * 4.0 ** np.arange(4)
MOVE_POINTS = np.stack([MOVE_LENGTHS, -MOVE_LENGTHS], axis=1).ravel()
# Integers that are not decisions of the collision stage or the constraint stage.
COUNTERS = frozenset({"warning", "solver_niter", "maxuse_con", "maxuse_efc"})
DIRECTIONS_AT_ONCE = 16  # directions in one run of a program
MEMORY = 1 << 26  # largest number of bytes of moved data in a run


class Move(NamedTuple):
    """A direction: one input, a field of the model or the data, and how it moves.

    Attributes:
        name: field; `opt.` in front for options.
        along: velocity of its entries; for `qpos` (nv,), in the tangent space.
    """

    name: str
    along: np.ndarray


class Probed(NamedTuple):
    """A model in a state, whose stages are probed.

    Attributes:
        model: model.
        data: data at the state, whose quaternions are of unit length.
        callbacks: functions of the user.
        names: leaves of the model that have a derivative.
    """

    model: Model
    data: Data
    callbacks: Callbacks
    names: tuple[str, ...]


class Outcome(NamedTuple):
    """The results of a stage for n directions: real fields by name, whose shapes come last.

    Attributes:
        value: (...) results at the state itself, that is the fields that the stage writes.
        pushed: (n, 3, ...) derivative of the results along the differences of the inputs.
        expected: (n, 3, ...) differences of the results, of fourth order, from three lengths.
        sides: (n, 2, 2, ...) differences to the right and to the left, from two lengths.
        settled: (n, 3) whether no decision changed between the points.
        changed: (n, 8) whether a decision differs from that at the state.
        pulled: derivatives of the products with `cotangent` by inputs and by earlier results.
        cotangent: random weights of the results.
        entered: (n, 3, ...) differences of the inputs of the stage, which `pushed` multiplies.
        after: data at the state, after the stage.
        geoms: (n, 8, nconmax, 2) geoms in contact at the points.
        rows: (n, 8, njmax) constraint rows that are active at the points.
    """

    value: Fields
    pushed: Fields
    expected: Fields
    sides: Fields
    settled: np.ndarray
    changed: np.ndarray
    pulled: Fields
    cotangent: Fields
    entered: Fields
    after: Data
    geoms: np.ndarray
    rows: np.ndarray


def fields(tree: Any) -> Fields:
    """Leaves of a model or data by name."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(p, simple=True, separator="."): x for p, x in leaves}


def is_real(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def reals(tree: Any) -> Fields:
    """Real leaves of a model or data by name."""
    return {name: x for name, x in fields(tree).items() if is_real(x)}


def with_fields(tree: Any, new: Mapping[str, Any]) -> Any:
    """The tree with other leaves; the terms of a model stay as they are."""
    leaves, kind = fields(tree), jax.tree.structure(tree)
    return jax.tree.unflatten(kind, [new.get(name, x) for name, x in leaves.items()])


def run_stage(
    stage: str,
    callbacks: Callbacks,
    model: Model,
    data: Data,
    slopes: Fields,
    entered: Fields,
    moved: Fields,
    cotangent: Fields,
) -> tuple[Fields, Fields, Fields, tuple[Fields, Fields]]:
    """A stage at a state and at points beside it, with its derivatives in both modes.

    Args:
        stage: name of the stage.
        callbacks: functions of the user.
        model: model.
        data: data before the stage.
        slopes: (n, ...) directions of the model's leaves that have a derivative.
        entered: (n, 3, ...) directions of the real fields of the data.
        moved: (n, 8, ...) data before the stage at the points of each direction.
        cotangent: (...) weights of the results.

    Returns:
        The fields that the stage writes; these fields at the points; derivatives (n, 3, ...) of the
        real fields along the directions; derivatives of their weighted sum by model and data.
    """

    def written(numbers: Fields, state: Fields) -> Fields:
        before = with_fields(data, state)
        after = PROBED_STAGES[stage](with_fields(model, numbers), before, callbacks)
        old = fields(before)
        # Fields that a stage passes on are left out: copying them at every point takes long to
        # compile.
        return {name: x for name, x in fields(after).items() if x is not old[name]}

    def differentiable(numbers: Fields, state: Fields) -> tuple[Fields, Fields]:
        after = written(numbers, state)
        return {name: x for name, x in after.items() if is_real(x)}, after

    def at(point: tuple[Array, Fields, Fields]) -> Fields:
        length, slope, state = point
        return written({name: x + length * slope[name] for name, x in base.items()}, state)

    leaves, state = reals(model), reals(data)
    base = {name: leaves[name] for name in slopes}
    value, push, after = jax.linearize(differentiable, base, state, has_aux=True)
    pushed = jax.vmap(jax.vmap(push, in_axes=(None, 0)))(slopes, entered)
    weights = {name: cotangent[name] for name in value}
    pulled = jax.linear_transpose(push, base, state)(weights)
    n, m = moved["time"].shape
    each = {name: jnp.repeat(x, m, axis=0) for name, x in slopes.items()}
    flat = {name: x.reshape(n * m, *x.shape[2:]) for name, x in moved.items()}
    ends = jax.lax.map(at, (jnp.tile(jnp.asarray(MOVE_POINTS), n), each, flat))
    ends = {name: x.reshape(n, m, *x.shape[1:]) for name, x in ends.items()}
    return after, ends, pushed, pulled


@functools.cache
def stage_program() -> Callable[..., tuple[Fields, Fields, Fields, tuple[Fields, Fields]]]:
    """`run_stage`, compiled once per stage, structure and callbacks."""
    return quick(run_stage, static_argnames=("stage", "callbacks"))


def probe(
    probed: Probed, moves: Sequence[Move], cotangents: Mapping[str, Fields] | None = None
) -> Iterator[tuple[str, Outcome]]:
    """Runs one stage after the other, with at most `at_once` directions.

    Args:
        probed: model, state and callbacks.
        moves: directions.
        cotangents: weights of the results of some stages; by default random ones.
    """
    model, data, callbacks, names = probed
    n = at_once(data)
    leaves, moved = reals(model), fields(data)
    slopes = {name: np.zeros((n, *leaves[name].shape)) for name in names}
    moved = {k: np.array(np.broadcast_to(x, (n, 8, *x.shape))) for k, x in moved.items()}
    for i, move in enumerate(moves):
        if move.name in slopes:
            slopes[move.name][i] = move.along
        else:
            moved[move.name][i] = _displaced(model, data, move)
    given = cotangents or {}
    for stage in PROBED_STAGES:
        if stage == "control" and callbacks.control is None:
            continue
        weights = given.get(stage, _random_like(reals(data)))
        entered = {name: differences(moved[name]) for name in reals(data)}
        found = stage_program()(stage, callbacks, model, data, slopes, entered, moved, weights)
        after, ends, pushed, pulled = jax.tree.map(np.asarray, found)
        data, moved = with_fields(data, after), moved | ends
        outcome = Outcome(
            value={name: after[name] for name in pushed},
            pushed=pushed,
            expected={name: differences(ends[name]) for name in pushed},
            sides={name: one_sided(ends[name], after[name]) for name in pushed},
            pulled=pulled[0] | pulled[1],
            cotangent={name: weights[name] for name in pushed},
            entered=entered,
            after=data,
            geoms=moved.get("contact.geom", np.zeros((n, 8, 0, 2), int)),
            rows=moved.get("efc_mass", np.zeros((n, 8, 0))) > 0,
            **_decisions(data, moved),
        )
        yield stage, outcome


def probe_stage(
    probed: Probed,
    stage: str,
    moves: Sequence[Move],
    cotangents: Mapping[str, Fields] | None = None,
) -> Outcome:
    """The results of one stage for the moves, after the stages before it."""
    return next(found for name, found in probe(probed, moves, cotangents) if name == stage)


def at_once(data: Data) -> int:
    """Number of directions in a run."""
    size = len(MOVE_POINTS) * sum(x.nbytes for x in jax.tree.leaves(data))
    return int(np.clip(MEMORY // size, 1, DIRECTIONS_AT_ONCE))


def _displaced(model: Model, data: Data, move: Move) -> np.ndarray:
    here = np.asarray(getattr(data, move.name))
    if move.name == "qpos":
        return np.stack([integrate_pos(model, here, move.along, float(h)) for h in MOVE_POINTS])
    return np.stack([here + h * move.along for h in MOVE_POINTS])


def _random_like(tree: Fields) -> Fields:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=x.shape) for name, x in tree.items()}


def differences(points: np.ndarray) -> np.ndarray:
    """Derivatives (n, 3, ...) of fourth order from values (n, 8, ...) at the points."""
    lengths = MOVE_LENGTHS.reshape((-1,) + (1,) * (points.ndim - 2))
    slope = (points[:, 0::2] - points[:, 1::2]) / (2 * lengths)
    return (16 * slope[:, :-1] - slope[:, 1:]) / 15


def one_sided(points: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Differences (n, 2, 2, ...) to the right and to the left by the two shortest lengths."""
    lengths = MOVE_LENGTHS[:2].reshape((-1,) + (1,) * (points.ndim - 2))
    right, left = points[:, 0:4:2] - here, here - points[:, 1:4:2]
    return np.stack([right / lengths, left / lengths], axis=1)


def _decisions(data: Data, moved: Fields) -> dict[str, np.ndarray]:
    """Whether a decision, that is an integer of the data, differs at a point."""
    changed = np.zeros(moved["ncon"].shape, bool)
    for name, x in fields(data).items():
        if not is_real(x) and name not in COUNTERS:
            other = moved[name] != np.asarray(x)
            changed |= other.reshape(*changed.shape, -1).any(axis=-1)
    same = ~(changed[:, 0::2] | changed[:, 1::2])
    return {"changed": changed, "settled": same[:, :-1] & same[:, 1:]}
