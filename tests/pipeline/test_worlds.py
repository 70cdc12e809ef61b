"""Runs every public function with a model per world: no world depends on another."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import ObjType, State
from tests.oracle_tools import error, load, quick, random_state, stack, to_ours, world

XML = """
<mujoco><option density="20" viscosity=".2" integrator="Euler"><flag energy="enable"/></option>
<worldbody><geom type="plane" size="0 0 1"/><site name="w" pos="0 0 1"/>
  <camera name="c" pos="0 -1 1" euler="60 0 0" resolution="2 1"/>
  <body name="a" pos="0 0 .3"><joint name="h" axis="0 1 0" damping=".1" range="-.2 .2"/>
    <geom name="rod" type="capsule" size=".05 .2" fluidshape="ellipsoid"/>
    <site name="s" pos=".1 .02 .2"/>
    <body pos="0 0 .3"><joint name="q" type="ball" range="0 .3"/><geom size=".06"/>
      <site name="e" pos=".05 0 .1"/></body></body>
  <body name="b" pos=".2 0 .08"><freejoint/><geom name="ball" size=".1" condim="3"/></body>
  <body name="m" mocap="true" pos="1 0 1"/>
</worldbody>
<tendon><spatial name="t" stiffness="3" damping=".2" range="0 .3"><site site="w"/>
    <geom geom="ball"/><site site="e"/></spatial>
  <fixed name="f" frictionloss=".1"><joint joint="h" coef="2"/></fixed></tendon>
<equality><connect body1="b" body2="a" anchor=".1 0 .1"/><tendon tendon1="f"/></equality>
<actuator><muscle tendon="t" lengthrange=".1 2"/>
  <position joint="h" kp="3" delay=".004" nsample="4"/>
  <motor site="s" gear="1 2 3 0 0 1"/></actuator>
<sensor><rangefinder site="s"/><gyro site="e" cutoff=".2"/><force site="s"/>
  <distance geom1="rod" geom2="ball" cutoff="1"/><contact data="found force" num="2"/>
  <jointpos joint="h" delay=".004" nsample="3"/></sensor>
<keyframe><key ctrl=".1 .2 .3"/></keyframe></mujoco>
"""
# What differs between the worlds: numbers of the model.
CHANGED = (
    "body_mass body_inertia body_pos body_ipos geom_size geom_pos geom_friction geom_fluid jnt_pos "
    "jnt_range dof_damping dof_armature site_pos tendon_stiffness tendon_damping tendon_range "
    "tendon_frictionloss eq_data actuator_gainprm actuator_biasprm actuator_gear sensor_cutoff "
    "key_ctrl cam_pos wrap_prm"
).split()
# Functions of one model on the host: of names and sizes, that read and write, or that convert
# MuJoCo's own objects.
SINGLE = (
    "set_length_range id2name name2id is_dual is_pyramidal state_size print_data print_model "
    "save_state load_state warning_texts shard_worlds check_gradients put_model put_data get_data"
).split()
POINT = jnp.array([0.1, 0.2, 0.3])
TIMES = jnp.array([-0.003, -0.002, -0.001])

Call = Callable[[mjjax.Model, mjjax.Data], Any]
# Stages and quantities of a state whose forward pass is known.
PARTS: dict[str, Call] = {
    "add_m": lambda m, d: mjjax.add_m(m, d, d.qM),
    "angmom_mat": lambda m, d: mjjax.angmom_mat(m, d, 1),
    "apply_ft": lambda m, d: mjjax.apply_ft(m, d, POINT, 2 * POINT, d.xipos[2], 2),
    "contact_force": lambda m, d: mjjax.contact_force(m, d, 0),
    "copy_state": lambda m, d: mjjax.copy_state(m, d, mjjax.make_data(m), State.QPOS).qpos,
    "differentiate_pos": lambda m, d: mjjax.differentiate_pos(m, 0.1, m.qpos0, d.qpos),
    "extract_state": lambda m, d: mjjax.extract_state(
        m, mjjax.get_state(m, d, State.QPOS | State.QVEL), State.QPOS | State.QVEL, State.QVEL
    ),
    "free_camera": lambda m, d: mjjax.free_camera(m),
    "geom_distance": lambda m, d: mjjax.geom_distance(m, d, 2, 1, 1.0),
    "get_state": lambda m, d: mjjax.get_state(m, d, State.QPOS | State.EQ_ACTIVE | State.HISTORY),
    "get_total_mass": lambda m, d: mjjax.get_total_mass(m),
    "init_ctrl_history": lambda m, d: mjjax.init_ctrl_history(
        m, d, 1, None, jnp.broadcast_to(d.qpos[0], (4,))
    ),
    "init_sensor_history": lambda m, d: mjjax.init_sensor_history(
        m, d, 5, TIMES, jnp.broadcast_to(d.qpos[0], (3, 1)), d.time
    ),
    "integrate_pos": lambda m, d: mjjax.integrate_pos(m, d.qpos, d.qvel, 0.1),
    "jac": lambda m, d: mjjax.jac(m, d, d.xipos[2], 2),
    "jac_body": lambda m, d: mjjax.jac_body(m, d, 2),
    "jac_body_com": lambda m, d: mjjax.jac_body_com(m, d, 2),
    "jac_dot": lambda m, d: mjjax.jac_dot(m, d, d.xipos[2], 2),
    "jac_geom": lambda m, d: mjjax.jac_geom(m, d, 2),
    "jac_point_axis": lambda m, d: mjjax.jac_point_axis(m, d, d.xipos[2], POINT, 2),
    "jac_site": lambda m, d: mjjax.jac_site(m, d, 1),
    "jac_subtree_com": lambda m, d: mjjax.jac_subtree_com(m, d, 1),
    "local_to_global": lambda m, d: mjjax.local_to_global(d, POINT, d.xquat[1], 2),
    "make_data": lambda m, d: mjjax.make_data(m),
    "mul_jac_t_vec": lambda m, d: mjjax.mul_jac_t_vec(m, d, d.efc_force),
    "mul_m": lambda m, d: mjjax.mul_m(m, d, d.qvel),
    "mul_m2": lambda m, d: mjjax.mul_m2(m, d, d.qvel),
    "mul_jac_vec": lambda m, d: mjjax.mul_jac_vec(m, d, d.qvel),
    "multi_ray": lambda m, d: mjjax.multi_ray(m, d, d.site_xpos[0], -d.xpos[1:3]),
    "normalize_quat": lambda m, d: mjjax.normalize_quat(m, 2 * d.qpos),
    "object_acceleration": lambda m, d: mjjax.object_acceleration(m, d, ObjType.SITE, 1, True),
    "object_velocity": lambda m, d: mjjax.object_velocity(m, d, ObjType.GEOM, 2),
    "ray": lambda m, d: mjjax.ray(m, d, d.site_xpos[0], -d.xpos[1]),
    "read_ctrl": lambda m, d: mjjax.read_ctrl(m, d, 1, d.time),
    "read_sensor": lambda m, d: mjjax.read_sensor(m, d, 5, d.time),
    "reset_data": lambda m, d: mjjax.reset_data(m, d, 0, where=d.qvel[0] > 0),
    "set_const": lambda m, d: mjjax.set_const(m),
    "set_keyframe": lambda m, d: mjjax.set_keyframe(m, d, 0).key_qpos,
    "set_state": lambda m, d: mjjax.set_state(m, d, 2 * d.qvel, State.QVEL).qvel,
    "set_total_mass": lambda m, d: mjjax.set_total_mass(m, 3.0).body_mass,
    "solve_m": lambda m, d: mjjax.solve_m(m, d, d.qvel),
    "solve_m2": lambda m, d: mjjax.solve_m2(m, d, d.qvel),
} | {
    name: getattr(mjjax, name)
    for name in "compare_fwd_inv constraint_jacobian constraint_state euler factor_m full_m "
    "implicit inv_constraint project_constraint rne rne_postconstraint solver_statistics "
    "subtree_vel xfrc_accumulate".split()
}
# What starts from a state.
WHOLE: dict[str, Call] = {
    "forward": lambda m, d: mjjax.forward(m, d),
    "inverse": lambda m, d: mjjax.inverse(m, d),
    "step1": lambda m, d: mjjax.step1(m, d),
}
# What `forward` or `inverse` calls, or what only calls them: that it can be traced is enough.
STAGES = (
    "camlight collision com_pos com_vel crb energy_pos energy_vel forward_skip fwd_acceleration "
    "fwd_actuation fwd_constraint fwd_position fwd_velocity inverse_jacobian inverse_skip island "
    "kinematics make_constraint passive reference_constraint render rungekutta4 sensor_acc "
    "sensor_pos sensor_vel tendon transition_jacobian transmission"
).split()
LOOPS = "rollout step step2".split()
PLANS = "start_plan improve_plan".split()


def steps(model: mjjax.Model, data: mjjax.Data) -> Any:
    """Whole steps and a half one."""
    moved, kept = mjjax.rollout(model, data, nstep=2)
    return moved, kept, mjjax.step2(model, moved)


def planned(model: mjjax.Model, data: mjjax.Data) -> Any:
    """A plan of three steps after one iteration."""

    def away(model: mjjax.Model, data: mjjax.Data) -> Any:
        return jnp.concatenate([data.qpos - model.qpos0, 0.1 * data.ctrl])

    start = mjjax.start_plan(model, data, jnp.broadcast_to(data.ctrl, (3, *data.ctrl.shape)))
    return mjjax.improve_plan(model, data, start, away, away)


def everything(model: mjjax.Model, data: mjjax.Data) -> dict[str, Any]:
    """Results of all functions except whole steps; one program shares their common parts."""
    after = mjjax.forward(model, data)
    found = {name: call(model, data) for name, call in WHOLE.items()}
    return found | {name: call(model, after) for name, call in PARTS.items()}


@functools.cache
def worlds() -> tuple[mjjax.Model, mjjax.Data]:
    """Three models with different numbers, and a moving state of each."""
    both = load(XML)
    models, data = [], []
    for i in range(3):
        rng = np.random.default_rng(i)
        new = {name: np.array(getattr(both.ours, name)) for name in CHANGED}
        new = {name: x * rng.uniform(0.9, 1.1, x.shape) for name, x in new.items()}
        opt = both.ours.opt.replace(timestep=jnp.asarray(0.001 * (i + 1)))
        models.append(both.ours.replace(opt=opt, **jax.tree.map(jnp.asarray, new)))
        d = to_ours(both.ours, random_state(both.reference, i))
        data.append(d.replace(eq_active=jnp.asarray([i != 1, i != 2])))
    return stack(models), stack(data)


def differing(function: Call) -> list[str]:
    """Results of worlds that differ from those among copies of the same world."""
    model, data = worlds()
    program = quick(jax.vmap(function))
    together, bad = program(model, data), []
    for i in range(3):
        copies = jax.tree.map(lambda x, i=i: jnp.stack([x[i]] * 3), (model, data))
        alone = jax.tree_util.tree_leaves_with_path(world(program(*copies), 2 - i))
        for (path, y), x in zip(alone, jax.tree.leaves(world(together, i)), strict=True):
            if error(x, y) > 1e-8:
                bad.append(f"world {i}: {jax.tree_util.keystr(path)}")
    return bad


@pytest.mark.slow
@pytest.mark.feature("D10")
def test_every_function_is_tried() -> None:
    """A new public function of a model or its data gets an entry above."""
    tried = {*PARTS, *WHOLE, *STAGES, *LOOPS, *PLANS, *SINGLE}
    functions = {name for name in mjjax.__all__ if inspect.isfunction(getattr(mjjax, name))}
    taking = {
        name
        for name in functions
        if {"model", "data"} & set(inspect.signature(getattr(mjjax, name)).parameters)
    }
    assert taking == tried
    for name in STAGES:
        jax.eval_shape(jax.vmap(getattr(mjjax, name)), *worlds())


@pytest.mark.slow
@pytest.mark.feature("D10", "A073")
def test_functions() -> None:
    """Dynamics and support functions, all in one program."""
    assert not differing(everything)


@pytest.mark.slow
@pytest.mark.feature("D10", "A073")
def test_loops() -> None:
    """Steps agree, although loops, such as the solver, run longer in some worlds."""
    assert not differing(steps)


@pytest.mark.slow
@pytest.mark.feature("D10", "D16")
def test_plans() -> None:
    """Plans agree, although each world chooses other step lengths and active bounds."""
    assert not differing(planned)
