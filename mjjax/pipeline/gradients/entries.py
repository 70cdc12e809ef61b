"""The owner of an entry of a field, in words: `body 'torso'`, `contact floor - foot`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjjax.constraint.layout import layout_of
from mjjax.core.enums import ConstraintType, JointType
from mjjax.core.struct import shapes
from mjjax.model.data import Contact, Data
from mjjax.model.dofs import dofs_of
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic

# Maps the first size of a field to the kind of its elements.
OWNER_KINDS = {
    "nbody": "body",
    "nmomentum": "body",
    "nreaction": "body",
    "njnt": "joint",
    "ngeom": "geom",
    "nsite": "site",
    "ncam": "camera",
    "nlight": "light",
    "nu": "actuator",
    "ntendon": "tendon",
    "neq": "equality",
    "nsensor": "sensor",
    "nkey": "key",
    "npair": "pair",
    "nmesh": "mesh",
    "nhfield": "hfield",
}
# The owners of scalar constraint rows.
OWNERS = {
    ConstraintType.EQUALITY: "equality",
    ConstraintType.FRICTION_DOF: "dof",
    ConstraintType.FRICTION_TENDON: "tendon",
    ConstraintType.LIMIT_JOINT: "joint",
    ConstraintType.LIMIT_TENDON: "tendon",
}


def entry(model: Model, data: Data, field: str, index: tuple[int, ...]) -> str:
    """The owner of an entry and its place in the field; `""` for a single number.

    Args:
        model: model.
        data: data, for its contacts.
        field: name of a field of `Model` or `Data`, or with `opt.` or `contact.` in front.
        index: place of the entry. For `qpos` in its tangent space, use `qvel`.
    """
    if not index:
        return ""
    shape = _shape(field)
    place = f" [{', '.join(map(str, index))}]"
    if not shape:
        return place.strip()
    owner = _owner(model, data, shape[0], index[0])
    if not owner:
        return place.strip()
    inside = f" [{', '.join(map(str, index[1:]))}]" if index[1:] else ""
    return owner + inside


def pair(model: Model, geoms: Any) -> str:
    """Names of two geoms in contact."""
    return " - ".join(named(model, "geom", int(g)) for g in geoms)


def named(model: Model, kind: str, index: int) -> str:
    """`body 'torso'`, or `body 3` without a name."""
    names = model.structure.names.get(kind, ())
    name = names[index] if index < len(names) else ""
    return f"{kind} {name!r}" if name else f"{kind} {index}"


def _shape(field: str) -> tuple[Any, ...]:
    group, _, name = field.rpartition(".")
    owners = {"opt": Option, "stat": Statistic, "contact": Contact}
    for cls in (owners[group],) if group in owners else (Data, Model):
        if name in shapes(cls):
            return shapes(cls)[name]
    return ()


def _owner(model: Model, data: Data, size: Any, index: int) -> str:
    if size in OWNER_KINDS:
        return named(model, OWNER_KINDS[size], index)
    found = SPECIAL.get(size)
    return found(model, data, index) if found else ""


def _dof(model: Model, data: Data, index: int) -> str:
    joint = int(model.dof_jntid[index])
    dofs = dofs_of(model.structure)
    single = dofs.kind[index] >= JointType.SLIDE
    return named(model, "joint", joint) + ("" if single else f" [{dofs.place[index]}]")


def _coordinate(model: Model, data: Data, index: int) -> str:
    joint = int(np.searchsorted(model.jnt_qposadr, index, side="right")) - 1
    own = index - int(model.jnt_qposadr[joint])
    return named(model, "joint", joint) + (f" [{own}]" if model.jnt_type[joint] <= 1 else "")


def _activation(model: Model, data: Data, index: int) -> str:
    first, count = model.actuator_actadr, model.actuator_actnum
    return named(
        model, "actuator", int(np.flatnonzero((first <= index) & (index < first + count))[0])
    )


def _reading(model: Model, data: Data, index: int) -> str:
    sensor = int(np.searchsorted(model.sensor_adr, index, side="right")) - 1
    return named(model, "sensor", sensor) + f" [{index - int(model.sensor_adr[sensor])}]"


def _contact(model: Model, data: Data, index: int) -> str:
    geoms = np.asarray(data.contact.geom)[index]
    return f"contact {pair(model, geoms)}" if geoms[0] >= 0 else f"contact slot {index}"


def _row(model: Model, data: Data, index: int) -> str:
    layout = layout_of(model, data)
    if index >= layout.nscalar:
        return "row of " + _contact(model, data, (index - layout.nscalar) // layout.per_contact)
    kind, owner = ConstraintType(layout.kind[index]), int(layout.owner[index])
    of_dof = OWNERS[kind] == "dof"
    owned = _dof(model, data, owner) if of_dof else named(model, OWNERS[kind], owner)
    return f"row {kind.name} of {owned}"


def _item(model: Model, data: Data, index: int) -> str:
    beyond = index - layout_of(model, data).nscalar
    return _row(model, data, index) if beyond < 0 else "row of " + _contact(model, data, beyond)


def _mass(model: Model, data: Data, index: int) -> str:
    n, each = layout_of(model, data).nscalar, data.slots.masses
    return _item(model, data, index if index < n else n + (index - n) // each)


def _general_row(model: Model, data: Data, index: int) -> str:
    return _row(model, data, int(layout_of(model, data).general[index]))


def _vertex(model: Model, data: Data, index: int) -> str:
    mesh = int(np.searchsorted(model.mesh_vertadr, index, side="right")) - 1
    return named(model, "mesh", mesh) + f" [{index - int(model.mesh_vertadr[mesh])}]"


SPECIAL: dict[str, Callable[[Model, Data, int], str]] = {
    "nv": _dof,
    "nq": _coordinate,
    "na": _activation,
    "nsensordata": _reading,
    "nconmax": _contact,
    "njmax": _row,
    "nscalar": _row,
    "nitem": _item,
    "nmass": _mass,
    "nelliptic": _contact,
    "ngeneral": _general_row,
    "nmeshvert": _vertex,
}
