"""Functions that must stay finite where their textbook derivative is not."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.math import safe

REAL = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
# function of one number, points where its derivative is singular, its value there
SINGULAR: dict[str, tuple[Callable, tuple[float, ...], tuple[float, ...]]] = {
    "sqrt": (safe.sqrt, (0.0, -1.0), (0, 0)),
    "norm": (lambda x: safe.norm(x * jnp.ones(3, x.dtype)), (0.0,), (0,)),
    "divide": (lambda x: safe.divide(1 + x, x, 2.0), (0.0,), (2,)),
    "normalize": (lambda x: safe.normalize(x * jnp.ones(3, x.dtype))[0][0], (0.0,), (1,)),
    "arctan2": (lambda x: safe.arctan2(x, 2 * x), (0.0,), (0,)),
    "arccos": (safe.arccos, (1.0, -1.0, 1.5), (0, np.pi, 0)),
    "power": (lambda x: safe.power(x, x + 0.5), (0.0, -1.0), (0, 0)),
}


@pytest.mark.feature("D07")
@REAL
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_points(name: str, dtype: type) -> None:
    """At the singular point the value is right and the derivatives are zero, in every mode."""
    function, points, values = SINGULAR[name]
    for point, value in zip(points, values, strict=True):
        x = jnp.asarray(point, dtype)
        assert function(x).dtype == dtype
        np.testing.assert_allclose(function(x), value, atol=1e-6)
        modes = jax.jit(lambda x: [m(function)(x) for m in (jax.grad, jax.jacfwd, jax.hessian)])
        assert modes(x) == [0, 0, 0]


@pytest.mark.parametrize(
    "ours, theirs, points",
    [
        (safe.sqrt, jnp.sqrt, (1e-12, 0.3, 1e8)),
        (safe.rsqrt, lambda x: x**-0.5, (1e-12, 0.3, 1e8)),
        (lambda x: safe.norm(jnp.stack([x, 2 * x])), lambda x: jnp.sqrt(5.0) * x, (0.01, 0.3)),
        (lambda x: safe.divide(jnp.ones_like(x), x), lambda x: 1 / x, (-2.0, 1e-9)),
        (lambda x: safe.arctan2(x, 1 - x), lambda x: jnp.arctan2(x, 1 - x), (-1.0, 0.0, 1.0, 3.0)),
        (safe.arccos, jnp.arccos, (-0.999, 0.2, 0.999)),
        (lambda x: safe.power(x, jnp.asarray(2.5)), lambda x: x**2.5, (1e-6, 0.7)),
    ],
)
def test_elsewhere_they_are_the_textbook_functions(
    ours: Callable, theirs: Callable, points: tuple[float, ...]
) -> None:
    """Away from the singular points values and both derivatives are those of the plain function."""
    for point in points:
        x = jnp.asarray(point, jnp.float64)
        for mode in (lambda f: f, jax.grad, jax.jacfwd, jax.hessian):
            mine, expected = jax.jit(lambda x, m=mode: (m(ours)(x), m(theirs)(x)))(x)
            np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.feature("A183")
def test_tiny_vectors_are_not_directions() -> None:
    """As in MuJoCo, a vector below 1e-15 has the unit vector (1, 0, 0)."""
    unit, length = safe.normalize(np.array([[0, 1e-16, 0], [0, 1e-14, 0.0]]))
    np.testing.assert_allclose(unit, [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(length[:, 0], [1e-16, 1e-14])


@REAL
@pytest.mark.parametrize("length", [2e-15, 1e-13, 1e-9, 1.0])
def test_short_vectors_turn(length: float, dtype: type) -> None:
    """Directions of short vectors have the derivative 1 / length, in both modes and precisions."""
    x = jnp.asarray([0, length, 0], dtype)
    turn = np.diag([1, 0, 1]) / length
    for mode in (jax.jacfwd, jax.jacrev):
        found = jax.jit(mode(lambda x: safe.normalize(x)[0]))(x)
        np.testing.assert_allclose(found * length, turn * length, atol=1e-5)


@REAL
def test_numpy_and_jax_agree(dtype: type) -> None:
    """The same kernel serves the compiler (numpy) and the simulation (JAX)."""
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(dtype)
    for function in (safe.sqrt, safe.norm, lambda x: safe.normalize(x)[0], safe.arccos):
        mine, theirs = function(x), function(jnp.asarray(x))
        assert isinstance(mine, np.ndarray) and isinstance(theirs, jax.Array)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 28, 1000])
@pytest.mark.parametrize("value", [np.nan, np.inf, -2e10])
def test_bad_numbers_are_found(size: int, value: float) -> None:
    """Bad numbers are found anywhere in a vector, also in single precision and in batches."""
    x = np.zeros((64, size), np.float32)
    x[3, size // 2] = value
    found = jax.jit(jax.vmap(safe.is_bad))(x)
    np.testing.assert_array_equal(np.flatnonzero(found), [3])
    assert not safe.is_bad(np.zeros(0))


def test_norm_of_nothing() -> None:
    """Vectors without entries have length zero."""
    assert (safe.norm(np.zeros((2, 0))) == 0).all()
    assert jax.jit(safe.norm)(jnp.zeros((2, 0))).shape == (2,)
