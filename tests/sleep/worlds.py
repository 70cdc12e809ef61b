"""Steps a model in both engines together, with the same program for all its worlds."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from tests.oracle_tools import quick

step = quick(mjjax.step)


def scene(bodies: str, rest: str = "", option: str = "", flag: str = "") -> str:
    """A model with the flag `sleep` and a floor."""
    return (
        f'<mujoco><option {option}><flag sleep="enable" {flag}/></option><worldbody>'
        f'<geom type="plane" size="50 50 .1"/>{bodies}</worldbody>{rest}</mujoco>'
    )


@dataclasses.dataclass
class Pair:
    """The same world in both engines.

    Attributes:
        model: MuJoCo's model.
        d: MuJoCo's data.
        ours: our model.
        data: our data.
    """

    model: mujoco.MjModel
    d: mujoco.MjData
    ours: mjjax.Model
    data: mjjax.Data

    @classmethod
    def of(cls, xml: str) -> "Pair":
        """Both engines at `qpos0`."""
        model, ours = mujoco.MjModel.from_xml_string(xml), mjjax.Model.from_xml_string(xml)
        return cls(model, mujoco.MjData(model), ours, mjjax.make_data(ours))

    def set(self, name: str, index: Any, value: Any) -> None:
        """Writes to a field of both engines."""
        getattr(self.d, name)[index] = value
        field = jnp.asarray(getattr(self.data, name))
        self.data = self.data.replace(**{name: field.at[index].set(value)})

    def reset(self) -> None:
        """Puts both engines back to `qpos0`."""
        mujoco.mj_resetData(self.model, self.d)
        self.data = mjjax.reset_data(self.ours, self.data)

    def go(
        self, count: int, each: Callable[[int], None] | None = None, tolerance: float = 1e-8
    ) -> list[list[int]]:
        """Steps and compares both engines; returns `tree_asleep` after each step."""
        found = []
        for i in range(count):
            if each is not None:
                each(i)
            mujoco.mj_step(self.model, self.d)
            self.data = step(self.ours, self.data)
            self.compare(tolerance, f"step {i}")
            found.append(self.d.tree_asleep.tolist())
        return found

    def compare(self, tolerance: float, where: str) -> None:
        """Asserts that state, sleeping trees, counts and readings are MuJoCo's."""
        d, data = self.d, self.data
        assert np.array_equal(data.tree_asleep, d.tree_asleep), (where, data.tree_asleep)
        assert np.array_equal(data.tree_awake, d.tree_awake), where
        assert np.array_equal(data.body_awake, d.body_awake), where
        assert (int(data.ncon), int(data.nefc)) == (d.ncon, d.nefc), where
        for name, factor in (("qpos", 1), ("qvel", 10), ("act", 1), ("sensordata", 1e3)):
            ours, theirs = np.asarray(getattr(data, name)), getattr(d, name)
            scale = np.maximum(1, np.abs(theirs))
            assert np.all(np.abs(ours - theirs) <= factor * tolerance * scale), (where, name)
        asleep = np.append(d.tree_asleep >= 0, False)[self.model.dof_treeid]
        assert not np.asarray(data.qvel)[asleep].view(np.uint64).any(), where
