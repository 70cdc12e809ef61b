"""`Data`: the state of one world and everything computed from it, as one immutable pytree."""

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.below import work
from mjjax.core.enums import SleepState, WarningType
from mjjax.core.struct import PyTree, array, made_of, static
from mjjax.math.quat import to_mat
from mjjax.math.spatial import flat9
from mjjax.model.rows import RowSlots
from mjjax.model.sleep import FULLY_AWAKE, Sleep
from mjjax.model.structure import Structure, with_structure_of_leaves
from mjjax.model.summary import data_text
from mjjax.model.trees import dense_blocks
from mjjax.model.view import Named
from mjjax.xla.namespace import Array, where


class CollisionRules(NamedTuple):
    """The changes of callbacks to collision detection.

    Attributes:
        filtered: whether a callback, in place of the bitmasks, decides which geoms collide.
        colliders: pairs of geom types, each with the narrow phase that replaces ours; None where
            the pair never collides.
    """

    filtered: bool = False
    colliders: frozenset[tuple[Any, Any]] = frozenset()


_of_rows = functools.partial(made_of, "efc_mass", "contact", shape=("njmax",))


class Contact(PyTree):
    """Contact slots (`mjContact`), in MuJoCo's order; a slot without a contact has `geom == -1`."""

    def _sizes(self) -> Mapping[str, int]:
        return {}

    dist: jax.Array = array("nconmax", unit="m", doc="distance; 1e10 in an empty slot")
    pos: jax.Array = array("nconmax", 3, unit="m", doc="point halfway between the surfaces")
    frame: jax.Array = array(
        "nconmax", 9, doc="axes in rows: normal from geom 0 to 1, tangents; MJX has (n, 3, 3)"
    )
    includemargin: jax.Array = array(
        "nconmax", unit="m", doc="margin - gap; nearer contacts get rows"
    )
    friction: jax.Array = array("nconmax", 5, doc="2 sliding, 1 torsional, 2 rolling")
    solref: jax.Array = array("nconmax", 2, doc="reference of the normal direction")
    solreffriction: jax.Array = array("nconmax", 2, doc="reference of the friction directions")
    solimp: jax.Array = array("nconmax", 5, doc="impedance")
    dim: jax.Array = array("nconmax", dtype=int, doc="1, 3, 4 or 6; 0 in an empty slot")
    geom: jax.Array = array("nconmax", 2, dtype=int, doc="geom ids, -1 in an empty slot")
    efc_address: jax.Array = array("nconmax", dtype=int, doc="first constraint row, -1: none")

    @property
    @made_of("geom", shape=("nconmax",))
    def geom1(self) -> Array:
        """(nconmax,) id of the first geom, -1 in an empty slot."""
        return self.geom[..., 0]

    @property
    @made_of("geom", shape=("nconmax",))
    def geom2(self) -> Array:
        """(nconmax,) id of the second geom, -1 in an empty slot."""
        return self.geom[..., 1]


class Data(PyTree, Named):
    """State, inputs and results of one world (`mjData`), without batch dimensions.

    After `step`, the state fields hold the new state, but the derived fields still belong to the
    state before the step, as in MuJoCo. The row fields `efc_*` have fixed slots in MuJoCo's order;
    a slot without a row is zero. The fields that `rne_postconstraint` and `subtree_vel` compute are
    empty (zero in MuJoCo) until that function is called, unless a sensor of the model needs them.
    """

    def _sizes(self) -> Mapping[str, int]:
        return self.structure.sizes

    def _worlds(self) -> tuple[int, ...]:
        return getattr(vars(self).get("time"), "shape", ())

    def _rebuilt(self) -> "Data":
        return with_structure_of_leaves(self, "time")

    _made_by: ClassVar[str] = "mjjax.make_data(model)"

    structure: Structure = static(doc="structure of the model, for access by name")
    rules: CollisionRules = static(doc="what callbacks change about collisions")
    slots: RowSlots = static(doc="slots of the constraint rows")
    # state and inputs
    time: jax.Array = array(unit="s", doc="simulation time")
    qpos: jax.Array = array("nq", unit="m, rad, quaternion", doc="position")
    qvel: jax.Array = array("nv", unit="m/s or rad/s", doc="velocity")
    act: jax.Array = array("na", doc="actuator activation")
    qacc_warmstart: jax.Array = array("nv", unit="m/s^2 or rad/s^2", doc="solver's first guess")
    ctrl: jax.Array = array("nu", doc="control")
    qfrc_applied: jax.Array = array("nv", unit="N or N m", doc="applied generalized force")
    xfrc_applied: jax.Array = array(
        "nbody", 6, unit="N, N m", doc="applied force and torque at the centre of mass, world axes"
    )
    mocap_pos: jax.Array = array("nmocap", 3, unit="m", doc="positions of mocap bodies")
    mocap_quat: jax.Array = array("nmocap", 4, doc="orientations of mocap bodies")
    eq_active: jax.Array = array("neq", dtype=bool, doc="whether an equality constraint is on")
    userdata: jax.Array = array("nuserdata", doc="user data, untouched by the engine")
    history: jax.Array = array("nhistory", doc="past controls and readings, in MuJoCo's layout")
    sleep: Sleep | None = array(doc="sleeping trees; `None` without the flag `sleep`")
    # results
    qacc: jax.Array = array("nv", unit="m/s^2 or rad/s^2", doc="acceleration")
    act_dot: jax.Array = array("na", doc="time derivative of the activation")
    sensordata: jax.Array = array("nsensordata", doc="sensor readings")
    energy: jax.Array = array(2, unit="J", doc="potential and kinetic energy (flag `energy`)")
    warning: jax.Array = array(9, dtype=int, doc="count of warnings by `WarningType`")
    solver_niter: jax.Array = array(dtype=int, doc="solver iterations used")
    solver_gradient: jax.Array = array(doc="scaled gradient at the end; see `fwd_constraint`")
    ncon: jax.Array = array(dtype=int, doc="number of detected contacts")
    nefc: jax.Array = array(dtype=int, doc="number of constraint rows")
    nisland: jax.Array = array(dtype=int, doc="number of islands")
    tree_island: jax.Array = array("ntree", dtype=int, doc="island of the tree, -1 for none")
    maxuse_con: jax.Array = array(dtype=int, doc="largest number of contacts since the reset")
    maxuse_efc: jax.Array = array(dtype=int, doc="largest number of rows since the reset")
    # position
    xpos: jax.Array = array("nbody", 3, unit="m", doc="position of the body frame, world")
    xquat: jax.Array = array("nbody", 4, doc="orientation of the body frame, world")
    xipos: jax.Array = array("nbody", 3, unit="m", doc="position of the centre of mass, world")
    ximat: jax.Array = array(
        "nbody", 9, doc="orientation of the principal axes, world; MJX has (n, 3, 3)"
    )
    xanchor: jax.Array = array("njnt", 3, unit="m", doc="joint anchor, world")
    xaxis: jax.Array = array("njnt", 3, doc="joint axis, world")
    geom_xpos: jax.Array = array("ngeom", 3, unit="m", doc="position, world")
    geom_xmat: jax.Array = array("ngeom", 9, doc="orientation, world; MJX has (n, 3, 3)")
    site_xpos: jax.Array = array("nsite", 3, unit="m", doc="position, world")
    site_xmat: jax.Array = array("nsite", 9, doc="orientation, world; MJX has (n, 3, 3)")
    cam_xpos: jax.Array = array("ncam", 3, unit="m", doc="position, world")
    cam_xmat: jax.Array = array("ncam", 9, doc="orientation, world; MJX has (n, 3, 3)")
    light_xpos: jax.Array = array("nlight", 3, unit="m", doc="position, world")
    light_xdir: jax.Array = array("nlight", 3, doc="direction, world")
    subtree_com: jax.Array = array("nbody", 3, unit="m", doc="centre of mass of the subtree")
    cdof: jax.Array = array("nv", 6, doc="motion axes (rotation, translation) about the root's com")
    cinert: jax.Array = array("nbody", 10, doc="spatial inertia about the root's com")
    armature: jax.Array = array(
        "narmature",
        unit="kg, kg m, kg m^2",
        doc="armature in qM: its diagonal, or with tendon armature the entries of its blocks",
    )
    ten_length: jax.Array = array("ntendon", unit="m", doc="tendon length")
    ten_J: jax.Array = array("ntendon", "nv", doc="tendon moment arms, dense")
    actuator_length: jax.Array = array("nu", doc="actuator length")
    contact: Contact = array(doc="contact slots")
    # velocity
    cvel: jax.Array = array("nbody", 6, doc="body velocity about the root's com")
    cdof_dot: jax.Array = array("nv", 6, doc="time derivative of cdof")
    ten_velocity: jax.Array = array("ntendon", unit="m/s", doc="tendon velocity")
    actuator_velocity: jax.Array = array("nu", doc="actuator velocity")
    qfrc_bias: jax.Array = array("nv", unit="N or N m", doc="Coriolis, centrifugal, gravity")
    qfrc_spring: jax.Array = array("nv", unit="N or N m", doc="spring force")
    qfrc_damper: jax.Array = array("nv", unit="N or N m", doc="damper force")
    qfrc_gravcomp: jax.Array = array("nv", unit="N or N m", doc="gravity compensation")
    qfrc_fluid: jax.Array = array("nv", unit="N or N m", doc="fluid force")
    qfrc_passive: jax.Array = array("nv", unit="N or N m", doc="total passive force")
    subtree_linvel: jax.Array = array(
        "nmomentum", 3, unit="m/s", doc="velocity of the subtree's com"
    )
    subtree_angmom: jax.Array = array(
        "nmomentum", 3, unit="kg m^2/s", doc="angular momentum of the subtree about its com"
    )
    # acceleration
    cacc: jax.Array = array(
        "nreaction", 6, doc="body acceleration about the root's com, minus gravity"
    )
    cfrc_int: jax.Array = array("nreaction", 6, doc="force from the parent about the root's com")
    cfrc_ext: jax.Array = array("nreaction", 6, doc="external force about the root's com")
    actuator_force: jax.Array = array("nu", unit="N or N m", doc="actuator force")
    qfrc_actuator: jax.Array = array("nv", unit="N or N m", doc="actuator force in joint space")
    qfrc_smooth: jax.Array = array("nv", unit="N or N m", doc="force without constraints")
    qacc_smooth: jax.Array = array("nv", unit="m/s^2 or rad/s^2", doc="unconstrained acceleration")
    qfrc_constraint: jax.Array = array("nv", unit="N or N m", doc="constraint force")
    qfrc_inverse: jax.Array = array("nv", unit="N or N m", doc="result of inverse dynamics")
    solver_fwdinv: jax.Array = array(
        2, doc="norms of forward minus inverse constraint and applied force (flag `fwdinv`)"
    )
    # constraint rows
    efc_scalar_pos: jax.Array = array("nscalar", doc="efc_pos of the rows without a contact")
    efc_scalar_margin: jax.Array = array("nscalar", doc="efc_margin of the rows without a contact")
    efc_scalar_frictionloss: jax.Array = array(
        "nscalar", unit="N or N m", doc="efc_frictionloss of the rows without a contact"
    )
    efc_mass: jax.Array = array(
        "nmass", doc="efc_D of rows without a contact, then of contacts (one value per pyramid)"
    )
    efc_spring: jax.Array = array(
        "nitem", doc="K I (pos - margin) of a scalar row or contact (see MuJoCo's efc_KBIP)"
    )
    efc_damping: jax.Array = array("nitem", unit="1/s", doc="B of a scalar row or contact")
    efc_friction_damping: jax.Array = array(
        "nelliptic", unit="1/s", doc="B of the friction of elliptic contacts"
    )
    efc_vel: jax.Array = array("njmax", doc="velocity in constraint space")
    efc_force: jax.Array = array("njmax", doc="force in constraint space")
    efc_Jgeneral: jax.Array = array(
        "ngeneral", "nv", doc="Jacobian of the rows of several dofs without a contact"
    )

    @property
    @made_of("xquat", shape=("nbody", 9))
    def xmat(self) -> Array:
        """(nbody, 9) orientation of the body frame, world; MJX has (n, 3, 3). Batches: see `qM`."""
        return flat9(to_mat(self.xquat))

    @property
    @made_of("cinert", shape=("nbody", 10))
    def crb(self) -> Array:
        """(nbody, 10) spatial inertia of the subtree about the root's com. Batches: see `qM`.

        The entry of the world body is zero, as in MuJoCo.
        """

        def composite(cinert: Array) -> Array:
            return jnp.asarray(work("Data.crb")(self.structure, cinert)).at[0].set(0)

        return jnp.vectorize(composite, signature="(b,i)->(b,i)")(self.cinert)

    @property
    @made_of("cinert", "cdof", "armature", shape=("nv", "nv"))
    def qM(self) -> Array:
        """(nv, nv) dense joint-space inertia, made on demand. In a batch, worlds come first."""
        entries = jnp.vectorize(
            functools.partial(work("Data.qM"), self.structure), signature="(b,i),(v,j),(a)->(m)"
        )
        return dense_blocks(self.structure, entries(self.cinert, self.cdof, self.armature))

    @property
    @_of_rows("efc_scalar_pos")
    def efc_pos(self) -> Array:
        """(njmax,) residual: distance to the limit or contact. In a batch, worlds come first."""
        return self._of_contacts(self.efc_scalar_pos, self.contact.dist)

    @property
    @_of_rows("efc_scalar_margin")
    def efc_margin(self) -> Array:
        """(njmax,) margin of inclusion. In a batch, worlds come first."""
        return self._of_contacts(self.efc_scalar_margin, self.contact.includemargin)

    @property
    @_of_rows("efc_scalar_frictionloss")
    def efc_frictionloss(self) -> Array:
        """(njmax,) largest force of dry friction [N or N m]. In a batch, worlds come first."""
        return self._of_contacts(
            self.efc_scalar_frictionloss, jnp.zeros_like(self.contact.includemargin)
        )

    @property
    @_of_rows()
    def efc_D(self) -> Array:
        """(njmax,) constraint mass 1/R, 0 in an empty slot. In a batch, worlds come first."""
        scalar, mass = self._split(self.efc_mass)
        if self.slots.pyramidal:
            used = self.slots.used(self.contact.dim)
            mass = where(used, self.slots.of_contact(mass), 0)
        return self._join(scalar, mass)

    @property
    @_of_rows("efc_spring", "efc_damping", "efc_friction_damping", "efc_vel")
    def efc_aref(self) -> Array:
        """(njmax,) reference acceleration -B J qvel - K I (pos - margin), 0 in an empty slot.

        In a batch, worlds come first.
        """
        slots = self.slots
        spring, damping = self._split(self.efc_spring), self._split(self.efc_damping)
        friction = self.efc_friction_damping
        damping = self._join(damping[0], slots.of_contact(damping[1], friction))
        spring = self._join(spring[0], slots.of_contact(spring[1]))
        return where(self.efc_D > 0, -damping * self.efc_vel - spring, 0)

    def _split(self, items: Array) -> tuple[Array, Array]:
        """Values of scalar rows (..., nscalar), and of contacts."""
        n = self.efc_scalar_pos.shape[-1]
        return items[..., :n], items[..., n:]

    def _join(self, scalar: Array, contact: Array) -> Array:
        """A row field, joined from its values in scalar rows and in contacts."""
        n = self.contact.dist.shape[-1]
        contact = contact.reshape(*scalar.shape[:-1], n, self.slots.per_contact)
        return self.slots.join(self.efc_vel.shape[-1], scalar, contact)

    def _of_contacts(self, scalar: Array, normal: Array) -> Array:
        """A row field, zero in empty slots and for the friction of elliptic contacts."""
        rows = self._join(scalar, self.slots.of_contact(normal))
        return where(self.efc_D > 0, rows, 0)

    @property
    def tree_asleep(self) -> jax.Array:
        """(ntree,) -11 to -1 if the tree is awake, else the next tree of its sleeping cycle."""
        if self.sleep is None:
            return jnp.full(self.structure.ntree, FULLY_AWAKE, jnp.int32)
        return self.sleep.tree_asleep

    @property
    def tree_awake(self) -> jax.Array:
        """(ntree,) 1 if the tree is awake, else 0."""
        return (self.tree_asleep < 0).astype(jnp.int32)

    @property
    def body_awake(self) -> jax.Array:
        """(nbody,) `SleepState` of each body; a mocap body is awake."""
        s = self.structure
        moved = s.body_mocapid[s.body_rootid] >= 0
        static = np.where(moved, SleepState.AWAKE, SleepState.STATIC).astype(np.int32)
        if not s.ntree:
            return jnp.asarray(static)
        moving = self.tree_awake[..., s.body_treeid]
        return moving.at[..., s.body_treeid < 0].set(static[s.body_treeid < 0])

    def __repr__(self) -> str:
        return data_text(self)

    def with_warnings(self, counts: Mapping[WarningType, Array]) -> "Data":
        """This data with some warning counts added; a count is a number or a boolean."""
        none = jnp.int32(0)
        more = [counts[k].astype(jnp.int32) if k in counts else none for k in WarningType]
        return self.replace(warning=self.warning + jnp.stack(more))
