"""`Element`: one element of a model description, as it was written."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mjjax.core.below import work
from mjjax.core.errors import Origin
from mjjax.core.representation import represent, short, table
from mjjax.mjcf.edit import ORIENTATIONS, Section, attributes_of, coerce, find

if TYPE_CHECKING:
    from mjjax.mjcf.spec import Spec

# Lists of the elements of a body by the name of the attribute that gives them.
IN_BODIES = {
    "bodies": "body",
    "frames": "frame",
    "joints": "joint",
    "geoms": "geom",
    "sites": "site",
    "cameras": "camera",
    "lights": "light",
}
# Kinds that a default class holds values for, and the table row with their attributes.
DEFAULT_ROWS = {
    kind: kind for kind in "joint geom site camera light pair material mesh".split()
} | {
    "actuator": "actuator.general",
    "equality": "default.equality",
    "tendon": "default.tendon",
}


@dataclass(eq=False)
class Element:
    """One element of a model, with the defaults of its class filled in.

    You can read and assign MJCF attributes (`geom.size = [0.1]`). Assigned values are checked as in
    a file: `AttributeError` names the nearest attribute, `ValueError` a wrong length or keyword,
    `TypeError` a wrong type. Angles are in the units of `spec.compiler.angle`. A body has lists of
    its elements (`body.geoms`). It adds new ones by `add_body add_frame add_joint add_freejoint
    add_geom add_site add_camera add_light add_inertial`, with attributes as keywords; `classname`
    is a default class other than that of the body. Tendons, materials and tuples add their parts in
    the same way: `tendon.add_site(site="s")`, `material.add_layer(...)`.

    Attributes:
        kind: ``body``, ``joint``, ``geom``, ``frame``, ``actuator``, ... (not the shortcut's tag).
        values: attribute values by MJCF name; angles still in the units of the file. The five
            ways to write an orientation are held as ``quat`` and ``alt``, a pair (form, numbers)
            that wins over ``quat``, or None.
        origin: where it was written.
        classname: the default class its values came from.
        children: elements inside it, in document order.
        key: its row of the MJCF table.
        turn: 0 if it was read from a file. Elements that a program adds have growing numbers, and
            ids after all elements that their body had by then, in whichever frame they are.
        parent: the element it is in; None at the top.
        model: the model it belongs to, at the top.
    """

    kind: str
    values: dict[str, Any]
    origin: Origin = field(default_factory=Origin)
    classname: str = "main"
    children: list["Element"] = field(default_factory=list)
    key: str = ""
    turn: int = 0
    parent: "Element | None" = field(default=None, repr=False)
    model: "Spec | None" = field(default=None, repr=False)

    def __repr__(self) -> str:
        given = {k: x for k, x in self.values.items() if x is not None and k not in ("name", "alt")}
        counts = Counter(child.kind for child in self.children)
        rows = [(k, short(x)) for k, x in (given | counts).items()]
        return table(f"{self.kind} {self.name!r} of class {self.classname!r}", rows)

    @property
    def name(self) -> str:
        """The element's name, ``""`` if it has none."""
        return self.values.get("name") or ""

    @property
    def spec(self) -> "Spec | None":
        """The model it belongs to."""
        top = self
        while top.parent is not None:
            top = top.parent
        return top.model

    @property
    def owner(self) -> "Element | None":
        """The body it is or belongs to, through its frames."""
        found: Element | None = self
        while found is not None and found.kind != "body":
            found = found.parent
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "values" not in self.__dict__:
            raise AttributeError(name)
        if name in self.values:
            return self.values[name]
        if name in ORIENTATIONS and self.values.get("alt"):
            form, numbers = self.values["alt"]
            return numbers if form == name else None
        if name in IN_BODIES and self.kind in ("body", "frame"):
            return [e for e in self.members() if e.kind == IN_BODIES[name]]
        if name.startswith("add_"):
            return functools.partial(self._add, name.removeprefix("add_"))
        find(attributes_of(self.kind, self.key), f"<{self.origin.element}>", name)
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ELEMENT:
            object.__setattr__(self, name, value)
            return
        attribute = find(attributes_of(self.kind, self.key), f"<{self.origin.element}>", name)
        found = coerce(attribute, value, self.values.get(name))
        if name in ORIENTATIONS:
            self.values["alt"] = (name, found)
            return
        self.values[name] = found
        if name == "quat":
            self.values["alt"] = None

    def _add(self, tag: str, classname: str = "", **values: Any) -> "Element":
        return work("Element.add")(self, tag, classname, values)

    def attach_body(
        self, body: "Element", prefix: str | None = None, suffix: str | None = None
    ) -> "Element":
        """Puts a copy of a body of another model into this frame or at this site.

        The copy comes with its assets and all that refers to it, as in `Spec.attach`, and is
        returned. Without `prefix` and `suffix`, its names do not change.

        Raises:
            ValueError: the element is not a body, or it is a body of this model.
            UnsupportedFeature: the two models have compiler settings that cannot be combined.
        """
        return work("Element.attach")(self, "body", body, prefix, suffix)

    def attach_frame(
        self, frame: "Element", prefix: str | None = None, suffix: str | None = None
    ) -> "Element":
        """Puts a copy of a frame of another model, with its content, into this body.

        It works like `attach_body`.
        """
        return work("Element.attach")(self, "frame", frame, prefix, suffix)

    def members(self) -> Iterator["Element"]:
        """The elements that a body or frame holds, including those in its frames, by id.

        Frames come before their content.
        """
        yield from (e for _, e in sorted(self.in_document(), key=lambda pair: pair[0]))

    def in_document(self, least: int = 0) -> Iterator[tuple[int, "Element"]]:
        """`members` in document order, each with its turn, which is not before its frame's turn."""
        for child in self.children:
            turn = max(least, child.turn)
            yield turn, child
            if child.kind == "frame":
                yield from child.in_document(turn)

    def walk(self) -> Iterator["Element"]:
        """This element and everything inside it, depth first."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def add(self, child: "Element") -> "Element":
        """Adds an element inside this one, after the others, and returns it."""
        child.parent = self
        self.children.append(child)
        return child

    def remove(self, child: "Element") -> None:
        """Takes an element out of this one."""
        self.children.remove(child)
        child.parent = None

    def copy(self, copies: "dict[Element, Element] | None" = None) -> "Element":
        """A copy of this element and everything inside it; `copies` receives each copy."""
        copies = {} if copies is None else copies
        twins: list[Element] = []
        waiting: list[tuple[Element, Element | None]] = [(self, None)]
        while waiting:
            element, parent = waiting.pop()
            twin = Element(
                element.kind,
                dict(element.values),
                element.origin,
                element.classname,
                key=element.key,
                turn=element.turn,
            )
            copies[element] = twin
            twins.append(twin if parent is None else parent.add(twin))
            waiting.extend((child, twin) for child in reversed(element.children))
        return twins[0]


_ELEMENT = frozenset(Element.__dataclass_fields__)


@dataclass(eq=False)
class DefaultClass:
    """A default class: for each kind of element, the values from which new elements start.

    You can read and assign these values: `default.geom.rgba = [1, 0, 0, 1]`. Existing elements do
    not change.
    """

    name: str
    parent: str
    values: dict[str, dict[str, Any]]

    __repr__ = represent

    def copy(self) -> "DefaultClass":
        """An independent copy."""
        values = {kind: dict(values) for kind, values in self.values.items()}
        return DefaultClass(self.name, self.parent, values)

    def __getattr__(self, kind: str) -> Section:
        values = self.__dict__.get("values", {})
        if kind not in values:
            raise AttributeError(f"a default class has no {kind!r}")
        row = DEFAULT_ROWS[kind]
        if not isinstance(values[kind], Section):
            values[kind] = Section(row, values[kind])
        return values[kind]
