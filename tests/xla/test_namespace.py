"""`where` for both array libraries."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla.namespace import where

MASK = np.array([True, False, True])
VALUES = [
    0,
    1.5,
    np.inf,
    np.int32(-1),
    np.arange(3, dtype=np.int32),
    np.arange(6, dtype=np.float64).reshape(2, 3),
    jnp.arange(3, dtype=jnp.float32),
    jnp.arange(3, dtype=jnp.int32)[None],
    jnp.float32(2),
    jnp.array([True, False, True]),
    jnp.where(MASK, 1, 0),
    jnp.where(MASK, 1.0, 0.0),
]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("condition", [MASK, jnp.asarray(MASK), True, MASK[None, :1]])
def test_where_is_that_of_jax(condition):
    """Values, shapes and types are those of `jax.numpy.where`, those left open included."""
    for x, y in itertools.product(VALUES, repeat=2):
        if not any(isinstance(a, jax.Array) for a in (condition, x, y)):
            continue
        try:
            wanted = jnp.where(condition, x, y)
        except ValueError:  # types that nobody should mix
            with pytest.raises(ValueError):
                where(condition, x, y)
            continue
        got = where(condition, x, y)
        for name in ("dtype", "shape", "weak_type"):
            assert getattr(got, name) == getattr(wanted, name), (x, y)
        np.testing.assert_array_equal(got, wanted)


def test_where_of_numpy_is_numpy():
    """The compiler of models stays with NumPy, and with the types of its arrays."""
    got = where(MASK, np.ones(3, np.float32), 0)
    assert type(got) is np.ndarray and got.dtype == np.float32


def test_where_is_one_operation():
    """`where` is one operation without a program of its own; worlds keep their mask."""

    def choose(mask, x):
        return where(mask, x, 0)

    jaxpr = jax.make_jaxpr(choose)(MASK, jnp.ones(3))
    names = [e.primitive.name for e in jaxpr.eqns]
    assert names.count("select_n") == 1 and not {"jit", "pjit"} & set(names)
    lost = jnp.array([True, False])
    np.testing.assert_array_equal(jax.vmap(choose)(lost, jnp.ones((2, 3))), [[1] * 3, [0] * 3])
    slope = jax.grad(lambda x: where(x > 0, x * x, 0.0))
    assert [slope(1.0), slope(-1.0)] == [2, 0]


def test_where_of_nothing_does_not_depend_on_the_condition():
    """Arrays without entries are taken as they are, as JAX does: in a loop of equinox (optimistix's
    solvers) a choice between them loses its batch.
    """
    jaxpr = jax.make_jaxpr(lambda mask, x: where(mask, x, 0.0))(True, jnp.ones((2, 0)))
    assert not jaxpr.eqns
