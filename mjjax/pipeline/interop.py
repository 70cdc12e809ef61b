"""Converts models and data from MuJoCo's Python package, and back.

Callers have `mujoco` (3.6.0) installed and pass its objects. The engine itself never imports it.
"""

import dataclasses
import functools
import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.collision.plan.search import slot_geoms
from mjjax.compiler.assemble import device_model, host_model
from mjjax.compiler.assets import face_tree, mesh_tree
from mjjax.compiler.common.fields import Compiled
from mjjax.constraint.layout import layout_of
from mjjax.constraint.stages import island, make_constraint, reference_constraint
from mjjax.core.enums import ConstraintType, GeomType, WrapType
from mjjax.core.errors import UnsupportedFeature
from mjjax.core.struct import specs
from mjjax.dynamics.inertia import crb
from mjjax.dynamics.tendon import tendon, tendon_inertia
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.static_fields import SIZES, TABLES
from mjjax.model.structure import NAMED
from mjjax.model.visual import VISUAL_PARTS, Visual
from mjjax.pipeline.make_data import make_data
from mjjax.xla.compiling import quick

# The names of MuJoCo's addresses of names begin with these kinds.
_NAMES = {
    "joint": "jnt",
    "camera": "cam",
    "material": "mat",
    "texture": "tex",
    "equality": "eq",
}
_TREES = ("opt", "stat", "vis", "contact", "sleep")
_CONTACT = "dist pos frame includemargin friction solref solreffriction solimp dim geom".split()


def put_model(model: Any) -> Model:
    """Makes a `Model` from a MuJoCo model, with all numbers as they are now.

    Args:
        model: `MjModel` of `mujoco` or of `mjjax.mujoco`; a `Model` is returned as it is, and a
            path is loaded.

    Raises:
        TypeError: `model` is none of these.
        UnsupportedFeature: the model has soft bodies or plugins.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str | os.PathLike):
        return Model.from_xml_path(model)
    if hasattr(model, "native"):  # of `mjjax.mujoco`
        return model.native()
    if type(model).__name__ != "MjModel":
        raise TypeError(f"put_model takes a mujoco.MjModel, not a {type(model).__name__}")
    for size, what in (("nflex", "soft bodies (flex)"), ("nplugin", "engine plugins")):
        if getattr(model, size):
            raise UnsupportedFeature(f"the model has {what}, which mjjax does not simulate")
    fields = {
        name: _integers(getattr(model, name), spec.dtype)
        for name, spec in TABLES.items()
        if hasattr(model, name) and name != "tex_data"
    }
    fields |= {
        name: np.array(getattr(model, name), float)
        for name in specs(Model)
        if hasattr(model, name) and name not in _TREES
    }
    fields |= _shaped(model) | _of_meshes(model)
    fields["tex_data"] = np.array(model.tex_data, np.uint8)
    fields["wrap_sideid"] = _sides(fields)
    own = {
        "nmeshhull": len(fields["mesh_hull"]),
        "nmeshbox": len(fields["mesh_boxskip"]),
        "nmeshnode": len(fields["mesh_nodeface"]),
    }
    parts = {n: cls(**_values(cls, getattr(model.vis, n))) for n, cls in VISUAL_PARTS.items()}
    compiled = Compiled(
        fields=fields,
        sizes=own | {n: int(getattr(model, n)) for n in SIZES if hasattr(model, n)},
        names={kind: _names(model, kind) for kind in dict.fromkeys(NAMED.values())},
        option=_values(Option, model.opt),
        statistic={},
        visual=Visual(**parts),
        modelname=model.names.split(b"\0", 1)[0].decode(),
    )
    made = host_model(compiled).replace(stat=Statistic(**_values(Statistic, model.stat)))
    return device_model(made)


def _integers(value: Any, kind: type) -> np.ndarray:
    """Integers or truth values; text is bytes in MuJoCo."""
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    return np.array(value, bool if kind is bool else np.int32)


def _values(cls: Any, theirs: Any) -> dict[str, Any]:
    """Members of one of MuJoCo's structures, for the fields of one of our trees."""
    real = specs(cls)
    static = [f.name for f in dataclasses.fields(cls) if f.name not in real]
    return {n: np.array(getattr(theirs, n), float) for n in real} | {
        n: int(getattr(theirs, n)) for n in static
    }


def _names(model: Any, kind: str) -> tuple[str, ...]:
    buffer, starts = model.names, getattr(model, f"name_{_NAMES.get(kind, kind)}adr")
    return tuple(buffer[i : buffer.index(b"\0", i)].decode() for i in starts)


def _shaped(model: Any) -> dict[str, np.ndarray]:
    """Fields that MuJoCo keeps flat, or with other dimensions."""
    found = {}
    for name in (*specs(Model), *TABLES):
        spec = specs(Model).get(name) or TABLES[name]
        if hasattr(model, name) and name not in _TREES and len(spec.shape) == 2:
            width = spec.shape[1]
            value = np.array(getattr(model, name))
            if isinstance(width, int) and value.size and value.ndim != 2:
                kind = {float: float, int: np.int32, bool: bool}[spec.dtype]
                found[name] = value.reshape(-1, width).astype(kind)
    return found


def _of_meshes(model: Any) -> dict[str, np.ndarray]:
    """The hulls of MuJoCo's meshes, and the trees of triangles that mjjax adds."""
    triangles = []
    for i in range(model.nmesh):
        v, nv = model.mesh_vertadr[i], model.mesh_vertnum[i]
        f, nf = model.mesh_faceadr[i], model.mesh_facenum[i]
        vert = np.array(model.mesh_vert[v : v + nv], float)
        triangles.append((vert, np.array(model.mesh_face[f : f + nf])))
    fields = mesh_tree.tables([mesh_tree.tree(*x) for x in triangles])
    beside = set(model.geom_dataid[model.geom_type == GeomType.MESH].tolist())
    touching = beside if (model.geom_type == GeomType.SDF).any() else set()
    some = [face_tree.face_tree(*x) if i in touching else None for i, x in enumerate(triangles)]
    hull = {
        "mesh_hull": np.array(model.mesh_graph, np.int32),
        "mesh_hulladr": np.array(model.mesh_graphadr, np.int32),
    }
    return fields | face_tree.tables(some) | hull


def _sides(fields: dict[str, np.ndarray]) -> np.ndarray:
    """The side sites of wrapping geoms, which MuJoCo keeps as real numbers."""
    around = np.isin(fields["wrap_type"], (WrapType.SPHERE, WrapType.CYLINDER))
    return np.where(around, fields["wrap_prm"], -1).astype(np.int32)


def put_data(
    model: Any, data: Any, *, nconmax: int | None = None, njmax: int | None = None
) -> Data:
    """Makes a `Data` from MuJoCo's data: state, inputs, results, contacts and constraint rows.

    Constraint rows have other slots here, so mjjax computes them anew and copies only their forces.

    Args:
        model: `mujoco.MjModel`, or the `Model` that was made from it.
        data: `mujoco.MjData`.
        nconmax: as for `make_data`.
        njmax: as for `make_data`.

    Raises:
        TypeError: `data` is not a `mujoco.MjData`.
        ValueError: the data belong to another model.
    """
    if type(data).__name__ != "MjData":
        raise TypeError(f"put_data takes a mujoco.MjData, not a {type(data).__name__}")
    ours = put_model(model)
    made = {"nq": data.qpos, "nv": data.qvel, "na": data.act, "nu": data.ctrl, "nbody": data.xpos}
    _require_sizes("put_data", ours, {name: len(x) for name, x in made.items()})
    if hasattr(data, "native"):  # the stand-in of `mjjax.mujoco`, whose storage is ours
        return jax.tree.map(jnp.asarray, data.native())
    made = make_data(ours, nconmax=nconmax, njmax=njmax)
    fields: dict[str, Any] = {
        name: np.asarray(getattr(data, name)).reshape(x.shape)
        for name, x in vars(made).items()
        if name in specs(Data) and _is_shared(name, x, data)
    }
    counts = np.array([w.number for w in data.warning], np.int32)
    fields["warning"] = made.warning.at[: len(counts)].set(counts)
    if made.sleep is not None:
        asleep = jnp.asarray(data.tree_asleep, jnp.int32)
        fields["sleep"] = made.sleep.replace(tree_asleep=asleep, qpos=data.qpos)
    place = _places(ours, made, data.contact)
    made = made.replace(**fields, contact=_contacts(made.contact, data.contact, place))
    # The armature, of which `qM` is made, and moment arms, which are sparse in MuJoCo.
    made = made.replace(ten_J=tendon(ours, made).ten_J)
    made = tendon_inertia(ours, crb(ours, made))
    return _with_forces(ours, _rows()(ours, made), data, place) if data.nefc else made


@functools.cache
def _rows() -> Callable[[Model, Data], Data]:
    """The program that computes constraint rows."""
    return quick(lambda m, d: reference_constraint(m, island(m, make_constraint(m, d))))


def _with_forces(model: Model, data: Data, theirs: Any, place: np.ndarray) -> Data:
    """The data with the forces of MuJoCo's constraint rows, in the slots of the rows here."""
    layout, force = layout_of(model, data), np.zeros(data.efc_force.shape, data.efc_force.dtype)
    residual, free = np.asarray(data.efc_scalar_pos), np.ones(layout.nscalar, bool)
    for row in range(theirs.nefc):
        kind, owner = theirs.efc_type[row], theirs.efc_id[row]
        if kind >= ConstraintType.CONTACT_FRICTIONLESS:
            first = theirs.contact.efc_address[owner]
            slot = layout.nscalar + place[owner] * layout.per_contact + row - first
        else:
            mine = np.flatnonzero(free & (layout.kind == kind) & (layout.owner == owner))
            if kind in (ConstraintType.LIMIT_JOINT, ConstraintType.LIMIT_TENDON):
                mine = mine[np.argsort(abs(residual[mine] - theirs.efc_pos[row]), kind="stable")]
            slot = mine[0] if len(mine) else len(force)
        if slot < layout.nrow:
            force[slot], free[slot : slot + 1] = theirs.efc_force[row], False
    return data.replace(efc_force=force)


def _require_sizes(function: str, model: Any, made: Mapping[str, int]) -> None:
    """Refuses data whose sizes are those of another model."""
    names = ("nq", "nv", "na", "nu", "nbody")
    if any(getattr(model, name) != made[name] for name in names):
        found, wanted = (
            ", ".join(f"{name}={of(name)}" for name in names)
            for of in (made.__getitem__, lambda name: getattr(model, name))
        )
        raise ValueError(f"{function}: data belongs to another model, with {found}, not {wanted}")


def _is_shared(name: str, ours: Any, theirs: Any) -> bool:
    """Whether both engines have the field: not rows, contacts and the fields of mjjax alone."""
    if name.startswith("efc_") or name in ("armature", "warning", *_TREES):
        return False
    return hasattr(theirs, name) and np.size(getattr(theirs, name)) == ours.size


def _places(model: Model, data: Data, theirs: Any) -> np.ndarray:
    """Slots (ncon,) of MuJoCo's contacts; contacts beyond the capacity have the number of slots.

    Where each candidate contact has a slot of its own, a contact takes one of its geoms.
    """
    slots, geoms = len(data.contact.dist), slot_geoms(model, data)
    if geoms is None:
        return np.minimum(np.arange(len(theirs.dist)), slots)
    free, found = np.ones(slots, bool), np.full(len(theirs.dist), slots)
    for i, pair in enumerate(np.asarray(theirs.geom).reshape(-1, 2)):
        mine = np.flatnonzero(free & (np.sort(geoms, axis=1) == np.sort(pair)).all(axis=1))
        if len(mine):
            found[i], free[mine[0]] = mine[0], False
    return found


def _contacts(slots: Contact, theirs: Any, place: np.ndarray) -> Contact:
    """MuJoCo's contacts in their slots."""
    fits = place < len(slots.dist)
    if not fits.any():
        return slots
    changes = {}
    for name in _CONTACT:
        x = getattr(slots, name)
        value = np.asarray(getattr(theirs, name))[fits].reshape(fits.sum(), *x.shape[1:])
        changes[name] = x.at[place[fits]].set(value)
    return slots.replace(**changes)


def module_of(model: Any) -> Any:
    """The package of which a model is an object: `mujoco`, or `mjjax.mujoco`, its stand-in."""
    return importlib.import_module(type(model).__module__.rpartition(".")[0])


def get_data(model: Any, data: Data) -> Any:
    """Makes a `mujoco.MjData` from a `Data`, or a list of them from a batch.

    State, inputs and results are copied. Contacts and constraint rows are those that MuJoCo itself
    finds in the same state, in its own storage.

    Args:
        model: the `mujoco.MjModel`.
        data: one world, or a batch with one leading dimension.

    Raises:
        TypeError: the arguments are not a `mujoco.MjModel` and a `Data`.
        ValueError: the data belong to another model.
    """
    if type(model).__name__ != "MjModel" or not isinstance(data, Data):
        kinds = f"a {type(model).__name__} and a {type(data).__name__}"
        raise TypeError(f"get_data takes a mujoco.MjModel and a mjjax.Data, not {kinds}")
    _require_sizes("get_data", model, data.structure.sizes)
    mujoco = module_of(model)
    data = jax.device_get(data)
    if np.ndim(data.time):
        worlds = range(len(data.time))
        return [get_data(model, jax.tree.map(lambda x, i=i: x[i], data)) for i in worlds]
    theirs = mujoco.MjData(model)
    if hasattr(theirs, "take"):  # of the stand-in, whose storage is ours
        theirs.take(data)
        return theirs
    shared = [n for n, x in vars(data).items() if n in specs(Data) and _is_shared(n, x, theirs)]
    for name in shared:
        _write(theirs, name, getattr(data, name))
    mujoco.mj_forward(model, theirs)  # finds contacts and rows, but overwrites the results
    for name in shared:
        _write(theirs, name, getattr(data, name))
    for there, count in zip(theirs.warning, data.warning, strict=False):  # ours has more kinds
        there.number = int(count)
    return theirs


def _write(theirs: Any, name: str, value: np.ndarray) -> None:
    there = getattr(theirs, name)
    if isinstance(there, np.ndarray):
        there[...] = value.reshape(there.shape)
    elif name not in ("ncon", "nefc", "nisland", "solver_niter", "maxuse_con", "maxuse_efc"):
        setattr(theirs, name, value.item())
