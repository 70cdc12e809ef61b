"""Geoms and sites in a browser: an object of viser per group, body and colour, for all worlds."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from mjjax.core.enums import GeomType, ObjType
from mjjax.math import quat
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data
from mjjax.render.drawn import Shown, drawn, elements
from mjjax.render.paint import Paint, paint
from mjjax.view.looks import Look
from mjjax.view.shapes import flat_texture, glb, joined
from mjjax.view.world import EVERY

_PLAN = Shown(geoms=EVERY, sites=EVERY, tendons=(False,) * 6)
Hold = Callable[[int, Any], None]  # makes an object that shows a body draggable


class _Thing(NamedTuple):
    """An object of viser.

    Attributes:
        body: the body that it follows.
        geoms: what it shows, by numbers in the plan.
        handle: its handle.
        textured: whether it is glTF, whose colour viser cannot change.
    """

    body: int
    geoms: np.ndarray
    handle: Any
    textured: bool


class _Group(NamedTuple):
    """A group of geoms or of sites: the frame that hides all of it, and its objects that move."""

    frame: Any
    things: list[_Thing]


class Bodies:
    """The objects in a scene. Those of a group are made when it is shown for the first time.

    Args:
        scene: scene of viser.
        root: name under which the objects are.
        model: model.
        offset: (nworld, 3) place of each world.
        hold: gets objects of bodies that move. Those with a texture it does not get, because viser
            1.1 fails on glTF that can be dragged.
    """

    def __init__(self, scene: Any, root: str, model: Model, offset: np.ndarray, hold: Hold):
        self._scene, self._root, self._offset, self._hold = scene, root, offset, hold
        self._plan, self._plain = jax.device_get(_static(model))
        self._paint, self._alpha = self._plain, float(model.vis.map.alpha)
        s = model.structure
        sites = np.arange(s.nsite)
        self._pos = np.concatenate([model.geom_pos, model.site_pos[sites]])
        turn = np.concatenate([model.geom_quat, model.site_quat[sites]])
        self._mat = np.asarray(quat.to_mat(np.asarray(turn, float)))
        self._moves = s.body_weldid > 0
        mocap = s.body_mocapid[s.body_rootid] >= 0
        self._dynamic = (self._moves | mocap)[self._plan.structure.geom_bodyid]
        self._kind = elements(s, _PLAN)[:, 1]
        group = np.concatenate([s.geom_group, s.site_group])
        self._group = np.clip(group, 0, len(EVERY) - 1)
        self._groups: dict[tuple[ObjType, int], _Group] = {}

    def show(self, seen: Any, look: Look) -> None:
        """Shows the groups that a look wants, at their places in the worlds' frames."""
        if (self._paint is not self._plain) != look.transparent:
            self._fade(look.transparent)
        for kind, flags in ((ObjType.GEOM, look.shown.geoms), (ObjType.SITE, look.shown.sites)):
            for number, wanted in enumerate(flags):
                key = (kind, number)
                if wanted and key not in self._groups:
                    self._groups[key] = self._made(*key)
                if key in self._groups:
                    self._groups[key].frame.visible = wanted
                if wanted:
                    self._move(self._groups[key], seen)

    def _move(self, group: _Group, seen: Any) -> None:
        for thing in group.things:
            place = seen.xpos[:, thing.body] + self._offset
            thing.handle.batched_positions = place.astype(np.float32)
            thing.handle.batched_wxyzs = seen.xquat[:, thing.body].astype(np.float32)

    def _fade(self, transparent: bool) -> None:
        """Makes bodies that move transparent, or ends that."""
        faded = self._plain.rgba * np.where(self._dynamic[:, None], [1, 1, 1, self._alpha], 1)
        self._paint = self._plain._replace(rgba=faded) if transparent else self._plain
        things = [thing for group in self._groups.values() for thing in group.things]
        for thing in things:
            first = int(thing.geoms[0])
            if thing.textured and self._dynamic[first]:
                thing.handle.glb_data = self._glb(first)
            elif self._dynamic[first]:
                thing.handle.opacity = self._opacity(first)

    def _opacity(self, geom: int) -> float | None:
        alpha = float(self._paint.rgba[geom, 3])
        return alpha if alpha < 1 else None

    def _glb(self, geom: int) -> bytes:
        return glb(self._plan, self._paint, self._pos, self._mat, geom)

    def _made(self, kind: ObjType, number: int) -> _Group:
        name = f"{self._root}/{kind.name.lower()}s {number}"
        frame = self._scene.add_frame(name, show_axes=False)
        mine = (self._kind == kind) & (self._group == number) & (self._plain.rgba[:, 3] > 0)
        geoms = np.flatnonzero(mine)
        plan = self._plan
        endless = plan.structure.geom_type == GeomType.PLANE
        endless &= np.asarray(plan.geom_size[:, 0]) <= 0
        flat = np.array([flat_texture(plan, int(i)) >= 0 for i in geoms], bool)
        special = flat | endless[geoms]
        things = list(self._textured(name, geoms[special], endless))
        things += self._coloured(name, geoms[~special])
        return _Group(frame, things)

    def _textured(self, name: str, geoms: np.ndarray, endless: np.ndarray) -> Iterator[_Thing]:
        """Objects of geoms with a texture, and of endless planes."""
        for i in geoms:
            body, content = int(self._plan.structure.geom_bodyid[i]), self._glb(int(i))
            if endless[i] and not body:  # one floor is enough for all worlds
                self._scene.add_glb(f"{name}/{i}", content, cast_shadow=False)
                continue
            handle = self._scene.add_batched_glb(f"{name}/{i}", content, **self._poses())
            yield _Thing(body, np.array([i]), handle, True)

    def _coloured(self, name: str, geoms: np.ndarray) -> Iterator[_Thing]:
        """Objects of geoms without texture, joined by body and colour."""
        s, rgba = self._plan.structure, self._plain.rgba
        kinds = np.concatenate([s.geom_bodyid[geoms, None], rgba[geoms]], axis=1)
        for k, kind in enumerate(np.unique(kinds, axis=0)):
            body, colour = int(kind[0]), np.clip(kind[1:4], 0, 1)
            label = s.names["body"][body].replace("/", "_") or f"body {body}"
            mine = geoms[(kinds == kind).all(axis=1)]
            handle = self._scene.add_batched_meshes_simple(
                f"{name}/{label}/{k}",
                *joined(self._plan, self._pos, self._mat, mine),
                **self._poses(),
                batched_colors=tuple((255 * colour).astype(int)),
                opacity=self._opacity(int(mine[0])),
                lod="off",
            )
            if self._moves[body]:
                self._hold(body, handle)
            yield _Thing(body, mine, handle, False)

    def _poses(self) -> dict[str, np.ndarray]:
        turn = np.tile([1.0, 0, 0, 0], (len(self._offset), 1))
        return {"batched_wxyzs": turn, "batched_positions": self._offset}


@jax.jit
def _static(model: Model) -> tuple[Model, Paint]:
    """The model with its sites as geoms and without tendons, and how the geoms look."""
    plan = drawn(model, make_data(model), _PLAN).model
    return plan, paint(plan)
