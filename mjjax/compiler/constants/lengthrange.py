"""Finds the feasible lengths of actuators by pulling and pushing until nothing moves any more.

The method is MuJoCo's. From qpos0 the actuator drives the model with a force that makes an
acceleration of fixed size. Only joint limits, tendon limits and equality constraints oppose it, and
damping takes the speed away. The extreme lengths near the end are the range.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.compiler.constants.lengthrange_limits import LengthLimits, PullState
from mjjax.compiler.constants.parallel_worlds import parallel_worlds
from mjjax.compiler.constants.set_const import positions
from mjjax.core.constants import MINVAL
from mjjax.core.enums import BiasType, DisableBit, EqType, GainType, TrnType
from mjjax.dynamics.inertia import coupled, dof_plan
from mjjax.dynamics.position import integrate_pos
from mjjax.dynamics.tendon import tendon
from mjjax.dynamics.transmission import moment, transmission
from mjjax.dynamics.tree import dof_sum
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.math import safe
from mjjax.math.components import split
from mjjax.math.quat import join
from mjjax.math.spatial import inertia_mul
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.spec import Spec
from mjjax.model.model import Model
from mjjax.xla.layout import components_first
from mjjax.xla.linalg import unstack
from mjjax.xla.namespace import Array

_MODE = KEYWORDS["lrmode"]
# Below this speed and acceleration, the rest of the motion does not change the result.
_SETTLED = (1e-8, 1e-6)
_DOFS = 256  # largest number of dofs of all worlds that run side by side
_POLYNOMIALS = (EqType.JOINT, EqType.TENDON)


def set_length_range(model: Model, index: int, **settings: Any) -> Model:
    """The model with the length range of one actuator recomputed (`mj_setLengthRange`).

    It simulates on the host, with concrete numbers, and is not differentiable.

    Args:
        model: model.
        index: actuator id.
        **settings: attributes of `<lengthrange>` that differ from their defaults. An actuator keeps
            its range if `mode` excludes it, or if it has a range and `useexisting` is true.

    Raises:
        MjcfError: the range was not found.
        UnsupportedFeature: the model has constraints that are not simulated here.
        ValueError: a setting is unknown, or there is no such actuator.
    """
    chosen = Spec().lengthrange.copy()
    unknown = sorted(set(settings) - set(chosen))
    if unknown or not 0 <= index < model.structure.nu:
        what = f"setting {unknown[0]!r}" if unknown else f"actuator {index}"
        raise ValueError(f"there is no {what}")
    chosen.update(settings)
    host = jax.tree.map(lambda x: np.asarray(x, float), model)
    found = length_ranges(host, chosen, np.arange(model.structure.nu) == index)
    dtype = model.actuator_lengthrange.dtype
    return model.replace(actuator_lengthrange=jnp.asarray(found.actuator_lengthrange, dtype))


def length_ranges(model: Model, settings: dict[str, Any], only: np.ndarray | bool = True) -> Model:
    """The model with the length ranges that `<lengthrange>` asks for.

    Args:
        model: numpy model with its derived constants.
        settings: attributes of `<lengthrange>`.
        only: (nu,) actuators to consider.

    Raises:
        MjcfError: a range was not found.
        UnsupportedFeature: the model has constraints that are not simulated here.
    """
    ranges = model.actuator_lengthrange.copy()
    open_ = []
    for i in np.flatnonzero(_wanted(model, settings) & only):
        if settings["useexisting"] and ranges[i, 0] < ranges[i, 1]:
            continue
        limits = _limits(model, int(i)) if settings["uselimit"] else None
        if limits is None:
            open_.append(i)
        else:
            ranges[i] = limits
    if open_:
        ranges[open_] = _simulated(model, np.array(open_), settings)
    return model.replace(actuator_lengthrange=ranges)


def _wanted(model: Model, settings: dict[str, Any]) -> np.ndarray:
    """(nu,) actuators whose range is to be found."""
    s, mode = model.structure, settings["mode"]
    kinds = {
        _MODE["none"]: (),
        _MODE["muscle"]: ("MUSCLE",),
        _MODE["muscleuser"]: ("MUSCLE", "USER"),
    }
    if mode not in kinds:
        return np.ones(s.nu, bool)
    gains, biases = [GainType[k] for k in kinds[mode]], [BiasType[k] for k in kinds[mode]]
    return np.isin(s.actuator_gaintype, gains) | np.isin(s.actuator_biastype, biases)


def _limits(model: Model, index: int) -> Array | None:
    """The limits of the joint or tendon that an actuator drives, if it has any.

    This repeats an error of MuJoCo 3.6.0, whose index runs over single ids instead of pairs. The
    index is right for the first actuator. For every second actuator it takes the target of another
    one, and for the others it finds no target.
    """
    s = model.structure
    kind, target = s.actuator_trntype[index], s.actuator_trnid.ravel()[index]
    if target < 0:
        return None
    if kind in (TrnType.JOINT, TrnType.JOINTINPARENT) and s.jnt_limited[target]:
        return model.jnt_range[target]
    if kind == TrnType.TENDON and s.tendon_limited[target]:
        return model.tendon_range[target]
    return None


def _simulated(model: Model, ids: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Smallest and largest lengths (n, 2) of some actuators."""
    s = model.structure
    _check_equalities(model)
    low, high, spread = _simulate(model, ids, settings)
    for i, actuator in enumerate(ids):
        origin = s.origins["actuator", int(actuator)]
        text = f"the length range ({low[i]:g}, {high[i]:g})"
        if not np.isfinite(spread[i]):
            raise origin.error("the simulation that finds the length range is unstable")
        if high[i] <= low[i]:
            raise origin.error(f"{text} is empty")
        if spread[i] > settings["tolrange"] * (high[i] - low[i]):
            raise origin.error(
                f"{text} was not found: the length still changes",
                "give a lengthrange, or limits for the joints that the actuator moves",
            )
    return np.stack([low, high], axis=1)


def _check_equalities(model: Model) -> None:
    s = model.structure
    active = s.eq_active0.astype(bool) & ~np.isin(s.eq_type, _POLYNOMIALS)
    for i in np.flatnonzero(active):
        raise s.origins["equality", int(i)].unsupported(
            "length ranges cannot be computed with this constraint yet",
            "give every actuator that needs one its lengthrange",
        )


def _simulate(
    model: Model, ids: np.ndarray, settings: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest lengths (n,), and how much the lengths still change at the end.

    There is one world for each actuator and direction.
    """
    flags = int(model.opt.disableflags | DisableBit.GRAVITY)
    opt = model.opt.replace(disableflags=flags)
    if settings["timestep"] > 0:
        opt = opt.replace(timestep=np.array(settings["timestep"]))
    model = model.replace(opt=opt)
    actuators, side = np.repeat(ids, 2), np.tile([-1.0, 1.0], len(ids))
    count = max(1, _DOFS // max(1, model.nv))
    ends = np.concatenate(
        [
            _extremes(Worlds(model, actuators[i : i + count]), side[i : i + count], settings)
            for i in range(0, len(actuators), count)
        ]
    ).reshape(len(ids), 2, 2)
    return ends[:, 0, 0], ends[:, 1, 1], (ends[:, :, 1] - ends[:, :, 0]).max(axis=1)


class _Forces(NamedTuple):
    """Values in a state: inertia (w, nv, nv), bias force and moment arm (w, nv), lengths."""

    inertia: Array
    bias: Array
    arm: Array
    length: Array
    limits: PullState


class Worlds:
    """Worlds of one model, each with one actuator; their positions and velocities are rows.

    Attributes:
        model: the one model.
        limits: limits that bound its motion.
        size: number of worlds.
    """

    def __init__(self, model: Model, actuators: np.ndarray):
        s = model.structure
        self.model, self.limits, self.size = model, LengthLimits(model), len(actuators)
        driven = s.actuator_trntype[actuators] == TrnType.TENDON
        own = np.where(driven, s.actuator_trnid[actuators, 0], 0)[:, None]
        heavy = np.flatnonzero(model.tendon_armature)
        self._shared = np.union1d(self.limits.tendons, heavy).astype(int)
        shared = np.broadcast_to(self._shared, (self.size, len(self._shared)))
        tendons = np.concatenate([own, shared], axis=1) if s.ntendon else shared
        self._worlds = parallel_worlds(model, actuators, tendons)
        self._world = np.arange(self.size)

    def move(self, qpos: np.ndarray, qvel: np.ndarray, time: Array) -> np.ndarray:
        """Positions after moving with some velocities for a time."""
        moved = integrate_pos(self._worlds, qpos.ravel(), qvel.ravel(), time)
        return np.asarray(moved).reshape(qpos.shape)

    def forces(self, qpos: np.ndarray, qvel: np.ndarray) -> _Forces:
        """Inertia, forces and lengths in some states."""
        one, many, n = self.model.structure, self._worlds, self.size
        data = transmission(many, tendon(many, positions(many, qpos.ravel())))
        moved = dof_sum(many.structure, components_first(data.cinert))
        momentum = join(inertia_mul(unstack(moved), split(data.cdof))).reshape(n, one.nv, 6)
        inertia = coupled(momentum, data.cdof.reshape(n, one.nv, 6), dof_plan(one).moved_by)
        inertia = inertia + np.diag(self.model.dof_armature)
        length, arm = np.zeros((n, one.ntendon)), np.zeros((n, one.ntendon, one.nv))
        if len(self._shared):
            length[:, self._shared] = data.ten_length.reshape(n, -1)[:, 1:]
            own = data.ten_J.reshape(n, -1, n, one.nv)[self._world, :, self._world]
            arm[:, self._shared] = own[:, 1:]
            added = np.einsum("wti,t,wtj->wij", arm, self.model.tendon_armature, arm)
            inertia = inertia + np.where(dof_plan(one).kept, added, 0)
        moving = com_vel(many, data.replace(qvel=qvel.ravel()))
        pull = moment(many, data).reshape(n, n, one.nv)[self._world, self._world]
        bias = rne(many, moving).reshape(n, one.nv)
        return _Forces(inertia, bias, pull, data.actuator_length, PullState(qpos, length, arm))


def _extremes(worlds: Worlds, side: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Lowest and highest length (w, 2) at the ends of simulations.

    Args:
        worlds: worlds.
        side: (w,) 1 to push, -1 to pull.
        settings: attributes of `<lengthrange>`.
    """
    model = worlds.model
    h = model.opt.timestep
    decay = np.exp(-h / max(0.01, settings["timeconst"]))
    late, most = settings["inttotal"] - settings["interval"], settings["maxforce"]
    qpos = np.tile(model.qpos0, (worlds.size, 1))
    qvel = qacc = np.zeros((worlds.size, model.nv))
    low, high = np.full(worlds.size, np.inf), np.full(worlds.size, -np.inf)
    still, time = np.zeros(worlds.size, bool), 0.0
    while time < settings["inttotal"] and not still.all():
        qvel = qvel * decay
        now = worlds.forces(qpos, qvel)
        size = safe.norm(np.linalg.solve(now.inertia, now.arm[..., None])[..., 0])
        force = now.arm * (side * settings["accel"] / np.maximum(MINVAL, size))[:, None]
        strength = safe.norm(force)
        if most > 0:
            force = force * np.minimum(1, safe.divide(most, strength, 1.0))[:, None]
        smooth = force - now.bias
        qacc = worlds.limits.acceleration(now.inertia, smooth, qvel, now.limits, qacc)
        qvel = qvel + h * qacc
        qpos = worlds.move(qpos, qvel, h)
        # A motion that has settled stays where it is until the end.
        slow = (np.abs(qvel) < _SETTLED[0]) & (np.abs(qacc) < _SETTLED[1])
        still = slow.all(axis=1) | ~np.isfinite(qvel).all(axis=1)
        time += h
        seen = (time > late) | still
        low = np.where(seen, np.minimum(low, now.length), low)
        high = np.where(seen, np.maximum(high, now.length), high)
    return np.stack([low, high], axis=1)
