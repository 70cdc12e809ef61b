"""Physics options and flags."""

from typing import Any

import numpy as np

from mjjax.mjcf.spec import Spec
from mjjax.mjcf.table import DISABLE_FLAGS, ENABLE_FLAGS


def options(spec: Spec) -> dict[str, Any]:
    """The members of mjOption by name; a flag that is disabled sets a bit of `disableflags`."""
    found = {
        name: np.array(value, np.float64) if isinstance(value, tuple) else value
        for name, value in spec.option.items()
        if name != "actuatorgroupdisable"
    }
    groups = spec.option["actuatorgroupdisable"] or ()
    found["disableactuator"] = sum(1 << group for group in set(groups))
    found["disableflags"] = _bits(spec.flag, DISABLE_FLAGS, 0)
    found["enableflags"] = _bits(spec.flag, ENABLE_FLAGS, 1)
    return found


def _bits(flags: dict[str, int], order: tuple[str, ...], setting: int) -> int:
    """Bits of the flags in `order` that the user set to `setting` (0 disable, 1 enable)."""
    return sum(1 << bit for bit, name in enumerate(order) if flags.get(name) == setting)
