"""Access by name: `model.body("torso").mass`, `data.joint("knee").qpos`."""

from typing import Any

import numpy as np

from mjjax.core.enums import ObjType
from mjjax.core.struct import shapes
from mjjax.model.structure import NAMED, Structure

# kind -> size that counts it, prefixes its fields may carry
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "body": ("nbody", ("", "body_")),
    "joint": ("njnt", ("", "jnt_")),
    "geom": ("ngeom", ("geom_",)),
    "site": ("nsite", ("site_",)),
    "camera": ("ncam", ("cam_",)),
    "actuator": ("nu", ("", "actuator_")),
    "key": ("nkey", ("key_",)),
}
# Sizes that count bodies where a sensor needs the fields, else nothing; what computes the fields.
COMPUTED_BY = {"nmomentum": "subtree_vel", "nreaction": "rne_postconstraint"}


class View:
    """The rows that belong to one named object, in a `Model` or a `Data`.

    A joint's view also finds fields of its coordinates (`qpos`, `qpos0`, ...) and of its dofs
    (`qvel`, `dof_damping` or `damping`, ...), as arrays over the joint's coordinates.

    Attributes:
        id: MuJoCo's id.
        name: name, `""` if unnamed.
    """

    def __init__(self, owner: Any, kind: str, name: str | int):
        s: Structure = owner.structure
        self._owner, self._kind = owner, kind
        self.id = s.id_of(kind, name) if isinstance(name, str) else int(name)
        self.name = s.names[kind][self.id]

    def _rows(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        size, prefixes = KINDS[self._kind]
        rows: dict[str, tuple[tuple[str, ...], Any]] = {size: (prefixes, self.id)}
        if self._kind == "body":
            rows |= dict.fromkeys(COMPUTED_BY, (("",), self.id))
        if self._kind == "joint":
            s: Structure = self._owner.structure
            width = {0: (7, 6), 1: (4, 3)}.get(int(s.jnt_type[self.id]), (1, 1))
            q, v = int(s.jnt_qposadr[self.id]), int(s.jnt_dofadr[self.id])
            rows["nq"] = (("",), slice(q, q + width[0]))
            rows["nv"] = (("", "dof_"), slice(v, v + width[1]))
        return rows

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        declared = shapes(self._owner)
        for size, (prefixes, row) in self._rows().items():
            for prefix in prefixes:
                shape = declared.get(prefix + name)
                if shape and shape[0] == size:
                    value = getattr(self._owner, prefix + name)
                    if size in COMPUTED_BY and not value.shape[-len(shape)]:
                        raise AttributeError(
                            f"no sensor needs {name}, so that it is empty: call "
                            f"mjjax.{COMPUTED_BY[size]}(model, data) before"
                        )
                    index = (..., row) + (slice(None),) * (len(shape) - 1)
                    return value[index]
                static = self._owner.structure.arrays.get(prefix + name)
                if prefix and static is not None and isinstance(row, int):
                    return np.asarray(static)[row]
        raise AttributeError(f"{self._kind} has no field {name!r}")


class Named:
    """Access by name, for `Model` and `Data`: `model.body("torso").id`, `data.joint("knee").qpos`.

    Each method takes a name or an id and raises `KeyError` with the valid names otherwise.
    """

    def body(self, name: str | int) -> View:
        """A body."""
        return View(self, "body", name)

    def joint(self, name: str | int) -> View:
        """A joint, its coordinates and its dofs."""
        return View(self, "joint", name)

    def geom(self, name: str | int) -> View:
        """A geom."""
        return View(self, "geom", name)

    def site(self, name: str | int) -> View:
        """A site."""
        return View(self, "site", name)

    def camera(self, name: str | int) -> View:
        """A camera."""
        return View(self, "camera", name)

    def actuator(self, name: str | int) -> View:
        """An actuator."""
        return View(self, "actuator", name)

    def key(self, name: str | int) -> View:
        """A keyframe."""
        return View(self, "key", name)


def name2id(model: Any, kind: ObjType | int, name: str) -> int:
    """Id of the element called `name`, -1 if there is none (`mj_name2id`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names.index(name) if name and name in names else -1


def id2name(model: Any, kind: ObjType | int, index: int) -> str | None:
    """Name of an element, None if the id is invalid or it has none (`mj_id2name`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names[index] or None if 0 <= index < len(names) else None
