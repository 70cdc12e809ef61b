"""Any model keeps a pose."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from mjjax.core.enums import JointType
from mjjax.dynamics.position import differentiate_pos
from mjjax.envs.environment import Environment
from mjjax.envs.parts import near, shaken
from mjjax.math import quat
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import reset_data
from mjjax.xla.namespace import where

_STEP_S, _EPISODE_S = 0.02, 5.0  # about how long a step and an episode take


class Hold(Environment):
    """Keep a pose: that of a keyframe of any model.

    r = 0.5 exp(-(d/0.5)^2) + 0.5 exp(-(d/0.1)^2) - 0.01 mean(u^2), with the root mean square d of
    the differences from the pose, and the differences u of the controls from those of the pose, in
    parts of their ranges. The differences from the pose are angles of hinges [rad], positions of
    slides [m], rotation vectors of balls [rad], and of each free body its height [m] and the
    direction of gravity in its frame: it may be anywhere and face any way.

    An action of zero gives the controls of the keyframe; -1 and 1 are the ends of their ranges. An
    observation has the differences, the velocities (of free bodies in their own frames) and the
    activations of actuators. An episode starts near the pose and ends after about 5 s; a fall does
    not end it.

    Args:
        model: model, whose actuators have ranges of their controls.
        keyframe: name or number of the keyframe, by default the first; a model without keyframes
            keeps `qpos0`.
    """

    weights = {"close": 0.5, "there": 0.5, "effort": -0.01}

    def __init__(self, model: Model | None = None, keyframe: str | int | None = None):
        super().__init__(model)
        s, ranges = self.model.structure, np.asarray(self.model.actuator_ctrlrange)
        if not s.nu:
            raise ValueError(f"{self.model!r} has no actuator")
        for name, (low, high) in zip(s.names["actuator"], ranges, strict=True):
            if not low < high:
                raise ValueError(
                    f"actuator {name!r} needs a ctrlrange, to which actions are mapped"
                )
        step = float(self.model.opt.timestep)
        self.frame_skip = max(1, round(_STEP_S / step))
        self.episode = round(_EPISODE_S / self.dt)
        first = 0 if s.nkey else None
        named = s.id_of("key", keyframe) if isinstance(keyframe, str) else keyframe
        self._key = first if named is None else named
        if self._key is not None and not 0 <= self._key < s.nkey:
            raise ValueError(f"there is no keyframe {keyframe}; the model has {s.nkey}")
        # places in qpos and qvel of what counts
        kinds = list(zip(s.jnt_type, s.jnt_qposadr, s.jnt_dofadr, strict=True))
        self._free = [(q, v) for kind, q, v in kinds if kind == JointType.FREE]
        width = {JointType.BALL: 3, JointType.SLIDE: 1, JointType.HINGE: 1, JointType.FREE: 0}
        self._dofs = np.array([v + k for kind, _, v in kinds for k in range(width[kind])], np.int32)

    def pose(self, model: Model) -> Array:
        """The pose to keep, as `qpos`."""
        return model.qpos0 if self._key is None else model.key_qpos[self._key]

    def start(self, key: Array, model: Model, data: Data) -> Data:
        if self._key is not None:
            data = reset_data(model, data, self._key)
        return shaken(key, model, data, 0.03, 0.1)

    def control(self, model: Model, action: Array) -> Array:
        low, high, middle = self._range(model)
        return middle + where(action < 0, action * (middle - low), action * (high - middle))

    def _range(self, model: Model) -> tuple[Array, Array, Array]:
        """Smallest and largest controls, and those of the pose."""
        low, high = model.actuator_ctrlrange.T
        held = (low + high) / 2 if self._key is None else model.key_ctrl[self._key]
        return low, high, jnp.clip(held, low, high)

    def differences(self, model: Model, data: Data) -> Array:
        """How far the state is from the pose, see the class."""
        pose, up = self.pose(model), jnp.array([0.0, 0.0, 1.0])

        def of_free(qpos: Array, adr: int) -> Array:
            return jnp.append(quat.rotate(quat.conj(qpos[adr + 3 : adr + 7]), up), qpos[adr + 2])

        along = differentiate_pos(model, 1.0, pose, data.qpos)[self._dofs]
        free = [of_free(data.qpos, q) - of_free(pose, q) for q, _ in self._free]
        return jnp.concatenate([along, *free])

    def observe(self, model: Model, data: Data) -> Array:
        speeds = data.qvel
        for q, v in self._free:
            back = quat.conj(data.qpos[q + 3 : q + 7])
            speeds = speeds.at[v : v + 3].set(quat.rotate(back, speeds[v : v + 3]))
        return jnp.concatenate([self.differences(model, data), speeds, data.act])

    def terms(self, model: Model, before: Data, data: Data) -> dict[str, Array]:
        far = self.differences(model, data)
        distance = far / np.sqrt(len(far))
        low, high, middle = self._range(model)
        effort = jnp.mean(jnp.square((data.ctrl - middle) / (high - low)))
        return {"close": near(distance, 0.5), "there": near(distance, 0.1), "effort": effort}
