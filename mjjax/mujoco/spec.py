"""`MjSpec` without MuJoCo: `mjjax.Spec` with the names and types of MuJoCo's Python package."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mjjax import Spec
from mjjax.compiler.load import model_in_numpy
from mjjax.core.enums import ObjType
from mjjax.mjcf.edit import Section, Sections
from mjjax.mjcf.element import IN_BODIES, Element
from mjjax.mjcf.element_lists import OUTSIDE
from mjjax.mjcf.keywords import OBJECT_TYPES
from mjjax.mjcf.schema import ELEMENTS
from mjjax.mujoco.model import MjModel, read_spec
from mjjax.mujoco.names import TYPES

# MuJoCo's names of attributes where MJCF has others.
_MJCF = {
    "meshname": "mesh",
    "hfieldname": "hfield",
    "solref_limit": "solreflimit",
    "solimp_limit": "solimplimit",
    "solref_friction": "solreffriction",
    "solimp_friction": "solimpfriction",
    "actfrclimited": "actuatorfrclimited",
    "actfrcrange": "actuatorfrcrange",
    "actgravcomp": "actuatorgravcomp",
    "fluid_coefs": "fluidcoef",
    "fluid_ellipsoid": "fluidshape",
    "targetbody": "target",
    "bodyname1": "body1",
    "bodyname2": "body2",
    "geomname1": "geom1",
    "geomname2": "geom2",
    "uservert": "vertex",
    "usernormal": "normal",
    "usertexcoord": "texcoord",
    "userface": "face",
    "userdata": "elevation",
}
_WORD = {number: word for word, number in OBJECT_TYPES.items()}
# The type decides these attributes of a sensor, except for a sensor of the user.
_OF_THE_TYPE = {"dim", "datatype", "needstage"}
_DATA_OF_CONTACTS = ("data", "reduce", "num")  # what `intprm` of a contact sensor has


class MjsElement:
    """An element of an `MjSpec`: attributes with MuJoCo's names, and arrays to write into.

    Angles are in the units of `spec.compiler`, as in MuJoCo.
    """

    def __init__(self, element: Element):
        vars(self)["_element"] = element

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        first, _, kind = name.partition("_")
        if first in ("first", "next") and kind in IN_BODIES.values():
            return functools.partial(self._next, kind)
        if first == "find" and kind == "child":
            return self._child
        if first == "add":
            return functools.partial(_add, self._element, kind)
        return _shown(self._element, _MJCF.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._element, _MJCF.get(name, name), _ours(value))

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *dir(self._element), *self._element.values})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MjsElement) and self._element is other._element

    def __hash__(self) -> int:
        return id(self._element)

    def __repr__(self) -> str:
        return repr(self._element)

    def _next(self, kind: str, after: "MjsElement | None" = None) -> "MjsElement | None":
        """The first element of a kind in this body, or the one after another."""
        found = [e for e in self._element.members() if e.kind == kind]
        place = found.index(after._element) + 1 if after is not None else 0
        return _wrapped(found[place]) if place < len(found) else None

    def _child(self, name: str) -> "MjsElement | None":
        """The body below this one that has a name."""
        inner = (e for e in self._element.walk() if e is not self._element)
        found = [e for e in inner if e.kind == "body" and e.name == name]
        return _wrapped(found[0]) if found else None


CLASSES: dict[str, type[MjsElement]] = {
    kind: type(f"Mjs{kind.capitalize()}", (MjsElement,), {"__doc__": MjsElement.__doc__})
    for kind in (*IN_BODIES.values(), *OUTSIDE.values())
}


class _Row(np.ndarray):
    """The numbers of an attribute; writing into them, or into a part of them, changes it.

    Attributes:
        tell: gives the attribute the numbers of the row. Parts of the row have it too.
    """

    tell: Callable[[], None] | None = None

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, _Row) and np.may_share_memory(self, source):  # not for copies
            self.tell = source.tell

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self._tell()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Results are plain arrays; operations such as `row += 1` write into the row."""
        out = options.get("out", ())
        if out:
            options["out"] = tuple(map(_plain, out))
        found = getattr(ufunc, method)(*map(_plain, inputs), **options)
        for x in out:
            if isinstance(x, _Row):
                x._tell()
        return out[0] if len(out) == 1 else found

    def _tell(self) -> None:
        if self.tell is not None:
            self.tell()


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, _Row) else x


def _row(owner: Any, name: str, value: Any) -> _Row:
    """The numbers of an attribute, for a program that may write into them."""
    row = np.array(value).view(_Row)
    row.tell = lambda: setattr(owner, name, row.view(np.ndarray).copy())
    return row


def _wrapped(element: Element) -> MjsElement:
    return CLASSES.get(element.kind, MjsElement)(element)


def _shown(owner: Any, name: str) -> Any:
    """What a program gets for an attribute of an element, a section or a spec."""
    value = getattr(owner, name)
    if isinstance(value, Element):
        return _wrapped(value)
    if isinstance(value, Section | Sections):
        return _Part(value)
    if isinstance(value, list) and any(isinstance(x, Element) for x in value):
        return [_wrapped(x) for x in value]
    if isinstance(value, tuple) and value and all(isinstance(x, int | float) for x in value):
        return _row(owner, name, value)
    if callable(value):
        return lambda *args, **kwargs: _shown_result(
            value(*map(_ours, args), **{k: _ours(x) for k, x in kwargs.items()})
        )
    return value


def _shown_result(found: Any) -> Any:
    return _wrapped(found) if isinstance(found, Element) else found


def _ours(value: Any) -> Any:
    """An argument of a program, as `mjjax.Spec` takes it."""
    if isinstance(value, MjsElement):
        return value._element
    return value._spec if isinstance(value, MjSpec) else value


class _Part:
    """A section of a spec, such as `spec.option`."""

    def __init__(self, section: Any):
        vars(self)["_section"] = section

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _shown(self._section, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._section, name, _ours(value))


def _add(owner: Any, kind: str, default: Any = None, **values: Any) -> MjsElement:
    """Adds an element with MuJoCo's names of attributes."""
    named = {_MJCF.get(name, name): _ours(x) for name, x in values.items() if x is not None}
    tag = []
    if kind == "sensor":
        tag, named = _sensor(named)
    elif kind == "actuator":
        tag, named = ["general"], _actuator(named)
    elif kind == "equality":
        tag, named = _equality(named)
    if default is not None:
        named["classname"] = default if isinstance(default, str) else default.name
    return _wrapped(getattr(owner, f"add_{kind}")(*tag, **named))


def _sensor(values: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """MJCF's tag and attributes of a sensor."""
    tag = TYPES["mjtSensor"](int(values.pop("type"))).name.removeprefix("mjSENS_").lower()
    key = ELEMENTS["sensor"].children[tag][0]
    known = ELEMENTS[key].attributes
    if tag == "contact":
        values |= dict(zip(_DATA_OF_CONTACTS, values.pop("intprm", ()), strict=False))
    elif "data" in known:
        values |= dict(zip(["data"], values.pop("intprm", ()), strict=False))
    for pair, number in ((("objtype", "objname"), 1), (("reftype", "refname"), 2)):
        if set(pair) <= known.keys() and pair[0] in values:
            values[pair[0]] = _WORD[int(values[pair[0]])]
            continue
        number_of_type, name = (values.pop(key, None) for key in pair)
        if name:
            word = _WORD[int(number_of_type)]
            word = "subtree" if tag == "contact" and word == "xbody" else word
            values[word if word in known else f"{word}{number}"] = name
    for name in _OF_THE_TYPE - known.keys():
        values.pop(name, None)
    return [tag], values


def _actuator(values: dict[str, Any]) -> dict[str, Any]:
    """MJCF's attributes of a general actuator."""
    target = values.pop("target", None)
    number = values.pop("trntype", None)
    if target is None:
        return values
    word: str = TYPES["mjtTrn"](int(number or 0)).name.removeprefix("mjTRN_").lower()
    return values | {"cranksite" if word == "slidercrank" else word: target}


def _equality(values: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """MJCF's tag and attributes of an equality constraint."""
    tag = TYPES["mjtEq"](int(values.pop("type"))).name.removeprefix("mjEQ_").lower()
    word = _WORD[int(values.pop("objtype", ObjType.BODY))]
    names = [values.pop(f"name{i}", None) for i in (1, 2)]
    found = {f"{word}{i}": name for i, name in enumerate(names, 1) if name}
    data = np.asarray(values.pop("data", ()), float)
    if len(data):
        found |= _data_of_equality(tag, word, data)
    return [tag], values | found


def _data_of_equality(tag: str, word: str, data: np.ndarray) -> dict[str, Any]:
    if tag in ("joint", "tendon"):
        return {"polycoef": data[:5]}
    if tag == "connect":
        return {"anchor": data[:3]} if word == "body" else {}
    if tag == "weld":
        poses = {"anchor": data[:3], "relpose": data[3:10]} if word == "body" else {}
        return poses | {"torquescale": data[10]}
    return {}


class MjSpec:
    """A description that is edited and compiled to an `MjModel` (`mujoco.MjSpec`).

    It has lists of elements (`spec.geoms`), finds one by name (`spec.body("torso")`), and adds
    elements (`spec.worldbody.add_geom(...)`, `spec.add_sensor(type=..., ...)`).
    """

    def __init__(self, spec: Spec | None = None):
        vars(self)["_spec"] = spec or Spec.from_string("<mujoco/>")

    @classmethod
    def from_file(cls, filename: str, assets: Mapping[str, bytes] | None = None) -> "MjSpec":
        """Reads an MJCF or URDF file."""
        return cls(read_spec(filename, assets))

    @classmethod
    def from_string(cls, xml: str, assets: Mapping[str, bytes] | None = None) -> "MjSpec":
        """Reads MJCF from a string; `assets` has contents by file name."""
        return cls(Spec.from_string(xml, dict(assets or {})))

    def compile(self) -> MjModel:
        """The model."""
        return MjModel(model_in_numpy(self._spec.copy()))

    def copy(self) -> "MjSpec":
        """A copy."""
        return MjSpec(self._spec.copy())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        first, _, kind = name.partition("_")
        if first == "add" and kind in OUTSIDE.values():
            return functools.partial(_add, self._spec, kind)
        return _shown(self._spec, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._spec, name, _ours(value))

    def __repr__(self) -> str:
        return repr(self._spec)
