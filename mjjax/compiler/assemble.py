"""From compiled fields to a `Model`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from mjjax.compiler.common.fields import Compiled
from mjjax.core.enums import JointType, WrapType
from mjjax.core.struct import specs
from mjjax.math.tracked import Tracked, numbers, settled
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.structure import Structure
from mjjax.model.terms import TERMS, size_of

_TREES = ("opt", "stat", "vis")
_VANISHING = 1e-14  # components smaller than this count as zero
_COINCIDING = 1e-6  # to MuJoCo, frames nearer than this coincide


def host_model(compiled: Compiled) -> Model:
    """A model of numpy arrays: real fields as leaves, integers and booleans in its structure.

    Real fields that are not compiled yet (derived constants) are zero. Tracked fields stay tracked.
    """
    fields, sizes, option = merged_frames(compiled.fields), compiled.sizes, compiled.option
    integers = {k: v for k, v in fields.items() if v.dtype.kind in "biu"}
    integers["body_simple"] = simple_bodies(fields)
    values = fields | {f"opt.{k}": v for k, v in option.items()}
    terms = {
        name: term.mask(
            {f: numbers(values[f]) for f in term.fields if f in values}, size_of(term, sizes)
        )
        for name, term in TERMS.items()
    }
    structure = Structure(
        sizes,
        integers,
        compiled.names,
        terms,
        compiled.modelname,
        compiled.origins,
        compiled.warnings,
    )
    dims = dict(
        sizes,
        nnumericdata=fields["numeric_data"].size,
        ntupledata=fields["tuple_objprm"].size,
        **{"nmocap*3": 3 * sizes["nmocap"], "nmocap*4": 4 * sizes["nmocap"]},
    )
    leaves: dict[str, Any] = {
        k: _leaf(fields[k]) if k in fields else np.zeros(_shape(spec.shape, dims))
        for k, spec in specs(Model).items()
        if k not in _TREES
    }
    static = {k: v for k, v in option.items() if k not in specs(Option)}
    real: dict[str, Any] = {k: _leaf(v) for k, v in option.items() if k in specs(Option)}
    zeros: dict[str, Any] = {
        k: np.zeros(_shape(spec.shape, {})) for k, spec in specs(Statistic).items()
    }
    stat = Statistic(**zeros)
    opt = Option(**real, **static)
    return Model(structure=structure, opt=opt, stat=stat, vis=compiled.visual, **leaves)


def simple_bodies(fields: Mapping[str, np.ndarray]) -> np.ndarray:
    """`body_simple` (nbody,): 1 if the body's inertia is diagonal, 2 if it also only slides.

    Such a body has no children, is at the top of its tree, and its frame is its inertial frame. Its
    joints are at its origin along its axes, and at most one of them is a rotation. No spatial
    tendon with armature passes it.
    """
    parent, kind, owner = fields["body_parentid"], fields["jnt_type"], fields["jnt_bodyid"]
    null = (fields["body_ipos"] == 0).all(axis=1)
    null &= (fields["body_iquat"][:, 1:] == 0).all(axis=1)
    index = np.arange(len(parent))
    top = (fields["body_rootid"] == index) | (
        (parent[parent] == 0) & (fields["body_dofnum"][parent] == 0)
    )
    simple = null & top
    simple[parent[parent > 0]] = False
    aligned = (np.abs(fields["jnt_axis"]) > _VANISHING).sum(axis=1) == 1
    centered = (np.abs(fields["jnt_pos"]) < _VANISHING).all(axis=1)
    fits = centered & (aligned | (kind <= JointType.BALL))
    turns = (kind == JointType.BALL) | (kind == JointType.HINGE)
    for body in index[simple]:
        mine = np.flatnonzero(owner == body)
        simple[body] = fits[mine].all() and not turns[mine[:-1]].any()
    simple[_heavy_tendons(fields)] = False
    slides = [(kind[owner == body] == JointType.SLIDE).all() for body in index]
    return np.where(simple & (fields["body_dofnum"] > 0) & slides, 2, simple.astype(int))


def _heavy_tendons(fields: Mapping[str, np.ndarray]) -> np.ndarray:
    """Bodies on the paths of spatial tendons with armature, which couples their dofs."""
    heavy = np.repeat(fields["tendon_armature"] != 0, fields["tendon_num"])
    sites = fields["wrap_objid"][heavy & (fields["wrap_type"] == WrapType.SITE)]
    return fields["site_bodyid"][sites]


def with_tables(model: Model, tables: Mapping[str, np.ndarray]) -> Model:
    """A model of numpy arrays with other integers or booleans; its sizes stay."""
    s = model.structure
    leaves = {name: getattr(model, name) for name in specs(Model) if name not in _TREES}
    compiled = Compiled(
        fields=dict(s.arrays) | leaves | dict(tables),
        sizes=s.sizes,
        names=s.names,
        option={f.name: getattr(model.opt, f.name) for f in dataclasses.fields(Option)},
        statistic={},
        visual=model.vis,
        warnings=s.warnings,
        modelname=s.model_name,
        origins=s.origins,
    )
    return host_model(compiled).replace(stat=model.stat)


def device_model(model: Model) -> Model:
    """The model with JAX arrays of the default precision."""
    dtype = jax.dtypes.canonicalize_dtype(float)
    return jax.device_put(jax.tree.map(lambda x: np.array(x, dtype), model))


def _leaf(value: Any) -> Any:
    return (
        Tracked(numbers(value), value.value)
        if isinstance(value, Tracked)
        else np.array(value, float)
    )


def _shape(shape: tuple[int | str, ...], sizes: Mapping[str, int]) -> list[int]:
    return [n if isinstance(n, int) else sizes[n] for n in shape]


def merged_frames(fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields in which almost coinciding frames are exactly at the frames that they coincide with.

    These are the frames of the body or of its inertia. MuJoCo keeps the written numbers and marks
    the frames (`body_sameframe`, `geom_sameframe`, `site_sameframe`), but computes with the numbers
    that this function gives.
    """
    f = dict(fields)
    for kind in ("body_i", "geom_", "site_"):
        for part in ("pos", "quat"):
            f[kind + part] = f[kind + part].copy()
    zero, unit = np.zeros(3), np.array([1.0, 0, 0, 0])
    _snap(f["body_ipos"], f["body_iquat"], zero, unit)
    for kind in ("geom", "site"):
        pos, quat, body = f[f"{kind}_pos"], f[f"{kind}_quat"], f[f"{kind}_bodyid"]
        turned = ~_snap(pos, quat, zero, unit)
        _snap(pos, quat, f["body_ipos"][body], f["body_iquat"][body], turned)
    return f


def _snap(
    pos: np.ndarray,
    quat: np.ndarray,
    to: np.ndarray,
    turn: np.ndarray,
    asked: np.ndarray | None = None,
) -> np.ndarray:
    """Moves the asked poses to the poses (to, turn), and returns which had that orientation."""
    to, turn = (np.broadcast_to(numbers(a), b.shape) for a, b in ((to, pos), (turn, quat)))
    turn = np.where(np.sum(numbers(quat) * turn, axis=-1, keepdims=True) < 0, -turn, turn)
    parallel = np.all(np.abs(quat - turn) < _COINCIDING, axis=1)
    if asked is not None:
        parallel &= asked
    quat[parallel] = settled(quat[parallel], turn[parallel])
    same = parallel & np.all(np.abs(pos - to) < _COINCIDING, axis=1)
    pos[same] = settled(pos[same], to[same])
    return parallel
