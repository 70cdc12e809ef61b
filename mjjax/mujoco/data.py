"""`MjData` without MuJoCo: state and results of one world, which may be written into."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from mjjax import Contact, Data, make_data
from mjjax.core.struct import shapes
from mjjax.model.view import View, methods
from mjjax.mujoco.memory import Memory, Named
from mjjax.mujoco.model import MjModel

_KIND = {name: kind for kind, (names, _) in methods(Data).items() for name in names}
_PER_BODY = "cacc cfrc_int cfrc_ext subtree_linvel subtree_angmom".split()  # zero until computed
_INPUTS = (
    "time qpos qvel act qacc_warmstart ctrl qfrc_applied xfrc_applied eq_active mocap_pos "
    "mocap_quat userdata qacc history"
).split()


class MjData:
    """State and results of one world, as MuJoCo's Python package has it.

    `mj_step` and the other functions of `mjjax.mujoco` change it in place. They read what was
    written into the state and the inputs: `data.ctrl[0] = 1`, `data.joint("knee").qpos[0] = 0.3`.
    `qM` and `ten_J` are dense.

    Attributes:
        model: its model.
    """

    model: MjModel

    def __init__(self, model: MjModel):
        vars(self).update(model=model, _made=make_data(model.native()), _memory=Memory(self._read))

    def _read(self, name: str) -> Any:
        value = np.asarray(getattr(self._made, name))
        if name in _PER_BODY and not len(value):
            return np.zeros((self.model.nbody, *value.shape[1:]))
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _KIND:
            return lambda element: Named(self._memory, View(self._made, _KIND[name], element))
        if name == "contact":
            return Contacts(self._made)
        if name not in shapes(Data):
            return getattr(self._made, name)
        found = self._memory.get(name)
        return found if found.ndim else found.item()

    def __setattr__(self, name: str, value: Any) -> None:
        self._memory.put(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *shapes(Data), *_KIND})

    def __repr__(self) -> str:
        return repr(self._made)

    def native(self) -> Data:
        """The `mjjax.Data` with the state and the inputs that it has now."""
        changed = {n: x for n, x in self._memory.changed().items() if n in _INPUTS}
        return self._made.replace(**changed) if changed else self._made

    def take(self, made: Data) -> None:
        """Takes the results of a function; the arrays that programs hold show them."""
        vars(self)["_made"] = jax.device_get(made)
        self._memory.refresh()


class Contacts:
    """The contacts that were found: a list, or arrays of all (`data.contact.geom`)."""

    def __init__(self, data: Data, chosen: Any = None):
        found = np.flatnonzero(np.asarray(data.contact.dim) > 0)
        self._data, self._chosen = data, found if chosen is None else chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, index: int) -> "Contacts":
        return Contacts(self._data, int(self._chosen[index]))

    def __iter__(self) -> Iterator["Contacts"]:
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = np.asarray(getattr(self._data.contact, name))[self._chosen]
        return value if value.ndim else value.item()

    def __dir__(self) -> list[str]:
        return list(shapes(Contact))
