"""Limits and couplings of many worlds while a model is loaded: rows, and the motion under them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mjjax.constraint.impedance import impedance, regularization, softness, stiffness_damping
from mjjax.core.enums import DisableBit, EqType, JointType
from mjjax.math import quat, safe
from mjjax.model.model import Model
from mjjax.xla.namespace import Array

_ITERATIONS = 100


class PullState(NamedTuple):
    """Positions (w, nq), lengths (w, ntendon) and arms (w, ntendon, nv) of tendons."""

    qpos: Array
    length: Array
    arm: Array


class _Part(NamedTuple):
    """Rows of one kind: parameters (n, ...), and from a state residuals (w, n) and Jacobian."""

    weight: Array
    solref: Array
    solimp: Array
    margin: Array
    equality: Array
    evaluate: Callable[[PullState], tuple[Array, Array]]


class LengthLimits:
    """All rows of a model.

    Attributes:
        parts: rows by kind.
        tendons: ids of the tendons that rows need.
    """

    def __init__(self, model: Model):
        s = model.structure
        coupled = s.eq_active0.astype(bool) & (s.eq_type == EqType.TENDON)
        ends = np.concatenate([s.eq_obj1id[coupled], s.eq_obj2id[coupled]])
        needed = np.concatenate([np.flatnonzero(s.tendon_limited), ends[ends >= 0]])
        self.tendons = np.unique(needed).astype(int)
        self.parts = [
            *_equalities(model),
            *_joint_limits(model),
            *_tendon_limits(model),
        ]
        if self.parts:
            columns = zip(*(part[:-1] for part in self.parts), strict=True)
            weight, solref, solimp, margin, both = map(np.concatenate, columns)
            refsafe = not model.opt.disabled(DisableBit.REFSAFE)
            self._stiffness = stiffness_damping(solref, solimp, model.opt.timestep, refsafe)
            self._weight, self._solimp, self._margin, self._both = weight, solimp, margin, both

    def acceleration(
        self,
        inertia: Array,
        smooth: Array,
        qvel: Array,
        state: PullState,
        start: Array,
    ) -> Array:
        """Accelerations (w, nv) under forces without constraints (w, nv), starting at `start`."""
        free = _solve(inertia, smooth)
        if not self.parts:
            return free
        found = zip(*(part.evaluate(state) for part in self.parts), strict=True)
        pos, jac = (np.concatenate(x, axis=1) for x in found)
        distance = pos - self._margin
        shape = distance.shape
        solimp = np.broadcast_to(self._solimp, (*shape, 5)).reshape(-1, 5)
        imp = impedance(solimp, distance.ravel()).reshape(shape)
        k, b = self._stiffness
        aref = -b * np.einsum("wnv,wv->wn", jac, qvel) - k * imp * distance
        active = self._both | (distance < 0)
        mass = np.where(active, 1 / regularization(softness(imp), self._weight), 0)
        return _minimize(inertia, smooth, jac, aref, mass, self._both, start)


def _solve(matrix: Array, b: Array) -> Array:
    return np.linalg.solve(matrix, b[..., None])[..., 0]


# ---- motion -------------------------------------------------------------------------------------


def _minimize(
    inertia: Array,
    smooth: Array,
    jac: Array,
    aref: Array,
    mass: Array,
    both: Array,
    a: Array,
) -> Array:
    """Newton's method for rows that pull both ways or only push; exact once no row changes."""
    r = np.einsum("wnv,wv->wn", jac, a) - aref
    for _ in range(_ITERATIONS):
        on = both | (r < 0)
        weight = mass * on
        slope = np.einsum("wij,wj->wi", inertia, a) - smooth
        slope = slope + np.einsum("wnv,wn->wv", jac, weight * r)
        step = -_solve(inertia + jac.swapaxes(1, 2) @ (weight[:, :, None] * jac), slope)
        along = np.einsum("wnv,wv->wn", jac, step)
        same = (on == (both | (r + along < 0))).all(axis=1) | ~np.isfinite(along).all(axis=1)
        if same.all():
            return a + step
        alpha = _line(inertia, smooth, a, step, r, along, mass, both)
        a = a + np.where(same, 1, alpha)[:, None] * step
        r = np.einsum("wnv,wv->wn", jac, a) - aref
    return a


def _line(
    inertia: Array,
    smooth: Array,
    a: Array,
    step: Array,
    r: Array,
    along: Array,
    mass: Array,
    both: Array,
) -> Array:
    """Step lengths (w,) to the minima along rays, where the piecewise linear slope vanishes."""
    linear = np.einsum("wi,wi->w", np.einsum("wij,wj->wi", inertia, a) - smooth, step)
    bend = np.einsum("wi,wij,wj->w", step, inertia, step)

    def slope(alpha: Array) -> Array:
        value = r[:, None] + alpha[:, :, None] * along[:, None]
        pushed = np.where(both | (value < 0), value * (mass * along)[:, None], 0).sum(axis=2)
        return linear[:, None] + alpha * bend[:, None] + pushed

    breaks = np.maximum(safe.divide(-r, along), 0)
    uphill = slope(breaks) > 0
    low = np.where(uphill, 0, breaks).max(axis=1)
    high = np.where(uphill, breaks, np.inf).min(axis=1)
    inside = np.where(np.isfinite(high), 0.5 * (low + high), low + 1)
    on = mass * (both | (r + inside[:, None] * along < 0))
    falls = linear + (on * along * r).sum(axis=1)
    return safe.divide(-falls, bend + (on * along * along).sum(axis=1))


# ---- rows ---------------------------------------------------------------------------------------


def _joint_limits(model: Model) -> list[_Part]:
    s = model.structure
    limited = s.jnt_limited.astype(bool)
    scalar = np.flatnonzero(limited & (s.jnt_type >= JointType.SLIDE))
    ball = np.flatnonzero(limited & (s.jnt_type == JointType.BALL))
    unit, adr = np.eye(s.nv)[s.jnt_dofadr[scalar]], s.jnt_qposadr[scalar]
    parts = [
        _limit(model, "jnt", scalar, side, lambda state: (state.qpos[:, adr], unit))
        for side in (0, 1)
        if len(scalar)
    ]
    quats = s.jnt_qposadr[ball][:, None] + np.arange(4)
    place = np.eye(s.nv)[s.jnt_dofadr[ball][:, None] + np.arange(3)]

    def angles(state: PullState) -> tuple[Array, Array]:
        axis, angle = safe.normalize(quat.log(quat.normalize(state.qpos[:, quats])))
        return angle[..., 0], np.einsum("wnk,nkv->wnv", axis, place)

    if len(ball):
        parts.append(_limit(model, "jnt", ball, 1, angles))
    return parts


def _tendon_limits(model: Model) -> list[_Part]:
    ids = np.flatnonzero(model.structure.tendon_limited)
    if not len(ids):
        return []
    return [
        _limit(model, "tendon", ids, side, lambda state: (state.length[:, ids], state.arm[:, ids]))
        for side in (0, 1)
    ]


def _limit(
    model: Model,
    kind: str,
    ids: Array,
    side: int,
    value: Callable[[PullState], tuple[Array, Array]],
) -> _Part:
    """Rows of the lower (0) or upper (1) limits of joints or tendons."""
    s, sign = model.structure, 1 - 2 * side
    suffix = "" if kind == "jnt" else "_lim"
    bound = getattr(model, f"{kind}_range")[ids, side]
    weights = {"jnt": model.dof_invweight0[s.jnt_dofadr], "tendon": model.tendon_invweight0}

    def evaluate(state: PullState) -> tuple[Array, Array]:
        x, arm = value(state)
        return sign * (x - bound), sign * np.broadcast_to(arm, (*x.shape, arm.shape[-1]))

    return _Part(
        weights[kind][ids],
        getattr(model, f"{kind}_solref{suffix}")[ids],
        getattr(model, f"{kind}_solimp{suffix}")[ids],
        getattr(model, f"{kind}_margin")[ids],
        np.zeros(len(ids), bool),
        evaluate,
    )


def _equalities(model: Model) -> list[_Part]:
    """Polynomial relations of joints and of tendons: y - y0 - p(x - x0) = 0."""
    s = model.structure
    adr, dof = s.jnt_qposadr, s.jnt_dofadr
    unit = np.eye(s.nv)[dof][None]
    sources: dict[EqType, tuple[Array, Callable[[PullState], tuple[Array, Array]]]] = {
        EqType.JOINT: (
            model.dof_invweight0[dof],
            lambda state: (state.qpos[:, adr] - model.qpos0[adr], unit),
        ),
        EqType.TENDON: (
            model.tendon_invweight0,
            lambda state: (state.length - model.tendon_length0, state.arm),
        ),
    }
    parts = []
    for kind, (weight, value) in sources.items():
        ids = np.flatnonzero(s.eq_active0.astype(bool) & (s.eq_type == kind))
        if len(ids):
            parts.append(_polynomial(model, ids, weight, value))
    return parts


def _polynomial(
    model: Model,
    ids: Array,
    weight: Array,
    value: Callable[[PullState], tuple[Array, Array]],
) -> _Part:
    one, two = model.structure.eq_obj1id[ids], model.structure.eq_obj2id[ids]
    paired, coef = two >= 0, model.eq_data[ids, :5]

    def evaluate(state: PullState) -> tuple[Array, Array]:
        x, arm = value(state)
        powers = np.where(paired, x[:, two], 0)[..., None] ** np.arange(5)
        slope = (coef[:, 1:] * powers[..., :4] * np.arange(1, 5)).sum(axis=-1)
        jac = arm[:, one] - np.where(paired, slope, 0)[..., None] * arm[:, two]
        return x[:, one] - (coef * powers).sum(axis=-1), jac

    return _Part(
        weight[one] + np.where(paired, weight[two], 0),
        model.eq_solref[ids],
        model.eq_solimp[ids],
        np.zeros(len(ids)),
        np.ones(len(ids), bool),
        evaluate,
    )
