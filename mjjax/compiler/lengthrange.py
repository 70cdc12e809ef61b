"""Feasible lengths of actuators, found by pulling and pushing until nothing moves any more.

As MuJoCo does it: from qpos0 the actuator drives the model with a force that makes an acceleration
of fixed size, against joint and tendon limits and equality constraints only; damping takes the
speed away. The extreme lengths near the end are the range.
"""

from typing import Any, NamedTuple

import numpy as np

from mjjax.compiler.constants import positions
from mjjax.constraint.impedance import impedance, regularization, stiffness_damping
from mjjax.core.constants import MINVAL
from mjjax.core.enums import BiasType, DisableBit, EqType, GainType, JointType, TrnType
from mjjax.dynamics.inertia import crb
from mjjax.dynamics.tendon import tendon, tendon_inertia
from mjjax.dynamics.transmission import moment, transmission
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.math import quat
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver.dense import solve_rows

_MODE = KEYWORDS["lrmode"]
_SETTLED = 1e-11  # velocity [m/s, rad/s] below which the rest of the motion changes nothing
_POLYNOMIALS = (EqType.JOINT, EqType.TENDON)


def length_ranges(model: Model, settings: dict[str, Any]) -> Model:
    """The model with the length ranges that `<lengthrange>` asks for.

    Args:
        model: numpy model with its derived constants.
        settings: attributes of `<lengthrange>`.

    Raises:
        MjcfError: a range was not found.
        UnsupportedFeature: the model has constraints that are not simulated here.
    """
    ranges = model.actuator_lengthrange.copy()
    for i in np.flatnonzero(_wanted(model, settings)):
        given = ranges[i, 0] < ranges[i, 1]
        if settings["useexisting"] and given:
            continue
        limits = _limits(model, i) if settings["uselimit"] else None
        ranges[i] = limits if limits is not None else _simulated(model, i, settings)
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


def _limits(model: Model, index: int) -> np.ndarray | None:
    """The limits of the joint or tendon that an actuator drives, if it has any."""
    s = model.structure
    kind, target = s.actuator_trntype[index], s.actuator_trnid[index, 0]
    if kind in (TrnType.JOINT, TrnType.JOINTINPARENT) and s.jnt_limited[target]:
        return model.jnt_range[target]
    if kind == TrnType.TENDON and s.tendon_limited[target]:
        return model.tendon_range[target]
    return None


def _simulated(model: Model, index: int, settings: dict[str, Any]) -> tuple[float, float]:
    """Smallest and largest length of one actuator."""
    origin = model.structure.origins["actuator", index]
    _check_equalities(model)
    if settings["timestep"] > 0:
        step = np.array(settings["timestep"])
        model = model.replace(opt=model.opt.replace(timestep=step))
    flags = model.opt.disableflags | DisableBit.GRAVITY
    model = model.replace(opt=model.opt.replace(disableflags=int(flags)))
    ends = [_extreme(model, index, side, settings) for side in (-1, 1)]
    if any(end is None for end in ends):
        raise origin.error("the simulation that finds the length range is unstable")
    (low, _), (_, high) = ends
    spread = max(b - a for a, b in ends)
    if high - low <= 0:
        raise origin.error(f"the length range ({low:g}, {high:g}) is empty")
    if spread > settings["tolrange"] * (high - low):
        raise origin.error(
            f"the length range ({low:g}, {high:g}) was not found: the length still changes",
            "give lengthrange, or limits to the joints that the actuator moves",
        )
    return low, high


def _check_equalities(model: Model) -> None:
    s = model.structure
    active = s.eq_active0.astype(bool) & ~np.isin(s.eq_type, _POLYNOMIALS)
    for i in np.flatnonzero(active):
        raise s.origins["equality", i].unsupported(
            "length ranges cannot be computed with this constraint yet",
            "give every actuator that needs one its lengthrange",
        )


def _extreme(
    model: Model, index: int, side: int, settings: dict[str, Any]
) -> tuple[float, float] | None:
    """Range of the lengths (low, high) at the end of a simulation; None if it diverges."""
    h = float(model.opt.timestep)
    qpos, qvel, found = model.qpos0, np.zeros(model.nv), []
    decay = np.exp(-h / max(0.01, settings["timeconst"]))
    time = 0.0
    while time < settings["inttotal"]:
        qvel = qvel * decay
        data = _positions(model, qpos).replace(qvel=qvel)
        arm = moment(model, data)[index]
        size = np.linalg.norm(np.linalg.solve(data.qM, arm))
        force = arm * (side * settings["accel"] / max(MINVAL, size))
        strength = np.linalg.norm(force)
        if 0 < settings["maxforce"] < strength:
            force = force * (settings["maxforce"] / strength)
        qvel = qvel + h * _acceleration(model, data, force)
        if not np.isfinite(qvel).all():
            return None
        qpos = _advance(model, qpos, h * qvel)
        time += h
        if time > settings["inttotal"] - settings["interval"]:
            found.append(float(data.actuator_length[index]))
        elif np.abs(qvel).max(initial=0) < _SETTLED and np.any(qpos != model.qpos0):
            return (float(data.actuator_length[index]),) * 2
    return min(found), max(found)


def _positions(model: Model, qpos: np.ndarray) -> Data:
    data = tendon(model, crb(model, positions(model, qpos)))
    return transmission(model, tendon_inertia(model, data))


def _advance(model: Model, qpos: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Joint positions after a displacement `step` (nv,) in the tangent space."""
    s, after = model.structure, qpos.copy()
    for joint, kind in enumerate(s.jnt_type):
        q, v = s.jnt_qposadr[joint], s.jnt_dofadr[joint]
        if kind == JointType.FREE:
            after[q : q + 3] += step[v : v + 3]
            q, v = q + 3, v + 3
        if kind <= JointType.BALL:
            turned = quat.integrate(quat.normalize(qpos[q : q + 4]), step[v : v + 3])
            after[q : q + 4] = turned
        else:
            after[q] += step[v]
    return after


class _Rows(NamedTuple):
    """Rows of one kind: Jacobian (n, nv), residual, inverse weight, parameters, sign."""

    jac: np.ndarray
    pos: np.ndarray
    weight: np.ndarray
    solref: np.ndarray
    solimp: np.ndarray
    margin: np.ndarray
    equality: np.ndarray


def _acceleration(model: Model, data: Data, force: np.ndarray) -> np.ndarray:
    """Acceleration (nv,) under an applied force and the constraints."""
    data = com_vel(model, data)
    smooth = force - rne(model, data)
    parts = [*_equalities(model, data), *_joint_limits(model, data), *_tendon_limits(model, data)]
    rows = _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    active = rows.equality | (rows.pos < rows.margin)
    if not active.any():
        return np.linalg.solve(data.qM, smooth)
    rows = _Rows(*(column[active] for column in rows))
    distance = rows.pos - rows.margin
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    k, b = stiffness_damping(rows.solref, rows.solimp, model.opt.timestep, refsafe)
    imp = impedance(rows.solimp, distance)
    aref = -b * (rows.jac @ data.qvel) - k * imp * distance
    mass = 1 / regularization(imp, rows.weight)
    return solve_rows(data.qM, smooth, rows.jac, aref, mass, rows.equality)


def _joint_limits(model: Model, data: Data) -> list[_Rows]:
    s = model.structure
    limited = s.jnt_limited.astype(bool)
    parts = []
    scalar = np.flatnonzero(limited & (s.jnt_type >= JointType.SLIDE))
    dof = s.jnt_dofadr[scalar]
    value = data.qpos[s.jnt_qposadr[scalar]]
    unit = np.eye(s.nv)[dof]
    for side in (0, 1):
        sign = 1 - 2 * side
        parts.append(_limit(model, "jnt", scalar, sign * unit, dof, sign, value, side))
    ball = np.flatnonzero(limited & (s.jnt_type == JointType.BALL))
    if len(ball):
        adr = s.jnt_qposadr[ball][:, None] + np.arange(4)
        turn = quat.log(quat.normalize(data.qpos[adr]))
        angle = np.linalg.norm(turn, axis=1)
        axis = turn / np.maximum(angle, MINVAL)[:, None]
        jac = np.zeros((len(ball), s.nv))
        dofs = s.jnt_dofadr[ball][:, None] + np.arange(3)
        np.put_along_axis(jac, dofs, -axis, axis=1)
        parts.append(_limit(model, "jnt", ball, jac, dofs[:, 0], -1, angle, 1))
    return parts


def _limit(
    model: Model,
    kind: str,
    ids: np.ndarray,
    jac: np.ndarray,
    dof: np.ndarray,
    sign: int,
    value: np.ndarray,
    side: int,
) -> _Rows:
    """Rows of one side of the limits of joints or tendons."""
    bound = getattr(model, f"{kind}_range")[ids, side]
    suffix = "" if kind == "jnt" else "_lim"
    weight = model.dof_invweight0[dof] if kind == "jnt" else model.tendon_invweight0[ids]
    return _Rows(
        jac,
        sign * (value - bound),
        weight,
        getattr(model, f"{kind}_solref{suffix}")[ids],
        getattr(model, f"{kind}_solimp{suffix}")[ids],
        getattr(model, f"{kind}_margin")[ids],
        np.zeros(len(ids), bool),
    )


def _tendon_limits(model: Model, data: Data) -> list[_Rows]:
    ids = np.flatnonzero(model.structure.tendon_limited)
    if not len(ids):
        return []
    length, arm = data.ten_length[ids], data.ten_J[ids]
    return [
        _limit(model, "tendon", ids, sign * arm, ids, sign, length, side)
        for side, sign in ((0, 1), (1, -1))
    ]


def _equalities(model: Model, data: Data) -> list[_Rows]:
    """Polynomial relations of joints and tendons: y - y0 - p(x - x0) = 0."""
    s = model.structure
    parts = []
    for kind in _POLYNOMIALS:
        ids = np.flatnonzero(s.eq_active0.astype(bool) & (s.eq_type == kind))
        if not len(ids):
            continue
        if kind == EqType.JOINT:
            adr = s.jnt_qposadr
            values, start = data.qpos[adr], model.qpos0[adr]
            arms = np.eye(s.nv)[s.jnt_dofadr]
            weights = model.dof_invweight0[s.jnt_dofadr]
        else:
            values, start = data.ten_length, model.tendon_length0
            arms, weights = data.ten_J, model.tendon_invweight0
        one, two = s.eq_obj1id[ids], s.eq_obj2id[ids]
        paired = two >= 0
        x = np.where(paired, values[two] - start[two], 0)
        powers = x[:, None] ** np.arange(5)
        coef = model.eq_data[ids, :5]
        slope = np.sum(coef[:, 1:] * np.arange(1, 5) * powers[:, :4], axis=1)
        other = np.where(paired[:, None], slope[:, None] * arms[two], 0)
        parts.append(
            _Rows(
                arms[one] - other,
                values[one] - start[one] - np.sum(coef * powers, axis=1),
                weights[one] + np.where(paired, weights[two], 0),
                model.eq_solref[ids],
                model.eq_solimp[ids],
                np.zeros(len(ids)),
                np.ones(len(ids), bool),
            )
        )
    return parts
