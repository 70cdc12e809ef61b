"""Compares a derivative with differences, and says what is the matter if they disagree."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mjjax.pipeline.gradients.gradient_report import Verdict
from mjjax.pipeline.gradients.probe import Move, Outcome

SMALL_ENTRY = 1e-2  # smaller entries count as this part of the largest derivative
ROUNDING = 1e-8  # allowed between the two modes, relative to the terms of the inner products
CANCELLED = 1e-12  # rounding error of terms that cancel, relative to the weights times the move


class Issue(NamedTuple):
    """The worst entry of a result whose derivative along a move is wrong.

    Attributes:
        stage: name of the stage.
        verdict: what is the matter.
        field: result.
        index: entry of the result.
        move: direction of the input.
        error: relative error.
        mine: the engine's derivative.
        expected: at a kink the differences to the left and right, else the centred one twice.
    """

    stage: str
    verdict: Verdict
    field: str
    index: tuple[int, ...]
    move: Move
    error: float
    mine: float
    expected: tuple[float, float]


def judge(stage: str, outcome: Outcome, moves: Sequence[Move], tolerance: float) -> Iterator[Issue]:
    """The errors of forward mode along each move: an issue per result and verdict."""
    for field, value in outcome.value.items():
        mine, theirs = outcome.pushed[field], outcome.expected[field]
        if not value.size or np.array_equal(mine, theirs):
            continue
        n = len(moves)
        mine, theirs = (x[:n].reshape(n, 3, -1) for x in (mine, theirs))
        sides = outcome.sides[field][:n].reshape(n, 2, 2, -1)
        error, masks = _verdicts(mine, theirs, sides, value.ravel(), outcome.settled[:n], tolerance)
        for verdict, mask in masks.items():
            for i in map(int, np.flatnonzero(mask.any(axis=-1))):
                at = int(np.argmax(np.where(mask[i], np.nan_to_num(error[i], nan=1e300), -1)))
                centred = float(theirs[i, 1, at])
                both = (float(sides[i, 1, 0, at]), float(sides[i, 0, 0, at]))
                yield Issue(
                    stage,
                    verdict,
                    field,
                    tuple(int(k) for k in np.unravel_index(at, value.shape)),
                    moves[i],
                    float(error[i, at]),
                    float(mine[i, 1, at]),
                    both if verdict == Verdict.KINK else (centred, centred),
                )


def _verdicts(
    mine: np.ndarray,
    theirs: np.ndarray,
    sides: np.ndarray,
    value: np.ndarray,
    settled: np.ndarray,
    tolerance: float,
) -> tuple[np.ndarray, dict[Verdict, np.ndarray]]:
    """Errors (n, size), and masks (n, size) by verdict; none if all lengths cross decisions.

    Args:
        mine: (n, 3, size) derivatives along the differences by three lengths.
        theirs: (n, 3, size) differences.
        sides: (n, 2, 2, size) to the right and left, by the two shortest lengths.
        value: (size,) the results themselves.
        settled: (n, 3) lengths that cross no decision.
        tolerance: largest relative error.
    """
    size = np.abs(theirs)
    floor = SMALL_ENTRY * np.maximum(1, np.maximum(size.max(axis=-1, keepdims=True), np.abs(value)))
    scale = np.maximum(size, floor)
    away = np.where(settled[..., None], np.abs(mine - theirs) / scale, np.inf)
    error = np.min(away, axis=1)
    finite = np.asarray(np.isfinite(mine).all(axis=1))
    off = ~(error <= tolerance) & np.asarray(settled.any(axis=1))[:, None] & finite
    kink = off & settled[:, :1] & _between(mine[:, 0], sides, tolerance * scale[:, 0])
    sure = np.ptp(theirs, axis=1) / scale.min(axis=1) < 0.3 * error
    return error, {
        Verdict.NOT_FINITE: ~finite,
        Verdict.WRONG: off & ~kink & sure,
        Verdict.KINK: kink,
        Verdict.UNSETTLED: off & ~kink & ~sure,
    }


def _between(mine: np.ndarray, sides: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    """Whether the sides differ equally at both lengths, and `mine` (n, size) is between them."""
    one, two = (np.abs(sides[:, 0, k] - sides[:, 1, k]) for k in range(2))
    slack = 0.05 * one + tolerance
    low, high = (f(sides[:, 0, 0], sides[:, 1, 0]) for f in (np.minimum, np.maximum))
    differ = (one > 0.5 * two) & (one < 2 * two) & (one > tolerance)
    return differ & (low - slack <= mine) & (mine <= high + slack)


def not_finite_in_reverse(outcome: Outcome) -> tuple[str, tuple[int, ...]] | None:
    """The first input, or result before the stage, by which reverse mode gives NaN or infinity."""
    for name, x in outcome.pulled.items():
        for index in np.argwhere(~np.isfinite(x))[:1]:
            return name, tuple(int(k) for k in index)
    return None


def other_in_reverse(outcome: Outcome, moves: Sequence[Move]) -> Move | None:
    """The first move along which the modes differ, so that (u, J v) is not (J' u, v)."""
    weight = max((np.max(np.abs(x), initial=0) for x in outcome.cotangent.values()), default=0)
    for i, move in enumerate(moves):
        forward = [outcome.cotangent[f] * outcome.pushed[f][i, 1] for f in outcome.pushed]
        reverse = [outcome.pulled[f] * outcome.entered[f][i, 1] for f in outcome.entered]
        if move.name not in outcome.entered:
            reverse.append(outcome.pulled[move.name] * move.along)
        total = sum(float(np.sum(x)) for x in forward) - sum(float(np.sum(x)) for x in reverse)
        size = sum(float(np.sum(np.abs(x))) for x in forward + reverse)
        left = CANCELLED * weight * np.sum(np.abs(move.along))
        if np.isfinite(size) and abs(total) > ROUNDING * size + left:
            return move
    return None
