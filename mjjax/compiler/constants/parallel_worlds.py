"""Many worlds of one model, side by side as trees of one model.

The kernels of the engine take one world, and JAX maps them over many. When a model is loaded they
run on numpy, where a call for one body costs as much as a call for a hundred. So the worlds become
trees of one model.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mjjax.core.enums import TrnType, WrapType
from mjjax.core.struct import specs
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import TERMS

# Maps sizes to the kinds of rows that every world has a copy of.
_KINDS = {
    "nbody": "body",
    "njnt": "joint",
    "nv": "dof",
    "nq": "qpos",
    "ngeom": "geom",
    "nsite": "site",
    "ntendon": "tendon",
    "nwrap": "wrap",
    "nu": "actuator",
    "ntree": "tree",
}
# The beginning of the name of an integer field gives its kind.
_PREFIXES = {kind: kind for kind in _KINDS.values()} | {"jnt": "joint"}
# Integer fields are the same in every world, except ids and addresses, which are counted anew. A
# field whose kind is not here is left out, so that a kernel that reads it fails.
_IDS = ("id", "adr")
_NAMED = {
    "body_parentid": "body",
    "body_rootid": "body",
    "body_weldid": "body",
    "body_treeid": "tree",
    "body_mocapid": "mocap",
    "body_jntadr": "joint",
    "body_dofadr": "dof",
    "jnt_bodyid": "body",
    "jnt_qposadr": "qpos",
    "jnt_dofadr": "dof",
    "dof_jntid": "joint",
    "dof_bodyid": "body",
    "dof_treeid": "tree",
    "dof_parentid": "dof",
    "geom_bodyid": "body",
    "site_bodyid": "body",
    "wrap_sideid": "site",
}
_WRAPS = {
    WrapType.JOINT: "joint",
    WrapType.SITE: "site",
    WrapType.SPHERE: "geom",
    WrapType.CYLINDER: "geom",
}
_TRANSMISSIONS = {
    TrnType.JOINT: "joint",
    TrnType.JOINTINPARENT: "joint",
    TrnType.TENDON: "tendon",
    TrnType.SITE: "site",
    TrnType.SLIDERCRANK: "site",
    TrnType.BODY: "body",
}


class _Rows(NamedTuple):
    """The ids of which the rows of one kind are copies, and the worlds of these rows."""

    old: np.ndarray
    world: np.ndarray


def parallel_worlds(model: Model, actuators: np.ndarray, tendons: np.ndarray) -> Model:
    """One world for each of some actuators, with that actuator alone.

    Mocap bodies stay at their places. Geoms and sites that these worlds do not need are left out.

    Args:
        model: numpy model.
        actuators: (n,) actuator of each world.
        tendons: (n, k) tendons of each world, the tendon of its actuator first.
    """
    s, n = model.structure, len(actuators)
    wraps = [np.arange(a, a + k) for a, k in zip(s.tendon_adr, s.tendon_num, strict=True)]
    of_wrap = [i for t in tendons.ravel() for i in wraps[t]]
    per_world = [sum(len(wraps[t]) for t in row) for row in tendons]
    every = np.unique(of_wrap).astype(int)
    spherical = np.isin(s.wrap_type[every], (WrapType.SPHERE, WrapType.CYLINDER))
    at_site = s.wrap_objid[every][s.wrap_type[every] == WrapType.SITE]
    ends = s.actuator_trnid[actuators]
    ends = ends[np.isin(s.actuator_trntype[actuators], (TrnType.SITE, TrnType.SLIDERCRANK))]
    sites = np.unique(np.concatenate([at_site, s.wrap_sideid[every], ends.ravel()]).astype(int))
    kept = {
        "body": np.arange(1, s.nbody),
        "joint": np.arange(s.njnt),
        "dof": np.arange(s.nv),
        "qpos": np.arange(s.nq),
        "tree": np.arange(s.ntree),
        "geom": np.unique(s.wrap_objid[every[spherical]]),
        "site": sites[sites >= 0],
    }
    table = {
        kind: _Rows(np.tile(ids, n), np.repeat(np.arange(n), len(ids)))
        for kind, ids in kept.items()
    }
    table["body"] = _Rows(*(np.concatenate([[0], x]) for x in table["body"]))
    table["tendon"] = _Rows(tendons.ravel(), np.repeat(np.arange(n), tendons.shape[1]))
    table["wrap"] = _Rows(np.array(of_wrap, int), np.repeat(np.arange(n), per_world))
    table["actuator"] = _Rows(actuators, np.arange(n))
    leaves = {
        name: getattr(model, name)[table[_KINDS[spec.shape[0]]].old]
        for name, spec in specs(Model).items()
        if spec.shape and spec.shape[0] in _KINDS
    }
    sizes = {size: len(table[kind].old) for size, kind in _KINDS.items()}
    structure = Structure(
        s.sizes | sizes | {"nmocap": 0},
        _integers(s, table, kept, tendons),
        {},
        {name: _switches(name, on, table) for name, on in s.terms.items()},
        partial=True,
    )
    return dataclasses.replace(model, structure=structure, **leaves)


def _integers(
    s: Structure,
    table: Mapping[str, _Rows],
    kept: Mapping[str, np.ndarray],
    tendons: np.ndarray,
) -> dict[str, np.ndarray]:
    """Integer fields of the copies."""

    def place(kind: str, old: np.ndarray, world: np.ndarray) -> np.ndarray:
        """Ids in the copies; -1 and the world body keep theirs."""
        if kind == "mocap":
            return np.full_like(old, -1)
        if kind == "tendon":
            return world * tendons.shape[1]
        first = int(kind == "body")
        ids = kept[kind]
        position = np.searchsorted(ids, old) + world * len(ids) + first
        return np.where(old < first, old, position)

    found = {}
    for name, values in s.arrays.items():
        kind, target = _PREFIXES.get(name.partition("_")[0]), _NAMED.get(name)
        if kind is None or (target is None and name.endswith(_IDS)):
            continue
        old, world = table[kind]
        found[name] = values[old] if target is None else place(target, values[old], world)
    old, world = table["wrap"]
    found["wrap_objid"] = np.full(len(old), -1)
    for wrap, kind in _WRAPS.items():
        mine = s.wrap_type[old] == wrap
        found["wrap_objid"][mine] = place(kind, s.wrap_objid[old[mine]], world[mine])
    old, world = table["actuator"]
    found["actuator_trnid"] = np.full((len(old), 2), -1)
    for trn, kind in _TRANSMISSIONS.items():
        mine = s.actuator_trntype[old] == trn
        ids = s.actuator_trnid[old[mine]]
        found["actuator_trnid"][mine] = place(kind, ids, world[mine][:, None])
    return found


def _switches(name: str, on: np.ndarray, table: Mapping[str, _Rows]) -> np.ndarray:
    """Switches of a term for the copies."""
    size = TERMS[name].size
    return on if isinstance(size, int) else on[table[_KINDS[size]].old]
