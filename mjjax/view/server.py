"""Servers of viser."""

import contextlib
from collections.abc import Iterator
from typing import Any

import rich


@contextlib.contextmanager
def started(port: int | None) -> Iterator[Any]:
    """A server for this machine only, which stops at the end; None takes any free port.

    Raises:
        ImportError: viser is not installed.
    """
    try:
        import viser
    except ImportError as error:
        raise ImportError("the viewer needs viser: pip install 'mjjax[view]'") from error
    with _silence():
        server = viser.ViserServer(host="127.0.0.1", port=port or 0, verbose=False)
    try:
        yield server
    finally:
        with _silence():
            server.stop()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Hides what viser prints at start and stop by rich, on terminals and in notebooks."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
