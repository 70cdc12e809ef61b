"""The phases of compilation, in order."""

from collections.abc import Callable, Sequence

import numpy as np

from mjjax.compiler.actuators import compile_actuators
from mjjax.compiler.attachments import compile_cameras, compile_lights, compile_sites
from mjjax.compiler.bodies import (
    align_free,
    check_joints,
    compile_inertia,
    compile_topology,
    set_total_mass,
)
from mjjax.compiler.contacts import sort_contacts
from mjjax.compiler.context import Context
from mjjax.compiler.equalities import compile_equalities
from mjjax.compiler.extras import compile_custom, compile_keyframes
from mjjax.compiler.fields import Compiled
from mjjax.compiler.geoms import compile_geoms
from mjjax.compiler.hfields import compile_hfields
from mjjax.compiler.joints import compile_joints
from mjjax.compiler.materials import compile_materials
from mjjax.compiler.meshes import compile_meshes
from mjjax.compiler.names import Names
from mjjax.compiler.options import options
from mjjax.compiler.sensors import compile_sensors
from mjjax.compiler.simplify import simplify
from mjjax.compiler.sleep import sleep_policies
from mjjax.compiler.tendons import compile_tendons
from mjjax.compiler.textures import compile_textures
from mjjax.compiler.tree import KINDS, Frames, flatten
from mjjax.mjcf.budget import NUMBERS, bound
from mjjax.mjcf.spec import Origin, Spec

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
    set_total_mass,
    compile_keyframes,
    compile_custom,
)
# Kinds outside the world whose ids are their order in the file.
_LISTED = (
    "equality tendon actuator sensor key numeric text tuple mesh hfield texture material".split()
)
_COUNTS = {"ngeom": "geom", "nsite": "site", "ncam": "camera", "nlight": "light"}
_COUNTS |= {"nmat": "material", "ntex": "texture"}
_SECTIONS = ("compiler", "option", "size", "statistic", "visual")
_PRIVATE = ("geom_mass", "geom_inertia", "mesh_volume", "mesh_inertia", "mesh_aabb")


def compile_spec(spec: Spec) -> Compiled:
    """Compiles a model description into arrays with MuJoCo's names, shapes and ids.

    Derived constants that need the kinematics at qpos0 (inverse weights, lengths, statistics,
    camera and light offsets) are not computed here.

    Args:
        spec: what was read or built; it is not changed.

    Raises:
        MjcfError: the description is not valid.
        UnsupportedFeature: it uses something that mjjax does not simulate.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # MuJoCo accepts inf and nan
        if spec.compiler["fusestatic"] or spec.compiler["discardvisual"]:
            spec = simplify(spec, run(spec, PHASES[: PHASES.index(compile_inertia) + 1]))
        ctx = run(spec)
    for name, kind in _COUNTS.items():
        ctx.sizes[name] = len(ctx.names.lists[kind])
    ctx.sizes["nuserdata"] = spec.size["nuserdata"]
    bound(spec.origin("size"), "nuserdata", ctx.sizes["nuserdata"], NUMBERS)
    key_names = ctx.names.lists["key"]
    ctx.names.lists["key"] = key_names + ("",) * (ctx.sizes["nkey"] - len(key_names))
    return Compiled(
        fields={name: x for name, x in ctx.fields.items() if name not in _PRIVATE},
        sizes=ctx.sizes,
        names=ctx.names.lists,
        option=options(spec),
        statistic={
            name: np.array(value) if isinstance(value, tuple) else value
            for name, value in spec.statistic.items()
        },
        warnings=tuple(spec.warnings),
        modelname=spec.modelname,
        origins=ctx.names.origins | {(tag, 0): origin for tag, origin in _sections(spec)},
    )


def _start(spec: Spec) -> Context:
    tree, names = flatten(spec.worldbody), Names()
    compiler = spec.compiler
    frames = Frames(tree.frames, bool(compiler["angle"]), compiler["eulerseq"])
    Names().add("frame", tree.frames.elements)  # frames have no ids, but their names must differ
    names.add("body", tree.bodies.elements)
    for kind in KINDS:
        names.add(kind, tree.members[kind].elements)
    for kind in _LISTED:
        names.add(kind, spec.elements[kind])
    return Context(spec, tree, frames, names)


def run(spec: Spec, phases: Sequence[Callable[[Context], None]] = PHASES) -> Context:
    """The model compiled as far as the phases go, as it is written."""
    ctx = _start(spec)
    for phase in phases:
        phase(ctx)
    return ctx


def _sections(spec: Spec) -> list[tuple[str, Origin]]:
    """Where the settings stand; also for sections that the file does not have."""
    return [(tag, spec.origins.get(tag, Origin(tag))) for tag in _SECTIONS]
