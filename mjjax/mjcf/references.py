"""The attributes of elements that name other elements, and the kinds of these."""

from collections.abc import Iterator
from typing import NamedTuple

from mjjax.mjcf.element import Element

# Attributes that mean the same in every element, and the kind they name.
_REFERENCES = {
    attribute: kind
    for kind, attributes in {
        "body": "body body1 body2 subtree1 subtree2 target",
        "joint": "joint joint1 joint2 jointinparent",
        "geom": "geom geom1 geom2",
        "site": "site site1 site2 sidesite slidersite cranksite refsite",
        "camera": "camera",
        "tendon": "tendon tendon1 tendon2",
        "actuator": "actuator",
        "mesh": "mesh",
        "hfield": "hfield",
        "texture": "texture",
        "material": "material",
    }.items()
    for attribute in attributes.split()
}
# Attributes whose kind another attribute gives.
_TYPED = {"objname": "objtype", "refname": "reftype"}
_KINDS = {"xbody": "body"}
ASSETS = frozenset(("mesh", "hfield", "texture", "material"))
IN_TREE = ("body", "frame")


class Reference(NamedTuple):
    """One attribute that names another element."""

    holder: Element
    attribute: str
    kind: str
    name: str


def references(element: Element) -> Iterator[Reference]:
    """The references of an element and its layers, wraps and members, but not of its subtree."""
    parts = [element] if element.kind in IN_TREE else element.walk()
    for part in parts:
        for attribute, value in part.values.items():
            if not value or not isinstance(value, str):
                continue
            kind = _REFERENCES.get(attribute)
            if attribute in _TYPED:
                type_ = part.values.get(_TYPED[attribute]) or ""
                kind = _KINDS.get(type_, type_)
            if kind:
                yield Reference(part, attribute, kind, value)
