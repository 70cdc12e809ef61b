"""Arrays that are computed twice, by numbers for decisions and by traced values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.math.tracked import (
    NotTracked,
    Tracked,
    is_live,
    numbers,
    real_array,
    settled,
    together,
    value_of,
)


def traced(function: Any, x: Any) -> tuple[jax.Array, jax.Array]:
    """Value and derivative of a numpy function, with the numbers of 1."""
    return jax.jvp(
        lambda v: value_of(function(Tracked(np.ones(v.shape), v))), (x,), (jnp.ones_like(x),)
    )


def test_numbers_decide_and_values_are_differentiated() -> None:
    """Numbers decide branches, whatever the values; both libraries compute the rest."""

    def function(x: Any) -> Any:
        y = np.where(x > 0.5, x * x, -x)
        table = Tracked(np.zeros((2, 2)))
        table[0, [1]] = np.sum(y[None], axis=0)[:1]
        flat = table.T.ravel().copy()
        np.maximum.at(flat, [3, 3], 2 * x)
        return np.concatenate([flat, np.sqrt(0 * x)])

    value, slope = traced(function, jnp.array([-3.0, 2.0]))
    np.testing.assert_allclose(value, [0, 0, 9, 4, 0, 0])
    np.testing.assert_allclose(slope, [0, 0, -6, 2, 0, 0])


def test_what_depends_on_nothing_stays_numbers() -> None:
    """Nothing enters the traced program without need, and constants go back to numpy."""
    x = Tracked(np.arange(3.0))
    assert not is_live(x + 1) and (np.asarray(x + 1) == [1, 2, 3]).all()
    assert isinstance(x > 1, np.ndarray) and not is_live(real_array([x[0], x[1]]))
    assert isinstance(real_array([1.0, 2.0]), np.ndarray)
    assert is_live(real_array([x[0], Tracked(1.0, jnp.ones(()))]))
    plain = np.zeros(2)
    assert together(plain) == (plain,) and isinstance(together(plain, x)[0], Tracked)


def test_rounded_numbers_keep_their_derivative() -> None:
    """A number that is replaced by an equal one up to rounding keeps its derivative."""
    value, slope = traced(lambda x: settled(x, np.array([1.5])), jnp.array([1.0]))
    assert value == 1.5 and slope == 1
    assert numbers(settled(np.ones(1), np.zeros(1))) == 0


def test_lost_values_are_refused() -> None:
    """Losing a derivative is an error: into plain arrays, numbers or copies of parts."""
    x = Tracked(np.ones(2), jnp.ones(2))
    with pytest.raises(NotTracked, match="numbers are needed"):
        np.zeros(2)[:] = x
    with pytest.raises(NotTracked, match="numbers are needed"):
        np.array([x, x])
    with pytest.raises(NotTracked, match="does not reach the whole"):
        x[:1][0] = 2.0
    with pytest.raises(NotTracked, match="in place"):
        x += 1.0
