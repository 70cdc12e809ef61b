"""Exceptions raised at load time; nothing in the step raises."""

from typing import NamedTuple


class MjjaxError(Exception):
    """An element of a model file that cannot be used, with where it stands and what to do.

    Attributes:
        what: what is wrong, one sentence without a final full stop.
        element: the XML tag, e.g. ``"joint"``, or ``""``.
        file: path of the file that holds the element, or ``""``.
        line: line number in that file, or 0 when unknown.
        hint: what the user can do about it, or ``""``.
    """

    def __init__(
        self, what: str, *, element: str = "", file: str = "", line: int = 0, hint: str = ""
    ):
        self.what, self.element, self.file, self.line, self.hint = what, element, file, line, hint
        where = f"{file}:{line}: " if line else f"{file}: " if file else ""
        tag = f"<{element}>: " if element else ""
        super().__init__(f"{where}{tag}{what}{'; ' + hint if hint else ''}")


class MjcfError(MjjaxError, ValueError):
    """The model is not valid MJCF: MuJoCo's compiler refuses it too."""


class UnsupportedFeature(MjjaxError, NotImplementedError):
    """The model is valid MJCF, but uses something that mjjax does not simulate."""


class Origin(NamedTuple):
    """Where an element was written."""

    element: str = ""
    file: str = ""
    line: int = 0

    def error(self, what: str, hint: str = "") -> MjcfError:
        """The error that this element is not valid."""
        return MjcfError(what, element=self.element, file=self.file, line=self.line, hint=hint)

    def unsupported(self, what: str, hint: str = "") -> UnsupportedFeature:
        """The error that this element is valid but not simulated."""
        return UnsupportedFeature(
            what, element=self.element, file=self.file, line=self.line, hint=hint
        )
