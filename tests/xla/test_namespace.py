"""`where` and rows of tables for both array libraries."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.xla.namespace import columns, on_some, rows, where

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


TABLE = np.arange(24.0).reshape(4, 2, 3)
INDEX = np.array([3, 0, 0, 2, 1])


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


@pytest.mark.parametrize("library", [np, jnp])
def test_rows_and_columns_are_those_of_indexing(library) -> None:
    """Both libraries agree; NumPy keeps many rows side by side in memory."""
    table = library.asarray(TABLE)
    np.testing.assert_array_equal(rows(table, library.asarray(INDEX)), TABLE[INDEX])
    wide = np.stack([INDEX, INDEX[::-1]], axis=1)
    np.testing.assert_array_equal(rows(table, library.asarray(wide)), TABLE[wide])
    parts = [table[:, 0, 0], table[:, 1, 2]]
    np.testing.assert_array_equal(columns(*parts), np.stack(parts, axis=1))
    assert library is jnp or rows(table, INDEX).strides[0] == TABLE.itemsize


def test_only_needed_rows_are_computed() -> None:
    """NumPy computes the rows that count and leaves zeros elsewhere; JAX computes them all."""
    counts, asked = np.array([True, False, True, False]), []

    def halved(x):
        asked.append(len(x))
        return {"half": x / 2}

    found = on_some(halved, counts, TABLE)["half"]
    np.testing.assert_array_equal(found, np.where(counts[:, None, None], TABLE / 2, 0))
    traced = on_some(halved, jnp.asarray(counts), jnp.asarray(TABLE))["half"]
    np.testing.assert_array_equal(traced, TABLE / 2)
    assert asked == [2, 4]
