"""Finds attributes of a description by name, and puts other values in their place."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mjjax.core.words import nearest
from mjjax.mjcf.edit import ORIENTATIONS, Section, attributes_of, find
from mjjax.mjcf.element import IN_BODIES, Element
from mjjax.mjcf.element_lists import OUTSIDE
from mjjax.mjcf.schema import ELEMENTS, Attribute
from mjjax.mjcf.shortcuts import GIVEN, SHORTCUTS
from mjjax.mjcf.spec import Spec

Reference = str | tuple[Element, str]
_SECTIONS = ("option", "compiler", "statistic")
_LISTS = {kind: plural for plural, kind in (IN_BODIES | OUTSIDE).items()}
# Maps a kind and an attribute to other attributes that replace it if they are given.
_REPLACED = {
    "geom": {
        "density": ("mass",),
        "pos": ("fromto",),
        **dict.fromkeys(("quat", *ORIENTATIONS), ("fromto",)),
    },
    "site": dict.fromkeys(("pos", "quat", *ORIENTATIONS), ("fromto",)),
    "inertial": {"diaginertia": ("fullinertia",), "quat": ("fullinertia",)},
    "joint": dict.fromkeys(("stiffness", "damping"), ("springdamper",)),
}
_HINTS = {
    "mass": "its mass comes from its density and size: name these, or give it a mass",
    "fromto": "name pos, size and orientation",
}


class Parameter(NamedTuple):
    """An attribute of an element or a section.

    Attributes:
        holder: the element or section that has the attribute.
        attribute: name of the attribute.
        nominal: the numbers in the description, a scalar or a vector.
    """

    holder: Element | Section
    attribute: str
    nominal: np.ndarray

    def moved(self, spec: Spec, copies: Mapping[Element, Element]) -> "Parameter":
        """The same attribute of a copy of the description."""
        if isinstance(self.holder, Section):
            return self._replace(holder=getattr(spec, self.holder.row))
        return self._replace(holder=copies[self.holder])


def find_all(
    spec: Spec, attributes: Sequence[Reference] | Mapping[str, Reference]
) -> dict[str, Parameter]:
    """The attributes by name; see `parametrize`.

    Raises:
        ValueError: see there.
    """
    if not isinstance(attributes, Mapping):
        attributes = {_name(reference): reference for reference in attributes}
    return {name: _parameter(spec, reference) for name, reference in attributes.items()}


def assign(parameter: Parameter, value: Any) -> None:
    """Puts numbers, or tracked numbers of the same shape, in the place of an attribute."""
    holder, name = parameter.holder, parameter.attribute
    entries = tuple(value[i] for i in range(len(value))) if value.ndim else value
    if isinstance(holder, Section):
        holder[name] = entries
    elif name in ORIENTATIONS:
        holder.values["alt"] = (name, entries)
    elif name in holder.values:
        holder.values[name] = entries
    else:
        SHORTCUTS[_tag(holder)](holder.values, {name: entries})


def _name(reference: Reference) -> str:
    if isinstance(reference, str):
        return reference
    element, attribute = reference
    owner = element.owner if element.kind == "inertial" else element
    if owner is None or not owner.name:
        raise ValueError(f"{_place(element)} has no name: give the attributes names, in a mapping")
    return f"{element.kind}:{owner.name}:{attribute}"


def _parameter(spec: Spec, reference: Reference) -> Parameter:
    holder, name = _holder(spec, reference)
    attribute = _attribute(holder, name)
    if attribute.kind not in ("real", "single"):
        raise ValueError(
            f"{_place(holder)}: {name!r} is not a real number: it decides what is in the model; "
            "change the description and parametrize it again"
        )
    value = _value(holder, name)
    if value is None:
        hint = f"; {_HINTS[name]}" if name in _HINTS else ": give it one in the description"
        raise ValueError(f"{_place(holder)}: {name!r} has no value{hint}")
    if isinstance(holder, Element):
        for other in _REPLACED.get(holder.kind, {}).get(name, ()):
            if np.any(holder.values[other]):
                raise ValueError(f"{_place(holder)}: {name!r} has no effect: {other!r} is given")
    return Parameter(holder, name, np.array(value, np.float64))


def _holder(spec: Spec, reference: Reference) -> tuple[Element | Section, str]:
    """The element or section that a reference names, and the attribute."""
    if not isinstance(reference, str):
        element, attribute = reference
        if element.spec is not spec:
            raise ValueError(f"{_place(element)} is not in this model")
        return element, attribute
    kind, _, rest = reference.partition(":")
    if kind in _SECTIONS:
        return getattr(spec, kind), rest
    name, _, attribute = rest.rpartition(":")
    if kind == "inertial":
        body = spec.body(name)
        found = next((e for e in body.members() if e.kind == kind), None) if body else None
    elif kind in _LISTS:
        found = getattr(spec, kind)(name)
    else:
        hint = nearest(kind, (*_LISTS, "inertial", *_SECTIONS))
        raise ValueError(f"{reference!r} is not 'kind:name:attribute'; {hint}".rstrip("; "))
    if found is None:
        hint = nearest(name, (e.name for e in getattr(spec, _LISTS.get(kind, "bodies"))))
        raise ValueError(f"{reference!r}: there is no {kind} {name!r}; {hint}".rstrip("; "))
    return found, attribute


def _attribute(holder: Element | Section, name: str) -> Attribute:
    if isinstance(holder, Section):
        known = dict(ELEMENTS[holder.row].attributes)
    else:
        known = attributes_of(holder.kind, holder.key) | ELEMENTS[holder.key].attributes
    try:
        return find(known, _place(holder), name)
    except AttributeError as error:
        raise ValueError(str(error)) from None


def _value(holder: Element | Section, name: str) -> Any:
    """The value in the description; None if it has none."""
    if isinstance(holder, Section):
        return holder.get(name)
    if name == "quat" and holder.values.get("alt"):
        form = holder.values["alt"][0]
        raise ValueError(f"{_place(holder)}: the orientation is given by {form!r}; name that")
    if name in ORIENTATIONS:
        return getattr(holder, name)
    if name in holder.values:
        return holder.values[name]
    given = GIVEN.get(_tag(holder), {}).get(name)
    value = None if given is None else given(holder.values)
    # A servo has either its damping or a damping ratio in the same place, with different signs.
    return None if value is None or np.any(np.less(value, 0)) else value


def _tag(element: Element) -> str:
    return element.key.rpartition(".")[2]


def _place(holder: Element | Section) -> str:
    """An element or section for messages."""
    if isinstance(holder, Section):
        return f"<{holder.row}>"
    return f'<{holder.origin.element or holder.kind} name="{holder.name}">'
