"""Where the code that is being traced will run: on a processor or not, inside one kernel or not."""

import contextlib
import contextvars
from collections.abc import Iterator

import jax

VECTOR = 8  # numbers in a vector of the processor; the rest of a loop is computed one by one
_IN_KERNEL = contextvars.ContextVar("_IN_KERNEL", default=False)


def on_processor() -> bool:
    """Whether programs that are traced now will run on a processor, not on an accelerator."""
    return jax.default_backend() == "cpu"


def in_kernel() -> bool:
    """Whether the code that is traced now becomes part of one kernel of a processor.

    Such code cannot call a library, so products of matrices, factors and scatters take the form of
    loops.
    """
    return _IN_KERNEL.get()


@contextlib.contextmanager
def inside_kernel() -> Iterator[None]:
    """What is traced in this block becomes part of one kernel."""
    token = _IN_KERNEL.set(True)
    try:
        yield
    finally:
        _IN_KERNEL.reset(token)
