"""Everything static about a model: what decides a shape, an index, a loop or a branch."""

import copy
import functools
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mjjax.core.enums import ObjType

NAMED = {
    ObjType.BODY: "body",
    ObjType.XBODY: "body",
    ObjType.JOINT: "joint",
    ObjType.GEOM: "geom",
    ObjType.SITE: "site",
    ObjType.CAMERA: "camera",
    ObjType.LIGHT: "light",
    ObjType.PAIR: "pair",
    ObjType.EXCLUDE: "exclude",
    ObjType.EQUALITY: "equality",
    ObjType.TENDON: "tendon",
    ObjType.ACTUATOR: "actuator",
    ObjType.SENSOR: "sensor",
    ObjType.NUMERIC: "numeric",
    ObjType.TEXT: "text",
    ObjType.TUPLE: "tuple",
    ObjType.KEY: "key",
    ObjType.MATERIAL: "material",
    ObjType.TEXTURE: "texture",
    ObjType.MESH: "mesh",
    ObjType.HFIELD: "hfield",
    ObjType.SKIN: "skin",
}


class CollisionRules(NamedTuple):
    """What callbacks change about collision detection.

    Attributes:
        filtered: a callback decides which pairs of geoms collide, not their bitmasks.
        colliders: pairs of geom types with the narrow phase in place of ours, None for none.
    """

    filtered: bool = False
    colliders: frozenset[tuple[Any, Any]] = frozenset()


class Structure:
    """The static half of a model; hashable, so that JAX compiles once per structure.

    MuJoCo's integer and boolean arrays and its sizes are attributes under their own names
    (`s.nv`, `s.jnt_type`, `s.dof_bodyid`). Two structures are equal when their contents are; the
    digest is taken once. Static plans (tree masks, collision pairs, constraint rows) are functions
    of a structure, cached by the modules that use them.

    Attributes:
        sizes: MuJoCo's sizes by name.
        arrays: integer and boolean arrays by name.
        names: names by kind (``"body"``, ``"joint"``, ...), ``""`` where unnamed.
        nonzero: which entries of some real fields may differ from zero. Terms whose coefficients
            are all zero are left out of the traced program; `Model.replace` widens this record.
        model_name: name of the model.
        origins: where elements were written, by (kind, id); not part of the identity.
        warnings: messages of the compiler; not part of the identity.
        collision: what callbacks change about collision detection.
    """

    collision = CollisionRules()

    def __init__(
        self,
        sizes: Mapping[str, int],
        arrays: Mapping[str, np.ndarray],
        names: Mapping[str, tuple[str, ...]],
        nonzero: Mapping[str, np.ndarray],
        model_name: str = "",
        origins: Mapping[tuple[str, int], Any] | None = None,
        warnings: tuple[str, ...] = (),
    ):
        self.sizes = {k: int(v) for k, v in sizes.items()}
        self.arrays = {k: _frozen(v) for k, v in arrays.items()}
        self.names = dict(names)
        self.nonzero = {k: _frozen(v) for k, v in nonzero.items()}
        self.model_name = model_name
        self.origins = dict(origins or {})
        self.warnings = warnings
        self._digest = self._fingerprint()

    def _fingerprint(self) -> bytes:
        h = hashlib.sha256(repr((sorted(self.sizes.items()), self.model_name)).encode())
        h.update(repr(sorted(self.names.items())).encode())
        for group in (self.arrays, self.nonzero):
            for name in sorted(group):
                a = group[name]
                h.update(f"{name}{a.shape}{a.dtype}".encode() + a.tobytes())
        return h.digest()

    def __getattr__(self, name: str) -> Any:
        for group in ("sizes", "arrays"):
            found = self.__dict__.get(group, {}).get(name)
            if found is not None:
                return found
        raise AttributeError(f"no size or integer field {name!r} in this model")

    def __hash__(self) -> int:
        return hash((self._digest, self.collision))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and (self._digest, self.collision) == (
            other._digest,
            other.collision,
        )

    def __repr__(self) -> str:
        size = ", ".join(f"{k}={self.sizes[k]}" for k in ("nq", "nv", "nu", "nbody", "ngeom"))
        return f"Structure({self.model_name!r}, {size})"

    def widened(self, nonzero: Mapping[str, np.ndarray]) -> "Structure":
        """This structure with more entries that may differ from zero; itself if none is new."""
        merged = {k: v | nonzero[k] if k in nonzero else v for k, v in self.nonzero.items()}
        if all(np.array_equal(merged[k], self.nonzero[k]) for k in merged):
            return self
        return Structure(
            self.sizes,
            self.arrays,
            self.names,
            merged,
            self.model_name,
            self.origins,
            self.warnings,
        )

    def with_collision(self, rules: CollisionRules) -> "Structure":
        """This structure with other rules of collision."""
        new = copy.copy(self)
        new.collision = rules
        return new

    @functools.cached_property
    def _ids(self) -> dict[str, dict[str, int]]:
        return {
            kind: {n: i for i, n in enumerate(names) if n} for kind, names in self.names.items()
        }

    def id_of(self, kind: str, name: str) -> int:
        """Id of the `kind` called `name`; `KeyError` with the valid names otherwise."""
        ids = self._ids.get(kind, {})
        if name not in ids:
            known = ", ".join(sorted(ids)) or "none is named"
            raise KeyError(f"no {kind} {name!r}; valid names: {known}")
        return ids[name]


def _frozen(a: np.ndarray) -> np.ndarray:
    a = np.array(a)
    a.setflags(write=False)
    return a
