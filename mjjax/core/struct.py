"""The dataclass of the project: a frozen pytree whose fields are also its table.

A field is declared once, with its shape in terms of named sizes, its type, unit and meaning;
allocation, checks and documentation read the declaration (`specs`). What is made of other fields
when it is read is a property, declared the same way (`made_of`). This is the only module that
imports flax.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from flax import struct

from mjjax.core.representation import represent

Size = str | int


def _replace(self: Any, **changes: Any) -> Any:
    """The same with some fields changed."""
    if not changes.keys() <= self.__dataclass_fields__.keys():
        unknown, made = sorted(changes.keys() - self.__dataclass_fields__.keys()), sources(self)
        hints = [
            f"; {n} is made of {', '.join(made[n])} when it is read" for n in unknown if n in made
        ]
        raise TypeError(f"{type(self).__name__} has no field {', '.join(unknown)}{''.join(hints)}")
    new = object.__new__(type(self))
    new.__dict__.update(self.__dict__, **changes)
    return new


class PyTree(struct.PyTreeNode):
    """Frozen dataclass that JAX maps over; a subclass may define its own `replace`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = cls.__dict__.get("replace", _replace)
        super().__init_subclass__(**{"repr": False} | kwargs)
        cls.replace = own  # flax installs a replace of its own on every subclass

    def __repr__(self) -> str:
        return represent(self)


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


def made_of(*fields: str, shape: tuple[Size, ...]) -> Callable[[Callable[..., Any]], Any]:
    """Declares the getter of a property that is made of some fields when it is read."""

    def declare(getter: Any) -> Any:
        getter.made_of, getter.shape = fields, shape
        return getter

    return declare


def sources(cls: Any) -> dict[str, tuple[str, ...]]:
    """Properties that `made_of` declares, and the fields that each is made of."""
    return {name: getter.made_of for name, getter in _getters(cls).items()}


def shapes(cls: Any) -> dict[str, tuple[Size, ...]]:
    """Shapes of the array fields of a `PyTree` class (or instance) and of what is made of them."""
    made = {name: getter.shape for name, getter in _getters(cls).items()}
    return {name: spec.shape for name, spec in specs(cls).items()} | made


def _getters(cls: Any) -> dict[str, Any]:
    own = cls if isinstance(cls, type) else type(cls)
    found = {name: getattr(x, "fget", None) for name, x in vars(own).items()}
    return {name: getter for name, getter in found.items() if hasattr(getter, "made_of")}
