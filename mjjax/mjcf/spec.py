"""`Spec`: a model as the user described it, before it is compiled."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mjjax.core.errors import MjcfError, UnsupportedFeature


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


@dataclass(eq=False)
class Element:
    """One element of a model, with the defaults of its class filled in.

    Attributes:
        kind: ``body``, ``joint``, ``geom``, ``frame``, ``actuator``, ... (not the shortcut's tag).
        values: attribute values by MJCF name; angles still in the units of the file. The five
            ways to write an orientation are held as ``quat`` and ``alt``, a pair (form, numbers)
            that wins over ``quat``, or None.
        origin: where it was written.
        classname: the default class its values came from.
        children: elements inside it, in document order (bodies and frames).
    """

    kind: str
    values: dict[str, Any]
    origin: Origin = field(default_factory=Origin)
    classname: str = "main"
    children: list["Element"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The element's name, ``""`` if it has none."""
        return self.values.get("name") or ""

    def walk(self) -> Iterator["Element"]:
        """This element and everything inside it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(eq=False)
class DefaultClass:
    """A default class: for each kind of element the attribute values new elements start from."""

    name: str
    parent: str
    values: dict[str, dict[str, Any]]


@dataclass(eq=False)
class Spec:
    """A model description: what the MJCF file said, includes and defaults resolved.

    Attributes:
        modelname: name of the model.
        compiler, lengthrange, option, flag, size, statistic: attributes of these sections, with
            MuJoCo's defaults; `statistic` and `flag` hold only what the user wrote.
        visual: attributes of the visual sub-sections, as written.
        defaults: default classes by name.
        worldbody: the world; bodies and frames nest in it.
        elements: everything outside the world by kind, in document order: ``pair exclude
            actuator key numeric text tuple mesh hfield texture material``. Assets that are
            read from a file hold its path under ``path``.
        origins: where the sections stand, for messages.
        warnings: messages for the user.
        base: directory that file names are relative to.
        assets: contents of files given in memory.
    """

    modelname: str
    compiler: dict[str, Any]
    lengthrange: dict[str, Any]
    option: dict[str, Any]
    flag: dict[str, int]
    size: dict[str, Any]
    statistic: dict[str, Any]
    visual: dict[str, dict[str, Any]]
    defaults: dict[str, DefaultClass]
    worldbody: Element
    elements: dict[str, list[Element]]
    origins: dict[str, Origin] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    base: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
