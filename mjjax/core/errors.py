"""Exceptions, raised while a model is loaded or a program is traced. A running step raises none."""

from typing import NamedTuple


class MjjaxError(Exception):
    """An element of a model file cannot be used. The message says where it is and what to do.

    Attributes:
        what: what is wrong, in one sentence without a final full stop.
        element: the XML tag, e.g. ``"joint"``, or ``""``.
        name: the element's name, or ``""``.
        file: path of the file that holds the element, or ``""``.
        line: line number in that file, or 0 when unknown.
        hint: what the user can do about it, or ``""``.
    """

    def __init__(
        self,
        what: str,
        *,
        element: str = "",
        file: str = "",
        line: int = 0,
        name: str = "",
        hint: str = "",
    ):
        self.what, self.hint = what, hint
        self.element, self.file, self.line, self.name = element, file, line, name
        place = f"{file}:{line}" if file and line else f"line {line}" if line else file
        tag = f'<{element} name="{name}">' if name else f"<{element}>" if element else ""
        text = f"{what}; {hint}" if hint else what
        super().__init__(": ".join(part for part in (place, tag, text) if part))


class MjcfError(MjjaxError, ValueError):
    """The model is not valid MJCF: MuJoCo's compiler refuses it too."""


class UnsupportedFeature(MjjaxError, NotImplementedError):
    """The model is valid MJCF, but uses something mjjax does not simulate, or exceeds `Limits`."""


class AbsentTerm(ValueError):
    """A coefficient is set, but its term is not in the program (`Model.terms`)."""


class Origin(NamedTuple):
    """The place in a file where an element was written."""

    element: str = ""
    file: str = ""
    line: int = 0
    name: str = ""

    def error(self, what: str, hint: str = "") -> MjcfError:
        """The error that this element is not valid."""
        return MjcfError(what, hint=hint, **self._asdict())

    def unsupported(self, what: str, hint: str = "") -> UnsupportedFeature:
        """The error that this element is valid but not simulated."""
        return UnsupportedFeature(what, hint=hint, **self._asdict())
