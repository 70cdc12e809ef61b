"""Contact-frame rows: relative motion of two bodies along the axes of their contact.

For one or a few trees, the Jacobian has a column for each dof. It is kept as factors (`DofRows`),
which the solver multiplies out to a matrix (`MatrixRows`). In a scene of many trees such a matrix
would be mostly zeros. There a row is a wrench on each of the two bodies, and products go through
the motion of bodies (`BodyRows`). `RowLayout.by_body` says which form is used. Slots without a
contact have geoms -1 and rows of zeros.
"""

import operator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from mjjax.dynamics.jacobian import contact_wrenches, wrench_rows
from mjjax.dynamics.tree import body_sum, dof_sum, tree_plan
from mjjax.math import components
from mjjax.math.components import Parts, split
from mjjax.math.quat import cross
from mjjax.math.spatial import mat3
from mjjax.model.data import Contact, Data
from mjjax.model.structure import Structure
from mjjax.xla.item_by_item import for_those
from mjjax.xla.layout import components_first, components_last, whole_vectors
from mjjax.xla.linalg import by_entry, dot, matmul, mul_blocks, slabs, stack, total, unstack
from mjjax.xla.namespace import Array, namespace, where
from mjjax.xla.ordering import by_place, by_platform, computed_once

ANGULAR, LINEAR = slice(0, 3), slice(3, 6)


class DofRows(NamedTuple):
    """Factors of rows with a column for each dof.

    Row k of contact c is side[c] times the sum over i of wrench[i][c, k] axis[i]. The derivative of
    the whole matrix would have all of its entries for every direction, so products use the factors.

    Attributes:
        wrench: six arrays (n, width): torque and force of a unit force in each row.
        axis: (6, nv) motion axes of the dofs, about the point that torques refer to.
        side: (n, nv) 1 if the dof moves only the second body, -1 if only the first, else 0.
    """

    wrench: Parts
    axis: Array
    side: Array

    def velocity(self, s: Structure, v: Array) -> Array:
        """Relative velocities (n, width) at joint velocities (nv,)."""
        motion = slabs(matmul(self.axis * v[None], self.side.T), 0)
        return total(x * y.T for x, y in zip(self.wrench, motion, strict=True))

    def force(self, s: Structure, f: Array) -> Array:
        """Joint-space force (nv,) of forces (n, width)."""
        both = jnp.stack([dot(x, f) for x in self.wrench])
        return total(slabs(self.axis * matmul(both, self.side), 0))[0]

    def dense(self, s: Structure) -> Array:
        """The rows (n, width, nv)."""
        return self.as_matrix().dense(s)

    def mul_jt_b_j(self, s: Structure, blocks: Array) -> Array:
        """The rows' transpose times blocks (n, width, width) times the rows: (nv, nv)."""
        return self.as_matrix().mul_jt_b_j(s, blocks)

    def as_matrix(self) -> "MatrixRows":
        """The same rows as a matrix, which makes many products cheaper."""
        return by_place(self, kernel=_matrix_rows_of_contacts, elsewhere=_matrix_rows)


class MatrixRows(NamedTuple):
    """Rows as a matrix.

    Attributes:
        matrix: (n, width, nv) rows, with columns of zeros up to a multiple of eight; see
            `whole_vectors`.
        columns: (nv, n width) transpose of `matrix`, for products that would read its columns.
    """

    matrix: Array
    columns: Array

    def velocity(self, s: Structure, v: Array) -> Array:
        """Relative velocities (n, width) at joint velocities (nv,)."""
        return computed_once(matmul(v, self.columns)).reshape(self.matrix.shape[:2])

    def force(self, s: Structure, f: Array) -> Array:
        """Joint-space force (nv,) of forces (n, width)."""
        return matmul(f.reshape(-1), self._flat())[: len(self.columns)]

    def dense(self, s: Structure) -> Array:
        """The rows (n, width, nv)."""
        return self.matrix[..., : len(self.columns)]

    def mul_jt_b_j(self, s: Structure, blocks: Array) -> Array:
        """The rows' transpose times blocks (n, width, width) times the rows: (nv, nv)."""
        # A processor has vectors along rows, so J' (B J) is faster. On a GPU this would need one
        # more transpose, so (J' B) J is faster. One kernel skips contacts that have no curvature.
        product = by_platform(
            self,
            blocks,
            processor=MatrixRows._curved_rows,
            accelerator=MatrixRows._curved_columns,
            kernel=MatrixRows._curved_contacts,
        )
        return product[:, : len(self.columns)]

    def as_matrix(self) -> "MatrixRows":
        """These rows."""
        return self

    def _flat(self) -> Array:
        return self.matrix.reshape(self.columns.shape[1], self.matrix.shape[2])

    def _curved_rows(self, blocks: Array) -> Array:
        half = mul_blocks(blocks, self.matrix).reshape(self._flat().shape)
        return matmul(self.columns, half)

    def _curved_columns(self, blocks: Array) -> Array:
        columns = slabs(self.columns.reshape(-1, *blocks.shape[:2]), 2)
        half = total(x * y[:, :, 0] for x, y in zip(columns, slabs(blocks[None], 2), strict=True))
        return matmul(half.reshape(self.columns.shape), self._flat())

    def _curved_contacts(self, blocks: Array) -> Array:
        nv = len(self.columns)

        def add(contact: Array, product: Array) -> Array:
            own = self.matrix[contact]
            half = mul_blocks(blocks[contact][None], own[None])[0]
            return product + total(x[:nv, None] * y[None] for x, y in zip(own, half, strict=True))

        curved = jnp.any(blocks != 0, axis=(1, 2))
        return for_those(curved, add, jnp.zeros((nv, self.matrix.shape[2]), blocks.dtype))


def _matrix_rows(rows: DofRows) -> MatrixRows:
    wrench, axis, side = rows
    matrix = wrench_rows(wrench, whole_vectors(axis), whole_vectors(side))
    columns = matmul(axis.T, stack(x.reshape(-1) for x in wrench))
    sides = namespace(side).repeat(side, matrix.shape[1], axis=0)
    return MatrixRows(matrix, by_entry(operator.mul, columns, sides.T))


def _matrix_rows_of_contacts(rows: DofRows) -> MatrixRows:
    """As `_matrix_rows`, but slots without a contact cost nothing."""
    (n, width), nv = rows.wrench[0].shape, rows.axis.shape[1]
    axis, side = whole_vectors(rows.axis), whole_vectors(rows.side)

    def put(contact: Array, found: MatrixRows) -> MatrixRows:
        own = wrench_rows(tuple(x[contact][None] for x in rows.wrench), axis, side[contact][None])[
            0
        ]
        return MatrixRows(
            lax.dynamic_update_index_in_dim(found.matrix, own, contact, 0),
            lax.dynamic_update_slice_in_dim(found.columns, own[:, :nv].T, contact * width, 1),
        )

    pushes = total(jnp.abs(x[:, 0]) for x in rows.wrench[LINEAR]) > 0  # the normal has length one
    none = jnp.zeros((n, width, axis.shape[1]), axis.dtype), jnp.zeros((nv, n * width), axis.dtype)
    return for_those(pushes, put, MatrixRows(*none))


class BodyRows(NamedTuple):
    """Rows as the relative motion of two bodies at a point, along axes.

    Attributes:
        push: (n, m, 3) axes of the first m = min(width, 3) rows, normal and tangents. These rows
            measure the velocity of the contact point on the second body minus that on the first.
        turn: (n, width - m, 3) axes of the torsional and rolling rows, for angular velocities.
        arm: (n, 2, 3) the point relative to the centre of mass of each body's kinematic root.
        body: (n, 2) body ids.
        cdof: (nv, 6) motion axes.
    """

    push: Array
    turn: Array
    arm: Array
    body: Array
    cdof: Array

    def velocity(self, s: Structure, v: Array) -> Array:
        """Relative velocities (n, width) at joint velocities (nv,)."""
        motion = body_sum(s, components_first(self.cdof) * v[None])
        motion = components_last(motion)[self.body]
        point = motion[..., LINEAR] + cross(motion[..., ANGULAR], self.arm)
        away, turning = (x[:, 1:] - x[:, :1] for x in (point, motion[..., ANGULAR]))
        rows = dot(self.push, away)
        if not self.turn.shape[1]:
            return rows
        return jnp.concatenate([rows, dot(self.turn, turning)], axis=1)

    def force(self, s: Structure, f: Array) -> Array:
        """Joint-space force (nv,) of forces (n, width)."""
        wrench = components_first(self.sum_by_body(s, self._wrenches(f)))
        return components.dot(split(self.cdof), unstack(dof_sum(s, wrench)))

    def as_matrix(self) -> "BodyRows":
        """These rows, because a matrix would be mostly zeros."""
        return self

    def dense(self, s: Structure) -> Array:
        """The rows (n, width, nv)."""
        moves = jnp.asarray(tree_plan(s).moves, self.cdof.dtype)[self.body]
        return jnp.sum(matmul(self._row_wrenches(), self.cdof.T) * moves[:, None], axis=2)

    def mul_jt_b_j(self, s: Structure, blocks: Array) -> Array:
        """The rows' transpose times blocks (n, width, width) times the rows: (nv, nv)."""
        rows = self.dense(s)
        half = mul_blocks(blocks, rows)
        return matmul(rows.reshape(-1, rows.shape[2]).T, half.reshape(-1, rows.shape[2]))

    def sum_by_body(self, s: Structure, x: Array) -> Array:
        """Sums (nbody, ...) of the effects on the two bodies of each contact (n, 2, ...)."""
        return jnp.zeros((s.nbody, *x.shape[2:]), x.dtype).at[self.body].add(x)

    def stiffness(self, s: Structure, curvature: Array) -> Array:
        """Stiffness (nbody, 6, 6) of contacts on each body, from their curvature (n, width, width).

        These are the diagonal blocks of the bodies. The coupling between the two bodies of a
        contact is left out.
        """
        rows = self._row_wrenches()
        width = rows.shape[1]
        half = total(curvature[:, :, k, None, None] * rows[:, None, k] for k in range(width))
        held = total(rows[:, k, :, :, None] * half[:, k, :, None] for k in range(width))
        return self.sum_by_body(s, held)

    def _wrenches(self, f: Array) -> Array:
        """Torque and force (n, 2, 6) on each of the two bodies by forces (n, width)."""
        count = self.push.shape[1]
        # written out, see `total`
        force = total(f[:, k, None] * self.push[:, k] for k in range(count))[:, None]
        torque = cross(self.arm, force)
        for k in range(self.turn.shape[1]):
            torque += (f[:, count + k, None] * self.turn[:, k])[:, None]
        force = jnp.broadcast_to(force, torque.shape)
        return _opposite(jnp.concatenate([torque, force], axis=-1))

    def _row_wrenches(self) -> Array:
        """Torque and force (n, width, 2, 6) on each of the bodies by a unit force in each row."""
        push = self.push[:, :, None]
        torque = cross(self.arm[:, None], push)
        push = jnp.concatenate([torque, jnp.broadcast_to(push, torque.shape)], axis=-1)
        turn = jnp.broadcast_to(self.turn[:, :, None], (*self.turn.shape[:2], 2, 3))
        turn = jnp.concatenate([turn, jnp.zeros_like(turn)], axis=-1)
        return _opposite(jnp.concatenate([push, turn], axis=1))


ContactRows = DofRows | MatrixRows | BodyRows


def _opposite(wrench: Array) -> Array:
    """Wrenches on two bodies (..., 2, 6), with the sign changed for the first body."""
    first, second = wrench[..., :1, :], wrench[..., 1:, :]
    return jnp.concatenate([-first, second], axis=-2)


def dof_rows(
    s: Structure, data: Data, contact: Contact, geoms: np.ndarray | None, width: int
) -> DofRows:
    """Rows of the contact slots; the geoms of a slot may be static, see `contact_wrenches`."""
    return DofRows(*contact_wrenches(s, data, contact, geoms, width))


def body_rows(s: Structure, data: Data, contact: Contact, width: int) -> BodyRows:
    """Rows of the contact slots: normal, two tangential, torsional, two rolling."""
    body = jnp.asarray(s.geom_bodyid)[jnp.maximum(contact.geom, 0)]
    center = data.subtree_com[jnp.asarray(s.body_rootid)[body]]
    frame = where(contact.geom[:, :1, None] >= 0, mat3(contact.frame), 0)
    push, turn = frame[:, :width], frame[:, : max(0, width - 3)]
    return BodyRows(push, turn, contact.pos[:, None] - center, body, data.cdof)
