"""Models and data as text."""

import os
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
from jax.core import Tracer

from mjjax.core.enums import WarningType
from mjjax.core.struct import PyTree, sources, specs
from mjjax.model.data import Contact, Data
from mjjax.model.model import Model
from mjjax.model.visual import VISUAL_PARTS, Visual

Target = TextIO | str | os.PathLike[str] | None

ROW_FIELDS = "efc_pos efc_margin efc_frictionloss efc_D efc_vel efc_aref efc_force".split()
MADE = [name for name in sources(Data) if name not in ROW_FIELDS]
# Fields that MuJoCo does not have; other fields are made of them.
SHARED = {name for name in specs(Data) if name.startswith("efc_")} - {*ROW_FIELDS, "efc_Jgeneral"}
SHARED |= {"armature"}

# The meaning of each warning, and what to do about it.
WARNINGS: dict[WarningType, str] = {
    WarningType.INERTIA: "the inertia matrix is not positive definite; check masses and armature",
    WarningType.CONTACTFULL: "contacts were dropped; make the data with a larger nconmax",
    WarningType.CNSTRFULL: "constraint rows were dropped; make the data with a larger njmax",
    WarningType.VGEOMFULL: "decorations were dropped from a picture",
    WarningType.BADQPOS: "qpos is not finite or beyond 1e10; take shorter time steps",
    WarningType.BADQVEL: "qvel is not finite or beyond 1e10; take shorter time steps",
    WarningType.BADQACC: "qacc is not finite or beyond 1e10; take shorter time steps",
    WarningType.BADCTRL: "ctrl is not finite or beyond 1e10; all controls were set to zero",
    WarningType.SUBSTEPFULL: "a time step needed more sub-steps; give Adaptive a larger most",
}


def warning_text(kind: WarningType | int) -> str:
    """Name of a warning, what it means and what to do (`mju_warningText`).

    `data.warning[kind]` counts how often it occurred in a world since the reset. `warning_texts`
    puts all warnings that occurred into words.
    """
    return f"{WarningType(kind).name}: {WARNINGS[WarningType(kind)]}"


def warning_texts(data: Data) -> list[str]:
    """A sentence for each warning that occurred since the reset.

    MuJoCo prints warnings as they occur and counts them in `mjData.warning`. mjjax only counts
    them, until you call this function. Call it outside of `jax.jit`, because the result is text.

    Args:
        data: one world, or a batch, with the counts `warning` ([worlds,] 9).

    Returns:
        Sentences in the order of `WarningType`; none if all is well. Each says how often the
        warning occurred, what it means and what to do. For a batch it also says in how many worlds
        the warning occurred and in which world first.

    Raises:
        ValueError: `data` is traced, so that there are no numbers yet.
    """
    if isinstance(data.warning, Tracer):
        raise ValueError("warning_texts needs numbers: call it outside of jax.jit and jax.vmap")
    counts = np.asarray(data.warning)
    return [
        f"{kind.name}, {_occurrence(counts[..., kind])}: {WARNINGS[kind]}"
        for kind in WarningType
        if counts[..., kind].any()
    ]


def _occurrence(counts: np.ndarray) -> str:
    """How often a warning occurred, one count per world."""
    total = counts.sum()
    times = "once" if total == 1 else f"{total} times"
    if not counts.ndim:
        return times
    first, *_ = np.argwhere(counts)
    name = ", ".join(map(str, first))
    return f"{times} in {np.count_nonzero(counts)} of {counts.size} worlds, world {name} first"


def print_model(model: Model, file: Target = None, digits: int = 4) -> None:
    """Writes sizes, options and every field of a model as text (`mj_printFormattedModel`).

    Args:
        model: model with concrete numbers.
        file: open file or path; standard output by default.
        digits: significant digits of real numbers.
    """
    s = model.structure
    integers = {name: s.arrays[name] for name in sorted(s.arrays)}
    sections = {
        "MODEL": {"name": s.model_name},
        "SIZES": s.sizes,
        "OPTION": _leaves(model.opt) | _statics(model.opt),
        "STATISTIC": _leaves(model.stat),
        "VISUAL": _visual(model.vis),
        "FIELDS": _leaves(model) | integers,
    }
    _write(sections, file, digits)


def print_data(model: Model, data: Data, file: Target = None, digits: int = 4) -> None:
    """Writes every field of the data of one world as text (`mj_printFormattedData`).

    It leaves out empty slots of contacts and rows, and warnings that did not occur. The arguments
    are those of `print_model`.
    """
    counts = np.asarray(data.warning)
    warnings = {warning_text(kind): counts[kind] for kind in WarningType if counts[kind]}
    fields = {k: x for k, x in _leaves(data).items() if k not in SHARED}
    fields |= {name: getattr(data, name) for name in MADE}
    used = np.asarray(data.efc_D) > 0
    fields |= {name: np.asarray(getattr(data, name))[used] for name in ROW_FIELDS}
    touching = np.asarray(data.contact.geom)[:, 0] >= 0
    contact = {name: np.asarray(x)[touching] for name, x in _leaves(data.contact).items()}
    _write({"WARNINGS": warnings, "DATA": fields, "CONTACT": contact}, file, digits)


def _visual(vis: Visual) -> dict[str, Any]:
    parts = {name: getattr(vis, name) for name in VISUAL_PARTS}
    return {
        f"{part}.{name}": value
        for part, tree in parts.items()
        for name, value in (_leaves(tree) | _statics(tree)).items()
    }


def _leaves(tree: PyTree) -> dict[str, Any]:
    values = {name: getattr(tree, name) for name in specs(tree)}
    return {name: x for name, x in values.items() if not isinstance(x, PyTree | Contact)}


def _statics(tree: PyTree) -> dict[str, Any]:
    return {name: x for name, x in vars(tree).items() if name not in specs(tree)}


def _write(sections: dict[str, dict[str, Any]], file: Target, digits: int) -> None:
    text = "".join(_lines(sections, digits))
    if isinstance(file, str | os.PathLike):
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    else:
        print(text, file=file, end="")


def _lines(sections: dict[str, dict[str, Any]], digits: int) -> Iterator[str]:
    for title, fields in sections.items():
        yield f"{title}\n"
        width = max((len(name) for name in fields), default=0)
        for name, value in fields.items():
            array = np.asarray(value)
            if array.ndim == 0:
                yield f"  {name:{width}}  {_number(array[()], digits)}\n"
            elif array.size:
                yield f"  {name}  {' x '.join(map(str, array.shape))}\n"
                rows = array.reshape(array.shape[0], -1) if array.ndim > 1 else array[None]
                for row in rows:
                    yield "    " + " ".join(_number(x, digits) for x in row) + "\n"
        yield "\n"


def _number(x: Any, digits: int) -> str:
    return f"{x:.{digits}g}" if isinstance(x, float | np.floating) else str(x)
