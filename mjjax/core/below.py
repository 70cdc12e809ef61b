"""Lets methods call functions of lower layers, which register themselves when they are imported.

`Model.from_xml_path`, `Data.qM` and `Spec.compile` are methods of classes at the top of the
pipeline, but modules further down do their work. No module imports a layer below its own. So the
method asks for the work by name, and the function that does the work registers under that name.
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_WORK: dict[str, Callable[..., Any]] = {}


def does(name: str) -> Callable[[F], F]:
    """Registers a function as the one that does the work `name`."""

    def hand_in(function: F) -> F:
        _WORK[name] = function
        return function

    return hand_in


def work(name: str) -> Callable[..., Any]:
    """The function that does the work `name`; `import mjjax` imports all such functions."""
    return _WORK[name]
