"""Settings of pictures."""

from typing import Any

import numpy as np

from mjjax.core.struct import specs
from mjjax.mjcf.spec import Spec
from mjjax.model.visual import VISUAL_PARTS, Visual

_DEFAULTS: dict[str, dict[str, Any]] = {
    "global_": {"fovy": 45.0, "azimuth": 90.0, "elevation": -45.0, "orthographic": 0},
    "headlight": {
        "ambient": (0.1, 0.1, 0.1),
        "diffuse": (0.4, 0.4, 0.4),
        "specular": (0.5, 0.5, 0.5),
        "active": 1,
    },
    "map": {
        "stiffness": 100.0,
        "force": 0.005,
        "alpha": 0.3,
        "zfar": 50.0,
        "haze": 0.3,
        "shadowclip": 1.0,
        "shadowscale": 0.6,
    },
    "rgba": {"haze": (1.0, 1.0, 1.0, 1.0)},
}


def visual(spec: Spec) -> Visual:
    """The settings as written, or MuJoCo's; real numbers are arrays of numpy."""
    parts = {}
    for name, cls in VISUAL_PARTS.items():
        written = spec.visual.get(name.rstrip("_"), {})
        values = {k: written.get(k, default) for k, default in _DEFAULTS[name].items()}
        real = {k: np.array(values[k], float) for k in specs(cls)}
        whole = {k: int(values[k]) for k in values if k not in real}
        parts[name] = cls(**whole, **real)
    return Visual(**parts)
