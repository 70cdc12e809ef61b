"""Finds the result and the entry of an input that are to blame for a wrong derivative."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjjax.pipeline.gradients.gradient_verdict import Issue, judge
from mjjax.pipeline.gradients.probe import Move, Outcome, Probed, at_once, probe_stage


def blamed_result(
    probed: Probed,
    stage: str,
    outcome: Outcome,
    moves: Sequence[Move],
    bad: Callable[[Outcome], Any],
) -> str:
    """The result whose part of the weighted sum is `bad` in reverse mode, found by bisection."""
    fields = [name for name, x in outcome.cotangent.items() if x.size]
    while len(fields) > 1:
        half = fields[: len(fields) // 2]
        weights = {f: x * (f in half) for f, x in outcome.cotangent.items()}
        again = probe_stage(probed, stage, moves, {stage: weights})
        fields = half if bad(again) else fields[len(half) :]
    return fields[0]


def blamed_entry(
    probed: Probed, issue: Issue, tolerance: float
) -> tuple[Issue, tuple[int, ...] | None]:
    """Reduces an issue to a single entry of its input, per unit of it, and gives the entry's place.

    The entries of the move are divided into groups that move one at a time. The group with the
    largest error is divided again.

    Args:
        probed: the model and state that are checked.
        issue: an issue along a move of many entries.
        tolerance: largest relative error.

    Returns:
        The new issue and the place of the entry; the old issue and None if no group alone shows it.
    """
    along, entries = issue.move.along, np.flatnonzero(issue.move.along)
    while True:
        groups = np.array_split(entries, min(at_once(probed.data), len(entries)))
        moves = [Move(issue.move.name, _only(along, some)) for some in groups]
        outcome = probe_stage(probed, issue.stage, moves)
        found = [
            x
            for x in judge(issue.stage, outcome, moves, tolerance)
            if (x.field, x.verdict) == (issue.field, issue.verdict)
        ]
        if not found:
            return issue, None
        issue = max(found, key=lambda x: x.error)
        entries = np.flatnonzero(issue.move.along)
        if len(entries) == 1:
            break
    index = tuple(int(k) for k in np.unravel_index(int(entries[0]), along.shape))
    rate = float(along[index])
    left, right = issue.expected
    return issue._replace(mine=issue.mine / rate, expected=(left / rate, right / rate)), index


def _only(along: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """A direction with only some of its entries, as indices of the flat array."""
    mask = np.zeros(along.size, bool)
    mask[entries] = True
    return np.where(mask.reshape(along.shape), along, 0)
