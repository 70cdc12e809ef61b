"""MuJoCo's C program and MJX as engines, from the user's own MuJoCo.

This module is imported only if `--peers` asks for them.
"""

# MuJoCo's extension modules have no type information that pyright can follow.
# pyright: reportAttributeAccessIssue=false

import mujoco
import numpy as np

from mjjax.cli.engines import Engine, JaxEngine
from mjjax.pipeline.devices import cores


def open_peer(name: str, path: str, devices: int) -> Engine:
    """Loads the model at `path` into the engine `c` or `mjx`."""
    if name == "c":
        return CEngine(path)
    from mujoco import mjx

    return JaxEngine(name, mjx, mjx.put_model(mujoco.MjModel.from_xml_path(path)), devices)


class CEngine(Engine):
    """The C program, called through `mujoco.rollout` with one thread per core."""

    dtype = "float64"
    name = "c"

    def __init__(self, path: str):
        self.model = mujoco.MjModel.from_xml_path(path)
        self.qpos0, self.nv = self.model.qpos0, self.model.nv

    def prepare(self, qpos: np.ndarray, qvel: np.ndarray, nstep: int, warmup: int) -> float:
        from mujoco import rollout

        threads = cores()
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros((len(qpos), mujoco.mj_stateSize(self.model, kind)))
        for row, q, v in zip(start, qpos, qvel, strict=True):
            data[0].qpos[:], data[0].qvel[:] = q, v
            mujoco.mj_getState(self.model, data[0], row, kind)
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        if warmup:
            start = np.array(pool.rollout(self.model, data, start, nstep=warmup)[0])[:, -1]
        out = np.empty((len(qpos), nstep, start.shape[1]))
        self._block = lambda: pool.rollout(self.model, data, start, nstep=nstep, state=out)
        self._block()
        return 0.0

    def block(self) -> None:
        self._block()
