"""Lets methods call functions of lower layers, which register themselves when they are imported.

`Model.from_xml_path`, `Data.qM` and `Spec.compile` are methods of classes at the top of the
pipeline, but modules further down do their work. No module imports a layer below its own. So the
method asks for the work by name, and the function that does the work registers under that name.
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_WORK: dict[str, Callable[..., Any]] = {}
_LOADERS: list[Callable[[], Any]] = []


def whole_package(load: Callable[[], Any]) -> None:
    """Says how to import all functions that do work, for programs that have imported a part."""
    _LOADERS.append(load)


def does(name: str) -> Callable[[F], F]:
    """Registers a function as the one that does the work `name`."""

    def hand_in(function: F) -> F:
        _WORK[name] = function
        return function

    return hand_in


def work(name: str) -> Callable[..., Any]:
    """The function that does the work `name`."""
    if name not in _WORK:
        for load in _LOADERS:
            load()
    return _WORK[name]
