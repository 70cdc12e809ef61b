"""The dataclass of the project: a frozen pytree whose fields are also its table.

A field is declared once, with its shape in terms of named sizes, its type, unit and meaning;
allocation, checks and documentation read the declaration (`specs`). This is the only module that
imports flax.
"""

import dataclasses
from typing import Any

from flax import struct

Size = str | int


def _replace(self: Any, **changes: Any) -> Any:
    """The same with some fields changed."""
    if not changes.keys() <= self.__dataclass_fields__.keys():
        unknown = ", ".join(sorted(changes.keys() - self.__dataclass_fields__.keys()))
        raise TypeError(f"{type(self).__name__} has no field {unknown}")
    new = object.__new__(type(self))
    new.__dict__.update(self.__dict__, **changes)
    return new


class PyTree(struct.PyTreeNode):
    """Frozen dataclass that JAX maps over; a subclass may define its own `replace`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = cls.__dict__.get("replace", _replace)
        super().__init_subclass__(**kwargs)
        cls.replace = own  # flax installs a replace of its own on every subclass


@dataclasses.dataclass(frozen=True)
class FieldSpec:
    """Declaration of one array field.

    Attributes:
        name: MuJoCo's field name.
        shape: sizes by name (``"nbody"``) or number, without batch dimensions.
        dtype: ``float`` (the default precision of JAX), ``int`` (int32) or ``bool``.
        unit: physical unit, ``""`` for none.
        doc: one line.
    """

    name: str
    shape: tuple[Size, ...]
    dtype: type
    unit: str
    doc: str


def array(*shape: Size, dtype: type = float, unit: str = "", doc: str = "") -> Any:
    """Declares an array leaf of a `PyTree` class."""
    return struct.field(metadata={"spec": (shape, dtype, unit, doc)})


def static(default: Any = dataclasses.MISSING, *, doc: str = "") -> Any:
    """Declares a hashable field that is part of the tree structure, not a leaf."""
    return struct.field(pytree_node=False, default=default, metadata={"doc": doc})


def specs(cls: Any) -> dict[str, FieldSpec]:
    """Array fields of a `PyTree` class (or instance), in order of declaration."""
    return {
        f.name: FieldSpec(f.name, *f.metadata["spec"])
        for f in dataclasses.fields(cls)
        if "spec" in f.metadata
    }
