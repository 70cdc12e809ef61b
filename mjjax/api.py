"""All public names of mjjax; `import mjjax` loads this module when the first of them is used."""

from mjjax import envs, math, view
from mjjax.collision.distance import geom_distance
from mjjax.collision.driver import collision
from mjjax.collision.rays.ray import multi_ray, ray
from mjjax.compiler.constants.lengthrange import set_length_range
from mjjax.compiler.constants.set_const import get_total_mass, set_const, set_total_mass
from mjjax.compiler.parametrize import parametrize
from mjjax.constraint.from_distance import ContactsFromDistance
from mjjax.constraint.reaction import contact_force, rne_postconstraint
from mjjax.constraint.stages import (
    constraint_jacobian,
    is_dual,
    is_pyramidal,
    island,
    make_constraint,
    mul_jac_t_vec,
    mul_jac_vec,
    project_constraint,
    reference_constraint,
)
from mjjax.core.enums import (
    BiasType,
    CamLightType,
    ConeType,
    ConstraintState,
    ConstraintType,
    DataType,
    DisableBit,
    DynType,
    EnableBit,
    EqType,
    GainType,
    GeomType,
    IntegratorType,
    JacobianType,
    JointType,
    ObjType,
    SensorType,
    SolverType,
    Stage,
    State,
    TrnType,
    WarningType,
    WrapType,
)
from mjjax.core.errors import AbsentTerm, MjcfError, UnsupportedFeature
from mjjax.core.limits import Limits
from mjjax.dynamics.actuation import fwd_actuation
from mjjax.dynamics.camlight import camlight
from mjjax.dynamics.energy import energy_pos, energy_vel
from mjjax.dynamics.history import (
    init_ctrl_history,
    init_sensor_history,
    read_ctrl,
    read_sensor,
)
from mjjax.dynamics.inertia import (
    add_m,
    com_pos,
    crb,
    factor_m,
    full_m,
    mul_m,
    mul_m2,
    solve_m,
    solve_m2,
)
from mjjax.dynamics.jacobian import (
    angmom_mat,
    apply_ft,
    jac,
    jac_body,
    jac_body_com,
    jac_dot,
    jac_geom,
    jac_point_axis,
    jac_site,
    jac_subtree_com,
    local_to_global,
    xfrc_accumulate,
)
from mjjax.dynamics.kinematics import kinematics
from mjjax.dynamics.objects import object_acceleration, object_velocity
from mjjax.dynamics.passive import passive
from mjjax.dynamics.position import differentiate_pos, integrate_pos, normalize_quat
from mjjax.dynamics.tendon import tendon
from mjjax.dynamics.transmission import transmission
from mjjax.dynamics.velocity import com_vel, rne, subtree_vel
from mjjax.mjcf.spec import Spec
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Contact, Data
from mjjax.model.export import register
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.storage import load_state, save_state
from mjjax.model.structure import Structure
from mjjax.model.view import id2name, name2id
from mjjax.model.visual import Visual
from mjjax.pipeline.describe import print_data, print_model, warning_text, warning_texts
from mjjax.pipeline.devices import jit_worlds, shard_worlds, use_all_cores
from mjjax.pipeline.forward import (
    forward,
    forward_skip,
    fwd_acceleration,
    fwd_position,
    fwd_velocity,
)
from mjjax.pipeline.gradients.check_gradients import check_gradients
from mjjax.pipeline.gradients.gradient_report import Finding, GradientReport, Verdict
from mjjax.pipeline.integrate import euler, implicit, rungekutta4
from mjjax.pipeline.interop import get_data, put_data, put_model
from mjjax.pipeline.inverse import compare_fwd_inv, inverse, inverse_skip
from mjjax.pipeline.make_data import make_data, reset_data
from mjjax.pipeline.planning.linearize import (
    InverseJacobian,
    TransitionJacobian,
    inverse_jacobian,
    transition_jacobian,
)
from mjjax.pipeline.planning.plan import Plan, improve_plan, shift_plan, start_plan
from mjjax.pipeline.public import PUBLIC, public
from mjjax.pipeline.recompile import recompile as _recompile  # noqa: F401 for `Spec.recompile`
from mjjax.pipeline.rollout import rollout
from mjjax.pipeline.state import (
    copy_state,
    extract_state,
    get_state,
    set_keyframe,
    set_state,
    state_size,
)
from mjjax.pipeline.step import step, step1, step2
from mjjax.pipeline.substeps import Adaptive
from mjjax.render.camera import FreeCamera, free_camera
from mjjax.render.picture import Picture, render
from mjjax.sensor.stages import sensor_acc, sensor_pos, sensor_vel
from mjjax.solver.stages import fwd_constraint, inv_constraint
from mjjax.solver.statistics import SolverStat, constraint_state, solver_statistics
from mjjax.xla.compiling import cache_compilations

register()
globals().update({name: public(globals()[name], how) for name, how in PUBLIC.items()})

__all__ = [
    "AbsentTerm",
    "Adaptive",
    "BiasType",
    "Callbacks",
    "CamLightType",
    "ConeType",
    "ConstraintState",
    "ConstraintType",
    "Contact",
    "ContactsFromDistance",
    "Data",
    "DataType",
    "DisableBit",
    "DynType",
    "EnableBit",
    "EqType",
    "Finding",
    "FreeCamera",
    "GainType",
    "GeomType",
    "GradientReport",
    "IntegratorType",
    "InverseJacobian",
    "JacobianType",
    "JointType",
    "Limits",
    "MjcfError",
    "Model",
    "ObjType",
    "Option",
    "Picture",
    "Plan",
    "SensorType",
    "SolverStat",
    "SolverType",
    "Spec",
    "Stage",
    "State",
    "Statistic",
    "Structure",
    "TransitionJacobian",
    "TrnType",
    "UnsupportedFeature",
    "Verdict",
    "Visual",
    "WarningType",
    "WrapType",
    "add_m",
    "angmom_mat",
    "apply_ft",
    "cache_compilations",
    "camlight",
    "check_gradients",
    "collision",
    "com_pos",
    "com_vel",
    "compare_fwd_inv",
    "constraint_jacobian",
    "constraint_state",
    "contact_force",
    "copy_state",
    "crb",
    "differentiate_pos",
    "energy_pos",
    "energy_vel",
    "envs",
    "euler",
    "extract_state",
    "factor_m",
    "forward",
    "forward_skip",
    "free_camera",
    "full_m",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_constraint",
    "fwd_position",
    "fwd_velocity",
    "geom_distance",
    "get_data",
    "get_state",
    "get_total_mass",
    "id2name",
    "implicit",
    "improve_plan",
    "init_ctrl_history",
    "init_sensor_history",
    "integrate_pos",
    "inv_constraint",
    "inverse",
    "inverse_jacobian",
    "inverse_skip",
    "is_dual",
    "is_pyramidal",
    "island",
    "jac",
    "jac_body",
    "jac_body_com",
    "jac_dot",
    "jac_geom",
    "jac_point_axis",
    "jac_site",
    "jac_subtree_com",
    "jit_worlds",
    "kinematics",
    "load_state",
    "local_to_global",
    "make_constraint",
    "make_data",
    "math",
    "mul_jac_t_vec",
    "mul_jac_vec",
    "mul_m",
    "mul_m2",
    "multi_ray",
    "name2id",
    "normalize_quat",
    "object_acceleration",
    "object_velocity",
    "parametrize",
    "passive",
    "print_data",
    "print_model",
    "project_constraint",
    "put_data",
    "put_model",
    "ray",
    "read_ctrl",
    "read_sensor",
    "reference_constraint",
    "render",
    "reset_data",
    "rne",
    "rne_postconstraint",
    "rollout",
    "rungekutta4",
    "save_state",
    "sensor_acc",
    "sensor_pos",
    "sensor_vel",
    "set_const",
    "set_keyframe",
    "set_length_range",
    "set_state",
    "set_total_mass",
    "shard_worlds",
    "shift_plan",
    "solve_m",
    "solve_m2",
    "solver_statistics",
    "start_plan",
    "state_size",
    "step",
    "step1",
    "step2",
    "subtree_vel",
    "tendon",
    "transition_jacobian",
    "transmission",
    "use_all_cores",
    "view",
    "warning_text",
    "warning_texts",
    "xfrc_accumulate",
]
