"""What is shown of the worlds, and the switches for it."""

from typing import Any, NamedTuple

import numpy as np

from mjjax.model.structure import Structure
from mjjax.render.drawn import SEEN, Groups, Shown

_FLAGS = ("contacts", "forces", "transparent")


class Look(NamedTuple):
    """What is shown of the worlds.

    Attributes:
        shown: groups of geoms, sites and tendons.
        contacts: whether contacts are.
        forces: whether the forces of contacts are.
        transparent: whether bodies that move are transparent (`mjVIS_TRANSPARENT`).
    """

    shown: Shown = Shown()
    contacts: bool = False
    forces: bool = False
    transparent: bool = False


class Looks:
    """The switches. A group has one if something of the model is in it."""

    def __init__(self, gui: Any, s: Structure):
        used = {
            "geoms": np.unique(np.clip(s.geom_group, 0, 5)),
            "sites": np.unique(np.clip(s.site_group, 0, 5)),
            "tendons": np.unique(np.clip(s.tendon_group, 0, 5)),
        }
        with gui.add_folder("Show"):
            self._flags = {
                name: gui.add_checkbox(name.capitalize(), initial_value=False) for name in _FLAGS
            }
            with gui.add_folder("Groups", expand_by_default=False):
                self._groups = {
                    kind: {
                        int(i): gui.add_checkbox(f"{kind} {i}".capitalize(), initial_value=SEEN[i])
                        for i in groups
                    }
                    for kind, groups in used.items()
                }

    def look(self) -> Look:
        """What the switches say."""
        shown = {kind: _chosen(boxes) for kind, boxes in self._groups.items()}
        return Look(Shown(**shown), **{name: box.value for name, box in self._flags.items()})


def _chosen(boxes: dict[int, Any]) -> Groups:
    return tuple(boxes[i].value if i in boxes else SEEN[i] for i in range(len(SEEN)))
