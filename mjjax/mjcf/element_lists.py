"""`ElementLists`: the elements of a model description, listed, found and added by kind."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from mjjax.core.below import work
from mjjax.mjcf.defaults import world
from mjjax.mjcf.element import IN_BODIES, Element

if TYPE_CHECKING:
    from mjjax.mjcf.spec import Spec

# Lists of elements outside the world, by the name of the attribute that gives them.
OUTSIDE = {
    "pairs": "pair",
    "excludes": "exclude",
    "equalities": "equality",
    "tendons": "tendon",
    "actuators": "actuator",
    "sensors": "sensor",
    "keys": "key",
    "numerics": "numeric",
    "texts": "text",
    "tuples": "tuple",
    "meshes": "mesh",
    "hfields": "hfield",
    "textures": "texture",
    "materials": "material",
    "skins": "skin",
}


@dataclass(eq=False)
class ElementLists:
    """The world and the elements outside of it, by kind; `Spec` documents both and their lists."""

    worldbody: Element = field(default_factory=world)
    elements: dict[str, list[Element]] = field(
        default_factory=lambda: {kind: [] for kind in OUTSIDE.values()}
    )

    def __post_init__(self) -> None:
        for top in (self.worldbody, *(e for found in self.elements.values() for e in found)):
            top.model = cast("Spec", self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "elements" not in self.__dict__:
            raise AttributeError(name)
        if name in IN_BODIES:
            kind = IN_BODIES[name]
            if kind == "body":
                return list(self.in_order())
            return [e for body in self.in_order() for e in body.members() if e.kind == kind]
        if name in OUTSIDE:
            return list(self.elements[OUTSIDE[name]])
        for plural, kind in (IN_BODIES | OUTSIDE).items():
            if name == kind:
                return functools.partial(self._find, plural)
            if name == f"add_{kind}" and plural in OUTSIDE:
                return functools.partial(self._add, kind)
        raise AttributeError(f"a Spec has no attribute {name!r}")

    def _find(self, plural: str, name: str) -> Element | None:
        return next((e for e in getattr(self, plural) if e.name == name), None)

    def _add(self, kind: str, tag: str = "", classname: str = "", **values: Any) -> Element:
        return work("Spec.add")(self, kind, tag, classname, values)

    def append(self, element: Element) -> Element:
        """Appends an element outside the world, and returns it."""
        element.model = cast("Spec", self)
        self.elements[element.kind].append(element)
        return element

    def in_order(self) -> Iterator[Element]:
        """The bodies in the order of their ids."""
        waiting = [self.worldbody]
        while waiting:
            body = waiting.pop()
            yield body
            waiting.extend(reversed([e for e in body.members() if e.kind == "body"]))

    def everything(self) -> Iterator[Element]:
        """All elements: the world depth first, then the others kind by kind."""
        yield from self.worldbody.walk()
        for elements in self.elements.values():
            yield from elements
