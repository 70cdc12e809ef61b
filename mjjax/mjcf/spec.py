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
        children: elements inside it, in document order.
        key: its row of the MJCF table.
        parent: the element it is in; None at the top.
    """

    kind: str
    values: dict[str, Any]
    origin: Origin = field(default_factory=Origin)
    classname: str = "main"
    children: list["Element"] = field(default_factory=list)
    key: str = ""
    parent: "Element | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The element's name, ``""`` if it has none."""
        return self.values.get("name") or ""

    def walk(self) -> Iterator["Element"]:
        """This element and everything inside it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def add(self, child: "Element") -> "Element":
        """Puts an element inside this one, after the others; returns it."""
        child.parent = self
        self.children.append(child)
        return child

    def remove(self, child: "Element") -> None:
        """Takes an element out of this one."""
        self.children.remove(child)
        child.parent = None

    def copy(self, copies: "dict[Element, Element] | None" = None) -> "Element":
        """This element and everything inside it anew; `copies` gets the copy of each."""
        copies = {} if copies is None else copies
        twin = Element(self.kind, dict(self.values), self.origin, self.classname, key=self.key)
        copies[self] = twin
        for child in self.children:
            twin.add(child.copy(copies))
        return twin


@dataclass(eq=False)
class DefaultClass:
    """A default class: for each kind of element the attribute values new elements start from."""

    name: str
    parent: str
    values: dict[str, dict[str, Any]]

    def copy(self) -> "DefaultClass":
        """An independent copy."""
        values = {kind: dict(values) for kind, values in self.values.items()}
        return DefaultClass(self.name, self.parent, values)


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
            equality tendon actuator sensor key numeric text tuple mesh hfield texture material``.
            Assets that are read from a file hold its path under ``path``.
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

    def everything(self) -> Iterator[Element]:
        """All elements: the world depth first, then the others kind by kind."""
        yield from self.worldbody.walk()
        for elements in self.elements.values():
            yield from elements

    def origin(self, section: str) -> Origin:
        """Where a section stands; also for one that the file does not have."""
        return self.origins.get(section, Origin(section))

    def copy(self, copies: dict[Element, Element] | None = None) -> "Spec":
        """An independent copy; `copies` gets the copy of each element."""
        copies = {} if copies is None else copies
        return Spec(
            modelname=self.modelname,
            compiler=dict(self.compiler),
            lengthrange=dict(self.lengthrange),
            option=dict(self.option),
            flag=dict(self.flag),
            size=dict(self.size),
            statistic=dict(self.statistic),
            visual={name: dict(values) for name, values in self.visual.items()},
            defaults={name: default.copy() for name, default in self.defaults.items()},
            worldbody=self.worldbody.copy(copies),
            elements={k: [e.copy(copies) for e in found] for k, found in self.elements.items()},
            origins=dict(self.origins),
            warnings=list(self.warnings),
            base=self.base,
            assets=dict(self.assets),
        )
