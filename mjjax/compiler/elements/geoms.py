"""Geoms: sizes and poses, mass and inertia, bounding volumes, contact parameters."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import bools, ints, reals, user
from mjjax.compiler.elements import fluid, geom_assets
from mjjax.compiler.elements.shapes import SHAPE_KINDS, Measure
from mjjax.core.constants import NFLUID
from mjjax.core.enums import GeomType
from mjjax.math.tracked import numbers, together
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.element import Element
from mjjax.model import bounds

_MAXVAL = 1e10  # half size of the bounding box of a plane, which is below it
_HALF_SPACE = (0, 0, -_MAXVAL / 2, _MAXVAL, _MAXVAL, _MAXVAL / 2)
_CONDIMS = (1, 3, 4, 6)
_STRETCHED = (GeomType.CAPSULE, GeomType.CYLINDER, GeomType.ELLIPSOID, GeomType.BOX)


def compile_geoms(ctx: Context) -> None:
    """Adds the fields `geom_*`; `geom_mass` and `geom_inertia` are for the bodies only."""
    members = ctx.members("geom")
    elements = members.elements
    f = ctx.fields
    _check(ctx, elements)
    kind = ints(elements, "type")
    pos, quat, size, _ = together(*placed(ctx, elements, kind), f["hfield_size"])
    f["geom_dataid"] = geom_assets.asset_ids(ctx, elements)
    geom_assets.take_shape(ctx, elements, pos, quat, size)
    _check_sizes(elements, kind, numbers(size))
    f["geom_type"], f["geom_size"] = kind, size
    f["geom_bodyid"] = np.array(members.body, np.int32)
    f["geom_matid"] = geom_assets.materials(ctx, elements)
    for name in ("contype", "conaffinity", "condim", "group", "priority"):
        f[f"geom_{name}"] = ints(elements, name)
    for name in ("solmix", "margin", "gap"):
        f[f"geom_{name}"] = reals(elements, name)
    for name, width in (("solref", 2), ("solimp", 5), ("friction", 3), ("rgba", 4)):
        f[f"geom_{name}"] = reals(elements, name, width)
    f["geom_user"] = user(elements, ctx.nuser("geom", elements))
    _bounds(ctx, kind, size)
    _masses(ctx, elements, kind)
    _fluid(ctx, elements, kind)
    f["geom_pos"], f["geom_quat"] = ctx.frames.to_body(members, pos, quat)


def _check(ctx: Context, elements: list[Element]) -> None:
    body_weld = ctx.fields["body_weldid"]
    for element, body in zip(elements, ctx.members("geom").body, strict=True):
        values, origin = element.values, element.origin
        if values["condim"] not in _CONDIMS:
            raise origin.error(f"condim is {values['condim']}", "it must be 1, 3, 4 or 6")
        if values["type"] == GeomType.PLANE and body_weld[body]:
            raise origin.error(
                "a plane cannot move", "put it in the world or in a body without joints above it"
            )


def placed(
    ctx: Context, elements: list[Element], kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, orientation and size of geoms or sites, with `fromto` resolved.

    A shape from one point to another has its z axis pointing from the second to the first.

    Raises:
        MjcfError: `fromto` is given for a shape without a length, together with a position, or
            with zero length.
    """
    pos, size = reals(elements, "pos", 3), reals(elements, "size", 3)
    rows = [i for i, e in enumerate(elements) if e.values["fromto"] is not None]
    plain = [
        e if e.values["fromto"] is None else Element(e.kind, {"quat": poses.IDENTITY, "alt": None})
        for e in elements
    ]
    quat = poses.orientations(plain, ctx.degree, ctx.eulerseq)
    if not rows:
        return pos, quat, size
    ends = reals([elements[i] for i in rows], "fromto", 6)
    pos, quat, size, ends = together(pos, quat, size, ends)
    axis = ends[:, :3] - ends[:, 3:]
    half = np.sqrt(np.sum(axis * axis, axis=1)) / 2
    for i, length in zip(rows, half, strict=True):
        origin = elements[i].origin
        if kind[i] not in _STRETCHED:
            raise origin.error("fromto needs a capsule, cylinder, ellipsoid or box")
        if numbers(pos[i]).any():
            raise origin.error("fromto and pos cannot both be given")
        if length < poses.EPS:
            raise origin.error("the points of fromto coincide")
    thick = np.isin(kind[rows], (GeomType.ELLIPSOID, GeomType.BOX))
    size[rows] = np.where(
        thick[:, None],
        np.stack([size[rows, 0], size[rows, 0], half], axis=1),
        np.stack([size[rows, 0], half, size[rows, 2]], axis=1),
    )
    pos[rows] = (ends[:, :3] + ends[:, 3:]) / 2
    quat[rows] = poses.from_z(poses.normalize(axis))
    return pos, quat, size


def _check_sizes(elements: list[Element], kind: np.ndarray, size: np.ndarray) -> None:
    for element, type_, row in zip(elements, kind, size, strict=True):
        if np.isnan(row).any():
            raise element.origin.error("the size is not a number")
        if type_ == GeomType.PLANE:
            if row[2] <= 0:
                raise element.origin.error("the third size of a plane must be positive")
        elif type_ in SHAPE_KINDS and not (row[: SHAPE_KINDS[type_].nsize] > 0).all():
            name, n = GeomType(type_).name.lower(), SHAPE_KINDS[type_].nsize
            given = f"size is {' '.join(f'{x:g}' for x in row[:n])}"
            raise element.origin.error(f"a {name} needs {n} positive size{'s' * (n > 1)}", given)


def _bounds(ctx: Context, kind: np.ndarray, size: np.ndarray) -> None:
    """Adds the bounding sphere and the bounding box, the box as centre and half size."""
    rbound = bounds.rbound(kind, size)
    box = np.hstack([np.zeros_like(size), bounds.half_sizes(kind, size)])
    for type_, shape in geom_assets.ASSET_SHAPES.items():
        rows = np.flatnonzero(kind == type_)
        if len(rows):
            rbound[rows], box[rows] = shape.bounds(ctx, rows)
    plane = kind == GeomType.PLANE
    rbound[plane], box[plane] = 0, _HALF_SPACE
    ctx.fields["geom_rbound"], ctx.fields["geom_aabb"] = rbound, box


def _masses(ctx: Context, elements: list[Element], kind: np.ndarray) -> None:
    """Mass and inertia of the geoms that give their body its inertia."""
    low, high = ctx.spec.compiler["inertiagrouprange"]
    group, body = ctx.fields["geom_group"], ctx.fields["geom_bodyid"]
    inferred = np.array([i not in ctx.tree.inertials for i in range(ctx.sizes["nbody"])])
    if ctx.spec.compiler["inertiafromgeom"] == 1:
        inferred[:] = True
    used = (body > 0) & inferred[body] & (group >= low) & (group <= high)
    shell = bools(elements, "shellinertia")
    given, density = reals(elements, "mass"), reals(elements, "density")
    f = ctx.fields
    f["geom_mass"], f["geom_inertia"] = np.zeros(len(kind)), np.zeros((len(kind), 3))
    mass, inertia = f["geom_mass"], f["geom_inertia"]
    for type_ in np.unique(kind):
        for hollow in (False, True):
            rows = np.flatnonzero(used & (kind == type_) & (shell == hollow))
            if not len(rows):
                continue
            measure = _measure(ctx, type_, rows, hollow)
            weighed = np.where(measure.volume > poses.EPS, given[rows], 0.0)
            mass[rows] = np.where(np.isnan(given[rows]), density[rows] * measure.volume, weighed)
            inertia[rows] = measure.inertia(mass[rows])
    for i in np.flatnonzero(used & ((mass < 0) | (np.isnan(given) & (density < 0)))):
        raise elements[i].origin.error("mass and density cannot be negative")


def _measure(ctx: Context, type_: int, rows: np.ndarray, hollow: bool) -> Measure:
    """Volume and inertia of geoms of one type."""
    if type_ in geom_assets.ASSET_SHAPES:
        return geom_assets.ASSET_SHAPES[type_].measure(ctx, rows, hollow)
    shape = SHAPE_KINDS[type_]
    return (shape.shell if hollow else shape.solid)(ctx.fields["geom_size"][rows])


def _fluid(ctx: Context, elements: list[Element], kind: np.ndarray) -> None:
    """Coefficients (n, 12): flag, drag and lift coefficients (5), virtual mass and inertia."""
    ctx.fields["geom_fluid"] = np.zeros((len(elements), NFLUID))
    rows = np.flatnonzero(bools(elements, "fluidshape") & (kind != GeomType.PLANE))
    if len(rows):
        asset = np.isin(kind[rows], list(geom_assets.ASSET_SHAPES))[:, None]
        box = ctx.fields["geom_aabb"][rows, 3:]
        mass, inertia = fluid.added_mass(np.where(asset, ctx.fields["geom_size"][rows], box))
        coef = reals([elements[i] for i in rows], "fluidcoef", 5)
        table = np.hstack([np.ones((len(rows), 1)), coef, mass, inertia])
        ctx.fields["geom_fluid"][rows] = table
