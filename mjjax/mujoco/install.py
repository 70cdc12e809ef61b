"""Puts mjjax into the places of `mujoco.mjx` and `mujoco`, for programs that cannot be edited."""

import functools
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mjjax import mjx
from mjjax.mjx import io, math, stages, support
from mjjax.mjx import types as mjx_types

# Modules of MJX that programs import functions from, and where these are here.
_INNER = {
    "math": math,
    "types": mjx_types,
    "io": io,
    "support": support,
    "ray": support,
} | dict.fromkeys(
    "collision_driver constraint derivative forward inverse passive sensor smooth solver".split(),
    stages,
)


def install(mujoco: bool | None = None) -> None:
    """Makes `import mujoco` and `from mujoco import mjx` give mjjax's modules, in this process.

    Call it before anything imports `mujoco.mjx`. Where MuJoCo is installed, it stays: programs load
    and edit models with it, draw with it, and simulate with mjjax. Where it is not, `mjjax.mujoco`
    takes its place.

    It also supplies what the newest JAX no longer has, see `former_jax`.

    Args:
        mujoco: whether `mjjax.mujoco` takes the place of `mujoco`; None if that is not installed.

    Raises:
        RuntimeError: the program has already imported what is to be replaced.
    """
    there = sys.modules.get("mujoco")
    replaces = mujoco if mujoco is not None else _find_mujoco() is None
    _require_free("mujoco.mjx", mjx)
    if replaces:
        own = sys.modules["mjjax.mujoco"]
        _require_free("mujoco", own)
        there = sys.modules["mujoco"] = own
    elif there is None:
        there = importlib.import_module("mujoco")
    there.mjx = sys.modules["mujoco.mjx"] = mjx  # type: ignore[attr-defined]
    inner: Any = types.ModuleType("mujoco.mjx._src", "MJX's modules, made of mjjax's.")
    vars(inner).update(_INNER)
    sys.modules["mujoco.mjx._src"] = mjx._src = inner  # type: ignore[attr-defined]
    sys.modules.update({f"mujoco.mjx._src.{name}": module for name, module in _INNER.items()})
    former_jax()


def former_jax() -> None:
    """Supplies what the newest Brax (0.14.2), Playground and MJX call and the newest JAX lacks.

    These are `jax.device_put_replicated`, and the arguments `a_min` and `a_max` of `jnp.clip`.
    """
    if not hasattr(jax, "device_put_replicated"):
        jax.device_put_replicated = _device_put_replicated  # type: ignore[attr-defined]
    if "a_min" not in inspect.signature(jnp.clip).parameters:
        jnp.clip = _clip_of(jnp.clip)


def _find_mujoco() -> Any:
    if "mujoco" in sys.modules:
        return sys.modules["mujoco"]
    return importlib.util.find_spec("mujoco")


def _require_free(name: str, own: types.ModuleType) -> None:
    there = sys.modules.get(name)
    if there is not None and there is not own:
        raise RuntimeError(
            f"{name} is already imported; call mjjax.mujoco.install() at the start of the program"
        )


def _device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """One copy of each array for each device, along a new first axis."""
    return jax.tree.map(lambda a: jnp.stack([jnp.asarray(a)] * len(devices)), x)


def _clip_of(clip: Callable[..., Any]) -> Callable[..., Any]:
    """`jnp.clip` that also takes the former names of its bounds."""

    @functools.wraps(clip)
    def clipped(
        arr: Any = None,
        /,
        min: Any = None,
        max: Any = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
    ) -> Any:
        low, high = (a if b is None else b for a, b in ((min, a_min), (max, a_max)))
        return clip(arr, low, high)

    del clipped.__wrapped__  # so that its signature is its own, which `former_jax` reads
    return clipped
