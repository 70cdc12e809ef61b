"""Finds ids by names, and reports errors of names."""

from collections.abc import Sequence

from mjjax.core.errors import MjcfError, Origin
from mjjax.core.words import nearest
from mjjax.mjcf.element import Element
from mjjax.mjcf.keywords import OBJECT_TYPES

# Kinds whose names differ from MuJoCo's name of the object type.
_KIND = {"xbody": "body"}


class Names:
    """Ids by kind and name."""

    def __init__(self) -> None:
        self.ids: dict[str, dict[str, int]] = {}
        self.lists: dict[str, tuple[str, ...]] = {}
        self.origins: dict[tuple[str, int], Origin] = {}

    def add(self, kind: str, elements: Sequence[Element]) -> None:
        """Registers all elements of a kind, in the order of their ids.

        Raises:
            MjcfError: a name occurs twice.
        """
        ids: dict[str, int] = {}
        for index, element in enumerate(elements):
            self.origins[kind, index] = element.origin._replace(name=element.name)
            if not element.name:
                continue
            if element.name in ids:
                first = elements[ids[element.name]].origin
                raise element.origin.error(
                    f"the name {element.name!r} is already used by another {kind}",
                    f"see line {first.line} of {first.file or 'the model'}",
                )
            ids[element.name] = index
        self.ids[kind] = ids
        self.lists[kind] = tuple(element.name for element in elements)

    def find(self, kind: str, name: str, element: Element) -> int:
        """The id of the `kind` called `name`, which `element` refers to.

        Raises:
            MjcfError: there is no element with that name.
        """
        index = self.ids[kind].get(name)
        if index is None:
            raise self._missing(kind, name, element)
        return index

    def _missing(self, kind: str, name: str, element: Element) -> MjcfError:
        return element.origin.error(f"unknown {kind} {name!r}", nearest(name, self.ids[kind]))

    def find_object(self, type_: str, name: str, element: Element) -> tuple[int, int]:
        """Type and id of the object that a pair of attributes (objtype, objname) refers to.

        Raises:
            MjcfError: there is no such type, or no such object.
        """
        if type_ not in OBJECT_TYPES:
            raise element.origin.error(
                f"unknown object type {type_!r}", nearest(type_, OBJECT_TYPES)
            )
        kind = _KIND.get(type_, type_)
        if kind not in self.ids:
            raise element.origin.error(f"there is no {type_} {name!r} to refer to")
        return OBJECT_TYPES[type_], self.find(kind, name, element)

    def find_all(self, kind: str, elements: Sequence[Element], attribute: str) -> list[int]:
        """Ids of the elements that an attribute refers to; -1 where the attribute is absent."""
        return [
            self.find(kind, e.values[attribute], e) if e.values[attribute] else -1 for e in elements
        ]
