"""Arrays that a program may write into, as it writes into MuJoCo's memory."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mjjax.core.struct import PyTree, specs
from mjjax.model.view import View, view_fields


class Memory:
    """Copies of arrays by name, made when they are first read, and which of them were changed.

    Attributes:
        arrays: arrays that a program got, and may have changed.
    """

    def __init__(self, source: Callable[[str], Any]):
        self.arrays: dict[str, np.ndarray] = {}
        self._source = source

    def get(self, name: str) -> np.ndarray:
        """The array of a field."""
        if name not in self.arrays:
            value = np.asarray(self._source(name))
            self.arrays[name] = value.astype(float if value.dtype.kind == "f" else value.dtype)
        return self.arrays[name]

    def put(self, name: str, value: Any) -> None:
        """Copies a value into the array of a field."""
        there = self.get(name)
        value = np.asarray(value)
        if value.size != there.size or (value.ndim and value.shape != there.shape):
            raise ValueError(f"{name} has shape {there.shape}, not {value.shape}")
        there[...] = value.reshape(there.shape)

    def changed(self) -> dict[str, np.ndarray]:
        """Copies of the arrays that differ from their sources."""
        found = {n: x for n, x in self.arrays.items() if not _equal(x, self._source(n))}
        return {name: x.copy() for name, x in found.items()}

    def refresh(self) -> None:
        """Copies the sources into the arrays that programs hold."""
        for name, x in self.arrays.items():
            x[...] = np.asarray(self._source(name)).reshape(x.shape)


def _equal(x: np.ndarray, source: Any) -> bool:
    """Whether an array has the numbers of its source, in the precision of the source."""
    source = np.asarray(source)
    return np.array_equal(x.astype(source.dtype), source, equal_nan=source.dtype.kind == "f")


class Settings:
    """One of MuJoCo's structures with members that may be assigned, such as `model.opt`.

    Members that mjjax does not have (`vis.quality`, ...) keep what is assigned and do nothing: they
    are settings of MuJoCo's OpenGL pictures.
    """

    def __init__(self, tree: Any):
        own = vars(self)
        own["_tree"] = tree
        for name, value in vars(tree).items():
            if isinstance(value, PyTree):
                own[name] = Settings(value)
            elif not name.startswith("_"):
                own[name] = np.array(value, float) if np.ndim(value) else _number(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        vars(self)[name] = found = _Unknown()
        return found

    def tree(self) -> Any:
        """The tree with what was assigned."""
        tree, table = self._tree, specs(self._tree)
        changes = {}
        for name, old in vars(tree).items():
            new = vars(self).get(name)
            if isinstance(new, Settings):
                changes[name] = new.tree()
            elif new is not None and not np.array_equal(np.asarray(old), np.asarray(new)):
                changes[name] = np.array(new, float) if name in table else int(new)
        return tree.replace(**changes) if changes else tree


class _Unknown:
    """A structure of settings that mjjax does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        vars(self)[name] = found = _Unknown()
        return found


def _number(value: Any) -> Any:
    return float(value) if np.asarray(value).dtype.kind == "f" else int(value)


class Named:
    """The fields of one element, as arrays that may be written into: MuJoCo's named views.

    A number is an array of one number, as in MuJoCo.
    """

    id: int
    name: str

    def __init__(self, memory: Memory, view: View):
        vars(self).update(_memory=memory, _view=view, id=view.id, name=view.name)

    def _array(self, name: str) -> np.ndarray:
        view = self._view
        field = view_fields(type(view._owner), view._kind).get(name)
        if field is None:
            raise AttributeError(view._without(name))
        rows, grid = view._rows(field.shape[0])
        found = self._memory.get(field.name)
        found = found[rows : rows + 1] if isinstance(rows, int) else found[rows]
        if len(grid) > 1:
            return found.reshape(*grid, *found.shape[1:])
        return found[0] if isinstance(rows, int) and found.ndim > 1 else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._array(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._array(name)[...] = value

    def __dir__(self) -> Iterable[str]:
        return dir(self._view)

    def __repr__(self) -> str:
        return repr(self._view)
