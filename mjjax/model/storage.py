"""Compiled models and states as files."""

import dataclasses
import os
from typing import Any

import jax.numpy as jnp
import numpy as np

from mjjax.core.constants import VERSION
from mjjax.core.errors import Origin
from mjjax.core.files import pack, unpack, write_atomic
from mjjax.core.struct import specs
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.static_fields import SIZES, TABLES
from mjjax.model.structure import Structure
from mjjax.model.terms import TERMS
from mjjax.model.texture import Texture, Textures
from mjjax.model.visual import PARTS, Visual

Path = str | os.PathLike[str]
# What decides the next step of the simulation; the rest of `Data` follows from it.
_STATE = tuple(
    "time qpos qvel act history ctrl qfrc_applied xfrc_applied eq_active qacc_warmstart mocap_pos "
    "mocap_quat userdata warning".split()
)
_VISUAL = {f"vis.{name}": cls for name, cls in PARTS.items()}
_PARTS = {"model": Model, "opt": Option, "stat": Statistic, **_VISUAL}


def model_to_bytes(model: Model) -> bytes:
    """See `Model.to_bytes`."""
    s = model.structure
    parts = {"model": model, "opt": model.opt, "stat": model.stat}
    parts |= {f"vis.{name}": getattr(model.vis, name) for name in PARTS}
    arrays = {
        f"{part}.{name}": np.asarray(getattr(parts[part], name))
        for part, cls in _PARTS.items()
        for name in _leaves(cls)
    }
    arrays |= {f"structure.{name}": a for name, a in s.arrays.items() if name != "tex_data"}
    textures, pictures = _packed(s)
    arrays |= pictures
    arrays |= {f"terms.{name}": a for name, a in s.terms.items()}
    meta = {
        "mjjax": VERSION,
        "sizes": s.sizes,
        "names": s.names,
        "model_name": s.model_name,
        "warnings": s.warnings,
        "textures": textures,
        "origins": [[kind, i, *origin] for (kind, i), origin in s.origins.items()],
        "static": {
            part: {name: int(getattr(parts[part], name)) for name in _statics(cls)}
            for part, cls in _PARTS.items()
        },
    }
    return pack("model", meta, arrays)


def model_from_bytes(content: bytes) -> Model:
    """See `Model.from_bytes`."""
    meta, arrays = unpack("model", content)
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, value in arrays.items():
        group, _, field = name.rpartition(".")
        groups.setdefault(group, {})[field] = value
    stale = ValueError(
        f"the file was written by mjjax {meta.get('mjjax')}, this is {VERSION}; "
        "compile the model again"
    )
    for part, cls in _PARTS.items():
        if set(groups.get(part, ())) != set(_leaves(cls)):
            raise stale
    if "textures" not in meta:
        raise stale
    pictures = groups.pop("texture", {})
    groups["structure"] = groups.get("structure", {}) | {"tex_data": _unpacked(meta, pictures)}
    declared = (SIZES, TABLES, TERMS)
    found = (meta["sizes"], groups["structure"], groups.get("terms", ()))
    if any(set(a) != set(b) for a, b in zip(found, declared, strict=True)):
        raise stale
    structure = Structure(
        meta["sizes"],
        groups["structure"],
        {kind: tuple(names) for kind, names in meta["names"].items()},
        groups["terms"],
        meta["model_name"],
        {(kind, i): Origin(*origin) for kind, i, *origin in meta["origins"]},
        tuple(meta["warnings"]),
    )
    real = jnp.zeros(()).dtype
    fields: dict[str, dict[str, Any]] = {
        part: {name: jnp.asarray(a, real) for name, a in groups[part].items()} | static
        for part, static in meta["static"].items()
    }
    return Model(
        structure=structure,
        opt=Option(**fields["opt"]),
        stat=Statistic(**fields["stat"]),
        vis=Visual(**{name: cls(**fields[f"vis.{name}"]) for name, cls in PARTS.items()}),
        **fields["model"],
    )


def _packed(s: Structure) -> tuple[list[dict[str, Any]] | None, dict[str, np.ndarray]]:
    """Textures for the header, and their files; None and the pixels, where a model has these."""
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

    That is what decides how the simulation goes on: time, positions, velocities, activations,
    controls, applied forces, mocap poses, warm start. Everything else in `data` follows from it
    with `forward`.

    Args:
        data: one world, or a batch.
        path: the file; it is complete or, after an error, as it was before.
    """
    arrays = {name: np.asarray(getattr(data, name)) for name in _state_fields()}
    write_atomic(path, pack("state", {"mjjax": VERSION}, arrays))


def load_state(data: Data, path: Path) -> Data:
    """`data` with the state that `save_state` wrote; the rest follows from it with `forward`.

    Args:
        data: data of the same model and of as many worlds.
        path: the file.

    Raises:
        ValueError: the file is damaged, was not written by `save_state`, or by a newer mjjax, or
            its state does not fit `data`.
    """
    _, arrays = _read(path, lambda content: unpack("state", content))
    if set(arrays) != set(_state_fields()):
        raise ValueError(f"{os.fspath(path)}: the state has other parts than in this mjjax")
    changes = {}
    for name, value in arrays.items():
        here = getattr(data, name)
        if value.shape != here.shape:
            raise ValueError(
                f"{os.fspath(path)}: {name} has shape {value.shape}, the data {here.shape}"
            )
        changes[name] = jnp.asarray(value, here.dtype)
    return data.replace(**changes)


def save_model(model: Model, path: Path) -> None:
    """See `Model.save`."""
    write_atomic(path, model_to_bytes(model))


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
    """Numbers that are no leaves."""
    names = [f.name for f in dataclasses.fields(cls)]
    return [name for name in names if name not in specs(cls) and name != "structure"]


def _state_fields() -> list[str]:
    return [name for name in _STATE if name in specs(Data)]
