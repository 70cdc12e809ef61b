"""Constrained acceleration of small models on numpy: limits and equalities only."""

import numpy as np

_ITERATIONS = 100
_TOLERANCE = 1e-13


def solve_rows(
    inertia: np.ndarray,
    smooth: np.ndarray,
    jac: np.ndarray,
    aref: np.ndarray,
    mass: np.ndarray,
    equality: np.ndarray,
) -> np.ndarray:
    """Minimises a' M a / 2 - smooth . a + sum of D r^2 / 2 over the rows that push.

    Newton's method: within a set of pushing rows the objective is quadratic; between sets the step
    is shortened until the objective falls.

    Args:
        inertia: (nv, nv) M.
        smooth: (nv,) force without constraints.
        jac: (n, nv) row Jacobian; the residual is r = J a - aref.
        aref: (n,) reference accelerations.
        mass: (n,) constraint masses D.
        equality: (n,) rows that push both ways; the others push for r < 0 only.
    """

    def cost(a: np.ndarray) -> float:
        r = jac @ a - aref
        push = equality | (r < 0)
        return float(0.5 * a @ (inertia @ a) - smooth @ a + 0.5 * np.sum((mass * r * r)[push]))

    a = np.linalg.solve(inertia, smooth)
    value, before = cost(a), None
    for _ in range(_ITERATIONS):
        push = equality | (jac @ a - aref < 0)
        if before is not None and np.array_equal(push, before):
            break
        before = push
        stiff = jac[push].T * mass[push]
        target = np.linalg.solve(inertia + stiff @ jac[push], smooth + stiff @ aref[push])
        scale = 1.0
        while (after := cost(a + scale * (target - a))) > value and scale > _TOLERANCE:
            scale *= 0.5
            before = None
        a, value = a + scale * (target - a), after
    return a
