"""Describes static indices by few blocks that repeat in equal steps, as over equal trees.

benchmarks/NOTES.md, Indexing, says what this saves.
"""

import functools
from typing import NamedTuple

import numpy as np

MOST_SLICES = 3  # largest number of slices, or products of blocks, that are joined (measured)
BROADEST = 1024  # largest number of indices of a block


class Window(NamedTuple):
    """A part of an axis as blocks: `width` entries from `start + k * stride`, for k = 0, 1, ...

    With a stride of 0, all k have the same block. Otherwise the width is equal to the stride.
    """

    start: int
    stride: int
    width: int


class Segment(NamedTuple):
    """Indices of `count` successive blocks, each with the same columns of its windows.

    Attributes:
        windows: windows, whose columns are side by side.
        columns: (q,) indices of a block into the columns of the windows.
        count: number of blocks.
    """

    windows: tuple[Window, ...]
    columns: np.ndarray
    count: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(w.width for w in self.windows)


def segments_of(index: np.ndarray) -> tuple[Segment, ...]:
    """The few segments that make up indices (n,), by a greedy search; none if it finds more."""
    return _segments(np.asarray(index, np.int64).tobytes())


def slices_of(index: np.ndarray) -> int:
    """Number of slices that make up `index`, in equal steps or repeated, at most one per index."""
    segments = segments_of(index)
    return sum(map(_slices, segments)) if segments else len(index)


def _slices(segment: Segment) -> int:
    if len(segment.windows) > 1:
        return len(segment.columns)
    return 1 if len(segment.columns) == 1 else slices_of(segment.columns)


@functools.lru_cache(maxsize=4096)
def _segments(index: bytes) -> tuple[Segment, ...]:
    rest = np.frombuffer(index, np.int64)
    found = []
    while len(rest):
        if len(found) == MOST_SLICES:
            return ()
        segment, covered = _longest(rest)
        if len(rest) > 1 and covered < len(rest):
            # The first index may be the world, in front of equal trees.
            _, behind = _longest(rest[1:])
            if behind > 2 * covered:
                segment, covered = _segment(rest[:1], np.zeros(1, int), 1), 1
        found.append(segment)
        rest = rest[covered:]
    return tuple(found)


def _longest(index: np.ndarray) -> tuple[Segment, int]:
    """The segment that covers most indices from the first on, and the number of these indices."""
    best = (1, 1, np.zeros(1, int), 1)
    for q in range(1, min(len(index) // 2, BROADEST) + 1):
        if best[0] == len(index):
            break
        step = index[q:] - index[:-q]
        same = _leading(step == step[0])
        count, strides = 1 + same // q, np.full(q, step[0])
        if same < q and len(index) >= 3 * q:
            # There are several strides; at least three blocks are needed to see them.
            count = 2 + _leading(step[q:] == step[:-q]) // q
            count, strides = (count, step[:q]) if count > 2 else (1, strides)
        # Two or three whole blocks are slices of their own.
        proper = (strides >= 0).all() and (q == 1 or strides.any() or count > 3)
        if count * q > best[0] and count > 1 and proper:
            best = (count * q, q, strides, count)
    covered, q, strides, count = best
    return _segment(index[:q], strides, count), covered


def _leading(flags: np.ndarray) -> int:
    """How many of the first flags are set."""
    return len(flags) if flags.all() else int(np.argmin(flags))


def _segment(first: np.ndarray, strides: np.ndarray, count: int) -> Segment:
    """The segment of a first block of indices and the steps from one block to the next."""
    columns, windows, at = np.empty(len(first), int), [], 0
    for stride in np.unique(strides):
        todo = strides == stride
        while todo.any():
            start = first[todo].min()
            here = todo & (first < start + stride if stride else todo)
            width = int(stride or first[here].max() - start + 1)
            windows.append(Window(int(start), int(stride), width))
            columns[here] = first[here] - start + at
            at += width
            todo &= ~here
    return Segment(tuple(windows), columns, count)
