"""Training of policies: reinforcement learning on environments, in one compiled program.

It needs the extra `train`. `mjjax train` is its command.
"""

from mjjax.training.algorithms import ALGORITHMS
from mjjax.training.checkpoints import restore, save
from mjjax.training.policy import Policy
from mjjax.training.training import Point, Trained, Training, train

__all__ = [
    "ALGORITHMS",
    "Point",
    "Policy",
    "Trained",
    "Training",
    "restore",
    "save",
    "train",
]
