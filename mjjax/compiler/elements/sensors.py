"""Sensors: their types, the objects that they measure, and the places of their readings."""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import compile_history, reals, user
from mjjax.core.enums import DataType, JointType, ObjType, SensorType, Stage
from mjjax.mjcf.element import Element
from mjjax.mjcf.keywords import OBJECT_TYPES

_NOTHING = (int(ObjType.UNKNOWN), -1)
_FRAMES = (ObjType.BODY, ObjType.XBODY, ObjType.GEOM, ObjType.SITE, ObjType.CAMERA)
_CONTACT_WIDTH = (1, 3, 3, 1, 3, 3, 3)  # numbers per field of `ConDataField`
_RAY_WIDTH = (1, 3, 3, 3, 3, 1)  # numbers per field of `RayDataField`


class Target(NamedTuple):
    """The object a sensor is attached to and the one it refers to, as (type, id)."""

    object: tuple[int, int] = _NOTHING
    reference: tuple[int, int] = _NOTHING


Finder = Callable[[Context, Element], Target]


class Sense(NamedTuple):
    """One sensor type.

    Attributes:
        type, datatype, stage: MuJoCo's numbers.
        dim: length of the reading, or a function that finds it.
        target: function that finds the objects.
    """

    type: SensorType
    datatype: DataType
    stage: Stage
    dim: int | Callable[[Context, Element, Target], int]
    target: Finder


# ---- objects ------------------------------------------------------------------------------------


def _named(kind: str) -> Finder:
    """Finds the object of one kind, which the attribute with the name of the kind gives."""

    def find(ctx: Context, element: Element) -> Target:
        return Target(ctx.names.find_object(kind, element.values[kind], element))

    return find


def _nothing(ctx: Context, element: Element) -> Target:
    return Target()


def _joint(*allowed: JointType) -> Finder:
    """Finds a joint of certain types."""

    def find(ctx: Context, element: Element) -> Target:
        found = _named("joint")(ctx, element)
        if ctx.fields["jnt_type"][found.object[1]] not in allowed:
            names = " or ".join(kind.name.lower() for kind in allowed)
            raise element.origin.error(f"the joint must be a {names}")
        return found

    return find


def _limited(kind: str, field: str) -> Finder:
    """Finds a joint or tendon that has limits."""

    def find(ctx: Context, element: Element) -> Target:
        found = _named(kind)(ctx, element)
        if not ctx.fields[field][found.object[1]]:
            raise element.origin.error(f"the {kind} has no limits", "give it a range")
        return found

    return find


def _framed(ctx: Context, element: Element) -> Target:
    """Finds an object with a frame, and the object to whose frame it is relative, if any."""
    v = element.values
    found = ctx.names.find_object(v["objtype"], v["objname"], element)
    if found[0] not in _FRAMES:
        raise element.origin.error("the object must be a body, xbody, geom, site or camera")
    word, name = v.get("reftype"), v.get("refname")
    if (word is None) != (name is None):
        raise element.origin.error("reftype and refname go together")
    if not word or OBJECT_TYPES.get(word, 0) == ObjType.UNKNOWN:
        return Target(found)  # as in MuJoCo, an unknown type means no object
    reference = ctx.names.find_object(word, name or "", element)
    if reference[0] not in _FRAMES:
        raise element.origin.error("the reference must be a body, xbody, geom, site or camera")
    return Target(found, reference)


def _insidesite(ctx: Context, element: Element) -> Target:
    site = ctx.names.find_object("site", element.values["site"], element)
    return Target(_framed(ctx, element).object, site)


def _camprojection(ctx: Context, element: Element) -> Target:
    camera = ctx.names.find_object("camera", element.values["camera"], element)
    if not ctx.fields["cam_resolution"][camera[1]].all():
        raise element.origin.error("the camera has no resolution", "give it the attribute")
    return Target(_named("site")(ctx, element).object, camera)


def _tactile(ctx: Context, element: Element) -> Target:
    geom = ctx.names.find_object("geom", element.values["geom"], element)
    return Target(_named("mesh")(ctx, element).object, geom)


def _ray(ctx: Context, element: Element) -> Target:
    found = _one_of(ctx, element, {"site": "site", "camera": "camera"})
    if found == _NOTHING:
        raise element.origin.error("a rangefinder needs a site or a camera")
    return Target(found)


def _one_of(ctx: Context, element: Element, kinds: dict[str, str]) -> tuple[int, int]:
    """The object that one of several attributes names; the values are the object types."""
    given = [name for name in kinds if element.values[name] is not None]
    if len(given) > 1:
        raise element.origin.error(f"at most one of {', '.join(kinds)} can be given")
    if not given:
        return _NOTHING
    return ctx.names.find_object(kinds[given[0]], element.values[given[0]], element)


def _between(ctx: Context, element: Element) -> Target:
    """Finds two geoms or bodies."""
    sides = [_one_of(ctx, element, {f"geom{i}": "geom", f"body{i}": "body"}) for i in (1, 2)]
    for i, side in enumerate(sides, 1):
        if side == _NOTHING:
            raise element.origin.error(f"geom{i} or body{i} is required")
    if sides[0] == sides[1]:
        raise element.origin.error("the two objects must differ")
    return Target(*sides)


def _contact(ctx: Context, element: Element) -> Target:
    """Finds the conditions for contacts: at most one for each side; the first may be a zone."""
    sides = [{f"geom{i}": "geom", f"body{i}": "body", f"subtree{i}": "xbody"} for i in (1, 2)]
    sides[0]["site"] = "site"
    return Target(*(_one_of(ctx, element, side) for side in sides))


def _user(ctx: Context, element: Element) -> Target:
    v = element.values
    if (v["objtype"] is None) != (v["objname"] is None):
        raise element.origin.error("objtype and objname go together")
    if OBJECT_TYPES.get(v["objtype"] or "unknown", 0) == ObjType.UNKNOWN:
        return Target()
    return Target(ctx.names.find_object(v["objtype"], v["objname"], element))


# ---- dimensions ---------------------------------------------------------------------------------


def _width(bits: int, widths: tuple[int, ...]) -> int:
    return sum(width for i, width in enumerate(widths) if bits >> i & 1)


def _ray_dim(ctx: Context, element: Element, target: Target) -> int:
    """One ray for a site, one per pixel for a camera."""
    type_, index = target.object
    rays = 1 if type_ == ObjType.SITE else math.prod(ctx.fields["cam_resolution"][index].tolist())
    return rays * _width(element.values["data"], _RAY_WIDTH)


def _contact_dim(ctx: Context, element: Element, target: Target) -> int:
    if element.values["num"] < 1:
        raise element.origin.error("num must be positive")
    return element.values["num"] * _width(element.values["data"], _CONTACT_WIDTH)


def _tactile_dim(ctx: Context, element: Element, target: Target) -> int:
    return 3 * int(ctx.fields["mesh_vertnum"][target.object[1]])


_USER_WIDTH = {DataType.AXIS: 3, DataType.QUATERNION: 4}


def _user_dim(ctx: Context, element: Element, target: Target) -> int:
    dim: int = element.values["dim"]
    wanted = _USER_WIDTH.get(DataType(element.values["datatype"]), dim)
    if dim < 0 or dim != wanted:
        hint = f"this datatype has {wanted}" if wanted != dim else "it cannot be negative"
        raise element.origin.error(f"dim is {dim}", hint)
    return dim


# ---- the table ----------------------------------------------------------------------------------

_R, _P, _A, _Q = DataType.REAL, DataType.POSITIVE, DataType.AXIS, DataType.QUATERNION
_POS, _VEL, _ACC = Stage.POS, Stage.VEL, Stage.ACC
_site, _body, _tendon, _actuator = (_named(k) for k in ("site", "body", "tendon", "actuator"))
_scalar, _ball = _joint(JointType.SLIDE, JointType.HINGE), _joint(JointType.BALL)
_joint_limit = _limited("joint", "jnt_limited")
_tendon_limit = _limited("tendon", "tendon_limited")
_S = SensorType
SENSORS: dict[str, Sense] = {
    "touch": Sense(_S.TOUCH, _P, _ACC, 1, _site),
    "accelerometer": Sense(_S.ACCELEROMETER, _R, _ACC, 3, _site),
    "velocimeter": Sense(_S.VELOCIMETER, _R, _VEL, 3, _site),
    "gyro": Sense(_S.GYRO, _R, _VEL, 3, _site),
    "force": Sense(_S.FORCE, _R, _ACC, 3, _site),
    "torque": Sense(_S.TORQUE, _R, _ACC, 3, _site),
    "magnetometer": Sense(_S.MAGNETOMETER, _R, _POS, 3, _site),
    "rangefinder": Sense(_S.RANGEFINDER, _R, _POS, _ray_dim, _ray),
    "camprojection": Sense(_S.CAMPROJECTION, _R, _POS, 2, _camprojection),
    "jointpos": Sense(_S.JOINTPOS, _R, _POS, 1, _scalar),
    "jointvel": Sense(_S.JOINTVEL, _R, _VEL, 1, _scalar),
    "tendonpos": Sense(_S.TENDONPOS, _R, _POS, 1, _tendon),
    "tendonvel": Sense(_S.TENDONVEL, _R, _VEL, 1, _tendon),
    "actuatorpos": Sense(_S.ACTUATORPOS, _R, _POS, 1, _actuator),
    "actuatorvel": Sense(_S.ACTUATORVEL, _R, _VEL, 1, _actuator),
    "actuatorfrc": Sense(_S.ACTUATORFRC, _R, _ACC, 1, _actuator),
    "jointactuatorfrc": Sense(_S.JOINTACTFRC, _R, _ACC, 1, _scalar),
    "tendonactuatorfrc": Sense(_S.TENDONACTFRC, _R, _ACC, 1, _tendon),
    "ballquat": Sense(_S.BALLQUAT, _Q, _POS, 4, _ball),
    "ballangvel": Sense(_S.BALLANGVEL, _R, _VEL, 3, _ball),
    "jointlimitpos": Sense(_S.JOINTLIMITPOS, _R, _POS, 1, _joint_limit),
    "jointlimitvel": Sense(_S.JOINTLIMITVEL, _R, _VEL, 1, _joint_limit),
    "jointlimitfrc": Sense(_S.JOINTLIMITFRC, _R, _ACC, 1, _joint_limit),
    "tendonlimitpos": Sense(_S.TENDONLIMITPOS, _R, _POS, 1, _tendon_limit),
    "tendonlimitvel": Sense(_S.TENDONLIMITVEL, _R, _VEL, 1, _tendon_limit),
    "tendonlimitfrc": Sense(_S.TENDONLIMITFRC, _R, _ACC, 1, _tendon_limit),
    "framepos": Sense(_S.FRAMEPOS, _R, _POS, 3, _framed),
    "framequat": Sense(_S.FRAMEQUAT, _Q, _POS, 4, _framed),
    "framexaxis": Sense(_S.FRAMEXAXIS, _A, _POS, 3, _framed),
    "frameyaxis": Sense(_S.FRAMEYAXIS, _A, _POS, 3, _framed),
    "framezaxis": Sense(_S.FRAMEZAXIS, _A, _POS, 3, _framed),
    "framelinvel": Sense(_S.FRAMELINVEL, _R, _VEL, 3, _framed),
    "frameangvel": Sense(_S.FRAMEANGVEL, _R, _VEL, 3, _framed),
    "framelinacc": Sense(_S.FRAMELINACC, _R, _ACC, 3, _framed),
    "frameangacc": Sense(_S.FRAMEANGACC, _R, _ACC, 3, _framed),
    "subtreecom": Sense(_S.SUBTREECOM, _R, _POS, 3, _body),
    "subtreelinvel": Sense(_S.SUBTREELINVEL, _R, _VEL, 3, _body),
    "subtreeangmom": Sense(_S.SUBTREEANGMOM, _R, _VEL, 3, _body),
    "insidesite": Sense(_S.INSIDESITE, _P, _POS, 1, _insidesite),
    "distance": Sense(_S.GEOMDIST, _R, _POS, 1, _between),
    "normal": Sense(_S.GEOMNORMAL, _A, _POS, 3, _between),
    "fromto": Sense(_S.GEOMFROMTO, _R, _POS, 6, _between),
    "contact": Sense(_S.CONTACT, _R, _ACC, _contact_dim, _contact),
    "e_potential": Sense(_S.E_POTENTIAL, _R, _POS, 1, _nothing),
    "e_kinetic": Sense(_S.E_KINETIC, _R, _POS, 1, _nothing),
    "clock": Sense(_S.CLOCK, _R, _POS, 1, _nothing),
    "tactile": Sense(_S.TACTILE, _R, _ACC, _tactile_dim, _tactile),
    "user": Sense(_S.USER, _R, _ACC, _user_dim, _user),
}
# Values of every sensor whose element does not have the attribute.
_PLAIN = {"cutoff": 0.0, "noise": 0.0, "interval": (0.0, 0.0)}


def compile_sensors(ctx: Context) -> None:
    """Adds the fields `sensor_*`."""
    elements, f = ctx.spec.elements["sensor"], ctx.fields
    senses = [SENSORS[e.values["type"]] for e in elements]
    targets = [s.target(ctx, e) for s, e in zip(senses, elements, strict=True)]
    f["sensor_type"] = np.array([s.type for s in senses], np.int32)
    for name, plain in (("datatype", "datatype"), ("needstage", "stage")):
        values = [
            e.values.get(name, getattr(s, plain)) for s, e in zip(senses, elements, strict=True)
        ]
        f[f"sensor_{name}"] = np.array(values, np.int32)
    pairs = np.array(targets, np.int32).reshape(-1, 4)
    for i, name in enumerate(("objtype", "objid", "reftype", "refid")):
        f[f"sensor_{name}"] = pairs[:, i]
    f["sensor_intprm"] = np.array([_integers(e) for e in elements], np.int32).reshape(-1, 3)
    dims = [
        s.dim(ctx, e, t) if callable(s.dim) else s.dim
        for s, e, t in zip(senses, elements, targets, strict=True)
    ]
    for element, total in zip(elements, itertools.accumulate(dims), strict=True):
        ctx.spec.limits.bound(element.origin, "numbers of sensors", total, "numbers")
    dim = np.array(dims, np.int32)
    f["sensor_dim"], f["sensor_adr"] = dim, (np.cumsum(dim) - dim).astype(np.int32)
    f["sensor_plugin"] = np.full(len(elements), -1, np.int32)
    whole = [Element(e.kind, _PLAIN | e.values, e.origin) for e in elements]
    f["sensor_cutoff"], f["sensor_noise"] = reals(whole, "cutoff"), reals(whole, "noise")
    f["sensor_interval"] = reals(whole, "interval", 2)
    f["sensor_user"] = user(elements, ctx.nuser("sensor", elements))
    for i, element in enumerate(elements):
        _check(ctx, i, element)
    compile_history(ctx, "sensor", elements, dim)
    ctx.sizes.update(nsensor=len(elements), nsensordata=int(dim.sum()))


def _integers(element: Element) -> tuple[int, int, int]:
    """Bits of the data fields, and for a contact sensor its reduction and number of contacts."""
    v = element.values
    return v.get("data", 0), v.get("reduce", 0), v.get("num", 0)


def _check(ctx: Context, i: int, element: Element) -> None:
    """Checks the ranges of the common attributes."""
    f, origin = ctx.fields, element.origin
    for name in ("cutoff", "noise"):
        if f[f"sensor_{name}"][i] < 0:
            raise origin.error(f"{name} cannot be negative")
    limits = f["sensor_cutoff"][i] > 0 and f["sensor_type"][i] != SensorType.GEOMNORMAL
    if limits and f["sensor_datatype"][i] in (DataType.AXIS, DataType.QUATERNION):
        raise origin.error("an axis or a quaternion has no cutoff")
    period, phase = f["sensor_interval"][i]
    if period < 0:
        raise origin.error("the interval cannot be negative")
    if phase > 0 or (period > 0 and phase <= -period):
        raise origin.error("the phase of the interval must be in (-period, 0]")
