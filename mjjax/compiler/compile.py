"""The phases of compilation, in order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjjax.compiler.assets.hfields import compile_hfields
from mjjax.compiler.assets.materials import compile_materials
from mjjax.compiler.assets.meshes import compile_meshes
from mjjax.compiler.assets.skins import compile_skins
from mjjax.compiler.assets.textures import compile_textures
from mjjax.compiler.common.context import Context, Fields
from mjjax.compiler.common.fields import Compiled
from mjjax.compiler.common.names import Names
from mjjax.compiler.common.tree import MEMBER_KINDS, Frames, flatten
from mjjax.compiler.elements.actuators import compile_actuators
from mjjax.compiler.elements.attachments import compile_cameras, compile_lights, compile_sites
from mjjax.compiler.elements.bodies import (
    align_free,
    check_joints,
    compile_inertia,
    compile_topology,
    compile_total_mass,
)
from mjjax.compiler.elements.constraints import compile_equalities, sort_contacts
from mjjax.compiler.elements.custom_and_keyframes import compile_custom, compile_keyframes
from mjjax.compiler.elements.geoms import compile_geoms
from mjjax.compiler.elements.joints import compile_joints
from mjjax.compiler.elements.sensors import compile_sensors
from mjjax.compiler.elements.sleep import sleep_policies
from mjjax.compiler.elements.tendons import compile_tendons
from mjjax.compiler.simplify import simplify, without_paint
from mjjax.compiler.visual import visual
from mjjax.core.errors import Origin
from mjjax.math.tracked import real_array
from mjjax.mjcf.spec import Spec
from mjjax.mjcf.table import DISABLE_FLAGS, ENABLE_FLAGS

PHASES: tuple[Callable[[Context], None], ...] = (
    compile_meshes,
    compile_hfields,
    compile_textures,
    compile_materials,
    compile_topology,
    compile_geoms,
    compile_inertia,
    check_joints,
    compile_sites,
    compile_cameras,
    compile_lights,
    align_free,
    compile_joints,
    sort_contacts,
    compile_tendons,
    compile_equalities,
    compile_actuators,
    compile_sensors,
    sleep_policies,
    compile_total_mass,
    compile_keyframes,
    compile_custom,
    compile_skins,
)
# Kinds outside the world whose ids are their order in the file.
_LISTED = (
    *("equality", "tendon", "actuator", "sensor", "key", "numeric", "text", "tuple"),
    *("mesh", "hfield", "texture", "material", "skin"),
)
# The phases that determine masses.
INERTIA = PHASES[: PHASES.index(compile_inertia) + 1]
_COUNTS = {"ngeom": "geom", "nsite": "site", "ncam": "camera", "nlight": "light"}
_COUNTS |= {"nmat": "material", "ntex": "texture"}
_SECTIONS = ("compiler", "option", "size", "statistic", "visual")
_PRIVATE = ("geom_mass", "geom_inertia", "body_matrix", "mesh_volume", "mesh_inertia", "mesh_aabb")


def compile_spec(spec: Spec, *, tracked: bool = False) -> Compiled:
    """Compiles a model description into arrays with MuJoCo's names, shapes and ids.

    Derived constants that need the kinematics at qpos0 (inverse weights, lengths, statistics,
    camera and light offsets) are not computed here.

    Args:
        spec: description that was read or built; it is not changed.
        tracked: whether attributes may be `Tracked`. Real fields are then tracked too, with their
            derivatives.

    Raises:
        MjcfError: the description is not valid.
        UnsupportedFeature: the description uses something that mjjax does not simulate.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # MuJoCo accepts inf and nan
        if spec.compiler["discardvisual"]:
            spec = without_paint(spec)
        if spec.compiler["fusestatic"] or spec.compiler["discardvisual"]:
            spec = simplify(spec, run(spec, INERTIA))
        ctx = run(spec, tracked=tracked)
    for name, kind in _COUNTS.items():
        ctx.sizes[name] = len(ctx.names.lists[kind])
    ctx.sizes["nuserdata"] = spec.size["nuserdata"]
    spec.limits.bound(spec.origin("size"), "nuserdata", ctx.sizes["nuserdata"], "numbers")
    key_names = ctx.names.lists["key"]
    ctx.names.lists["key"] = key_names + ("",) * (ctx.sizes["nkey"] - len(key_names))
    return Compiled(
        fields={name: x for name, x in ctx.fields.items() if name not in _PRIVATE},
        sizes=ctx.sizes,
        names=ctx.names.lists,
        option=options(spec),
        statistic={
            name: real_array(value) if isinstance(value, tuple) else value
            for name, value in spec.statistic.items()
        },
        visual=visual(spec),
        warnings=tuple(spec.warnings),
        modelname=spec.modelname,
        origins=ctx.names.origins | {(tag, 0): origin for tag, origin in _sections(spec)},
    )


def _start(spec: Spec, tracked: bool) -> Context:
    tree, names = flatten(spec.worldbody), Names()
    compiler = spec.compiler
    frames = Frames(tree.frames, bool(compiler["angle"]), compiler["eulerseq"])
    Names().add("frame", tree.frames.elements)  # frames have no ids, but their names must differ
    names.add("body", tree.bodies.elements)
    for kind in MEMBER_KINDS:
        names.add(kind, tree.members[kind].elements)
    for kind in _LISTED:
        names.add(kind, spec.elements[kind])
    return Context(spec, tree, frames, names, Fields(tracked=tracked))


def run(
    spec: Spec, phases: Sequence[Callable[[Context], None]] = PHASES, *, tracked: bool = False
) -> Context:
    """The model as it is written, compiled by the given phases; `tracked` as in `compile_spec`."""
    ctx = _start(spec, tracked)
    for phase in phases:
        phase(ctx)
    return ctx


def _sections(spec: Spec) -> list[tuple[str, Origin]]:
    """Places of the settings in the file; also for sections that the file does not have."""
    return [(tag, spec.origins.get(tag, Origin(tag))) for tag in _SECTIONS]


def options(spec: Spec) -> dict[str, Any]:
    """The members of mjOption by name; a flag that is disabled sets a bit of `disableflags`."""
    found = {
        name: real_array(value) if isinstance(value, tuple) else value
        for name, value in spec.option.items()
        if name != "actuatorgroupdisable"
    }
    groups = spec.option["actuatorgroupdisable"] or ()
    found["disableactuator"] = sum(1 << group for group in set(groups))
    found["disableflags"] = _bits(spec.flag, DISABLE_FLAGS, 0)
    found["enableflags"] = _bits(spec.flag, ENABLE_FLAGS, 1)
    return found


def _bits(flags: dict[str, int], order: tuple[str, ...], setting: int) -> int:
    """Bits of the flags in `order` that the user set to `setting` (0 disable, 1 enable)."""
    return sum(1 << bit for bit, name in enumerate(order) if flags.get(name) == setting)
