"""What all rays of a picture share, and the seam between what is visible and how it is lit.

A `Tracer` says which surface a ray meets. `mjjax.render.shade` says how this surface looks; it is
written once, for NumPy and for JAX, and asks the tracer for shadows too. There are two tracers:
`mjjax.render.traced` inside programs, and `mjjax.render.host` outside of them.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from mjjax.collision.rays.ray import Hit, RayPlan, ray_plan
from mjjax.collision.rays.ray_shapes import SOLIDS
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.render import camera as cameras
from mjjax.render.camera import CameraView, FreeCamera
from mjjax.render.drawn import SEEN, Shown, drawn
from mjjax.render.light import Lights, light_kinds, lights, lit_lights
from mjjax.render.paint import Paint, paint
from mjjax.render.sky import Haze, haze, sky_radius
from mjjax.render.texture import Pool
from mjjax.xla.linalg import matvec3
from mjjax.xla.namespace import Array, namespace, where

OPAQUE = 0.995  # a colour with less alpha is transparent


class Tracer(Protocol):
    """Says what is visible where."""

    def first(self, start: Any, along: Any, seen: Any) -> tuple[Hit, Array]:
        """The first surfaces that rays meet, and their triangles of `mesh_face`, -1 for none.

        Args:
            start: (n, 3) points where the rays start, world [m].
            along: (n, 3) unit directions.
            seen: (ngeom,) geoms that can be met.
        """
        ...

    def blocked(self, start: Any, along: Any, reach: Any, seen: Any) -> Array:
        """Whether rays (n,) meet something at less than a distance `reach` (n,) [m]."""
        ...


class Sight(NamedTuple):
    """What a picture shows: the static part of a call.

    Attributes:
        fixed: id of a camera of the model, None for the free camera.
        width, height: pixels.
        shown: groups that are seen.
    """

    fixed: int | None
    width: int
    height: int
    shown: Shown


class Scene(NamedTuple):
    """The values that all rays of a picture share.

    Attributes:
        model, data: the world as it is drawn, in which everything is a geom.
        element: (ngeom, 2) which element each of these geoms is: its id and its `ObjType`.
        plan: geoms that rays may meet.
        coloured, seen: (ngeom,) geoms that can be seen; `seen` leaves out those around the camera.
        paint: how geoms look.
        shining, kinds, casting: the lights, their types, and which of them cast shadows.
        view: the camera.
        far: () depth beyond which nothing is seen [m].
        haze: the haze before the sky, None if there is none.
        pixel: () width of a pixel at distance 1, or everywhere if `parallel` [m].
        parallel: whether the rays are parallel.
        pool: pixels of textures.
    """

    model: Model
    data: Data
    element: np.ndarray
    plan: RayPlan
    coloured: Array
    seen: Array
    paint: Paint
    shining: Lights
    kinds: np.ndarray
    casting: np.ndarray
    view: CameraView
    far: Array
    haze: Haze | None
    pixel: Array
    parallel: bool
    pool: Pool | None

    @property
    def ahead(self) -> Array:
        """Optical axis (3,)."""
        return -self.view.turn[:, 2]


def scene_of(
    model: Model, data: Data, free: FreeCamera | None, sight: Sight, pool: Pool | None
) -> Scene:
    """What the rays of a picture share; numpy arrays give numpy arrays."""
    aspect = sight.width / sight.height
    if sight.fixed is not None:
        view = cameras.fixed_view(model, data, sight.fixed, aspect)
    else:
        view = cameras.free_view(model, free or cameras.free_camera(model), aspect)
    parallel = cameras.is_orthographic(model, sight.fixed)
    shining = lights(model, data, view)
    model, data, element = drawn(model, data, sight.shown)
    s, xp = model.structure, namespace(view.eye)
    plan, look = ray_plan(s, SEEN, True), paint(model)
    coloured = look.rgba[:, 3] != 0
    seen = coloured if parallel else coloured & ~_around(model, data, plan, view.eye)
    far = model.vis.map.zfar * model.stat.extent
    shape = np.array([sight.width, sight.height], view.eye.dtype)
    visible = coloured & xp.asarray(np.array(SEEN)[np.clip(s.geom_group, 0, 5)])
    return Scene(
        model,
        data,
        element,
        plan,
        coloured,
        seen,
        look._replace(mirror=_first_mirror(look, visible)),
        shining,
        light_kinds(model),
        np.flatnonzero(s.light_castshadow[lit_lights(s)]),
        view,
        far,
        None if parallel else haze(model, data, visible, view.eye, sky_radius(far)),
        xp.max((view.high - view.low) / shape),
        parallel,
        pool,
    )


def _first_mirror(look: Paint, seen: Array) -> Array:
    """Reflectance (ngeom,) of the first opaque mirror; as in MuJoCo, no other geom reflects."""
    xp = namespace(look.mirror)
    mirrors = seen & (look.mirror > 0) & (look.rgba[:, 3] >= OPAQUE)
    return where(mirrors & (xp.cumsum(mirrors) == 1), look.mirror, 0)


def _around(model: Model, data: Data, plan: RayPlan, eye: Array) -> Array:
    """Solid geoms (ngeom,) that contain a point."""
    xp = namespace(eye, data.geom_xpos)
    parts, ids = [xp.zeros(0, bool)], [np.zeros(0, int)]
    for kind, some in plan.solids:
        if kind in SOLIDS:
            turn = xp.swapaxes(mat3(data.geom_xmat[some]), 1, 2)
            local = matvec3(turn, eye[None] - data.geom_xpos[some])
            up = xp.broadcast_to(np.array([[0, 0, 1]], local.dtype), local.shape)
            inside = SOLIDS[kind](local, up, model.geom_size[some])
            parts.append(inside.meets & (inside.enter < 0) & (inside.leave > 0))
            ids.append(some)
    # The entries in the order of geoms; the last entry is for all others.
    place = np.full(model.structure.ngeom, -1)
    place[np.concatenate(ids)] = np.arange(sum(map(len, ids)))
    return xp.concatenate([*parts, xp.zeros(1, bool)])[place]
