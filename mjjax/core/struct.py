"""The dataclass of the project: a frozen pytree whose fields are declared in a table.

Each field is declared once, with its shape in terms of named sizes, its type, unit and meaning.
Allocation, checks and documentation read this declaration (`specs`). A value that is computed from
other fields when it is read is a property, declared by `made_of`. This is the only module that
imports flax.

A tree keeps no array without entries, such as the activations of a model without activations. Code
that users write over all leaves (`reshape(n, -1, ...)`, `jax.lax.map` in batches, checkpoints)
would fail on such arrays. The field is None in the tree, and an array without entries when it is
read.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import jax
from flax import serialization, struct

from mjjax.core.convert import converted, without_entries
from mjjax.core.representation import represent

Size = str | int


class PyTree(struct.PyTreeNode):
    """Frozen dataclass that JAX maps over; a subclass may define its own `replace`.

    flax's own registration keeps every field as a leaf and copies the fields one by one in Python
    whenever a tree is made. The registration here leaves out arrays without entries, and makes a
    tree of 90 leaves in a third of the time.
    """

    # A model is an argument of every call, so its children, its static part and the result of its
    # check are kept.
    __slots__ = ("_checked", "_flat")

    _flax_dataclass: ClassVar[bool] = True  # a dataclass already, for flax: it registers nothing
    _made_by: ClassVar[str] = ""
    """The function that users call to make one."""
    _filled: ClassVar[bool] = False
    """Whether a number stands for an array of that number in every entry."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls._flax_dataclass = True
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(init=False, eq=False, repr=False)(cls)
        _register(cls)

    def __init__(self, *values: Any, **fields: Any):
        declared = _fields(type(self))
        given = dict(zip(declared, values, strict=False)) | fields
        defaults = {
            name: f.default for name, f in declared.items() if f.default is not dataclasses.MISSING
        }
        missing = [n for n in declared if n not in given and n not in defaults]
        if missing or len(values) > len(declared) or not given.keys() <= declared.keys():
            raise TypeError(self._not_made(missing, sorted(given.keys() - declared.keys())))
        own = vars(self)
        own.update(defaults | given)
        for name in [n for n, x in own.items() if not self._keeps(n, x)]:
            del own[name]

    def __repr__(self) -> str:
        return represent(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash either

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        x = kind.lower()
        raise AttributeError(
            f"{kind} cannot be changed in place; make a new one: {x} = {x}.replace({name}=...)"
        )

    if not TYPE_CHECKING:  # a type checker would take every misspelt name for a field

        def __getattr__(self, name: str) -> Any:
            """A field that the tree does not keep: an array without entries, or None as a mark."""
            table = specs(type(self))
            spec = table.get(name)
            if spec is None:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
            sizes = self._sizes()
            shape = extents(spec.shape, {} if sizes is None else sizes)
            if sizes is None or 0 not in shape:
                return None
            return without_entries(self._worlds() + shape, spec.dtype, vars(self), table)

    def replace(self, **changes: Any) -> Any:
        """The same object with some fields changed.

        A value is converted to the type of its field. Therefore lists, numbers, NumPy arrays and
        arrays of another precision do not cause a new compilation. In a tree whose leaves are not
        arrays, nothing is converted.

        Raises:
            TypeError: there is no such field, or the value is not an array of numbers.
        """
        return self._replaced(changes)

    def _replaced(self, changes: Mapping[str, Any]) -> Any:
        cls = type(self)
        for name in changes:
            if name not in _fields(cls):
                raise TypeError(f"{cls.__name__} has no field {name}{self._hint(name)}")
        table, own = specs(cls), vars(self)
        new = object.__new__(cls)
        fields = vars(new)
        fields.update(own)
        for name, value in changes.items():
            if name in table:
                value = converted(table[name], value, own, table, cls._filled)
            if self._keeps(name, value):
                fields[name] = value
            else:
                fields.pop(name, None)
        return new

    def _not_made(self, missing: list[str], unknown: list[str]) -> str:
        """The message that says why a tree cannot be made of some fields, and how to make one."""
        kinds = {"missing": missing, "unknown": unknown}
        found = (
            f"{kind} {', '.join(names[:3])}{', ...' * (len(names) > 3)}"
            for kind, names in kinds.items()
            if names
        )
        how = f"; {self._made_by} makes one" if self._made_by else ""
        return f"{type(self).__name__}: fields {', '.join(found) or 'too many'}{how}"

    def _hint(self, name: str) -> str:
        """The end of the message about a field that does not exist: what to do."""
        made = sources(self)
        return (
            f"; {name} is made of {', '.join(made[name])} when it is read" if name in made else ""
        )

    def _sizes(self) -> Mapping[str, int] | None:
        """Sizes by name, as far as they are known; None for a tree that keeps every array."""
        return None

    def _worlds(self) -> tuple[int, ...]:
        """Leading dimensions of a batch."""
        return ()

    def _keeps(self, name: str, value: Any) -> bool:
        """Whether a field is stored: not if it can have no entries."""
        spec = specs(type(self)).get(name)
        if spec is None:
            return True
        shape = getattr(value, "shape", None)
        if value is None or not spec.shape or not shape or 0 not in shape[-len(spec.shape) :]:
            return value is not None
        sizes = self._sizes()
        return sizes is None or 0 not in extents(spec.shape, sizes)

    def _rebuilt(self) -> "PyTree":
        """This tree, after JAX has made it from leaves."""
        return self


@functools.cache
def _fields(cls: Any) -> dict[str, Any]:
    """Declarations of all fields by name, static ones too."""
    return {f.name: f for f in dataclasses.fields(cls)}


def _register(cls: type[PyTree]) -> None:
    """Registers a class for JAX and flax: its arrays are children, a missing array is None."""
    fields = dataclasses.fields(cls)
    arrays = tuple(f.name for f in fields if f.metadata.get("pytree_node", True))
    statics = tuple(f.name for f in fields if f.name not in arrays)
    keys = tuple(map(jax.tree_util.GetAttrKey, arrays))

    def flatten(tree: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        try:
            return tree._flat
        except AttributeError:
            own = vars(tree)
            flat = tuple(map(own.get, arrays)), tuple(map(own.get, statics))
            object.__setattr__(tree, "_flat", flat)
            return flat

    def with_keys(tree: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        children, form = flatten(tree)
        return tuple(zip(keys, children, strict=True)), form

    def unflatten(form: tuple[Any, ...], children: Any) -> Any:
        tree = object.__new__(cls)
        own = vars(tree)
        own.update(zip(statics, form, strict=True))
        own.update({n: x for n, x in zip(arrays, children, strict=True) if x is not None})
        return tree._rebuilt()

    jax.tree_util.register_pytree_with_keys(cls, with_keys, unflatten, flatten)
    serialization.register_serialization_state(
        cls,
        lambda tree: {
            n: serialization.to_state_dict(vars(tree)[n]) for n in arrays if n in vars(tree)
        },
        _from_state,
    )


def _from_state(tree: Any, state: dict[str, Any]) -> Any:
    """A tree like another, with the arrays of flax's state."""
    own = vars(tree)
    return tree.replace(
        **{n: serialization.from_state_dict(own[n], x, name=n) for n, x in state.items()}
    )


@dataclasses.dataclass(frozen=True)
class FieldSpec:
    """Declaration of one array field.

    Attributes:
        name: MuJoCo's field name.
        shape: sizes by name (``"nbody"``) or number, without batch dimensions.
        dtype: ``float`` (the default precision of JAX), ``int`` (int32) or ``bool``.
        unit: physical unit, ``""`` for none.
        doc: its meaning in one line.
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


def extents(shape: tuple[Size, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A declared shape in numbers. Unknown sizes are zero. `"nmocap*3"` is a product."""
    return tuple(n if isinstance(n, int) else _extent(n, sizes) for n in shape)


def _extent(size: str, sizes: Mapping[str, int]) -> int:
    name, _, factor = size.partition("*")
    return sizes.get(name, 0) * int(factor or 1)


def specs(cls: Any) -> dict[str, FieldSpec]:
    """Array fields of a `PyTree` class (or instance), in order of declaration."""
    return _specs(cls if isinstance(cls, type) else type(cls))


@functools.cache
def _specs(cls: Any) -> dict[str, FieldSpec]:
    return {
        f.name: FieldSpec(f.name, *f.metadata["spec"])
        for f in dataclasses.fields(cls)
        if "spec" in f.metadata
    }


def made_of(*fields: str, shape: tuple[Size, ...]) -> Callable[[Callable[..., Any]], Any]:
    """Declares the getter of a property that is computed from some fields when it is read."""

    def declare(getter: Any) -> Any:
        getter.made_of, getter.shape = fields, shape
        return getter

    return declare


def sources(cls: Any) -> dict[str, tuple[str, ...]]:
    """Properties that `made_of` declares, and the fields that each is made of."""
    return {name: getter.made_of for name, getter in _getters(cls).items()}


def shapes(cls: Any) -> dict[str, tuple[Size, ...]]:
    """Shapes of the array fields and the `made_of` properties of a `PyTree` class (or instance)."""
    made = {name: getter.shape for name, getter in _getters(cls).items()}
    return {name: spec.shape for name, spec in specs(cls).items()} | made


def _getters(cls: Any) -> dict[str, Any]:
    own = cls if isinstance(cls, type) else type(cls)
    found = {name: getattr(x, "fget", None) for name, x in vars(own).items()}
    return {name: getter for name, getter in found.items() if hasattr(getter, "made_of")}
