"""Geoms with a mesh or a height field, and primitives that are fitted to a mesh."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mjjax.compiler.assets.hfields import hfield_box
from mjjax.compiler.assets.meshes import MESH_TYPES
from mjjax.compiler.common.context import Context
from mjjax.compiler.elements.shapes import Measure, box, box_shell, like_box
from mjjax.core.enums import GeomType
from mjjax.math import quat as q
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.element import Element


def asset_ids(ctx: Context, elements: list[Element]) -> np.ndarray:
    """The mesh or height field (n,) of each geom, -1 for none.

    Raises:
        MjcfError: the asset does not exist, or does not fit the type of the geom.
    """
    for element in elements:
        values, origin = element.values, element.origin
        if values["type"] in MESH_TYPES and not values["mesh"]:
            raise origin.error("the geom needs a mesh", "add the attribute 'mesh'")
        if (values["type"] == GeomType.HFIELD) != bool(values["hfield"]):
            raise origin.error("type 'hfield' and the attribute 'hfield' belong together")
        if values["mesh"] and values["type"] in (GeomType.PLANE, GeomType.HFIELD):
            name = GeomType(values["type"]).name.lower()
            raise origin.error(f"a {name} cannot be fitted to a mesh")
        if values["mesh"] and values["fromto"] is not None:
            raise origin.error("fromto and mesh cannot both be given")
        if values["shellinertia"] and values["type"] in MESH_TYPES:
            raise origin.error("to make a mesh a shell, set 'inertia' of its asset")
    mesh = ctx.names.find_all("mesh", elements, "mesh")
    return np.maximum(mesh, ctx.names.find_all("hfield", elements, "hfield")).astype(np.int32)


def materials(ctx: Context, elements: list[Element]) -> np.ndarray:
    """The material (n,) of each geom, its own or that of its mesh; -1 for none."""
    own = np.array(ctx.names.find_all("material", elements, "material"), np.int32)
    meshes = ctx.spec.elements["mesh"]
    given = np.array([*ctx.names.find_all("material", meshes, "material"), -1], np.int32)
    named = np.array([bool(e.values["mesh"]) for e in elements], bool)
    mesh = np.where(named, ctx.fields["geom_dataid"], len(meshes))
    return np.where(own < 0, given[mesh], own)


def take_shape(
    ctx: Context, elements: list[Element], pos: np.ndarray, quat: np.ndarray, size: np.ndarray
) -> None:
    """Changes pose and size of geoms with a mesh or height field to those of the asset."""
    f, fitaabb = ctx.fields, bool(ctx.spec.compiler["fitaabb"])
    rows, places = [], []
    for i, element in enumerate(elements):
        asset, kind = f["geom_dataid"][i], element.values["type"]
        if asset >= 0 and kind == GeomType.HFIELD:
            size[i] = hfield_box(f["hfield_size"][asset])[0]
        elif asset >= 0:
            aabb = f["mesh_aabb"][asset]
            if kind in MESH_TYPES:
                size[i] = np.abs(aabb[:3]) + aabb[3:]
            else:
                half = aabb[3:] if fitaabb else _inertia_box(ctx, asset)
                fitted = (_AROUND_BOX if fitaabb else _LIKE_BOX)[kind](half)
                size[i, : len(fitted)] = fitted
                size[i] = size[i] * element.values["fitscale"]
            rows.append(i)
            places.append(mesh_pose(ctx, asset, kind))
    if rows:
        own, turn = map(np.stack, zip(*places, strict=True))
        pos[rows], quat[rows] = poses.compose(pos[rows], quat[rows], own, turn)


def mesh_pose(ctx: Context, mesh: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """The pose of a geom of a type in the frame in which its mesh was written."""
    f, center = ctx.fields, np.zeros(3)
    if kind not in MESH_TYPES and ctx.spec.compiler["fitaabb"]:
        center = f["mesh_aabb"][mesh, :3]
    pos, quat = f["mesh_pos"][mesh], f["mesh_quat"][mesh]
    return pos + q.rotate(quat, center), quat


def _inertia_box(ctx: Context, mesh: int | np.ndarray) -> np.ndarray:
    """Half sizes (..., 3) of the box with volume and inertia of meshes: m (b^2 + c^2) / 3 = I_a."""
    x, y, z = np.moveaxis(ctx.fields["mesh_inertia"][mesh], -1, 0)
    squares = 6 * np.stack([y + z - x, x + z - y, x + y - z], axis=-1)
    return np.sqrt(squares / ctx.fields["mesh_volume"][mesh][..., None]) / 2


_Fit = Callable[[np.ndarray], Sequence[np.floating]]
# Sizes of the primitive with about the inertia of a box, by its half sizes (the last is largest).
_LIKE_BOX: dict[int, _Fit] = {
    GeomType.SPHERE: lambda s: [np.mean(s)],
    GeomType.CAPSULE: lambda s: [(s[0] + s[1]) / 2, s[2] - (s[0] + s[1]) / 4],
    GeomType.CYLINDER: lambda s: [(s[0] + s[1]) / 2, s[2]],
    GeomType.ELLIPSOID: list,
    GeomType.BOX: list,
}
# Sizes of the primitive as long and as wide as a box.
_AROUND_BOX: dict[int, _Fit] = {
    GeomType.SPHERE: lambda s: [max(s)],
    GeomType.CAPSULE: lambda s: [max(s[:2]), s[2] - max(s[:2])],
    GeomType.CYLINDER: lambda s: [max(s[:2]), s[2]],
    GeomType.ELLIPSOID: list,
    GeomType.BOX: list,
}


def _mesh_measure(ctx: Context, rows: np.ndarray, hollow: bool) -> Measure:
    asset = ctx.fields["geom_dataid"][rows]
    half = _inertia_box(ctx, asset)
    return Measure(ctx.fields["mesh_volume"][asset], lambda mass: like_box(mass, half))


def _mesh_bounds(ctx: Context, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = ctx.fields["geom_size"][rows]
    aabb = ctx.fields["mesh_aabb"][ctx.fields["geom_dataid"][rows]]
    return np.sqrt(np.sum(size * size, axis=1)), aabb


def _hfield_measure(ctx: Context, rows: np.ndarray, hollow: bool) -> Measure:
    return (box_shell if hollow else box)(ctx.fields["geom_size"][rows])


def _hfield_bounds(ctx: Context, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, radius, aabb = hfield_box(ctx.fields["hfield_size"][ctx.fields["geom_dataid"][rows]])
    return radius, aabb


class AssetShape(NamedTuple):
    """Functions of geom ids for a geom type whose shape is an asset.

    Attributes:
        measure: volume and inertia of unit mass, and whether it is a shell.
        bounds: radius of the bounding sphere and bounding box.
    """

    measure: Callable[[Context, np.ndarray, bool], Measure]
    bounds: Callable[[Context, np.ndarray], tuple[np.ndarray, np.ndarray]]


ASSET_SHAPES: dict[int, AssetShape] = {
    GeomType.HFIELD: AssetShape(_hfield_measure, _hfield_bounds),
    GeomType.MESH: AssetShape(_mesh_measure, _mesh_bounds),
    GeomType.SDF: AssetShape(_mesh_measure, _mesh_bounds),
}
