"""`MjModel` without MuJoCo: a model whose arrays may be written into."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjjax import Model, Spec
from mjjax.compiler.assemble import device_model, with_tables
from mjjax.compiler.load import model_in_numpy
from mjjax.core.struct import PyTree, specs
from mjjax.model.static_fields import TABLES
from mjjax.model.view import View, methods
from mjjax.mujoco.memory import Memory, Named, Settings

_KIND = {name: kind for kind, (names, _) in methods(Model).items() for name in names}


def read_spec(filename: str | os.PathLike[str], assets: Mapping[str, bytes] | None) -> Spec:
    """Reads an MJCF or URDF file; with `assets`, other files are found among these."""
    if not assets:
        return Spec.from_file(filename)
    with open(filename, encoding="utf-8") as file:
        return Spec.from_string(file.read(), dict(assets))


class MjModel:
    """A model as MuJoCo's Python package has it: arrays of double precision that may be changed.

    `mjjax.put_model` and `mjjax.mjx.put_model` make a model for JAX of it, with every number that
    it has then. Fields have MuJoCo's names and shapes. Elements have named views that may be
    written into: `model.body("torso").mass[0] = 2`.
    """

    opt: Settings
    stat: Settings
    vis: Settings
    _base: Model | None
    _made: Any

    def __init__(self, source: Model):
        own = vars(self)
        own["_source"], own["_memory"] = source, Memory(self._read)
        for part in ("opt", "stat", "vis"):
            own[part] = Settings(getattr(source, part))
        own["_made"] = own["_base"] = None

    @classmethod
    def from_xml_path(
        cls, filename: str | os.PathLike[str], assets: Mapping[str, bytes] | None = None
    ) -> "MjModel":
        """Loads an MJCF or URDF file; `assets` has contents by file name."""
        return cls(model_in_numpy(read_spec(filename, assets)))

    @classmethod
    def from_xml_string(cls, xml: str, assets: Mapping[str, bytes] | None = None) -> "MjModel":
        """Loads MJCF from a string; `assets` has contents by file name."""
        return cls(model_in_numpy(Spec.from_string(xml, dict(assets or {}))))

    def _read(self, name: str) -> Any:
        return getattr(self._source, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _KIND:
            return lambda element: self._named(name, element)
        if name in TABLES or name in specs(Model):
            return self._memory.get(name)
        if name == "structure":  # tells which names there are
            return self._source.structure
        return getattr(self._source.structure, name)  # a size, or the message that there is none

    def __setattr__(self, name: str, value: Any) -> None:
        self._memory.put(name, value)

    def _named(self, kind: str, element: str | int) -> Named:
        return Named(self._memory, View(self._source, _KIND[kind], element))

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *TABLES, *specs(Model), *_KIND})

    def __repr__(self) -> str:
        return repr(self._source)

    def __copy__(self) -> "MjModel":
        return MjModel(self._edited())

    def __deepcopy__(self, memo: Any) -> "MjModel":
        return MjModel(self._edited())

    def _edited(self) -> Model:
        """The model in NumPy, with every number that it has now."""
        changed = self._memory.changed()
        tables = {name: x for name, x in changed.items() if name in TABLES}
        model = with_tables(self._source, tables) if tables else self._source
        reals = {name: x for name, x in changed.items() if name not in tables}
        parts = {name: getattr(self, name).tree() for name in ("opt", "stat", "vis")}
        return model.replace(**reals, **parts)

    def native(self) -> Model:
        """The `mjjax.Model` with every number that it has now."""
        edited = self._edited()
        # Comparing is cheaper than moving the arrays to a device.
        if self._base is None or not _same(self._base, edited):
            vars(self).update(_base=edited, _made=device_model(edited))
        return self._made


def _same(a: Model, b: Model) -> bool:
    """Whether two models in NumPy are equal."""
    if a.structure != b.structure:
        return False
    parts = ((getattr(a, n), getattr(b, n)) for n in ("opt", "stat", "vis"))
    return _equal(vars(a), vars(b)) and all(_tree_equal(x, y) for x, y in parts)


def _tree_equal(a: Any, b: Any) -> bool:
    inner = [n for n, x in vars(a).items() if isinstance(x, PyTree)]
    return _equal(vars(a), vars(b)) and all(
        _tree_equal(getattr(a, n), getattr(b, n)) for n in inner
    )


def _equal(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(
        x is b.get(n) or np.array_equal(x, b[n])
        for n, x in a.items()
        if isinstance(x, np.ndarray | np.generic | int | float)
    )
