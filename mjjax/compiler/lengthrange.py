"""Feasible lengths of actuators, found by pulling and pushing until nothing moves any more.

As MuJoCo does it: from qpos0 the actuator drives the model with a force that makes an acceleration
of fixed size, against joint and tendon limits and equality constraints only; damping takes the
speed away. The extreme lengths near the end are the range.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.compiler.assemble import device_model
from mjjax.compiler.constants import positions
from mjjax.constraint.impedance import impedance, regularization, stiffness_damping
from mjjax.constraint.jacobian import RowJacobian
from mjjax.constraint.layout import RowLayout
from mjjax.core.constants import MINVAL
from mjjax.core.enums import BiasType, DisableBit, EqType, GainType, JointType, TrnType
from mjjax.dynamics.inertia import crb
from mjjax.dynamics.position import integrate_pos
from mjjax.dynamics.tendon import tendon, tendon_inertia
from mjjax.dynamics.transmission import moment, transmission
from mjjax.dynamics.velocity import com_vel, rne
from mjjax.math import quat, safe
from mjjax.math.linalg import cho_solve, cholesky, einsum, matmul, rows
from mjjax.math.namespace import Array
from mjjax.mjcf.keywords import KEYWORDS
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver import newton
from mjjax.solver.problem import Problem

_MODE = KEYWORDS["lrmode"]
# Speed and acceleration below which the rest of the motion changes nothing that is looked at.
_SETTLED = (1e-8, 1e-6)
_QUICK = {"xla_backend_optimization_level": 0}  # the program runs once
_SETTINGS = ("accel", "maxforce", "timeconst", "inttotal", "interval")
_SOLVER = {"tolerance": 1e-14, "ls_tolerance": 1e-4, "scale": 1.0}
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
    open_ = []
    for i in np.flatnonzero(_wanted(model, settings)):
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

    As in MuJoCo 3.6.0, whose index runs over single ids, not pairs: it is right for the first
    actuator, takes the target of another one for every second, and finds none for the rest.
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
                "give lengthrange, or limits to the joints that the actuator moves",
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

    One world for each actuator and direction, in double precision, one after the other: a model
    must load on any machine, and XLA's batched factorisations can wait for each other for ever.
    """
    chosen = np.repeat(np.eye(model.nu)[ids], 2, axis=0)
    side = np.tile([-1.0, 1.0], len(ids))
    flags = int(model.opt.disableflags | DisableBit.GRAVITY)
    opt = model.opt.replace(disableflags=flags)
    if settings["timestep"] > 0:
        opt = opt.replace(timestep=np.array(settings["timestep"]))
    given = {k: float(settings[k]) for k in _SETTINGS} | _SOLVER
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        device = device_model(model.replace(opt=opt))
        run = jax.jit(_all_extremes, compiler_options=_QUICK)
        found = run(device, given, jnp.asarray(chosen), jnp.asarray(side))
        ends = np.asarray(found).reshape(len(ids), 2, 2)
    return ends[:, 0, 0], ends[:, 1, 1], (ends[:, :, 1] - ends[:, :, 0]).max(axis=1)


def _all_extremes(model: Model, given: dict[str, Array], chosen: Array, side: Array) -> Array:
    return lax.map(lambda x: _extremes(model, given, *x), (chosen, side))


class _Motion(NamedTuple):
    """State of one simulation, and the lengths seen so far near its end."""

    time: Array
    qpos: Array
    qvel: Array
    qacc: Array
    low: Array
    high: Array


def _extremes(model: Model, given: dict[str, Array], chosen: Array, side: Array) -> Array:
    """Lowest and highest length at the end of one simulation (2,).

    Args:
        model: model.
        given: the numbers of `<lengthrange>` and the solver's tolerances.
        chosen: (nu,) one at the actuator, zero elsewhere.
        side: 1 to push, -1 to pull.
    """
    h = model.opt.timestep
    decay = jnp.exp(-h / jnp.maximum(0.01, given["timeconst"]))
    late = given["inttotal"] - given["interval"]

    def moving(m: _Motion) -> Array:
        fast = jnp.max(jnp.abs(m.qvel)) > _SETTLED[0]
        pushed = jnp.max(jnp.abs(m.qacc)) > _SETTLED[1]
        return (m.time < given["inttotal"]) & (fast | pushed | (m.low > m.high))

    def step(m: _Motion) -> _Motion:
        data = _positions(model, m.qpos).replace(qvel=m.qvel * decay)
        arm = matmul(chosen, moment(model, data))
        size = safe.norm(cho_solve(cholesky(data.qM), arm))
        force = arm * (side * given["accel"] / jnp.maximum(MINVAL, size))
        most, strength = given["maxforce"], safe.norm(force)
        excess = (most > 0) & (strength > most)
        force = force * jnp.where(excess, most / jnp.where(excess, strength, 1), 1)
        qacc = _acceleration(model, data, force, m.qacc, given)
        qvel = data.qvel + h * qacc
        length = matmul(chosen, data.actuator_length)
        # a motion that has settled stays where it is until the end
        still = (jnp.max(jnp.abs(qvel)) < _SETTLED[0]) & (jnp.max(jnp.abs(qacc)) < _SETTLED[1])
        time = m.time + h
        seen = (time > late) | still
        return _Motion(
            time,
            integrate_pos(model, m.qpos, qvel, h),
            qvel,
            qacc,
            jnp.where(seen, jnp.minimum(m.low, length), m.low),
            jnp.where(seen, jnp.maximum(m.high, length), m.high),
        )

    zero = jnp.zeros(model.nv)
    inf = jnp.asarray(jnp.inf)
    start = _Motion(jnp.asarray(0.0), model.qpos0, zero, zero, inf, -inf)
    end = lax.while_loop(moving, step, start)
    return jnp.stack([end.low, end.high])


def _positions(model: Model, qpos: Array) -> Data:
    data = tendon(model, crb(model, positions(model, qpos)))
    return transmission(model, tendon_inertia(model, data))


# ---- constraints --------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Rows of one kind: Jacobian (n, nv), residual, inverse weight, parameters, both ways."""

    jac: Array
    pos: Array
    weight: Array
    solref: Array
    solimp: Array
    margin: Array
    equality: np.ndarray


def _acceleration(
    model: Model, data: Data, force: Array, warm: Array, given: dict[str, Array]
) -> Array:
    """Acceleration (nv,) under an applied force and the constraints, starting from `warm`."""
    smooth = force - rne(model, com_vel(model, data))
    free = cho_solve(cholesky(data.qM), smooth)
    parts = [*_equalities(model, data), *_joint_limits(model, data), *_tendon_limits(model, data)]
    if not parts:
        return free
    both = np.concatenate([part.equality for part in parts])
    columns = zip(*(part[:-1] for part in parts), strict=True)
    jac, pos, weight, solref, solimp, margin = map(jnp.concatenate, columns)
    distance = pos - margin
    refsafe = not model.opt.disabled(DisableBit.REFSAFE)
    k, b = stiffness_damping(solref, solimp, model.opt.timestep, refsafe)
    imp = impedance(solimp, distance)
    active = both | (distance < 0)
    none = jnp.zeros((0, model.nv))
    problem = Problem(
        M=data.qM,
        smooth=smooth,
        jac=RowJacobian(jac, none),
        aref=-b * matmul(jac, data.qvel) - k * imp * distance,
        D=jnp.where(active, 1 / regularization(imp, weight), 0),
        low=jnp.where(both, -jnp.inf, 0.0),
        high=jnp.full(len(both), jnp.inf),
        mu=none[:, 0],
        friction=none[:, :1],
    )
    layout = _layout(model.nv, len(both))
    settings = newton.Settings(100, 50, *(given[name] for name in _SOLVER))
    start = newton.better_start(problem, layout, warm, free)
    return newton.solve(problem, layout, start, settings).a


def _layout(nv: int, n: int) -> RowLayout:
    """A layout of `n` rows with a matrix and nothing else."""
    none = np.zeros(0, int)
    return RowLayout(
        nv=nv,
        friction=none,
        limit_joint=np.zeros(n, int),
        limit_side=np.zeros(n, int),
        single=none,
        dof=none,
        sign=np.zeros(0),
        general=np.arange(n),
        width=1,
        pyramidal=True,
        ncontact=0,
    )


def _joint_limits(model: Model, data: Data) -> list[_Rows]:
    s = model.structure
    limited = s.jnt_limited.astype(bool)
    parts = []
    scalar = np.flatnonzero(limited & (s.jnt_type >= JointType.SLIDE))
    if len(scalar):
        dof = s.jnt_dofadr[scalar]
        value, weight = rows(data.qpos, s.jnt_qposadr[scalar]), model.dof_invweight0[dof]
        unit = jnp.asarray(np.eye(s.nv)[dof])
        parts += [_limit(model, "jnt", scalar, unit, weight, value, side) for side in (0, 1)]
    ball = np.flatnonzero(limited & (s.jnt_type == JointType.BALL))
    if len(ball):
        adr = s.jnt_qposadr[ball][:, None] + np.arange(4)
        axis, angle = safe.normalize(quat.log(quat.normalize(data.qpos[adr])))
        dofs = s.jnt_dofadr[ball][:, None] + np.arange(3)
        place = np.eye(s.nv)[dofs]
        jac = einsum("nk,nkv->nv", axis, place)
        weight = model.dof_invweight0[dofs[:, 0]]
        parts.append(_limit(model, "jnt", ball, jac, weight, angle[:, 0], 1))
    return parts


def _tendon_limits(model: Model, data: Data) -> list[_Rows]:
    ids = np.flatnonzero(model.structure.tendon_limited)
    if not len(ids):
        return []
    arm, weight, length = data.ten_J[ids], model.tendon_invweight0[ids], data.ten_length[ids]
    return [_limit(model, "tendon", ids, arm, weight, length, side) for side in (0, 1)]


def _limit(
    model: Model, kind: str, ids: np.ndarray, jac: Array, weight: Array, value: Array, side: int
) -> _Rows:
    """Rows of the lower (0) or upper (1) limits of joints or tendons."""
    suffix, sign = "" if kind == "jnt" else "_lim", 1 - 2 * side
    return _Rows(
        sign * jac,
        sign * (value - getattr(model, f"{kind}_range")[ids, side]),
        weight,
        getattr(model, f"{kind}_solref{suffix}")[ids],
        getattr(model, f"{kind}_solimp{suffix}")[ids],
        getattr(model, f"{kind}_margin")[ids],
        np.zeros(len(ids), bool),
    )


def _equalities(model: Model, data: Data) -> list[_Rows]:
    """Polynomial relations of joints and of tendons: y - y0 - p(x - x0) = 0."""
    s = model.structure
    dof = s.jnt_dofadr
    sources = {
        EqType.JOINT: lambda: (
            data.qpos[s.jnt_qposadr] - model.qpos0[s.jnt_qposadr],
            jnp.asarray(np.eye(s.nv)[dof]),
            model.dof_invweight0[dof],
        ),
        EqType.TENDON: lambda: (
            data.ten_length - model.tendon_length0,
            data.ten_J,
            model.tendon_invweight0,
        ),
    }
    parts = []
    for kind, source in sources.items():
        ids = np.flatnonzero(s.eq_active0.astype(bool) & (s.eq_type == kind))
        if len(ids):
            parts.append(_polynomial(model, ids, *source()))
    return parts


def _polynomial(model: Model, ids: np.ndarray, value: Array, arm: Array, weight: Array) -> _Rows:
    one, two = model.structure.eq_obj1id[ids], model.structure.eq_obj2id[ids]
    paired = two >= 0
    x = jnp.where(paired, value[two], 0)
    powers = jnp.stack([jnp.ones_like(x), x, x**2, x**3, x**4], axis=1)
    coef = model.eq_data[ids, :5]
    slope = jnp.sum(coef[:, 1:] * powers[:, :4] * np.arange(1.0, 5.0)[None], axis=1)
    return _Rows(
        arm[one] - jnp.where(paired[:, None], slope[:, None] * arm[two], 0),
        value[one] - jnp.sum(coef * powers, axis=1),
        weight[one] + jnp.where(paired, weight[two], 0),
        model.eq_solref[ids],
        model.eq_solimp[ids],
        jnp.zeros(len(ids)),
        np.ones(len(ids), bool),
    )
