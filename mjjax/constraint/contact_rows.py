"""Contact-frame rows: relative motion of two bodies along the axes of their contact.

Of one or few trees a matrix with a column per dof is best. In a scene of many trees it would be
mostly zeros: there a row is a wrench on either body, and products go through the motion of bodies.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from mjjax.dynamics.tree import body_sum, dof_sum, tree_plan
from mjjax.math.linalg import dot, matmul, total
from mjjax.math.namespace import Array
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Contact, Data
from mjjax.model.structure import Structure


class DofRows(NamedTuple):
    """Rows with a column per dof.

    Attributes:
        matrix: (n, width, nv) rows.
    """

    matrix: Array

    def velocity(self, s: Structure, v: Array) -> Array:
        """Relative velocities (n, width) at joint velocities (nv,)."""
        n, width, nv = self.matrix.shape
        return matmul(self.matrix.reshape(n * width, nv), v).reshape(n, width)

    def force(self, s: Structure, f: Array) -> Array:
        """Joint-space force (nv,) of forces (n, width)."""
        n, width, nv = self.matrix.shape
        return matmul(f.reshape(n * width), self.matrix.reshape(n * width, nv))

    def dense(self, s: Structure) -> Array:
        """The rows (n, width, nv)."""
        return self.matrix


class BodyRows(NamedTuple):
    """Rows as wrenches on two bodies.

    Attributes:
        wrench: (n, width, 2, 6) torque and force on either body, about the centre of mass of its
            root.
        body: (n, 2) body ids.
        cdof: (nv, 6) motion axes.
    """

    wrench: Array
    body: Array
    cdof: Array

    def velocity(self, s: Structure, v: Array) -> Array:
        """Relative velocities (n, width) at joint velocities (nv,)."""
        motion = body_sum(s, self.cdof * v[:, None])[self.body]
        return total(dot(self.wrench[:, :, i], motion[:, None, i]) for i in range(2))

    def force(self, s: Structure, f: Array) -> Array:
        """Joint-space force (nv,) of forces (n, width)."""
        # written out: XLA is twenty times slower with a sum over an axis in the middle
        each = total(self.wrench[:, k] * f[:, k, None, None] for k in range(f.shape[1]))
        return dot(self.cdof, dof_sum(s, self.sum_by_body(s, each)))

    def dense(self, s: Structure) -> Array:
        """The rows (n, width, nv)."""
        moves = jnp.asarray(tree_plan(s).moves, self.cdof.dtype)[self.body]
        return jnp.sum(matmul(self.wrench, self.cdof.T) * moves[:, None], axis=2)

    def sum_by_body(self, s: Structure, x: Array) -> Array:
        """Sums (nbody, ...) of what acts on either body (n, 2, ...)."""
        return jnp.zeros((s.nbody, *x.shape[2:]), x.dtype).at[self.body].add(x)

    def stiffness(self, s: Structure, curvature: Array) -> Array:
        """Stiffness (nbody, 6, 6) by which contacts hold each body, with (n, width, width) given.

        That of two bodies for each other is left out.
        """
        rows, width = self.wrench, self.wrench.shape[1]
        half = total(curvature[:, :, k, None, None] * rows[:, None, k] for k in range(width))
        held = total(rows[:, k, :, :, None] * half[:, k, :, None] for k in range(width))
        return self.sum_by_body(s, held)


ContactRows = DofRows | BodyRows


def body_rows(s: Structure, data: Data, contact: Contact, width: int) -> BodyRows:
    """Rows of the contact slots: normal, two tangential, torsional, two rolling."""
    body = jnp.asarray(s.geom_bodyid)[jnp.maximum(contact.geom, 0)]
    center = data.subtree_com[jnp.asarray(s.body_rootid)[body]]
    frame = jnp.broadcast_to(mat3(contact.frame)[:, :, None], (len(body), 3, 2, 3))
    arm = jnp.broadcast_to((contact.pos[:, None] - center)[:, None], frame.shape)
    push = jnp.concatenate([cross(arm, frame), frame], axis=-1)
    turn = jnp.concatenate([frame, jnp.zeros_like(frame)], axis=-1)
    wrench = jnp.concatenate([push, turn], axis=1)[:, :width]
    side = jnp.where(contact.geom[:, :1] >= 0, np.array([[-1, 1]], wrench.dtype), 0)
    return BodyRows(wrench * side[:, None, :, None], body, data.cdof)
