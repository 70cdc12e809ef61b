"""Sets of slots as bits."""

import jax
import numpy as np

from mjjax.collision.convex.bits import WORD, bits_of, nth, without


def test_places_of_bits() -> None:
    """Protects which slots the polytope takes: the lowest free ones, in order."""
    rng = np.random.default_rng(0)
    flags = rng.random((3 * WORD, 40)) < np.linspace(0, 1, 40)[None]
    count = rng.integers(0, 3 * WORD, 40).astype(np.int32)
    words = jax.jit(bits_of)(flags)
    rank = np.arange(3 * WORD, dtype=np.int32)[:, None] + 0 * count[None]
    place, left = jax.jit(nth)(words, rank), jax.jit(without)(words, count)
    for lane, on in enumerate(flags.T):
        slots = np.flatnonzero(on)
        expected = np.append(slots, np.full(3 * WORD - len(slots), 3 * WORD))
        np.testing.assert_array_equal(place[:, lane], expected)
        rest = np.zeros_like(on)
        rest[slots[count[lane] :]] = True
        np.testing.assert_array_equal(left[:, lane], bits_of(rest[:, None])[:, 0])
