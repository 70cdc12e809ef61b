"""Worlds in a browser, by viser: everything is drawn once for all worlds."""

from typing import Any, NamedTuple

import numpy as np

from mjjax.model.model import Model
from mjjax.render.drawn import Groups
from mjjax.view.bodies import Bodies, Hold
from mjjax.view.looks import Look
from mjjax.view.views import View, free
from mjjax.view.world import Frame, owners

_CONTACT, _FORCE = (255, 150, 40), (60, 200, 90)
_MARK = 0.01  # size of a contact, in extents of the model
_GLOW = 0.3  # light of the surroundings, beside the lights of the model
_THIN = 0.006  # radius of an arrow, in extents of the model
_LINE = 3.0  # width of a tendon, in pixels
_ROOT = "/worlds"


class Moment(NamedTuple):
    """What the scene shows at one time.

    Attributes:
        seen: frames of the worlds, numpy arrays (nworld, ...).
        look: what is shown of them.
        shift: (3,) how far all worlds are moved, so that a body stays where it is seen [m].
    """

    seen: Frame
    look: Look = Look()
    shift: np.ndarray = np.zeros(3)


class Scene:
    """Worlds in a server of viser.

    Attributes:
        offset: (nworld, 3) place of each world.
    """

    def __init__(
        self,
        server: Any,
        model: Model,
        nworld: int,
        spacing: float | None = None,
        hold: Hold = lambda body, handle: None,
    ):
        self._server, self._scene, self._model = server, server.scene, model
        self._extent = float(model.stat.extent)
        self.offset = _grid(nworld, 1.2 * self._extent if spacing is None else spacing)
        self._scene.set_up_direction("+z")
        self._scene.configure_environment_map(environment_intensity=_GLOW)
        self._root = self._scene.add_frame(_ROOT, show_axes=False)
        self._bodies = Bodies(self._scene, _ROOT, model, self.offset, hold)
        self._owner = owners(model)
        self._tendons, self._tendon_groups = None, None
        self._contacts = self._add_arrows(f"{_ROOT}/contacts", _CONTACT)
        self._forces = self._add_arrows(f"{_ROOT}/forces", _FORCE)
        self.begin_at(free(model, float(np.abs(self.offset).max())))

    def begin_at(self, view: View) -> None:
        """Sets the view that a browser has at first."""
        begin = self._server.initial_camera
        begin.position, begin.look_at = view.position, view.look_at
        begin.up, begin.fov = view.up, view.fov

    def _add_arrows(self, name: str, colour: tuple[int, int, int]) -> Any:
        thin = _THIN * self._extent
        sizes = {"shaft_radius": thin, "head_radius": 2 * thin, "head_length": 4 * thin}
        return self._scene.add_arrows(name, np.zeros((1, 2, 3)), colour, visible=False, **sizes)

    def show(self, moment: Moment) -> None:
        """Moves all objects to their places."""
        seen, look = moment.seen, moment.look
        self._root.position = moment.shift
        self._bodies.show(seen, look)
        self._show_tendons(seen, look.shown.tendons)
        if not look.contacts and not look.forces:
            self._contacts.visible = self._forces.visible = False
            return
        at = (np.asarray(seen.contact) + self.offset[:, None])[seen.touching]
        force = np.asarray(seen.force)[seen.touching]
        size = np.linalg.norm(force, axis=-1, keepdims=True)
        mark = _MARK * self._extent * force / np.maximum(size, 1e-12)
        scale = float(self._model.vis.map.force / self._model.stat.meanmass)
        _point(self._contacts, at - mark, at + mark, look.contacts)
        _point(self._forces, at, at + scale * force, look.forces)

    def _show_tendons(self, seen: Frame, groups: Groups) -> None:
        group = np.clip(self._model.structure.tendon_group[self._owner], 0, len(groups) - 1)
        kept = np.array(groups)[group]
        ends = (seen.tendon + self.offset[:, None, None])[:, kept].reshape(-1, 2, 3)
        if self._tendon_groups == groups:
            if self._tendons is not None:
                self._tendons.points = ends.astype(np.float32)
            return
        if self._tendons is not None:
            self._tendons.remove()
        self._tendons, self._tendon_groups = None, groups
        if len(ends):
            rgb = np.clip(np.asarray(self._model.tendon_rgba[self._owner[kept], :3]), 0, 1)
            colours = np.tile((255 * rgb).astype(np.uint8)[:, None], (len(self.offset), 2, 1))
            self._tendons = self._scene.add_line_segments(
                f"{_ROOT}/tendons", ends, colours, thickness=_LINE, thickness_units="screen"
            )


def _point(arrows: Any, start: np.ndarray, end: np.ndarray, wanted: bool) -> None:
    arrows.visible = bool(wanted and len(start))
    if arrows.visible:
        arrows.points = np.stack([start, end], axis=1).astype(np.float32)


def _grid(n: int, spacing: float) -> np.ndarray:
    """Places (n, 3) of worlds, in rows around the origin."""
    columns = int(np.ceil(np.sqrt(n)))
    row, column = np.divmod(np.arange(n), columns)
    place = np.stack([column, row, 0 * row], axis=1) * spacing
    return place - (place.max(axis=0) + place.min(axis=0)) / 2
