"""Forces of the constraints on bodies, and the forces that the joints have to carry."""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from mjjax.constraint.equality import anchors
from mjjax.constraint.layout import EQUALITY_ROWS, RowLayout, layout_of
from mjjax.core.enums import ConstraintType, EqType
from mjjax.dynamics.tree import subtree_sum
from mjjax.dynamics.velocity import body_accelerations, body_forces
from mjjax.math.quat import cross, join
from mjjax.math.spatial import mat3
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.xla.indexing import gather
from mjjax.xla.layout import components_first, components_last
from mjjax.xla.linalg import matmul, matvec3, row_sum, stack
from mjjax.xla.namespace import Array, where


def contact_forces(model: Model, data: Data) -> Array:
    """Force and torque (nconmax, 6) of every contact in its frame: normal, tangents [N, N m].

    The force acts from the first geom on the second. It is zero for contacts without rows.
    """
    layout = layout_of(model, data)
    slots = data.contact.dist.shape[0]
    n, per = layout.ncontact, layout.per_contact
    force = data.efc_force[layout.nscalar : layout.nrow].reshape(n, per)
    if layout.pyramidal and layout.width > 1:
        force = _decoded(data, layout, force)
    return jnp.pad(force, ((0, slots - n), (0, 6 - layout.width)))


def _decoded(data: Data, layout: RowLayout, edges: Array) -> Array:
    """Contact-frame forces (n, width) from those of the pyramid's edges (n, 2 (width - 1))."""
    n, width = layout.ncontact, layout.width
    pairs = edges.reshape(n, width - 1, 2)
    friction = data.contact.friction[:n, : width - 1] * (pairs[:, :, 0] - pairs[:, :, 1])
    smooth = data.contact.dim[:n, None] == 1
    return jnp.concatenate([row_sum(edges), where(smooth, 0, friction)], axis=1)


def contact_force(model: Model, data: Data, contact: Array | int) -> Array:
    """Force and torque (6,) of one contact slot in its frame [N, N m] (`mj_contactForce`).

    The slot may be traced. A slot that does not exist has no force, as in MuJoCo.
    """
    forces = contact_forces(model, data)
    chosen = np.arange(len(forces)) == contact
    return jnp.sum(where(chosen[:, None], forces, 0), axis=0)


def rne_postconstraint(model: Model, data: Data) -> Data:
    """Body accelerations and forces, given all constraint forces (`mj_rnePostConstraint`).

    It fills `cacc`, `cfrc_ext` (applied forces, contacts, connects and welds) and `cfrc_int` (the
    force of the parent on each body), all about the centre of mass of the kinematic root. Forces
    of tendons and limits count as internal. Derivatives are exact.
    """
    s = model.structure
    acc = body_accelerations(model, data, data.qacc)
    external = external_forces(model, data)
    force = stack(body_forces(data, acc)) - components_first(external)
    # The world has no acceleration and no joint that carries it. Only its children have forces.
    inner = subtree_sum(s, force * (np.arange(s.nbody) > 0).astype(force.dtype)[None])
    return data.replace(cacc=join(acc), cfrc_ext=external, cfrc_int=components_last(inner))


def external_forces(model: Model, data: Data) -> Array:
    """Torque and force (nbody, 6) on every body from outside its tree, about the root's com."""
    s = model.structure
    force, torque = data.xfrc_applied[:, :3], data.xfrc_applied[:, 3:]
    total = _wrench(data.xipos, force, torque)
    for wrench, body in (*_contacts(model, data), *_equalities(model, data)):
        total = total + _per_body(wrench, body, s.nbody)
    com = gather(data.subtree_com, s.body_rootid)
    total = jnp.concatenate([total[:, :3] - cross(com, total[:, 3:]), total[:, 3:]], axis=1)
    return total * (np.arange(s.nbody) > 0).astype(total.dtype)[:, None]


Wrenches = Iterator[tuple[Array, Array]]  # wrenches (n, 6) and the bodies (n,) they act on


def _contacts(model: Model, data: Data) -> Wrenches:
    if not layout_of(model, data).ncontact:
        return
    contact, force = data.contact, contact_forces(model, data)
    turn = jnp.swapaxes(mat3(contact.frame), 1, 2)
    wrench = _wrench(contact.pos, matvec3(turn, force[:, :3]), matvec3(turn, force[:, 3:]))
    body = jnp.asarray(model.structure.geom_bodyid, jnp.int32)[jnp.maximum(contact.geom, 0)]
    body = where(contact.geom >= 0, body, -1)
    yield -wrench, body[:, 0]
    yield wrench, body[:, 1]


def _equalities(model: Model, data: Data) -> Wrenches:
    """Forces of connects, which pull their anchors together, and of welds, which also turn."""
    s, layout = model.structure, layout_of(model, data)
    if not (layout.kind == ConstraintType.EQUALITY).any():
        return
    first = np.cumsum([0, *(EQUALITY_ROWS[kind] for kind in s.eq_type)])
    for kind in (EqType.CONNECT, EqType.WELD):
        ids = np.flatnonzero(s.eq_type == kind)
        if len(ids):
            row = first[ids][:, None] + np.arange(EQUALITY_ROWS[kind])
            force = jnp.pad(data.efc_force[row], ((0, 0), (0, 6 - row.shape[1])))
            (one, two), bodies = anchors(model, data, kind, ids)
            yield _wrench(one, force[:, :3], force[:, 3:]), bodies[0]
            yield -_wrench(two, force[:, :3], force[:, 3:]), bodies[1]


def _wrench(point: Array, force: Array, torque: Array) -> Array:
    """Torque about the origin and force (n, 6) of forces and torques at points."""
    return jnp.concatenate([torque + cross(point, force), force], axis=1)


def _per_body(wrench: Array, body: Array, nbody: int) -> Array:
    """Sum (nbody, 6) of the wrenches on each body."""
    hits = body[None] == np.arange(nbody, dtype=np.int32)[:, None]
    return matmul(hits.astype(wrench.dtype), wrench)
