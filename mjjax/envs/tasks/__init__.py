"""The tasks, with one module per robot, and the table of tasks."""

from mjjax.envs.environment import Environment
from mjjax.envs.tasks.ant import Ant
from mjjax.envs.tasks.arm import ArmLift
from mjjax.envs.tasks.cartpole import CartpoleBalance, CartpoleSwingup
from mjjax.envs.tasks.halfcheetah import HalfCheetah
from mjjax.envs.tasks.hopper import Hopper
from mjjax.envs.tasks.humanoid import HumanoidRun, HumanoidStand
from mjjax.envs.tasks.pendulum import Pendulum
from mjjax.envs.tasks.quadruped import QuadrupedJoystick
from mjjax.envs.tasks.reacher import Reacher
from mjjax.envs.tasks.walker import Walker

TASKS: dict[str, type[Environment]] = {
    "ant": Ant,
    "arm_lift": ArmLift,
    "cartpole_balance": CartpoleBalance,
    "cartpole_swingup": CartpoleSwingup,
    "halfcheetah": HalfCheetah,
    "hopper": Hopper,
    "humanoid_run": HumanoidRun,
    "humanoid_stand": HumanoidStand,
    "pendulum": Pendulum,
    "quadruped_joystick": QuadrupedJoystick,
    "reacher": Reacher,
    "walker": Walker,
}
