"""Everything static about a model: all that decides a shape, an index, a loop or a branch."""

import copy
import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjjax.core.enums import ObjType
from mjjax.core.representation import cut
from mjjax.core.words import listed
from mjjax.model.static_fields import SIZES, TABLES, StaticFields
from mjjax.model.texture import Textures

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


class Structure(StaticFields):
    """The static half of a model. It is hashable, so that JAX compiles once per structure.

    MuJoCo's integer and boolean arrays and its sizes are attributes under their own names
    (`s.nv`, `s.jnt_type`, `s.dof_bodyid`), declared in `StaticFields`. Two structures are equal
    if their contents are equal; the digest is computed once. Static plans (tree masks, collision
    pairs, constraint rows) are functions of a structure, cached by the modules that use them.

    Some trees hold marks in place of arrays, such as axes for `jax.vmap`. Their structure is
    `for_marks`, which does not depend on the model's terms.

    Attributes:
        sizes: MuJoCo's sizes by name.
        arrays: integer and boolean arrays by name; `tex_data` may be `Textures`, whose files are
            read whenever the attribute is read.
        names: names by kind (``"body"``, ``"joint"``, ...), ``""`` where unnamed.
        terms: which entries of the terms in `mjjax.model.terms` are in the program, by term.
        model_name: name of the model.
        origins: where elements were written, by (kind, id); not part of the identity.
        warnings: messages of the compiler; not part of the identity.

    Raises:
        ValueError: a declared size or array is missing, one that is not declared is given, or an
            array has another shape or type than declared. With `partial`, arrays may be missing:
            this serves worlds in which some kinds of elements play no part.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        arrays: Mapping[str, np.ndarray],
        names: Mapping[str, tuple[str, ...]],
        terms: Mapping[str, np.ndarray],
        model_name: str = "",
        origins: Mapping[tuple[str, int], Any] | None = None,
        warnings: tuple[str, ...] = (),
        *,
        partial: bool = False,
    ):
        _check(sizes, arrays, partial)
        self.sizes = {k: int(v) for k, v in sizes.items()}
        self.arrays = {k: _frozen(v) for k, v in arrays.items()}
        self.names = dict(names)
        self.terms = {k: _frozen(v) for k, v in terms.items()}
        self.model_name = model_name
        self.origins = dict(origins or {})
        self.warnings = warnings
        vars(self).update(self.sizes)
        vars(self).update((k, v) for k, v in self.arrays.items() if isinstance(v, np.ndarray))
        self._is_for_marks = False
        h = hashlib.sha256(repr((sorted(self.sizes.items()), self.model_name)).encode())
        h.update(repr(sorted(self.names.items())).encode())
        _add(h, self.arrays)
        self._without_terms = h.digest()
        self._digest = self._fingerprint()

    def _fingerprint(self) -> bytes:
        h = hashlib.sha256(self._without_terms)
        _add(h, self.terms)
        return h.digest()

    def __hash__(self) -> int:
        return hash(self._without_terms)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Structure):
            return False
        if self._is_for_marks or other._is_for_marks:
            return self.is_of(other)
        return self._digest == other._digest

    def is_of(self, other: "Structure") -> bool:
        """Whether both structures belong to the same model, whatever their terms."""
        return self._without_terms == other._without_terms

    @functools.cached_property
    def for_marks(self) -> "Structure":
        """This structure for a tree of marks; it does not depend on the terms of the model."""
        new = copy.copy(self)
        new._is_for_marks, new.for_arrays = True, self
        return new

    @functools.cached_property
    def for_arrays(self) -> "Structure":
        """This structure for a tree of arrays."""
        return self

    def __repr__(self) -> str:
        size = ", ".join(f"{k}={self.sizes[k]}" for k in ("nq", "nv", "nu", "nbody", "ngeom"))
        return f"Structure({self.model_name!r}, {size})"

    def widened(self, terms: Mapping[str, np.ndarray]) -> "Structure":
        """This structure with more entries of some terms switched on; itself if none is new."""
        merged = {k: v | terms[k] if k in terms else v for k, v in self.terms.items()}
        if all(np.array_equal(merged[k], self.terms[k]) for k in merged):
            return self
        new = copy.copy(self)
        for cached in ("for_marks", "for_arrays"):
            vars(new).pop(cached, None)
        new.terms = {k: _frozen(v) for k, v in merged.items()}
        new._digest = new._fingerprint()
        return new

    @functools.cached_property
    def _ids(self) -> dict[str, dict[str, int]]:
        return {
            kind: {n: i for i, n in enumerate(names) if n} for kind, names in self.names.items()
        }

    def id_of(self, kind: str, name: str) -> int:
        """Id of the element `name` of a `kind`; a `KeyError` lists valid names, nearest first."""
        ids = self._ids.get(kind, {})
        if name not in ids:
            known = listed(name, sorted(ids)) or "none is named"
            raise KeyError(f"no {kind} {cut(repr(name), 40)}; valid names: {known}")
        return ids[name]


def with_structure_of_leaves(tree: Any, always: str) -> Any:
    """A tree that JAX has just made, with the structure that fits its leaves.

    Args:
        tree: tree with a field `structure`, which no other code has seen yet.
        always: name of a leaf that such a tree always has.
    """
    own = vars(tree)
    s, of_arrays = own["structure"], hasattr(own.get(always), "dtype")
    if of_arrays == s._is_for_marks:
        own["structure"] = s.for_arrays if of_arrays else s.for_marks
    return tree


def _check(sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray], partial: bool) -> None:
    for given, declared in ((sizes, SIZES), (arrays, TABLES)):
        unknown = sorted(set(given) - set(declared))
        missing = sorted(set(declared) - set(given))
        if unknown or (missing and not (partial and given is arrays)):
            raise ValueError(f"static fields of a model: missing {missing}, unknown {unknown}")
    for name, a in arrays.items():
        spec = TABLES[name]
        shape = tuple(sizes.get(n, -1) if isinstance(n, str) else n for n in spec.shape)
        fits = len(a.shape) == len(shape) and all(
            n in (-1, m) for n, m in zip(shape, a.shape, strict=True)
        )
        if not fits or (a.dtype.kind == "b") != (spec.dtype is bool) or a.dtype.kind not in "biu":
            raise ValueError(f"{name} is {a.dtype} {a.shape}, not {spec.dtype.__name__} {shape}")


def _add(digest: Any, arrays: Mapping[str, np.ndarray]) -> None:
    for name in sorted(arrays):
        a = arrays[name]
        content = a.token if isinstance(a, Textures) else a.tobytes()
        digest.update(f"{name}{a.shape}{a.dtype}".encode() + content)


def _frozen(a: Any) -> Any:
    if isinstance(a, Textures):
        return a
    a = np.array(a)
    a.setflags(write=False)
    return a
