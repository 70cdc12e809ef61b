"""Functions of MuJoCo's C interface that programs in Python use, on `MjModel` and `MjData`.

They change `MjData` in place and write results into the arrays that are given, as MuJoCo does.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import mjjax
from mjjax.mujoco.data import MjData
from mjjax.mujoco.model import MjModel


def _stage(name: str, native: str) -> Callable[[MjModel, MjData], None]:
    def call(m: MjModel, d: MjData) -> None:
        d.take(getattr(mjjax, native)(m.native(), d.native()))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` in place, by `mjjax.{native}`."
    return call


_STAGES = {
    "mj_forward": "forward",
    "mj_inverse": "inverse",
    "mj_step1": "step1",
    "mj_step2": "step2",
    "mj_fwdPosition": "fwd_position",
    "mj_fwdVelocity": "fwd_velocity",
    "mj_fwdActuation": "fwd_actuation",
    "mj_fwdAcceleration": "fwd_acceleration",
    "mj_fwdConstraint": "fwd_constraint",
    "mj_kinematics": "kinematics",
    "mj_comPos": "com_pos",
    "mj_comVel": "com_vel",
    "mj_camlight": "camlight",
    "mj_crb": "crb",
    "mj_tendon": "tendon",
    "mj_transmission": "transmission",
    "mj_collision": "collision",
    "mj_makeConstraint": "make_constraint",
    "mj_passive": "passive",
    "mj_subtreeVel": "subtree_vel",
    "mj_rnePostConstraint": "rne_postconstraint",
    "mj_sensorPos": "sensor_pos",
    "mj_sensorVel": "sensor_vel",
    "mj_sensorAcc": "sensor_acc",
    "mj_energyPos": "energy_pos",
    "mj_energyVel": "energy_vel",
}
globals().update({name: _stage(name, native) for name, native in _STAGES.items()})


def mj_step(m: MjModel, d: MjData, nstep: int = 1) -> None:
    """Some steps in place (`mj_step`)."""
    model, data = m.native(), d.native()
    for _ in range(nstep):
        data = mjjax.step(model, data)
    d.take(data)


def mj_resetData(m: MjModel, d: MjData) -> None:
    """The state of a new `MjData` (`mj_resetData`)."""
    d.take(mjjax.reset_data(m.native(), d.native()))


def mj_resetDataKeyframe(m: MjModel, d: MjData, key: int) -> None:
    """The state of a keyframe (`mj_resetDataKeyframe`)."""
    d.take(mjjax.reset_data(m.native(), d.native(), key))


def mj_copyData(dest: MjData, m: MjModel, src: MjData) -> MjData:
    """Copies all of another `MjData` (`mj_copyData`)."""
    del m
    dest.take(src.native())
    return dest


def mj_setConst(m: MjModel, d: MjData) -> None:
    """Derived constants of the model, in place (`mj_setConst`)."""
    del d
    new = mjjax.set_const(m.native())
    for name, value in vars(new).items():
        if hasattr(value, "shape"):
            getattr(m, name)[...] = np.asarray(value)


def mj_name2id(m: MjModel, type: int, name: str) -> int:
    """Id of an element, -1 if it does not exist (`mj_name2id`)."""
    return mjjax.name2id(m, int(type), name)


def mj_id2name(m: MjModel, type: int, id: int) -> str | None:
    """Name of an element, None if it has none or does not exist (`mj_id2name`)."""
    return mjjax.id2name(m, int(type), id)


def _jacobian(name: str, native: str, point: bool) -> Callable[..., None]:
    def call(m: MjModel, d: MjData, jacp: Any, jacr: Any, *where: Any) -> None:
        place = (jnp.asarray(where[0]), int(where[1])) if point else (int(where[0]),)
        for target, found in zip(
            (jacp, jacr), getattr(mjjax, native)(m.native(), d.native(), *place), strict=True
        ):
            if target is not None:
                target[...] = np.asarray(found)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"Writes Jacobians (3, nv) of `mjjax.{native}` into `jacp` and `jacr` (`{name}`)."
    )
    return call


mj_jac = _jacobian("mj_jac", "jac", True)
mj_jacBody = _jacobian("mj_jacBody", "jac_body", False)
mj_jacBodyCom = _jacobian("mj_jacBodyCom", "jac_body_com", False)
mj_jacGeom = _jacobian("mj_jacGeom", "jac_geom", False)
mj_jacSite = _jacobian("mj_jacSite", "jac_site", False)


def mj_jacSubtreeCom(m: MjModel, d: MjData, jacp: Any, body: int) -> None:
    """Writes the Jacobian (3, nv) of the centre of mass of a subtree (`mj_jacSubtreeCom`)."""
    jacp[...] = np.asarray(mjjax.jac_subtree_com(m.native(), d.native(), body))


def mj_fullM(m: MjModel, dst: Any, M: Any) -> None:
    """Copies the inertia `data.qM`, which is dense here (`mj_fullM`)."""
    del m
    dst[...] = M


def mj_mulM(m: MjModel, d: MjData, res: Any, vec: Any) -> None:
    """Writes the product of the inertia with a vector (`mj_mulM`)."""
    res[...] = np.asarray(mjjax.mul_m(m.native(), d.native(), vec))


def mj_solveM(m: MjModel, d: MjData, x: Any, y: Any) -> None:
    """Writes the solutions x (n, nv) of M x = y (`mj_solveM`)."""
    model, data = m.native(), d.native()
    for target, force in zip(np.atleast_2d(x), np.atleast_2d(y), strict=True):
        target[...] = np.asarray(mjjax.solve_m(model, data, force))


def mj_objectVelocity(
    m: MjModel, d: MjData, objtype: int, objid: int, res: Any, flg_local: int
) -> None:
    """Writes the velocity (6,) of an element, rotation first (`mj_objectVelocity`)."""
    kind = mjjax.ObjType(int(objtype))
    found = mjjax.object_velocity(m.native(), d.native(), kind, objid, bool(flg_local))
    res[...] = np.asarray(found).reshape(np.shape(res))


def mj_contactForce(m: MjModel, d: MjData, id: int, result: Any) -> None:
    """Writes the force and torque (6,) of a contact in its frame (`mj_contactForce`)."""
    slots = np.flatnonzero(np.asarray(d.native().contact.dim) > 0)
    slot = int(slots[id]) if 0 <= id < len(slots) else -1
    result[...] = np.asarray(mjjax.contact_force(m.native(), d.native(), slot))


def mj_integratePos(m: MjModel, qpos: Any, qvel: Any, dt: float) -> None:
    """Moves positions by a velocity times a time, in place (`mj_integratePos`)."""
    qpos[...] = np.asarray(mjjax.integrate_pos(m.native(), qpos, qvel, dt))


def mj_differentiatePos(m: MjModel, qvel: Any, dt: float, qpos1: Any, qpos2: Any) -> None:
    """Writes the velocity that leads from one position to another (`mj_differentiatePos`)."""
    qvel[...] = np.asarray(mjjax.differentiate_pos(m.native(), dt, qpos1, qpos2))


def mj_stateSize(m: MjModel, sig: int) -> int:
    """Number of elements of some components of the state (`mj_stateSize`)."""
    return mjjax.state_size(m.native(), int(sig))


def mj_getState(m: MjModel, d: MjData, state: Any, sig: int) -> None:
    """Writes some components of the state into a vector (`mj_getState`)."""
    state[...] = np.asarray(mjjax.get_state(m.native(), d.native(), int(sig)))


def mj_setState(m: MjModel, d: MjData, state: Any, sig: int) -> None:
    """Sets some components of the state from a vector (`mj_setState`)."""
    d.take(mjjax.set_state(m.native(), d.native(), state, int(sig)))


def mj_getTotalmass(m: MjModel) -> float:
    """Total mass of the model [kg] (`mj_getTotalmass`)."""
    return float(np.sum(m.body_mass))
