"""The MJCF language of MuJoCo 3.6.0 as one table: elements, their attributes, their children.

The attributes are in `table`. An attribute is written ``name kind[count] = default flags``; entries
are separated by ``;``.

- kind: ``real``, ``single`` (kept in single precision), ``int``, ``text``, or the name of a
  keyword set in `keywords`; ``bits`` sets (several keywords at once) carry the flag ``|``, or
  ``<`` if the order must be that of the set.
- count: nothing for a scalar, ``[3]`` exactly three, ``[..3]`` one to three, ``[]`` any number.
- default: the value when the attribute is absent; without one the value is undefined (None).
- flags: ``*`` required.

Children are written ``tag`` (any number) or ``tag?`` (at most one), with ``tag=key`` where the
same tag means something else in this place. The table is compared with MuJoCo's own in the tests.
"""

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from mjjax.mjcf import table
from mjjax.mjcf.keywords import KEYWORDS

_ENTRY = re.compile(
    r"^(?P<name>\w+) (?P<kind>\w+)(?:\[(?P<least>\.\.)?(?P<count>\d*)\])?"
    r"(?: = (?P<default>[^*|<]+?))?(?: (?P<flags>[*|<]+))?$"
)


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element.

    Attributes:
        name: as written in XML.
        kind: ``real``, ``single``, ``int``, ``text`` or a keyword set.
        count: number of values; 1 with `scalar`, None for any number.
        scalar: whether the value is a number and not a tuple.
        exact: whether fewer values than `count` are an error; if not, the others keep defaults.
        default: the value if the attribute is absent; None if it is then undefined.
        required: whether absence is an error.
        several: whether several keywords may be given, whose numbers are combined bitwise.
        ordered: whether these keywords must be in the order of their numbers.
    """

    name: str
    kind: str
    count: int | None = 1
    scalar: bool = True
    exact: bool = True
    default: Any = None
    required: bool = False
    several: bool = False
    ordered: bool = False


@dataclass(frozen=True)
class ElementSchema:
    """One element: attributes by name, children by tag (key in the table, at most one).

    `unsupported` names what mjjax does not compile; empty for elements that work.
    """

    attributes: dict[str, Attribute] = field(default_factory=dict)
    children: dict[str, tuple[str, bool]] = field(default_factory=dict)
    unsupported: str = ""


def _number(text: str, kind: str) -> Any:
    if kind == "text":
        return text
    if kind in KEYWORDS:
        return KEYWORDS[kind][text]
    return int(text) if kind == "int" else float(text)


@functools.cache
def attributes(text: str) -> dict[str, Attribute]:
    """The attributes declared by one string of the table, by name."""
    found: dict[str, Attribute] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        match = _ENTRY.match(" ".join(entry.split()))
        if match is None:
            raise ValueError(f"malformed entry {entry!r} in the MJCF table")
        name, kind, least, count, default, flags = match.group(
            "name", "kind", "least", "count", "default", "flags"
        )
        scalar, flags = count is None, flags or ""
        value: Any = None
        if default is not None:
            words = [default] if kind == "text" else default.split()
            values = tuple(_number(word, kind) for word in words)
            value = values[0] if scalar else values
        found[name] = Attribute(
            name=name,
            kind=kind,
            count=1 if scalar else int(count) if count else None,
            scalar=scalar,
            exact=not least,
            default=value,
            required="*" in flags,
            several="|" in flags or "<" in flags,
            ordered="<" in flags,
        )
    return found


def _element(text: str = "", children: str = "", unsupported: str = "") -> ElementSchema:
    found: dict[str, tuple[str, bool]] = {}
    for child in children.split():
        tag, _, key = child.rstrip("?").partition("=")
        found[tag] = (key or tag, child.endswith("?"))
    return ElementSchema(attributes(text), found, unsupported)


def _sensors() -> dict[str, ElementSchema]:
    found = {
        tag: _element(f"{table.SENSE}; {own}")
        for own, tags in table.SENSED.items()
        for tag in tags.split()
    }
    found["tactile"] = _element(table.TACTILE)
    found["user"] = _element(table.USER_SENSOR)
    found["plugin"] = _element(table.PLUGIN_SENSOR, "config", unsupported="plugins")
    return {f"sensor.{tag}": element for tag, element in found.items()}


def _actuators() -> dict[str, ElementSchema]:
    return {
        f"actuator.{tag}": _element(text, *(("config", "plugins") if tag == "plugin" else ()))
        for tag, text in table.ACTUATORS.items()
    }


def _defaults() -> dict[str, ElementSchema]:
    """The elements of default classes, without names and references to single elements."""
    found = {
        tag: _element(table.without(text, "name class target texture geom1 geom2"))
        for tag, text in {
            "joint": table.JOINT,
            "geom": table.GEOM,
            "site": table.SITE,
            "camera": table.CAMERA,
            "light": table.LIGHT,
            "pair": table.PAIR,
            "equality": table.EQUALITY,
            "tendon": table.without(table.SPATIAL, "armature actuatorfrclimited actuatorfrcrange"),
        }.items()
    }
    found["mesh"] = _element("scale real[3]; maxhullvert int; inertia meshinertia")
    found["material"] = _element(table.without(table.MATERIAL, "name class"), "layer")
    for tag, text in table.ACTUATORS.items():
        found[tag] = _element(
            table.without(text, f"name class tausmooth {table.TRANSMISSION_TARGETS}")
        )
    del found["plugin"]
    return {f"default.{tag}": element for tag, element in found.items()}


def _keyed(prefix: str, found: dict[str, ElementSchema], unique: str = "") -> str:
    """The children list of a section whose elements have keys with a prefix."""
    return " ".join(f"{key.removeprefix(prefix)}={key}{unique}" for key in found)


_SENSORS, _ACTUATORS, _DEFAULTS = _sensors(), _actuators(), _defaults()
_IN_BODY = (
    "body frame replicate joint freejoint geom site camera light attach plugin composite flexcomp"
)
_POLYCOEF = "polycoef real[..5] = 0 1 0 0 0"
_EQUALITIES = {
    "connect": "body1 text; body2 text; anchor real[3]; site1 text; site2 text",
    "weld": "body1 text; body2 text; relpose real[7]; anchor real[3]; site1 text; site2 text;"
    "torquescale real = 1",
    "joint": f"joint1 text *; joint2 text; {_POLYCOEF}",
    "tendon": f"tendon1 text *; tendon2 text; {_POLYCOEF}",
    "flex": "flex text",
    "flexvert": "flex text",
    "flexstrain": "flex text",
}
_WRAPS = {
    "spatial.site": "site text *",
    "spatial.geom": "geom text *; sidesite text",
    "spatial.pulley": "divisor real *",
    "fixed.joint": "joint text *; coef real *",
}

ELEMENTS: dict[str, ElementSchema] = {
    "mujoco": _element(
        "model text",
        "compiler option size visual statistic default extension custom asset worldbody "
        "deformable contact equality tendon actuator sensor keyframe body frame replicate",
    ),
    "compiler": _element(table.COMPILER, "lengthrange?"),
    "lengthrange": _element(table.LENGTHRANGE),
    "option": _element(table.OPTION, "flag?"),
    "flag": _element(
        ";".join(f"{name} enable" for name in table.DISABLE_FLAGS + table.ENABLE_FLAGS)
    ),
    "size": _element(table.SIZE),
    "statistic": _element(table.STATISTIC),
    "visual": _element("", " ".join(f"{tag}=visual.{tag}?" for tag in table.VISUAL)),
    **{f"visual.{tag}": _element(text) for tag, text in table.VISUAL.items()},
    "default": _element("class text", "default " + _keyed("default.", _DEFAULTS, "?")),
    **_DEFAULTS,
    "extension": _element("", "plugin=extension.plugin"),
    "extension.plugin": _element("plugin text", "instance", unsupported="plugins"),
    "instance": _element("name text *", "config", unsupported="plugins"),
    "config": _element("key text; value text"),
    "custom": _element("", "numeric text tuple"),
    "numeric": _element("name text *; data real[]; size int"),
    "text": _element("name text *; data text *"),
    "tuple": _element("name text *", "element"),
    "element": _element("objtype text *; objname text *; prm real = 0"),
    "asset": _element("", "mesh hfield skin texture material model"),
    "mesh": _element(table.MESH, "plugin"),
    "hfield": _element(table.HFIELD_ATTRIBUTES),
    "skin": _element(table.SKIN, "bone"),
    "bone": _element(
        "body text *; bindpos single[3] *; bindquat single[4] *; vertid int[] *;"
        "vertweight single[] *"
    ),
    "texture": _element(table.TEXTURE),
    "material": _element(table.MATERIAL, "layer"),
    "layer": _element("role texrole *; texture text *"),
    "model": _element("name text; file text; content_type text"),
    "worldbody": _element("", _IN_BODY),
    "body": _element(table.BODY, "inertial? " + _IN_BODY),
    "frame": _element(table.FRAME, "inertial? " + _IN_BODY),
    "replicate": _element(
        "count int *; offset real[3]; euler real[3]; sep text; childclass text",
        "inertial? " + _IN_BODY,
    ),
    "inertial": _element(table.INERTIAL),
    "joint": _element(table.JOINT),
    "freejoint": _element("name text; group int = 0; align tristate = auto"),
    "geom": _element(table.GEOM, "plugin"),
    "site": _element(table.SITE),
    "camera": _element(table.CAMERA),
    "light": _element(table.LIGHT),
    "attach": _element("model text *; body text; prefix text *"),
    "plugin": _element("plugin text; instance text", "config", unsupported="plugins"),
    "composite": _element(
        table.COMPOSITE,
        "joint=composite.joint skin=composite.skin? geom=composite.geom? site=composite.site? "
        "plugin",
    ),
    "composite.joint": _element(table.COMPOSITE_JOINT),
    "composite.skin": _element(
        "texcoord bool; material text; group int; rgba real[4]; inflate real; subgrid int"
    ),
    "composite.geom": _element(
        table.without(
            table.GEOM,
            "name class shellinertia fromto pos quat axisangle xyaxes zaxis euler hfield mesh "
            "fitscale fluidshape fluidcoef user",
        )
    ),
    "composite.site": _element("group int; size real[..3]; material text; rgba real[4]"),
    "flexcomp": _element(
        table.FLEXCOMP,
        "edge=flexcomp.edge? elasticity? contact=flex.contact? pin plugin",
        unsupported="flexcomp",
    ),
    "flexcomp.edge": _element(
        f"equality text; solref {table.SOLREF}; solimp {table.SOLIMP}; stiffness real;damping real"
    ),
    "elasticity": _element(table.ELASTICITY),
    "flex.contact": _element(table.FLEX_CONTACT),
    "pin": _element("id int[]; range int[]; grid int[]; gridrange int[]"),
    "deformable": _element("", "flex skin"),
    "flex": _element(
        table.FLEX, "contact=flex.contact? edge=flex.edge? elasticity?", unsupported="flexes"
    ),
    "flex.edge": _element("stiffness real; damping real"),
    "contact": _element("", "pair exclude"),
    "pair": _element(table.PAIR),
    "exclude": _element("name text; body1 text *; body2 text *"),
    "equality": _element("", " ".join(f"{tag}=equality.{tag}" for tag in _EQUALITIES)),
    **{
        f"equality.{tag}": _element(
            f"{table.EQUALITY}; {own}", unsupported="flexes" if tag.startswith("flex") else ""
        )
        for tag, own in _EQUALITIES.items()
    },
    "tendon": _element("", "spatial fixed"),
    "spatial": _element(
        table.SPATIAL,
        "site=spatial.site geom=spatial.geom pulley=spatial.pulley",
    ),
    "fixed": _element(table.TENDON, "joint=fixed.joint"),
    **{key: _element(text) for key, text in _WRAPS.items()},
    "actuator": _element("", _keyed("actuator.", _ACTUATORS)),
    **_ACTUATORS,
    "sensor": _element("", _keyed("sensor.", _SENSORS)),
    **_SENSORS,
    "keyframe": _element("", "key"),
    "key": _element(
        "name text; time real = 0; qpos real[]; qvel real[]; act real[]; ctrl real[];"
        "mpos real[]; mquat real[]"
    ),
}
