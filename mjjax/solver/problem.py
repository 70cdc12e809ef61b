"""The constrained dynamics as a convex optimisation problem.

    minimise over qacc:  (qacc - qacc_smooth)' M (qacc - qacc_smooth) / 2 + s(J qacc - aref)

with the row costs s of `mjjax.solver.objective`.
"""

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.jacobian import RowJacobian, row_jacobian
from mjjax.constraint.layout import FRICTION, RowLayout
from mjjax.core.enums import ConstraintType
from mjjax.core.struct import PyTree, static
from mjjax.dynamics.joint_inertia import Inertia, inertia_of
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.solver.islands import Parts, parts_of
from mjjax.xla.namespace import Array, where


class Problem(PyTree):
    """Data of the problem; every entry is differentiable.

    Attributes:
        inertia: joint-space inertia.
        qfrc_smooth: (nv,) force without constraints, M qacc_smooth.
        jac: row Jacobian.
        aref: (n,) reference accelerations.
        D: (n,) constraint masses, 0 for inactive rows.
        low, high: (n,) bounds of the row forces.
        friction: (ncontact, width) axes of elliptic cones: the regularized coefficient of friction
            mu, then the coefficients; 0 for coefficients that a contact does not have.
        parts: the separate problems of which this one consists.
        layout: row layout.
    """

    inertia: Inertia
    qfrc_smooth: Array
    jac: RowJacobian
    aref: Array
    D: Array
    low: Array
    high: Array
    friction: Array
    parts: Parts
    layout: RowLayout = static()

    def for_products(self) -> "Problem":
        """The same problem with contact rows as a matrix, before a solver multiplies many times."""
        return self.replace(jac=self.jac.replace(contact=self.jac.contact.as_matrix()))

    @property
    def mu(self) -> Array:
        """(ncontact,) regularized friction coefficients."""
        return self.friction[:, 0]


def problem_of(model: Model, data: Data, layout: RowLayout) -> Problem:
    """The optimisation problem of the current rows."""
    n = layout.nrow
    d = data.efc_D[:n]
    friction = layout.mask(*FRICTION)
    free = layout.mask(ConstraintType.EQUALITY)
    if not layout.pyramidal:
        free |= np.arange(n) >= layout.nscalar
    low, high = where(free, -jnp.inf, 0).astype(d.dtype), jnp.full(n, jnp.inf, d.dtype)
    if friction.any():
        loss = jnp.pad(data.efc_scalar_frictionloss, (0, n - layout.nscalar))
        low, high = where(friction, -loss, low), where(friction, loss, high)
    coefficients = data.contact.friction[: layout.ncontact, : layout.width - 1]
    mu = data.contact.friction[: layout.ncontact, 0] / jnp.sqrt(model.opt.impratio)
    dim = data.contact.dim[: layout.ncontact]
    used = np.arange(1, layout.width, dtype=np.int32)[None] < dim[:, None]
    axes = jnp.concatenate([mu[:, None], where(used, coefficients, 0)], axis=-1)
    return Problem(
        inertia=inertia_of(model, data),
        qfrc_smooth=data.qfrc_smooth,
        jac=row_jacobian(model, data, layout),
        aref=data.efc_aref[:n],
        D=d,
        low=low,
        high=high,
        friction=axes,
        parts=parts_of(model, data, layout),
        layout=layout,
    )
