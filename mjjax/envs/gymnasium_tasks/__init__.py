"""Gymnasium's own MuJoCo tasks, batched: the same observations, rewards, ends and starts."""

from mjjax.envs.environment import Environment
from mjjax.envs.gymnasium_tasks.arms import (
    InvertedDoublePendulumV5,
    InvertedPendulumV5,
    PusherV5,
    ReacherV5,
)
from mjjax.envs.gymnasium_tasks.humanoids import HumanoidStandupV5, HumanoidV5
from mjjax.envs.gymnasium_tasks.locomotion import (
    AntV5,
    HalfCheetahV5,
    HopperV5,
    SwimmerV5,
    Walker2dV5,
)

GYMNASIUM_TASKS: dict[str, type[Environment]] = {
    "Ant-v5": AntV5,
    "HalfCheetah-v5": HalfCheetahV5,
    "Hopper-v5": HopperV5,
    "Humanoid-v5": HumanoidV5,
    "HumanoidStandup-v5": HumanoidStandupV5,
    "InvertedDoublePendulum-v5": InvertedDoublePendulumV5,
    "InvertedPendulum-v5": InvertedPendulumV5,
    "Pusher-v5": PusherV5,
    "Reacher-v5": ReacherV5,
    "Swimmer-v5": SwimmerV5,
    "Walker2d-v5": Walker2dV5,
}
