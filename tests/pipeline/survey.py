"""Compares transition matrices of models with centred differences of MuJoCo's steps.

A line of the result has the largest difference of an entry of A and of B, relative to the largest
entry. Ours are compared with `mjd_transitionFD`, and with differences of MuJoCo's whole steps. The
latter include how the matrix of an implicit step depends on state and controls. MuJoCo's solver
runs until rounding ends it, because its tolerance would be divided by the step of the differences.
The search for contacts of convex geoms ends at `ccd_tolerance` as usual, which is visible in
differences but not in derivatives.

    python -m tests.pipeline.survey MODELS --count 60 --json results.jsonl
"""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from tests import surveys
from tests.oracle_tools import quick, to_ours

STEP = 1e-6
CONVERGED = {"iterations": 1000, "tolerance": 0.0, "ls_iterations": 200, "ls_tolerance": 1e-6}
STEPS = 20  # steps after which the state is one that the model reaches by itself


def compare(m: mujoco.MjModel, model: mjjax.Model) -> dict[str, Any] | None:
    """Differences of A and B; None if the model diverges on the way."""
    d = surveys.random_state(m, 0)
    mujoco.mj_step(m, d, STEPS)
    # Activations are near the old controls, where time constants of muscles change, so these move.
    d.ctrl[:] = surveys.random_state(m, 1).ctrl
    if any(w.number for w in d.warning) or m.nhistory:
        return None
    for name, value in CONVERGED.items():
        setattr(m.opt, name, value)
    options = {k: jnp.asarray(v) if isinstance(v, float) else v for k, v in CONVERGED.items()}
    model = model.replace(opt=model.opt.replace(**options))
    mine = quick(mjjax.transition_jacobian)(model, to_ours(model, d))
    ours = {"A": np.asarray(mine.A), "B": np.asarray(mine.B)}
    report: dict[str, Any] = {"nv": m.nv, "nu": m.nu, "integrator": int(m.opt.integrator)}
    mujoco.mj_forward(m, d)
    report["contacts"] = d.ncon
    if m.opt.integrator != mjjax.IntegratorType.RK4:
        n = 2 * m.nv + m.na
        theirs = {"A": np.zeros((n, n)), "B": np.zeros((n, m.nu))}
        mujoco.mjd_transitionFD(m, d, STEP, True, theirs["A"], theirs["B"], None, None)
        report["transition"] = {k: distance(ours[k], theirs[k]) for k in ours}
    whole = whole_steps(m, d)
    report["whole"] = {k: distance(ours[k], whole[k]) for k in ours}
    return report


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.abs(x - y).max(initial=0) / max(np.abs(y).max(initial=0), 1e-12))


def whole_steps(m: mujoco.MjModel, d: mujoco.MjData) -> dict[str, np.ndarray]:
    """A and B by centred differences of `mj_step`."""
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    start = np.zeros(mujoco.mj_stateSize(m, spec))
    mujoco.mj_getState(m, d, start, spec)

    def after(direction: int, size: float) -> tuple[np.ndarray, ...]:
        mujoco.mj_setState(m, d, start, spec)
        if direction < m.nv:
            move = np.zeros(m.nv)
            move[direction] = 1
            mujoco.mj_integratePos(m, d.qpos, move, size)
        elif direction < 2 * m.nv:
            d.qvel[direction - m.nv] += size
        elif direction < 2 * m.nv + m.na:
            d.act[direction - 2 * m.nv] += size
        else:
            d.ctrl[direction - 2 * m.nv - m.na] += size
        mujoco.mj_step(m, d)
        return d.qpos.copy(), d.qvel.copy(), d.act.copy()

    columns = []
    for k in range(2 * m.nv + m.na + m.nu):
        minus, plus = after(k, -STEP), after(k, STEP)
        moved = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, moved, 2 * STEP, minus[0], plus[0])
        rest = [(b - a) / (2 * STEP) for a, b in zip(minus[1:], plus[1:], strict=True)]
        columns.append(np.concatenate([moved, *rest]))
    mujoco.mj_setState(m, d, start, spec)
    both = np.stack(columns, axis=1)
    return {"A": both[:, : len(both)], "B": both[:, len(both) :]}


if __name__ == "__main__":
    surveys.run(compare, __doc__, max_nv=40)
