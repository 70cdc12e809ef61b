"""The part of MuJoCo's Python package that programs for MJX use, without MuJoCo.

`MjModel`, `MjData`, `MjSpec`, `Renderer`, `MjvOption`, functions such as `mj_step`, and MuJoCo's
enumerations. `install` puts this module and `mjjax.mjx` into the places of `mujoco` and
`mujoco.mjx`. It is for programs that cannot be edited.
"""

from typing import Any

from mjjax import mjx as mjx
from mjjax.mujoco import functions as _functions
from mjjax.mujoco.data import MjData as MjData
from mjjax.mujoco.install import install as install
from mjjax.mujoco.model import MjModel as MjModel
from mjjax.mujoco.names import TYPES as _TYPES
from mjjax.mujoco.picture import MjvOption as MjvOption
from mjjax.mujoco.picture import MjvScene as MjvScene
from mjjax.mujoco.picture import Renderer as Renderer
from mjjax.mujoco.spec import CLASSES as _CLASSES
from mjjax.mujoco.spec import MjSpec as MjSpec

__version__ = "3.6.0"

globals().update(_TYPES)
globals().update({x.__name__: x for x in _CLASSES.values()})
globals().update({n: x for n, x in vars(_functions).items() if n.startswith("mj_")})


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"mjjax.mujoco has no {name}: it has the part of MuJoCo that programs for MJX use"
    )
