"""The data that the phases of the compiler share."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjjax.compiler.common.names import Names
from mjjax.compiler.common.tree import BodyMembers, BodyTree, Frames
from mjjax.math.tracked import Tracked
from mjjax.mjcf.element import Element
from mjjax.mjcf.spec import Spec

_PREFIX = {"joint": "jnt", "geom": "geom", "site": "site"}


class Fields(dict[str, Any]):
    """Compiled arrays by MuJoCo's name; if derivatives are wanted, real arrays are tracked."""

    def __init__(self, *, tracked: bool = False):
        super().__init__()
        self.tracked = tracked

    def __setitem__(self, name: str, value: Any) -> None:
        if self.tracked and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value = Tracked(value)
        super().__setitem__(name, value)


@dataclass
class Context:
    """A model being compiled: each phase reads the spec and earlier fields and adds its own.

    Attributes:
        spec: the description that the user wrote.
        tree: the flattened world.
        frames: poses of the frames inside bodies.
        names: ids by name.
        fields: compiled arrays by MuJoCo's name.
        sizes: sizes by MuJoCo's name.
        tendon_trees: ids of the kinematic trees that each tendon moves.
        contacts: pairs and excludes by kind, in the order of their ids.
    """

    spec: Spec
    tree: BodyTree
    frames: Frames
    names: Names
    fields: "Fields" = field(default_factory=lambda: Fields())
    sizes: dict[str, int] = field(default_factory=dict)
    tendon_trees: list[np.ndarray] = field(default_factory=list)
    contacts: dict[str, list[Element]] = field(default_factory=dict)

    @property
    def degree(self) -> bool:
        """Whether angles in the file are degrees."""
        return bool(self.spec.compiler["angle"])

    @property
    def eulerseq(self) -> str:
        """Order of euler rotations."""
        return self.spec.compiler["eulerseq"]

    def tree_of(self, kind: str, index: int) -> int:
        """The kinematic tree of a body, joint, geom or site; -1 if it cannot move."""
        body = index if kind == "body" else self.fields[f"{_PREFIX[kind]}_bodyid"][index]
        return int(self.fields["body_treeid"][body])

    def members(self, kind: str) -> BodyMembers:
        """The elements of a kind that belong to bodies."""
        return self.tree.members[kind]

    def nuser(self, kind: str, elements: list[Element]) -> int:
        """Length of the user data of a kind, as given or as needed; it is kept in `sizes`."""
        name = f"nuser_{kind}"
        given = self.spec.size[name]
        if given < 0:
            given = max((len(e.values["user"] or ()) for e in elements), default=0)
        total, origin = given * len(elements), self.spec.origin("size")
        self.spec.limits.bound(origin, f"numbers of {name}", total, "numbers")
        self.sizes[name] = given
        return given
