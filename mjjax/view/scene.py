"""Worlds in a browser, by viser: an object per body and colour, drawn once for all worlds."""

from typing import Any

import jax
import numpy as np

from mjjax.core.enums import GeomType
from mjjax.math import quat
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data
from mjjax.render.camera import free_camera
from mjjax.render.drawn import SEEN, Shown, drawn
from mjjax.render.paint import Paint, paint
from mjjax.view.shapes import flat_texture, glb, joined

_CONTACT, _FORCE = (255, 150, 40), (60, 200, 90)
_MARK = 0.01  # size of a contact, in extents of the model
_GLOW = 0.3  # light of the surroundings, beside the lights of the model
_THIN = 0.006  # radius of an arrow, in extents of the model


class Scene:
    """Worlds in a server of viser.

    Attributes:
        handles: objects that can be dragged, with their bodies. Objects with a texture cannot,
            because viser 1.1 fails on glTF that can be dragged.
        offset: (nworld, 3) place of each world.
    """

    def __init__(self, server: Any, model: Model, nworld: int, spacing: float | None = None):
        self._scene, self._model = server.scene, model
        self._extent = float(model.stat.extent)
        self.offset = _grid(nworld, 1.2 * self._extent if spacing is None else spacing)
        self.handles: list[tuple[int, Any]] = []
        self._moving: list[tuple[int, Any]] = []
        self._scene.set_up_direction("+z")
        self._scene.configure_environment_map(environment_intensity=_GLOW)
        self._add_bodies(nworld)
        self._tendons = self._add_tendons()
        self._contacts = self._add_arrows("/contacts", _CONTACT)
        self._forces = self._add_arrows("/forces", _FORCE)
        look = free_camera(model)
        azimuth, elevation = np.radians(np.asarray(look.azimuth)), np.radians(look.elevation)
        level = np.cos(elevation)
        ahead = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
        back = float(look.distance) + np.abs(self.offset).max()
        server.initial_camera.fov = float(np.radians(np.asarray(model.vis.global_.fovy)))
        server.initial_camera.look_at = np.asarray(look.lookat)
        server.initial_camera.position = np.asarray(look.lookat) - back * np.array(ahead)

    def _add_bodies(self, nworld: int) -> None:
        model = self._model
        plan, look = jax.device_get(_static(model))
        s = plan.structure
        visible = np.flatnonzero((s.geom_group == 0) & (look.rgba[:, 3] > 0))
        pos = np.concatenate([model.geom_pos, model.site_pos[_sites(model)]])
        turn = np.concatenate([model.geom_quat, model.site_quat[_sites(model)]])
        mat = np.asarray(quat.to_mat(np.asarray(turn, float)))
        endless = (s.geom_type == GeomType.PLANE) & (np.asarray(plan.geom_size[:, 0]) <= 0)
        flat = np.array([flat_texture(plan, i) >= 0 for i in range(s.ngeom)], bool)
        poses = {
            "batched_wxyzs": np.tile([1.0, 0, 0, 0], (nworld, 1)),
            "batched_positions": self.offset,
        }
        for i in visible[flat[visible] | endless[visible]]:
            body, name = int(s.geom_bodyid[i]), f"/geom {i}"
            content = glb(plan, look, pos, mat, int(i))
            if endless[i] and not body:
                self._scene.add_glb(
                    name, content, cast_shadow=False
                )  # one floor is enough for all worlds
            else:
                self._moving.append((body, self._scene.add_batched_glb(name, content, **poses)))
        plain = visible[~flat[visible] & ~endless[visible]]
        kinds = np.concatenate([s.geom_bodyid[plain, None], look.rgba[plain]], axis=1)
        for k, kind in enumerate(np.unique(kinds, axis=0)):
            body, rgba = int(kind[0]), np.clip(kind[1:], 0, 1)
            name = s.names["body"][body].replace("/", "_") or f"body {body}"
            mine = plain[(kinds == kind).all(axis=1)]
            handle = self._scene.add_batched_meshes_simple(
                f"/{name}/{k}",
                *joined(plan, pos, mat, mine),
                **poses,
                batched_colors=tuple((255 * rgba[:3]).astype(int)),
                opacity=float(rgba[3]) if rgba[3] < 1 else None,
                lod="off",
            )
            self._moving.append((body, handle))
            self.handles.append((body, handle))

    def _add_tendons(self) -> Any:
        if not self._model.structure.ntendon:
            return None
        colour = 255 * np.clip(np.asarray(self._model.tendon_rgba[0, :3]), 0, 1)
        return self._scene.add_line_segments(
            "/tendons", np.zeros((1, 2, 3)), colors=tuple(colour.astype(int)), line_width=3
        )

    def _add_arrows(self, name: str, colour: tuple[int, int, int]) -> Any:
        thin = _THIN * self._extent
        sizes = {"shaft_radius": thin, "head_radius": 2 * thin, "head_length": 4 * thin}
        return self._scene.add_arrows(name, np.zeros((1, 2, 3)), colour, visible=False, **sizes)

    def show(self, seen: Any, *, contacts: bool = False, forces: bool = False) -> None:
        """Moves all objects to their places in the worlds' frames, numpy arrays (nworld, ...)."""
        for body, handle in self._moving:
            handle.batched_positions = (seen.xpos[:, body] + self.offset).astype(np.float32)
            handle.batched_wxyzs = seen.xquat[:, body].astype(np.float32)
        if self._tendons is not None and seen.tendon.shape[1]:
            ends = seen.tendon + self.offset[:, None, None]
            self._tendons.points = ends.reshape(-1, 2, 3).astype(np.float32)
        if not contacts and not forces:
            self._contacts.visible = self._forces.visible = False
            return
        at = (seen.contact + self.offset[:, None])[seen.touching]
        force = seen.force[seen.touching]
        size = np.linalg.norm(force, axis=-1, keepdims=True)
        mark = _MARK * self._extent * force / np.maximum(size, 1e-12)
        scale = float(self._model.vis.map.force / self._model.stat.meanmass)
        _point(self._contacts, at - mark, at + mark, contacts)
        _point(self._forces, at, at + scale * force, forces)


def _point(arrows: Any, start: np.ndarray, end: np.ndarray, wanted: bool) -> None:
    arrows.visible = bool(wanted and len(start))
    if arrows.visible:
        arrows.points = np.stack([start, end], axis=1).astype(np.float32)


def _sites(model: Model) -> np.ndarray:
    return np.flatnonzero(np.array(SEEN)[np.clip(model.structure.site_group, 0, 5)])


@jax.jit
def _static(model: Model) -> tuple[Model, Paint]:
    """The model with its sites as geoms and without tendons, and how the geoms look."""
    plan = drawn(model, make_data(model), Shown(tendons=(False,) * 6)).model
    return plan, paint(plan)


def _grid(n: int, spacing: float) -> np.ndarray:
    """Places (n, 3) of worlds, in rows around the origin."""
    columns = int(np.ceil(np.sqrt(n)))
    row, column = np.divmod(np.arange(n), columns)
    place = np.stack([column, row, 0 * row], axis=1) * spacing
    return place - (place.max(axis=0) + place.min(axis=0)) / 2
