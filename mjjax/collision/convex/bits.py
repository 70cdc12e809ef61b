"""Sets of slots, 32 in a word, so that a free slot is found without looking at every slot."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.xla.namespace import where

WORD = 32
ALL = 0xFFFFFFFF


def bits_of(flags: jax.Array) -> jax.Array:
    """Flags (S, N) as bits (W, N)."""
    shift = np.arange(WORD, dtype=np.uint32)[None, :, None]
    bits = flags.reshape(-1, WORD, flags.shape[1]).astype(jnp.uint32) << shift
    return jnp.sum(bits, axis=1, dtype=jnp.uint32)


def nth(words: jax.Array, n: jax.Array) -> jax.Array:
    """Place of the n-th (k, N) of the bits (W, N) that are set, from 0; 32 W if there are fewer."""
    rest, place = n, jnp.zeros_like(n)
    word = jnp.zeros_like(n, jnp.uint32)
    beyond = n >= 0
    for i, bits in enumerate(words):
        here = lax.population_count(bits)[None].astype(jnp.int32)
        mine = beyond & (rest < here)
        word = where(mine, bits[None], word)
        place = where(mine, i * WORD, place)
        beyond &= ~mine
        rest = where(beyond, rest - here, rest)
    for half in (16, 8, 4, 2, 1):
        low = word & np.uint32((1 << half) - 1)
        here = lax.population_count(low).astype(jnp.int32)
        upper = rest >= here
        word = where(upper, word >> np.uint32(half), low)
        place = where(upper, place + half, place)
        rest = where(upper, rest - here, rest)
    return where(beyond, len(words) * WORD, place)


def without(words: jax.Array, n: jax.Array) -> jax.Array:
    """Bits (W, N) without the lowest n (N,) that are set."""
    last = nth(words, n[None])  # the first that stays
    start = np.arange(len(words), dtype=np.int32)[:, None] * WORD
    gone = jnp.clip(last - start, 0, WORD).astype(jnp.uint32)
    mask = where(gone >= WORD, np.uint32(0), np.uint32(ALL) << (gone % WORD))
    return words & mask
