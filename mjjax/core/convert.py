"""Converts values that users pass for fields of a tree, such as lists, numbers and NumPy arrays."""

import array
import dataclasses
import numbers
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from mjjax.core.representation import short

_NAMES = {float: "real numbers", int: "integers", bool: "truth values"}
_PLAIN = numbers.Number, np.generic, list, tuple, range, array.array, memoryview, str, bytes
_KINDS = {float: np.floating, int: np.integer, bool: np.bool_}


def converted(
    spec: Any, value: Any, own: Mapping[str, Any], table: Iterable[str], filled: bool
) -> Any:
    """The value converted to the type of its field, so that no second program is compiled for it.

    Arrays of other libraries become arrays of JAX. A value that is neither an array nor a number,
    such as another tree, stays as it is.

    Args:
        spec: declaration of the field.
        value: value given for the field.
        own: the fields that the tree has now.
        table: names of the array fields.
        filled: whether a number stands for an array of that number in every entry.

    Raises:
        TypeError: the value is not an array of numbers, or has fractions in a field of integers.
    """
    now = own.get(spec.name)
    if dataclasses.is_dataclass(now):
        return _of_kind(spec.name, value, now, own, table)
    like = next(_leaves(own, table), None) if now is None else now
    value = _of_others(spec.name, value, like)
    plain = isinstance(value, _PLAIN)
    if not plain and not isinstance(value, jax.Array | np.ndarray):
        return value
    if not isinstance(like, jax.Array | np.ndarray | np.generic) and (plain or like is not None):
        return value  # marks, abstract shapes, numbers that the compiler follows
    # the first array of a tree gives it its precision: the compiler computes in float64
    pattern = value if like is None and not plain else now
    dtype = _dtype(spec.dtype, pattern, own, table)
    if plain or value.dtype != dtype or getattr(value, "weak_type", False):
        value = _cast(spec, value, dtype)
    if isinstance(like, jax.Array) and not isinstance(value, jax.Array):
        value = jnp.asarray(value)
    if filled and now is not None and not value.ndim and now.ndim:
        library = jnp if isinstance(value, jax.Array) else np
        value = library.broadcast_to(value, now.shape)
    return value


def whole_number(value: Any, what: str) -> int:
    """A whole number that decides a program.

    Args:
        value: a number of Python or NumPy, or an array of one.
        what: name of the value and what it should be, for the message.

    Raises:
        TypeError: the value has a fraction, is not a number, or is traced.
    """
    if isinstance(value, Tracer):
        raise TypeError(f"{what} and part of the program; it cannot be traced")
    if isinstance(value, jax.Array | np.ndarray) and not value.ndim:
        value = value.item()
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}, not {value!r:.40}") from None


def is_of_other_library(value: Any) -> bool:
    """Whether this is an array of a library other than NumPy and JAX that supports DLPack."""
    ours = isinstance(value, jax.Array | np.ndarray | np.generic)
    return hasattr(value, "__dlpack__") and not ours


def without_entries(
    shape: tuple[int, ...], kind: type, own: Mapping[str, Any], table: Iterable[str]
) -> Any:
    """An array without entries for a tree, of the same precision and library as its other arrays.

    It is made anew, so that it is part of a traced program. The compiler of JAX 0.11 crashes if a
    constant without entries enters the program of a device.
    """
    library = jnp if isinstance(next(_leaves(own, table), None), jax.Array | None) else np
    return library.zeros(shape, _dtype(kind, None, own, table))


def _of_kind(name: str, value: Any, now: Any, own: Mapping[str, Any], table: Iterable[str]) -> Any:
    """A value for a field that is a tree: a tree of that kind, or a mark in a tree of marks."""
    of_arrays = isinstance(next(_leaves(own, table), None), jax.Array | np.ndarray)
    if of_arrays and not isinstance(value, type(now)):
        kind = type(now).__name__
        raise TypeError(f"{name} is a mjjax.{kind}, not {short(value)}; {name}.replace makes one")
    return value


def _of_others(name: str, value: Any, like: Any) -> Any:
    """An array of another library as one of JAX; trees, abstract shapes and None stay as they are.

    If the leaves `like` are marks instead of arrays, everything stays as it is.
    """
    known = isinstance(value, (*_PLAIN, jax.Array, np.ndarray))
    if known or not isinstance(like, jax.Array | np.ndarray):
        return value
    if hasattr(value, "__jax_array__"):
        return jnp.asarray(value)
    if is_of_other_library(value):
        return jnp.from_dlpack(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if value is None or hasattr(value, "dtype") or dataclasses.is_dataclass(value):
        return value
    raise TypeError(f"{name} is an array, not {short(value)}")


def _leaves(own: Mapping[str, Any], table: Iterable[str]) -> Iterator[Any]:
    """The leaves among the fields of a tree, arrays or not."""
    for name in table:
        x = own.get(name)
        if x is not None and not dataclasses.is_dataclass(x) and not isinstance(x, dict):
            yield x


def _dtype(kind: type, now: Any, own: Mapping[str, Any], table: Iterable[str]) -> np.dtype:
    """Type of a field; real numbers have the type of the tree's other real fields."""
    if kind is not float:
        return np.dtype({int: np.int32, bool: np.bool_}[kind])
    leaves = _leaves(own, table) if now is None else [now]
    types = (np.dtype(x.dtype) for x in leaves if hasattr(x, "dtype"))
    real = next((t for t in types if jnp.issubdtype(t, np.floating)), None)
    return jax.dtypes.canonicalize_dtype(float) if real is None else real


def _cast(spec: Any, value: Any, dtype: np.dtype) -> Any:
    """An array of a type; it is an array of JAX if the value has any of these."""
    if isinstance(value, str | bytes):
        raise TypeError(f"{spec.name} holds {_NAMES[spec.dtype]}, not {value!r:.40}")
    if isinstance(value, list | tuple):
        traced = any(isinstance(x, jax.Array) for x in jax.tree.leaves(value))
        try:
            value = jnp.asarray(value) if traced else np.asarray(value)
        except (TypeError, ValueError):
            raise TypeError(f"{spec.name} is an array, not {value!r:.60}") from None
    elif not isinstance(value, jax.Array | np.ndarray):
        value = np.asarray(value)
    given = value.dtype
    if given == jax.dtypes.float0 or jnp.issubdtype(given, jax.dtypes.extended):
        return value  # a derivative that is always zero
    fits = any(jnp.issubdtype(given, k) for k in (np.integer, np.bool_, _KINDS[spec.dtype]))
    if not fits and not (spec.dtype is bool and jnp.issubdtype(given, np.floating)):
        raise TypeError(f"{spec.name} holds {_NAMES[spec.dtype]}, not {given}")
    if spec.dtype is bool:
        return value != 0
    return (
        jax.lax.convert_element_type(value, dtype)
        if isinstance(value, jax.Array)
        else (value.astype(dtype))
    )


def as_tree(function: Callable[..., Any]) -> Any:
    """A function as an argument of compiled programs; one that is a pytree stays as it is."""
    return jax.tree_util.Partial(function) if jax.tree_util.all_leaves([function]) else function
