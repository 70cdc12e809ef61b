"""The part of `Data` that sleeping trees need; only models with the flag `sleep` have it."""

from collections.abc import Mapping
from typing import Any

import jax

from mjjax.core.enums import EnableBit
from mjjax.core.struct import PyTree, array

MINAWAKE = 10  # least number of steps for which a tree stays awake
FULLY_AWAKE = -(1 + MINAWAKE)


class Sleep(PyTree):
    """Which kinematic trees sleep, and values that show whether the user has moved one of them."""

    def _sizes(self) -> Mapping[str, int]:
        return {}

    tree_asleep: jax.Array = array(
        "ntree", dtype=int, doc="awake: -11 to -1, ready; asleep: next tree of the sleeping cycle"
    )
    tree_asleep0: jax.Array = array("ntree", dtype=int, doc="`tree_asleep` after a reset")
    sensordata0: jax.Array = array("nsensordata", doc="`sensordata` after a reset")
    qpos: jax.Array = array("nq", doc="`qpos` as the last step left it")


def sleeps(model: Any, data: Any) -> bool:
    """Whether trees may sleep (static): the flag `sleep` is on, and was on when data were made."""
    some = model.structure.ntree > 0 and data.sleep is not None
    return some and model.opt.enabled(EnableBit.SLEEP)
