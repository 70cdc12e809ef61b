"""Examples of the public functions, a cell for each. The site shows them; the tests run them."""

# %% model
import jax
import jax.numpy as jnp
import numpy as np

import mjjax

jax.config.update("jax_enable_x64", True)  # single precision without it
XML = """
<mujoco>
  <option timestep="0.005"/>
  <default><default class="touchless"><geom contype="0" conaffinity="0"/></default></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="arm" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom class="touchless" name="upper" type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/>
      <body name="hand" pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0" range="-90 90"/>
        <geom class="touchless" name="palm" size="0.06"/>
        <site name="tip" pos="0.1 0 0"/>
      </body>
    </body>
    <body name="ball" pos="0.2 0.5 0.09">
      <freejoint name="free"/>
      <geom name="ball" size="0.1" mass="1"/>
    </body>
    <camera name="side" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/>
  </worldbody>
  <tendon><fixed name="both"><joint joint="shoulder" coef="1"/></fixed></tendon>
  <actuator><motor name="motor" joint="elbow" gear="2" nsample="3" delay="0.01"/></actuator>
  <sensor><framepos name="where" objtype="site" objname="tip" nsample="3" delay="0.01"/></sensor>
  <keyframe><key name="bent" qpos="0.5 -0.5 0.2 0.5 0.1 1 0 0 0"/></keyframe>
</mujoco>
"""
model = mjjax.Model.from_xml_string(XML)
data = mjjax.forward(model, mjjax.make_data(model))

# %% make_data
data = mjjax.make_data(model)
many = jax.vmap(lambda speed: data.replace(qvel=data.qvel.at[0].set(speed)))(jnp.arange(64.0))

# %% step
data = mjjax.step(model, data)  # compiled once and kept
worlds = jax.jit(jax.vmap(mjjax.step, in_axes=(None, 0)))(model, many)

# %% rollout
ctrl = jnp.zeros((20, model.nu))
after, trajectory = mjjax.rollout(model, data, ctrl, keep=("qpos", "sensordata"))
print(trajectory["qpos"].shape)  # (20, 9)

# %% step1
data = mjjax.step1(model, data)
data = data.replace(ctrl=-0.5 * data.qvel[1:2])  # a controller that reads what step1 computed
data = mjjax.step2(model, data)

# %% step2
data = mjjax.step2(model, mjjax.step1(model, data))  # the same as step(model, data)

# %% forward
data = mjjax.forward(model, data)
print(data.site("tip").xpos, data.qacc)

# %% forward_skip
data = data.replace(ctrl=jnp.ones(model.nu))  # positions and velocities stay
data = mjjax.forward_skip(model, data, mjjax.Stage.VEL)

# %% inverse
wanted = data.replace(qacc=jnp.zeros(model.nv))
print(mjjax.inverse(model, wanted).qfrc_inverse)  # forces that keep the velocity

# %% inverse_skip
found = mjjax.inverse_skip(model, wanted, mjjax.Stage.VEL)

# %% compare_fwd_inv
compared = mjjax.compare_fwd_inv(model, data)
print(compared.solver_fwdinv)  # both near zero if the solver has converged

# %% reset_data
data = mjjax.reset_data(model, data, "bent")
fresh = mjjax.reset_data(model, data, where=data.time > 10)  # worlds that are old

# %% set_keyframe
kept = mjjax.set_keyframe(model, data, "bent")
print(kept.key("bent").qpos)

# %% get_state
state = mjjax.get_state(model, data, mjjax.State.PHYSICS)  # time, qpos, qvel, act

# %% set_state
data = mjjax.set_state(model, data, state, mjjax.State.PHYSICS)

# %% state_size
size = mjjax.state_size(model, mjjax.State.PHYSICS)

# %% extract_state
qpos = mjjax.extract_state(model, state, mjjax.State.PHYSICS, mjjax.State.QPOS)

# %% copy_state
other = mjjax.copy_state(model, data, mjjax.make_data(model), mjjax.State.QPOS)

# %% save_state
mjjax.save_state(data, "world.npz")

# %% load_state
data = mjjax.forward(model, mjjax.load_state(data, "world.npz"))

# %% transition_jacobian
A, B, C, D = mjjax.transition_jacobian(model, data)  # exact: x' = A x + B u
print(A.shape, B.shape)  # (16, 16) (16, 1)

# %% inverse_jacobian
found = mjjax.inverse_jacobian(model, mjjax.inverse(model, data))

# %% check_gradients
print(mjjax.check_gradients(model, data))  # stage by stage; it needs double precision


# %% start_plan
def residual(model, data):
    return jnp.concatenate([data.site("tip").xpos - jnp.array([0.3, 0, 1.2]), 0.1 * data.ctrl])


def final(model, data):
    return 10 * (data.site("tip").xpos - jnp.array([0.3, 0, 1.2]))


plan = mjjax.start_plan(model, data, jnp.zeros((10, model.nu)))

# %% improve_plan
plan = mjjax.improve_plan(model, data, plan, residual, final)  # repeat it until the cost stays
print(plan.ctrl.shape)  # (10, 1)

# %% shift_plan
plan = mjjax.shift_plan(plan)  # after a step, for a controller that plans on and on

# %% parametrize
spec = mjjax.Spec.from_string(XML)
values, build = mjjax.parametrize(spec, ["geom:palm:size"])
heavier = build({name: 1.1 * value for name, value in values.items()})
print(heavier.body("hand").mass)

# %% set_const
heavy = mjjax.set_const(model.replace(body_mass=1.5 * model.body_mass))

# %% set_total_mass
light = mjjax.set_total_mass(model, 2.0)

# %% get_total_mass
print(mjjax.get_total_mass(model))

# %% set_length_range
ranged = mjjax.set_length_range(model, model.actuator("motor").id)

# %% name2id
body = mjjax.name2id(model, mjjax.ObjType.BODY, "hand")  # or model.body("hand").id

# %% id2name
print(mjjax.id2name(model, mjjax.ObjType.BODY, 1))  # arm

# %% print_model
mjjax.print_model(model, "model.txt")

# %% print_data
mjjax.print_data(model, data, "data.txt")

# %% warning_texts
for sentence in mjjax.warning_texts(data):
    print(sentence)  # whether the world diverged, or contacts did not fit

# %% warning_text
print(mjjax.warning_text(mjjax.WarningType.BADQACC))

# %% kinematics
data = mjjax.kinematics(model, data)
print(data.body("hand").xpos)

# %% com_pos
data = mjjax.com_pos(model, data)
print(data.subtree_com[0])  # of everything

# %% com_vel
data = mjjax.com_vel(model, data)
print(data.body("hand").cvel)  # rotation first

# %% camlight
data = mjjax.camlight(model, data)

# %% tendon
data = mjjax.tendon(model, data)
print(data.ten_length)

# %% transmission
data = mjjax.transmission(model, data)
print(data.actuator_length)

# %% crb
data = mjjax.crb(model, data)

# %% full_m
M = mjjax.full_m(model, data)

# %% factor_m
L = mjjax.factor_m(model, data)
print(jnp.abs(L @ L.T - M).max())  # M = L L'

# %% mul_m
momentum = mjjax.mul_m(model, data, data.qvel)

# %% solve_m
acceleration = mjjax.solve_m(model, data, data.qfrc_applied - data.qfrc_bias)

# %% mul_m2
half = mjjax.mul_m2(model, data, data.qvel)
print(half @ half / 2)  # the kinetic energy

# %% solve_m2
half = mjjax.solve_m2(model, data, data.qfrc_bias)

# %% add_m
H = mjjax.add_m(model, data, 0.01 * jnp.eye(model.nv))

# %% rne
bias = mjjax.rne(model, data)  # gravity, Coriolis and centrifugal forces
force = mjjax.rne(model, data, data.qacc)  # M qacc + bias

# %% rne_postconstraint
data = mjjax.rne_postconstraint(model, data)
print(data.body("hand").cfrc_int)  # what its parent exerts on it

# %% subtree_vel
data = mjjax.subtree_vel(model, data)
print(data.body("arm").subtree_linvel)

# %% passive
data = mjjax.passive(model, data)
print(data.qfrc_passive)

# %% energy_pos
data = mjjax.energy_pos(model, data)

# %% energy_vel
data = mjjax.energy_vel(model, data)
print(data.energy.sum())

# %% fwd_position
data = mjjax.fwd_position(model, data)

# %% fwd_velocity
data = mjjax.fwd_velocity(model, data)

# %% fwd_actuation
data = mjjax.fwd_actuation(model, data)
print(data.actuator_force)

# %% fwd_acceleration
data = mjjax.fwd_acceleration(model, data)
print(data.qacc_smooth)

# %% fwd_constraint
data = mjjax.fwd_constraint(model, data)
print(data.qacc, data.qfrc_constraint)

# %% inv_constraint
found = mjjax.inv_constraint(model, data)

# %% euler
after = mjjax.euler(model, mjjax.forward(model, data))

# %% implicit
after = mjjax.implicit(model, mjjax.forward(model, data))

# %% rungekutta4
after = mjjax.rungekutta4(model, mjjax.forward(model, data))

# %% collision
data = mjjax.collision(model, data)
print(data.ncon, data.contact.dist)  # empty slots have geom -1

# %% make_constraint
data = mjjax.make_constraint(model, data)
print(data.nefc)

# %% reference_constraint
data = mjjax.reference_constraint(model, data)
print(data.efc_aref)

# %% constraint_jacobian
J = mjjax.constraint_jacobian(model, data)

# %% constraint_state
zones = mjjax.constraint_state(model, data)

# %% project_constraint
AR = mjjax.project_constraint(model, data)

# %% mul_jac_vec
speeds = mjjax.mul_jac_vec(model, data, data.qvel)

# %% mul_jac_t_vec
force = mjjax.mul_jac_t_vec(model, data, data.efc_force)

# %% solver_statistics
found = mjjax.solver_statistics(model, data)
print(found.improvement)  # of each iteration

# %% island
data = mjjax.island(model, data)
print(data.nisland)

# %% is_pyramidal
print(mjjax.is_pyramidal(model))

# %% is_dual
print(mjjax.is_dual(model))  # True with PGS

# %% contact_force
print(mjjax.contact_force(model, data, 0))  # the normal force is the first

# %% geom_distance
distance, segment = mjjax.geom_distance(model, data, "palm", "ball", 10.0)

# %% ray
hit = mjjax.ray(model, data, jnp.array([0.2, 0.5, 2]), jnp.array([0, 0, -1.0]))
print(hit.dist, mjjax.id2name(model, mjjax.ObjType.GEOM, int(hit.geomid)))  # 1.8 ball

# %% multi_ray
directions = jnp.array([[0, 0, -1.0], [0.2, 0, -1], [-0.2, 0, -1]])
hits = mjjax.multi_ray(model, data, jnp.array([0, 0.5, 2.0]), directions)

# %% jac
jacp, jacr = mjjax.jac(model, data, data.site("tip").xpos, model.body("hand").id)

# %% jac_body
jacp, jacr = mjjax.jac_body(model, data, "hand")

# %% jac_body_com
jacp, jacr = mjjax.jac_body_com(model, data, "hand")

# %% jac_geom
jacp, jacr = mjjax.jac_geom(model, data, "palm")

# %% jac_site
jacp, jacr = mjjax.jac_site(model, data, "tip")
print(jacp @ data.qvel)  # the velocity of the site

# %% jac_subtree_com
jacp = mjjax.jac_subtree_com(model, data, "arm")

# %% jac_point_axis
point, axis = data.site("tip").xpos, jnp.array([1.0, 0, 0])
jac_point, jac_axis = mjjax.jac_point_axis(model, data, point, axis, "hand")

# %% jac_dot
jacp_dot, jacr_dot = mjjax.jac_dot(model, data, data.site("tip").xpos, model.body("hand").id)

# %% angmom_mat
momentum = mjjax.angmom_mat(model, data, "arm") @ data.qvel

# %% apply_ft
up, none = jnp.array([0, 0, 5.0]), jnp.zeros(3)
force = mjjax.apply_ft(model, data, up, none, data.site("tip").xpos, model.body("hand").id)
pushed = data.replace(qfrc_applied=force)

# %% xfrc_accumulate
pushed = data.replace(xfrc_applied=data.xfrc_applied.at[model.body("ball").id, 2].set(5.0))
force = mjjax.xfrc_accumulate(model, pushed)

# %% local_to_global
pos, mat = mjjax.local_to_global(data, jnp.zeros(3), jnp.array([1.0, 0, 0, 0]), "hand")

# %% object_velocity
velocity = mjjax.object_velocity(model, data, mjjax.ObjType.SITE, "tip", flg_local=True)

# %% object_acceleration
data = mjjax.rne_postconstraint(model, data)
acceleration = mjjax.object_acceleration(model, data, mjjax.ObjType.SITE, "tip")

# %% integrate_pos
qpos = mjjax.integrate_pos(model, data.qpos, data.qvel, 0.1)

# %% differentiate_pos
qvel = mjjax.differentiate_pos(model, 0.1, data.qpos, qpos)  # back again

# %% normalize_quat
qpos = mjjax.normalize_quat(model, 2 * data.qpos)

# %% sensor_pos
data = mjjax.sensor_pos(model, data)
print(data.sensor("where").data)

# %% sensor_vel
data = mjjax.sensor_vel(model, data)

# %% sensor_acc
data = mjjax.sensor_acc(model, data)

# %% read_ctrl
reaches = mjjax.read_ctrl(model, data, model.actuator("motor").id, data.time)

# %% read_sensor
reading = mjjax.read_sensor(model, data, model.sensor("where").id, data.time)

# %% init_ctrl_history
past = jnp.array([-0.015, -0.01, -0.005])
data = mjjax.init_ctrl_history(model, data, 0, past, jnp.zeros(3))

# %% init_sensor_history
data = mjjax.init_sensor_history(model, data, 0, past, jnp.zeros((3, 3)), 0.0)

# %% free_camera
camera = mjjax.free_camera(model)

# %% render
picture = mjjax.render(model, data, camera="side", width=64, height=48)
print(picture.rgb.shape, picture.depth.min())

# %% use_all_cores
mjjax.use_all_cores()  # at the start of a program, on a processor

# %% shard_worlds
model_there, batch = mjjax.shard_worlds(model, many)

# %% jit_worlds
advance = mjjax.jit_worlds(jax.vmap(mjjax.step, in_axes=(None, 0)))
batch = advance(model_there, batch)

# %% cache_compilations
mjjax.cache_compilations("programs")  # the next start compiles nothing

# %% put_model
import mujoco

theirs = mujoco.MjModel.from_xml_string(XML)
model = mjjax.put_model(theirs)

# %% put_data
data = mjjax.put_data(theirs, mujoco.MjData(theirs))

# %% get_data
back = mjjax.get_data(theirs, mjjax.step(model, data))
print(np.asarray(back.qpos))
