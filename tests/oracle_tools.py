"""Compares the engine with MuJoCo, with the same model and many states at once on both sides."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from mjjax.xla.compiling import quick

INPUTS = "qpos qvel act ctrl qfrc_applied xfrc_applied qacc_warmstart mocap_pos mocap_quat".split()
# Each entry is compared relative to itself, unless it is smaller than this part of its field's
# scale. Such an entry is a difference of larger terms and has their rounding errors, so it is
# compared relative to this part. The tightest tolerance, 1e-10, is then 1e-14 of the scale, or some
# fifty rounding errors.
SMALL = 1e-4
# For each field the tolerance of the relative difference of an entry; see `error`.
POSITION = dict.fromkeys(
    "xpos xquat xmat xipos ximat xanchor xaxis geom_xpos geom_xmat site_xpos site_xmat cam_xpos "
    "cam_xmat light_xpos light_xdir subtree_com cdof cinert actuator_length".split(),
    1e-10,
)
VELOCITY = dict.fromkeys(
    "cvel cdof_dot actuator_velocity qfrc_bias qfrc_spring qfrc_damper qfrc_gravcomp qfrc_fluid "
    "qfrc_passive".split(),
    1e-9,
)
FORCE = dict.fromkeys("act_dot actuator_force qfrc_actuator qfrc_smooth".split(), 1e-9)
SMOOTH = POSITION | VELOCITY | FORCE | {"qacc_smooth": 1e-8}
SOLVED = {"qacc": 1e-6, "qfrc_constraint": 1e-6}
STATE = {"time": 1e-12, "qpos": 1e-8, "qvel": 1e-7, "act": 1e-9}


def each_world(function: Callable) -> Callable:
    """Turns a function of a model and a world into one of several worlds, done in sequence.

    This compiles in two thirds of the time of a batch; batches have tests of their own.
    """
    return quick(lambda model, data: jax.lax.map(functools.partial(function, model), data))


step_worlds = each_world(mjjax.step)
forward_worlds = each_world(mjjax.forward)


@quick
def step_models(models: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
    """Takes a step in each world, which has a model of its own."""
    return jax.lax.map(lambda both: mjjax.step(*both), (models, data))


@dataclasses.dataclass(frozen=True)
class Both:
    """One model in both engines."""

    reference: mujoco.MjModel
    ours: mjjax.Model


@functools.cache
def load(xml: str) -> Both:
    """Compiles an XML string with both compilers."""
    return Both(mujoco.MjModel.from_xml_string(xml), mjjax.Model.from_xml_string(xml))


def random_state(model: mujoco.MjModel, seed: int, *, spread: float = 0.1) -> mujoco.MjData:
    """A random moving state near qpos0 with every input set; the seed decides which."""
    rng, d = np.random.default_rng(seed), mujoco.MjData(model)
    mujoco.mj_integratePos(model, d.qpos, rng.normal(size=model.nv), spread)
    # Quaternions get other lengths, because kinematics must normalize them.
    for j in np.flatnonzero(model.jnt_type <= mjjax.JointType.BALL):
        adr = model.jnt_qposadr[j] + (3 if model.jnt_type[j] == 0 else 0)
        d.qpos[adr : adr + 4] *= rng.uniform(0.8, 1.2)
    d.qvel[:] = 0.3 * rng.normal(size=model.nv)
    d.act[:] = rng.uniform(-1, 1, model.na)
    d.ctrl[:] = 1.5 * rng.normal(size=model.nu)
    d.qfrc_applied[:] = 0.1 * rng.normal(size=model.nv)
    d.xfrc_applied[1:] = 0.1 * rng.normal(size=(model.nbody - 1, 6))
    d.qacc_warmstart[:] = rng.normal(size=model.nv)
    d.mocap_pos[:] += 0.1 * rng.normal(size=(model.nmocap, 3))
    d.mocap_quat[:] += 0.1 * rng.normal(size=(model.nmocap, 4))
    return d


def to_ours(model: mjjax.Model, d: mujoco.MjData) -> mjjax.Data:
    """A world of ours in the state of a world of MuJoCo."""
    fields = {name: jnp.array(getattr(d, name)) for name in INPUTS}
    return mjjax.make_data(model).replace(time=jnp.array(d.time), **fields)


def stack(trees: Sequence[Any]) -> Any:
    """Joins pytrees of one structure into one batch."""
    # NumPy is used here and below, because JAX would compile a program for every shape.
    return jax.device_put(jax.tree.map(lambda *x: np.stack(x), *trees))


def world(batch: Any, i: int) -> Any:
    """One element of a batch."""
    return jax.device_put(jax.tree.map(lambda x: np.asarray(x)[i], batch))


def worlds(both: Both, seeds: Sequence[int], **kwargs: Any) -> tuple[list, mjjax.Data]:
    """Random states in both engines: a list for MuJoCo, and a batch for ours."""
    theirs = [random_state(both.reference, seed, **kwargs) for seed in seeds]
    return theirs, stack([to_ours(both.ours, d) for d in theirs])


def error(mine: Any, theirs: Any, floor: float = SMALL) -> float:
    """Largest relative difference of an entry; infinite if shapes differ.

    It is relative to the entry, or to `floor` times max(1, largest entry) if that is more.
    """
    a, b = np.asarray(mine, float).ravel(), np.asarray(theirs, float).ravel()
    if a.shape != b.shape or not np.isfinite(a).all():
        return np.inf
    scale = np.maximum(np.abs(b), floor * max(1.0, np.abs(b).max(initial=0)))
    return (np.abs(a - b) / scale).max(initial=0)


def differences(data: mjjax.Data, d: mujoco.MjData, fields: dict[str, float]) -> dict[str, float]:
    """Fields of one world that differ by more than their tolerance, with their errors."""
    found = {name: error(getattr(data, name), getattr(d, name)) for name in fields}
    return {name: e for name, e in found.items() if e > fields[name]}


def full_inertia(model: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """MuJoCo's joint-space inertia, dense."""
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, full, d.qM)
    return full


def contact_differences(data: mjjax.Data, d: mujoco.MjData, tolerance: float = 1e-9) -> list[str]:
    """Contact fields that differ; order and parameters of the contacts must be equal, too."""
    on = np.asarray(data.contact.geom)[:, 0] >= 0
    if int(data.ncon) != d.ncon or on.sum() != d.ncon:
        return [f"ncon {int(data.ncon)} != {d.ncon}"]
    names = "dist pos frame includemargin friction solref solreffriction solimp".split()
    bad = [
        name
        for name in names
        if error(np.asarray(getattr(data.contact, name))[on], getattr(d.contact, name)) > tolerance
    ]
    same = [np.array_equal(np.asarray(data.contact.geom)[on], d.contact.geom.reshape(-1, 2))]
    same += [np.array_equal(np.asarray(data.contact.dim)[on], d.contact.dim)]
    excluded = np.asarray(data.contact.efc_address)[on] < 0
    same += [np.array_equal(excluded, d.contact.efc_address < 0)]
    return bad + [n for n, ok in zip(("geom", "dim", "excluded"), same, strict=True) if not ok]


def row_differences(data: mjjax.Data, d: mujoco.MjData, tolerance: float = 1e-8) -> list[str]:
    """Fields of constraint rows that differ; empty slots are left out."""
    if int(data.nefc) != d.nefc:
        return [f"nefc {int(data.nefc)} != {d.nefc}"]
    on = np.asarray(data.efc_D) > 0
    bad = [] if on.sum() == d.nefc else ["efc_D"]
    for name in "efc_pos efc_margin efc_frictionloss efc_D efc_vel efc_aref".split() * (not bad):
        if error(np.asarray(getattr(data, name))[on], getattr(d, name)) > tolerance:
            bad.append(name)
    if not bad and error(np.asarray(data.efc_force)[on], d.efc_force) > 1e-6:
        bad.append("efc_force")
    return bad


def assert_same_results(both: Both, data: mjjax.Data, d: mujoco.MjData, label: str = "") -> None:
    """Asserts that all results of one step are MuJoCo's: stages, contacts, rows, new state."""
    bad: list[Any] = [differences(data, d, SMOOTH | SOLVED | STATE)]
    inertia = error(data.qM, full_inertia(both.reference, d))
    bad += contact_differences(data, d) + row_differences(data, d)
    # MuJoCo leaves the entry of the world body empty.
    composite = error(data.crb, d.crb)
    if max(inertia, composite) > 1e-10:
        bad.append(f"qM {inertia} crb {composite}")
    assert bad == [{}], (label, bad)


def assert_same_step(
    xml: str, seeds: Sequence[int] = range(6), steps: int = 20, **kwargs: Any
) -> None:
    """Asserts that a step from random states agrees in every field, and so does a longer motion."""
    both = load(xml)
    theirs, data = worlds(both, seeds, **kwargs)
    for k in range(steps):
        data = step_worlds(both.ours, data)
        for i, d in enumerate(theirs):
            mujoco.mj_step(both.reference, d)
            if k == 0:
                assert_same_results(both, world(data, i), d, f"seed {seeds[i]}")
    bounds = {"time": 1e-12, "qpos": 1e-7, "qvel": 1e-6, "act": 1e-8}
    for i, d in enumerate(theirs):
        bad = differences(world(data, i), d, bounds)
        assert not bad, (f"seed {seeds[i]} after {steps} steps", bad)
