"""Compiled models and states as files."""

import dataclasses
import os
from typing import Any

import jax.numpy as jnp
import numpy as np

from mjjax.core.below import does
from mjjax.core.constants import VERSION
from mjjax.core.errors import Origin
from mjjax.core.files import pack, unpack, write_atomic
from mjjax.core.struct import specs
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.sleep import Sleep
from mjjax.model.static_fields import SIZES, TABLES
from mjjax.model.structure import Structure
from mjjax.model.terms import TERMS
from mjjax.model.texture import Texture, Textures
from mjjax.model.visual import VISUAL_PARTS, Visual

Path = str | os.PathLike[str]
# Fields that decide the next step of the simulation, and counts since the reset.
_STATE = tuple(
    "time qpos qvel act history ctrl qfrc_applied xfrc_applied eq_active qacc_warmstart mocap_pos "
    "mocap_quat userdata warning maxuse_con maxuse_efc".split()
)
# Fields that a step computes only after a callback has seen the data, so callbacks read those of
# the step before. Sleeping trees keep some of them. Some shapes depend on capacities.
_RESULTS = tuple(
    "sensordata energy act_dot actuator_force qacc qacc_smooth qfrc_bias qfrc_actuator qfrc_smooth "
    "qfrc_constraint qfrc_inverse efc_vel efc_force cacc cfrc_int cfrc_ext subtree_linvel "
    "subtree_angmom solver_niter solver_gradient solver_fwdinv".split()
)
_SIZES = tuple("nq nv na nu nbody ntree neq nmocap nuserdata nhistory nsensordata".split())
_VISUAL = {f"vis.{name}": cls for name, cls in VISUAL_PARTS.items()}
_PARTS = {"model": Model, "opt": Option, "stat": Statistic, **_VISUAL}


@does("Model.to_bytes")
def model_to_bytes(model: Model) -> bytes:
    """See `Model.to_bytes`."""
    parts = {"model": model, "opt": model.opt, "stat": model.stat}
    parts |= {f"vis.{name}": getattr(model.vis, name) for name in VISUAL_PARTS}
    arrays = {
        f"{part}.{name}": np.asarray(getattr(parts[part], name))
        for part, cls in _PARTS.items()
        for name in _leaves(cls)
    }
    meta, more = _parts_of(model.structure)
    meta["static"] = {
        part: {name: int(getattr(parts[part], name)) for name in _statics(cls)}
        for part, cls in _PARTS.items()
    }
    return pack("model", meta, arrays | more)


def structure_to_bytes(s: Structure) -> bytes:
    """A structure as bytes, for programs that are exported."""
    return pack("structure", *_parts_of(s))


def structure_from_bytes(content: bytes) -> Structure:
    """The structure from the bytes of `structure_to_bytes`; errors are those of `Model.load`."""
    meta, arrays = unpack("structure", content)
    return _structure(meta, _groups(arrays))


def _parts_of(s: Structure) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The parts of a structure: those that JSON can hold, and arrays by name."""
    textures, pictures = _packed(s)
    arrays = {f"structure.{name}": a for name, a in s.arrays.items() if name != "tex_data"}
    arrays |= pictures | {f"terms.{name}": a for name, a in s.terms.items()}
    meta = {
        "mjjax": VERSION,
        "sizes": s.sizes,
        "names": s.names,
        "model_name": s.model_name,
        "warnings": s.warnings,
        "textures": textures,
        "origins": [[kind, i, *origin] for (kind, i), origin in s.origins.items()],
    }
    return meta, arrays


def _groups(arrays: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, value in arrays.items():
        group, _, field = name.rpartition(".")
        groups.setdefault(group, {})[field] = value
    return groups


def _stale(meta: dict[str, Any]) -> ValueError:
    return ValueError(
        f"the file was written by mjjax {meta.get('mjjax')}, this is {VERSION}; "
        "compile the model again"
    )


def _structure(meta: dict[str, Any], groups: dict[str, dict[str, np.ndarray]]) -> Structure:
    """The structure that `_parts_of` took apart."""
    if "textures" not in meta:
        raise _stale(meta)
    arrays: dict[str, Any] = dict(groups.get("structure", {}))
    arrays["tex_data"] = _unpacked(meta, groups.get("texture", {}))
    declared = (SIZES, TABLES, TERMS)
    found = (meta["sizes"], arrays, groups.get("terms", ()))
    if any(set(a) != set(b) for a, b in zip(found, declared, strict=True)):
        raise _stale(meta)
    return Structure(
        meta["sizes"],
        arrays,
        {kind: tuple(names) for kind, names in meta["names"].items()},
        groups["terms"],
        meta["model_name"],
        {(kind, i): Origin(*origin) for kind, i, *origin in meta["origins"]},
        tuple(meta["warnings"]),
    )


@does("Model.from_bytes")
def model_from_bytes(content: bytes) -> Model:
    """See `Model.from_bytes`."""
    meta, arrays = unpack("model", content)
    groups = _groups(arrays)
    if any(set(groups.get(part, ())) != set(_leaves(cls)) for part, cls in _PARTS.items()):
        raise _stale(meta)
    structure = _structure(meta, groups)
    real = jnp.zeros(()).dtype
    fields: dict[str, dict[str, Any]] = {
        part: {name: jnp.asarray(a, real) for name, a in groups[part].items()} | static
        for part, static in meta["static"].items()
    }
    return Model(
        structure=structure,
        opt=Option(**fields["opt"]),
        stat=Statistic(**fields["stat"]),
        vis=Visual(**{name: cls(**fields[f"vis.{name}"]) for name, cls in VISUAL_PARTS.items()}),
        **fields["model"],
    )


def _packed(s: Structure) -> tuple[list[dict[str, Any]] | None, dict[str, np.ndarray]]:
    """Textures for the header, and their files; or None and the pixels, if a model has pixels."""
    pixels = s.arrays["tex_data"]
    if not isinstance(pixels, Textures):
        return None, {"texture.pixels": np.asarray(pixels)}
    headers, files = [], {}
    for i, texture in enumerate(pixels.textures):
        header, contents = texture.packed()
        headers.append(header)
        for name, content in contents.items():
            files[f"texture.{i}{name}"] = np.frombuffer(content, np.uint8)
    return headers, files


def _unpacked(meta: dict[str, Any], pictures: dict[str, np.ndarray]) -> Any:
    if meta["textures"] is None:
        return pictures["pixels"]
    return Textures(
        tuple(
            Texture.unpacked(
                header, {name: pictures[f"{i}{name}"].tobytes() for name in header["files"]}
            )
            for i, header in enumerate(meta["textures"])
        )
    )


def save_state(data: Data, path: Path) -> None:
    """Saves the state of a world, or of a batch of worlds, to a file.

    The state decides how the simulation continues. It consists of time, positions, velocities,
    activations, controls, applied forces, mocap poses, buffers of delayed signals, the warm start,
    which trees sleep, and the accelerations, forces and readings that sleeping trees keep or that
    a callback of the next step may read. `forward` computes everything else in `data` from it.

    Args:
        data: one world, or a batch.
        path: the file. If writing fails, an existing file is left unchanged.

    Raises:
        OSError: the file cannot be written.
    """
    arrays = {name: np.asarray(getattr(data, name)) for name in (*_STATE, *_RESULTS)}
    arrays |= {f"sleep.{name}": np.asarray(x) for name, x in _sleep(data).items()}
    meta = {"mjjax": VERSION, "sizes": _sizes(data), "joints": _joints(data)}
    write_atomic(path, pack("state", meta, arrays))


def load_state(data: Data, path: Path) -> Data:
    """`data` with the state that `save_state` wrote; `forward` computes the rest from it.

    The simulation continues bit for bit, even with sleeping trees. If the saved data had other
    capacities (`nconmax`, `njmax`), everything is loaded but the forces and velocities of
    constraint rows, which `forward` computes. Numbers are converted to the precision of `data`.

    Args:
        data: data of the same model and of as many worlds.
        path: the file.

    Raises:
        ValueError: the file is damaged, or was not written by `save_state`, or was written by a
            newer mjjax; or its state belongs to another model or number of worlds; or only one of
            file and `data` has sleeping trees.
        OSError: the file cannot be read.
    """
    meta, arrays = _read(path, lambda content: unpack("state", content))
    sleeping = {name: f"sleep.{name}" for name in specs(Sleep)}
    own = {*_STATE, *_RESULTS}
    asleep = arrays.keys() - own
    if not own <= arrays.keys() or asleep not in (set(), set(sleeping.values())):
        raise ValueError(f"{os.fspath(path)}: the state has other parts than this mjjax expects")
    if trouble := _misfit(data, meta, arrays["time"].shape, bool(asleep)):
        raise ValueError(f"{os.fspath(path)}: {trouble}")
    changes: dict[str, Any] = {}
    for name in (*_STATE, *_RESULTS):
        here = getattr(data, name)
        if arrays[name].shape == here.shape:
            changes[name] = jnp.asarray(arrays[name], here.dtype)
    if data.sleep is not None:
        parts = {
            name: jnp.asarray(arrays[sleeping[name]], x.dtype) for name, x in _sleep(data).items()
        }
        changes["sleep"] = data.sleep.replace(**parts)
    return data.replace(**changes)


def _misfit(data: Data, meta: dict[str, Any], worlds: tuple[int, ...], asleep: bool) -> str | None:
    """Why a state does not fit `data`, in a sentence; None if it does."""
    sizes = _sizes(data)
    if other := [name for name in _SIZES if meta["sizes"][name] != sizes[name]]:
        saved = ", ".join(f"{name} {meta['sizes'][name]}" for name in other)
        mine = ", ".join(f"{name} {sizes[name]}" for name in other)
        return f"the state is of another model, with {saved}; that of the data has {mine}"
    if meta["joints"] != _joints(data):
        return "the state is of another model: its joints are of other types than the data's"
    if worlds != data.time.shape:
        return (
            f"the state is of {_count(worlds)}, the data of {_count(data.time.shape)}: "
            "load it into data of as many"
        )
    if asleep and data.sleep is None:
        return "the state has sleeping trees: make the data of a model with the flag 'sleep' on"
    if data.sleep is not None and not asleep:
        return "the state has no sleeping trees: make the data of a model with the flag 'sleep' off"
    return None


def _count(worlds: tuple[int, ...]) -> str:
    return f"{' x '.join(map(str, worlds))} worlds" if worlds else "one world without a batch"


def _sizes(data: Data) -> dict[str, int]:
    return {name: int(data.structure.sizes[name]) for name in _SIZES}


def _joints(data: Data) -> list[int]:
    """Types of the joints: a position of a slide means nothing for a hinge."""
    return data.structure.jnt_type.tolist()


def _sleep(data: Data) -> dict[str, Any]:
    """The arrays of the sleeping trees by name; none without the flag `sleep`."""
    return {} if data.sleep is None else {n: getattr(data.sleep, n) for n in specs(Sleep)}


@does("Model.save")
def save_model(model: Model, path: Path) -> None:
    """See `Model.save`."""
    write_atomic(path, model_to_bytes(model))


@does("Model.load")
def load_model(path: Path) -> Model:
    """See `Model.load`."""
    return _read(path, model_from_bytes)


def _read(path: Path, parse: Any) -> Any:
    with open(path, "rb") as stream:
        content = stream.read()
    try:
        return parse(content)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _leaves(cls: type) -> list[str]:
    return [name for name in specs(cls) if name not in ("opt", "stat", "vis")]


def _statics(cls: type) -> list[str]:
    """Names of the numbers of a class that are not leaves."""
    names = [f.name for f in dataclasses.fields(cls)]
    return [name for name in names if name not in specs(cls) and name != "structure"]
