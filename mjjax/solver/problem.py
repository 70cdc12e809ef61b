"""The constrained dynamics as a convex optimisation problem.

    minimise over a:  (a - a_smooth)' M (a - a_smooth) / 2 + s(J a - aref)

with the row costs s of `mjjax.solver.objective`.
"""

from typing import NamedTuple

from mjjax.constraint.jacobian import RowJacobian
from mjjax.math.namespace import Array


class Problem(NamedTuple):
    """Data of the problem; every entry is differentiable.

    Attributes:
        M: (nv, nv) joint-space inertia.
        smooth: (nv,) force without constraints, M a_smooth.
        jac: row Jacobian.
        aref: (n,) reference accelerations.
        D: (n,) constraint masses, 0 for inactive rows.
        low, high: (n,) bounds of the row forces.
        mu: (ncontact,) regularized friction coefficient of elliptic cones.
        friction: (ncontact, width) cone axes: mu, then the friction coefficients.
    """

    M: Array
    smooth: Array
    jac: RowJacobian
    aref: Array
    D: Array
    low: Array
    high: Array
    mu: Array
    friction: Array
