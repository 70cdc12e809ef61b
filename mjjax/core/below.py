"""Work that a class asks of layers below its own, which hand it in when they are imported.

`Model.from_xml_path`, `Data.qM`, `Spec.compile` are methods of what stands at the top of the
pipeline, and the work of what stands further down. No module imports a layer below its own: the
method asks for the work by name, and the function that does it says so.
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_WORK: dict[str, Callable[..., Any]] = {}


def does(name: str) -> Callable[[F], F]:
    """Hands a function in as the one that does some work."""

    def hand_in(function: F) -> F:
        _WORK[name] = function
        return function

    return hand_in


def work(name: str) -> Callable[..., Any]:
    """The function that does some work; `import mjjax` imports all of them."""
    return _WORK[name]
