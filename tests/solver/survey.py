"""Compares every solver with MuJoCo's on models with contacts, and islands with the whole.

MuJoCo steps each model until it has contacts. In this state both engines solve the same rows with
each solver. The reference is MuJoCo's Newton solver (for noslip MuJoCo's noslip), run far beyond
every tolerance. A line of the result has the distances of both engines from the reference, relative
to the largest entry, and their objectives: that of accelerations, or for PGS the dual one.

    python -m tests.solver.survey MODELS --count 60 --json results.jsonl
"""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from tests import surveys
from tests.oracle_tools import INPUTS, quick, to_ours

NEWTON, CG, PGS = mjjax.SolverType.NEWTON, mjjax.SolverType.CG, mjjax.SolverType.PGS
# Options by name of the solver; other options are as in the file.
SOLVERS: dict[str, dict[str, Any]] = {
    "newton": {"solver": NEWTON, "noslip_iterations": 0},
    "cg": {"solver": CG, "noslip_iterations": 0},
    "pgs": {"solver": PGS, "noslip_iterations": 0},
    "noslip": {"solver": NEWTON, "noslip_iterations": 5},
}
EXACT = {"iterations": 2000, "ls_iterations": 200, "tolerance": 0.0, "ls_tolerance": 1e-6}
CONTACTS = (50, 100, 200, 400, 800)  # numbers of steps after which contacts are looked for


def touching(m: mujoco.MjModel) -> mujoco.MjData | None:
    """The state with most contacts on the way from a random state; None if nothing touches."""
    d, best, state = surveys.random_state(m, 0), 0, None
    for n in np.diff(CONTACTS, prepend=0):
        mujoco.mj_step(m, d, int(n))
        mujoco.mj_forward(m, d)
        if d.ncon > best and not any(w.number for w in d.warning):
            best, state = d.ncon, mujoco.MjData(m)
            copy_inputs(d, state)
    return state


def copy_inputs(source: mujoco.MjData, target: mujoco.MjData) -> None:
    """Copies everything that a forward pass reads."""
    for name in INPUTS:
        getattr(target, name)[:] = getattr(source, name)


def solved(m: mujoco.MjModel, start: mujoco.MjData, options: dict[str, Any]) -> mujoco.MjData:
    """MuJoCo's results with some options; afterwards the model has its old options."""
    before = {name: getattr(m.opt, name) for name in options}
    for name, value in options.items():
        setattr(m.opt, name, value)
    d = mujoco.MjData(m)
    copy_inputs(start, d)
    mujoco.mj_forward(m, d)
    for name, value in before.items():
        setattr(m.opt, name, value)
    return d


def ours_with(model: mjjax.Model, options: dict[str, Any]) -> mjjax.Model:
    """Our model with some options."""
    real = {k: jnp.asarray(v) if isinstance(v, float) else int(v) for k, v in options.items()}
    return model.replace(opt=model.opt.replace(**real))


def distance(x: Any, y: Any) -> float:
    """Largest difference relative to the largest entry, or to one."""
    y = np.asarray(y)
    return float(np.abs(np.asarray(x) - y).max(initial=0) / max(1, np.abs(y).max(initial=0)))


def objective(m: mujoco.MjModel, d: mujoco.MjData, qacc: np.ndarray) -> float:
    """(a - a_smooth)' M (a - a_smooth) / 2 + s(J a - aref), by MuJoCo."""
    away, moved, cost = qacc - d.qacc_smooth, np.zeros(m.nv), np.zeros(1)
    mujoco.mj_mulM(m, d, moved, away)
    rows = np.zeros(d.nefc)
    mujoco.mj_mulJacVec(m, d, rows, qacc)
    mujoco.mj_constraintUpdate(m, d, rows - d.efc_aref, cost, 0)
    return float(0.5 * away @ moved + cost[0])


def dual_objective(d: mujoco.MjData, force: np.ndarray) -> float:
    """f' (A + R) f / 2 + f' b."""
    matrix = np.reshape(d.efc_AR[: d.nefc**2], (d.nefc, d.nefc))
    return float(0.5 * force @ matrix @ force + force @ d.efc_b)


def compare(m: mujoco.MjModel, model: mjjax.Model) -> dict[str, Any] | None:
    """Distances and objectives of one model by solver; None if nothing ever touches."""
    start = touching(m)
    if start is None:
        return None
    m.opt.jacobian = mjjax.JacobianType.DENSE  # rows are read as matrices here
    data = quick(mjjax.forward)(model, to_ours(model, start))
    truth = solved(m, start, SOLVERS["newton"] | EXACT)
    on = np.asarray(data.efc_D) > 0
    report: dict[str, Any] = {"nv": m.nv, "ntree": m.ntree, "nefc": truth.nefc}
    report["rows"] = np.inf
    if on.sum() == truth.nefc:
        report["rows"] = max(
            distance(np.asarray(getattr(data, name))[on], getattr(truth, name))
            for name in ("efc_pos", "efc_D", "efc_aref")
        )
        constrain = quick(mjjax.fwd_constraint)
        report |= {name: one(m, model, data, start, truth, name, constrain) for name in SOLVERS}
        report["islands"] = islands(m, model, data)
    return report


def one(
    m: mujoco.MjModel,
    model: mjjax.Model,
    data: mjjax.Data,
    start: mujoco.MjData,
    truth: mujoco.MjData,
    name: str,
    constrain: Any,
) -> dict[str, Any]:
    """Results of one solver for the rows."""
    options = SOLVERS[name]
    theirs, exact = solved(m, start, options), truth
    mine = constrain(ours_with(model, options), data)
    if name == "noslip":
        far = {"noslip_iterations": 5000, "noslip_tolerance": 0.0}
        exact = solved(m, start, options | EXACT | far)
    force = np.asarray(mine.efc_force)[np.asarray(data.efc_D) > 0]
    if theirs.nefc != truth.nefc:
        return {"their_memory": "full"}  # MuJoCo has dropped rows
    if name == "pgs":
        costs = [dual_objective(theirs, f) for f in (force, theirs.efc_force)]
    else:
        costs = [objective(m, truth, np.asarray(d.qacc)) for d in (mine, theirs)]
    return {
        "to_theirs": distance(mine.qacc, theirs.qacc),
        "force_to_theirs": distance(force, theirs.efc_force),
        "error": distance(mine.qacc, exact.qacc),
        "their_error": distance(theirs.qacc, exact.qacc),
        "excess": (costs[0] - costs[1]) / max(1, abs(costs[1])),
        "niter": int(mine.solver_niter),
        "their_niter": int(max(theirs.solver_niter, default=0)),
    }


def islands(m: mujoco.MjModel, model: mjjax.Model, data: mjjax.Data) -> float:
    """Distance between the converged accelerations with islands and without."""
    apart, whole = (
        # islands are found with the positions
        quick(mjjax.forward)(
            ours_with(model, SOLVERS["newton"] | EXACT | {"disableflags": flags}), data
        )
        for flags in (
            m.opt.disableflags & ~mjjax.DisableBit.ISLAND,
            m.opt.disableflags | mjjax.DisableBit.ISLAND,
        )
    )
    return distance(apart.qacc, whole.qacc)


if __name__ == "__main__":
    surveys.run(compare, __doc__, max_nv=60)
