"""Arrays that are computed twice: as numbers, which decide, and as JAX arrays, which are
differentiated.

The compiler of models is numpy code full of decisions: whether a vector is zero, which axis is
longest, whether two frames coincide. It runs unchanged on `Tracked` arrays. numpy hands every
operation to `Tracked`, which does it on the numbers. If one of the operands depends on a parameter,
`Tracked` also does it on the JAX arrays. Comparisons use the numbers, so a value stays on the
branch that its numbers chose. A value that depends on no parameter costs nothing in the traced
program.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.math import safe
from mjjax.xla import linalg

# Replacements for functions of JAX whose derivative is not finite everywhere.
_SAFE: dict[str, Callable] = {
    "sqrt": safe.sqrt,
    "arctan2": safe.arctan2,
    "max": linalg.largest,
}


class NotTracked(TypeError):
    """The compiler needed a value as a plain number, but the value is differentiated."""


class Tracked(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of real numbers with a JAX array of the same meaning.

    Attributes:
        numbers: the numbers (float64), which decide.
        value: the JAX array, traced or not; None if it depends on no parameter.
    """

    __slots__ = ("numbers", "value")

    def __init__(self, numbers: Any, value: jax.Array | None = None):
        self.numbers, self.value = np.asarray(numbers, np.float64), value

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self.numbers.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the numbers."""
        return self.numbers.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.numbers.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.numbers.size

    @property
    def T(self) -> Any:
        """This array with its axes in reverse order."""
        return np.transpose(self)

    def copy(self) -> "Tracked":
        """Another array with the same numbers and value."""
        return Tracked(self.numbers.copy(), self.value)

    def reshape(self, *shape: Any) -> Any:
        """This array in another shape."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Any:
        """This array with all entries on one axis."""
        return np.ravel(self)

    def sum(self, axis: int | None = None) -> Any:
        """Sum along an axis."""
        return np.sum(self, axis=axis)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator["Tracked"]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __format__(self, spec: str) -> str:
        return format(self.numbers.item(), spec)

    def __getitem__(self, index: Any) -> "Tracked":
        value = None if self.value is None else self.value[_index(index)]
        return Tracked(self.numbers[index], value)

    def __setitem__(self, index: Any, new: Any) -> None:
        if self.numbers.base is not None:
            raise NotTracked("a part of an array was assigned to, which does not reach the whole")
        self.numbers[index] = numbers(new)
        if is_live(self) or is_live(new):
            self.value = self.array().at[_index(index)].set(_operand(new))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        if self.value is not None:
            raise NotTracked("its numbers are needed")
        return self.numbers

    def __float__(self) -> float:
        return float(np.asarray(self))

    def array(self) -> jax.Array:
        """The JAX array; also for an array that depends on no parameter."""
        return jnp.asarray(self.numbers, float) if self.value is None else self.value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise NotTracked("an operation in place is not followed")
        theirs = _SAFE.get(ufunc.__name__) or getattr(jnp, ufunc.__name__)
        if method == "at":  # in place, as numpy does
            ufunc.at(args[0].numbers, *(numbers(a) for a in args[1:]))
            if any(map(is_live, args)):
                array, index, operands = args[0].array(), _index(args[1]), map(_operand, args[2:])
                args[0].value = theirs.at(array, index, *operands, inplace=False)
            return None
        if method != "__call__":
            ours, theirs = getattr(ufunc, method), getattr(theirs, method)
            return both(ours, theirs, *args, **kwargs)
        return both(ufunc, theirs, *args, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        theirs = _SAFE.get(func.__name__) or getattr(jnp, func.__name__)
        return both(func, theirs, *args, **kwargs)


def both(ours: Callable, theirs: Callable, *args: Any, **kwargs: Any) -> Any:
    """Applies a function to arrays, some of them tracked: to their numbers and to the JAX arrays.

    Args:
        ours: the function for numpy.
        theirs: the function for JAX; it is called if an argument depends on a parameter.
        *args: arguments of the function, which may be sequences of arrays.
        **kwargs: settings of the function.

    Returns:
        One array or several. They are tracked if they are real and an argument is tracked. Other
        results, such as comparisons, are those of the numbers.
    """
    tracked = [a for a in jax.tree.leaves(args, is_leaf=_is_tracked) if _is_tracked(a)]
    found = ours(*jax.tree.map(numbers, args, is_leaf=_is_tracked), **kwargs)
    if not tracked or not _is_real(found):
        return found
    if not any(map(is_live, tracked)):
        return jax.tree.map(Tracked, found)
    value = theirs(*map(_operand, args), **kwargs)
    return jax.tree.map(Tracked, found, value)


def is_live(x: Any) -> bool:
    """Whether a value depends on a parameter."""
    return isinstance(x, Tracked) and x.value is not None


def numbers(x: Any) -> Any:
    """The numbers of a tracked array; anything else as it is."""
    return x.numbers if isinstance(x, Tracked) else x


def value_of(x: Any) -> Any:
    """The JAX array of a tracked array, or its numbers if it depends on no parameter."""
    return x if not isinstance(x, Tracked) else x.numbers if x.value is None else x.value


def settled(x: Any, to: Any) -> Any:
    """`to`, with the derivative of `x`; for plain arrays `to` itself.

    The compiler uses this when it replaces numbers by other numbers within rounding.
    """
    if not isinstance(x, Tracked):
        return numbers(to)
    to = np.broadcast_to(numbers(to), x.shape)
    return Tracked(to, None if x.value is None else x.value + (to - x.numbers))


def real_array(nested: Any) -> Any:
    """`np.array(nested, np.float64)` of numbers; it is tracked if any of them is."""
    try:
        return np.array(nested, np.float64)
    except NotTracked:
        pass
    leaves = jax.tree.leaves(nested, is_leaf=_is_tracked)
    plain = jax.tree.map(numbers, nested, is_leaf=_is_tracked)
    found = Tracked(np.array(plain, np.float64))
    size = [np.size(numbers(leaf)) for leaf in leaves]
    live = np.array([is_live(leaf) for leaf in leaves])
    places = np.flatnonzero(np.repeat(live, size))
    entries = [leaves[i].value.ravel() for i in np.flatnonzero(live)]
    flat = found.array().ravel().at[places].set(jnp.concatenate(entries))
    return Tracked(found.numbers, flat.reshape(found.shape))


def together(*arrays: Any) -> tuple[Any, ...]:
    """Arrays that may take each other's entries: if one of them is tracked, all become tracked."""
    if not any(map(_is_tracked, arrays)):
        return arrays
    return tuple(a if _is_tracked(a) else Tracked(a) for a in arrays)


def _is_tracked(x: Any) -> bool:
    return isinstance(x, Tracked)


def _is_real(x: Any) -> bool:
    """Whether the (first) result of a function is an array of real numbers."""
    first = x[0] if isinstance(x, tuple | list) else x
    return isinstance(first, np.ndarray | np.floating) and first.dtype.kind == "f"


def _operand(x: Any) -> Any:
    """An argument in a form that JAX accepts."""
    if isinstance(x, Tracked):
        return x.array()
    if isinstance(x, list | tuple) and any(map(_is_tracked, x)):
        return [_operand(part) for part in x]
    return np.asarray(x) if isinstance(x, list) else x


def _index(index: Any) -> Any:
    """An index in a form that JAX accepts, that is without lists."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    return np.array(index, None if index else int) if isinstance(index, list) else index
