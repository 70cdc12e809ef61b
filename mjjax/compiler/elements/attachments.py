"""Sites, cameras and lights."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import bools, ints, reals, user
from mjjax.compiler.elements.geoms import placed
from mjjax.compiler.elements.shapes import SHAPE_KINDS
from mjjax.core.enums import GeomType, LightType, ProjectionType
from mjjax.math.tracked import numbers
from mjjax.mjcf import orientation as poses


def compile_sites(ctx: Context) -> None:
    """Adds the fields `site_*`."""
    members, f = ctx.members("site"), ctx.fields
    elements = members.elements
    kind = ints(elements, "type")
    for element in elements:
        type_ = element.values["type"]
        if type_ == GeomType.PLANE or type_ not in SHAPE_KINDS:
            raise element.origin.error(f"a site cannot be a {GeomType(type_).name.lower()}")
    pos, quat, size = placed(ctx, elements, kind)
    for element, type_, row in zip(elements, kind, numbers(size), strict=True):
        if not (row[: SHAPE_KINDS[type_].nsize] > 0).all():
            raise element.origin.error("the sizes of a site must be positive")
    f["site_type"], f["site_size"] = kind, size
    f["site_bodyid"] = np.array(members.body, np.int32)
    f["site_matid"] = np.array(ctx.names.find_all("material", elements, "material"), np.int32)
    f["site_group"] = ints(elements, "group")
    f["site_rgba"] = reals(elements, "rgba", 4)
    f["site_user"] = user(elements, ctx.nuser("site", elements))
    f["site_pos"], f["site_quat"] = ctx.frames.to_body(members, pos, quat)


def compile_cameras(ctx: Context) -> None:
    """Adds the fields `cam_*` that have a place in the simulation, and the lens."""
    members, f = ctx.members("camera"), ctx.fields
    elements = members.elements
    pos = reals(elements, "pos", 3)
    quat = poses.orientations(elements, ctx.degree, ctx.eulerseq)
    f["cam_pos"], f["cam_quat"] = ctx.frames.to_body(members, pos, quat)
    f["cam_bodyid"] = np.array(members.body, np.int32)
    f["cam_targetbodyid"] = np.array(ctx.names.find_all("body", elements, "target"), np.int32)
    for name in ("mode", "projection", "output"):
        f[f"cam_{name}"] = ints(elements, name)
    f["cam_resolution"] = ints(elements, "resolution", 2)
    f["cam_ipd"] = reals(elements, "ipd")
    f["cam_user"] = user(elements, ctx.nuser("cam", elements))
    _lens(ctx)


def _lens(ctx: Context) -> None:
    """Field of view [deg] and intrinsics, from the sensor if the camera has one."""
    elements, f = ctx.members("camera").elements, ctx.fields
    fovy, sensor = reals(elements, "fovy"), reals(elements, "sensorsize", 2)
    znear = ctx.spec.visual["map"].get("znear", 0.01)
    intrinsic = np.tile([znear, znear, 0.0, 0.0], (len(elements), 1))
    for i, element in enumerate(elements):
        v, origin = element.values, element.origin
        for name in ("focal", "principal"):
            if any(a and b for a, b in zip(v[name], v[f"{name}pixel"], strict=True)):
                raise origin.error(f"'{name}' and '{name}pixel' cannot both be given")
            if any(v[name] + v[f"{name}pixel"]) and not (sensor[i] > 0).all():
                raise origin.error(f"'{name}' needs 'sensorsize'")
        if (sensor[i] > 0).all():
            size = sensor[i].astype(np.float32)  # the lens is in single precision
            density = np.maximum(1, v["resolution"]).astype(np.float32) / size
            focal = np.float32(v["focalpixel"]) / density + np.float32(v["focal"])
            principal = np.float32(v["principalpixel"]) / density + np.float32(v["principal"])
            intrinsic[i] = np.concatenate([focal, principal])
            half = np.float32(np.arctan2(float(size[1]) / 2, float(focal[1])))
            fovy[i] = float(half) * 360 / np.pi
        if fovy[i] >= 180 and v["projection"] == ProjectionType.PERSPECTIVE:
            raise origin.error("fovy must be less than 180 degrees")
    f["cam_fovy"], f["cam_sensorsize"], f["cam_intrinsic"] = fovy, sensor, intrinsic


def compile_lights(ctx: Context) -> None:
    """Adds the fields `light_*`."""
    members, f = ctx.members("light"), ctx.fields
    elements = members.elements
    direction = reals(elements, "dir", 3)
    for i in np.flatnonzero(np.sum(direction**2, axis=1) < poses.EPS):
        raise elements[i].origin.error("the direction has zero length")
    identity = np.tile(poses.IDENTITY, (len(elements), 1))
    f["light_pos"], _ = ctx.frames.to_body(members, reals(elements, "pos", 3), identity)
    f["light_dir"] = poses.normalize(ctx.frames.rotate(members, direction))
    f["light_bodyid"] = np.array(members.body, np.int32)
    f["light_targetbodyid"] = np.array(ctx.names.find_all("body", elements, "target"), np.int32)
    f["light_texid"] = np.array(ctx.names.find_all("texture", elements, "texture"), np.int32)
    f["light_mode"] = ints(elements, "mode")
    directional = [e.values["directional"] for e in elements]
    f["light_type"] = np.array(
        [
            int(LightType.DIRECTIONAL if d else LightType.SPOT)
            if d is not None
            else e.values["type"]
            for e, d in zip(elements, directional, strict=True)
        ],
        np.int32,
    )
    for name in ("castshadow", "active"):
        f[f"light_{name}"] = bools(elements, name)
    for name in ("bulbradius", "intensity", "range", "cutoff", "exponent"):
        f[f"light_{name}"] = reals(elements, name)
    for name in ("attenuation", "ambient", "diffuse", "specular"):
        f[f"light_{name}"] = reals(elements, name, 3)
