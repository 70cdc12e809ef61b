"""Models and data on and off the device (`mjx.put_model`, `make_data`, `put_data`, `get_data`)."""

from typing import Any

import jax

import mjjax
from mjjax.mjx.trees import Data, Model
from mjjax.pipeline.interop import module_of
from mjjax.xla.namespace import Array


def put_model(m: Any, device: Any = None, impl: Any = None, **options: Any) -> Model:
    """The model for the functions of this module, with every number that it has now.

    Args:
        m: `mujoco.MjModel`, `mjjax.Model`, a `Model` of this module, or the path of a file.
        device: where its arrays are; JAX's default if None.
        impl: without meaning here, there is one implementation.
        options: MJX's further arguments (`graph_mode`, `keepalive_refs`), without meaning here.

    Raises:
        UnsupportedFeature: the model has something that mjjax does not simulate.
    """
    del impl, options
    native = m.native if isinstance(m, Model) else mjjax.put_model(m)
    return _on(Model(native), device)


def make_data(
    m: Any,
    device: Any = None,
    impl: Any = None,
    _full_compat: bool = False,
    nconmax: int | None = None,
    naconmax: int | None = None,
    naccdmax: int | None = None,
    njmax: int | None = None,
    **options: Any,
) -> Data:
    """The state of one world at `qpos0`, at rest.

    MJX uses its sizes for all worlds of MuJoCo Warp together. Here each world has as many contact
    slots as its model needs, so they have no meaning; `mjjax.make_data` has sizes for a world.

    Args:
        m: as for `put_model`.
        device: where its arrays are; JAX's default if None.
        impl: without meaning here.
        _full_compat: without meaning here.
        nconmax: without meaning here.
        naconmax: without meaning here.
        naccdmax: without meaning here.
        njmax: without meaning here.
        options: MJX's further arguments (`keepalive_refs`), without meaning here.
    """
    del impl, _full_compat, nconmax, naconmax, naccdmax, njmax, options
    return _on(Data(mjjax.make_data(put_model(m).native)), device)


def put_data(m: Any, d: Any, device: Any = None, impl: Any = None, **options: Any) -> Data:
    """The data that a `mujoco.MjData` has; see `mjjax.put_data`.

    Args:
        m: the `mujoco.MjModel`, or a model made of it.
        d: the `mujoco.MjData`.
        device: where its arrays are; JAX's default if None.
        impl: without meaning here.
        options: MJX's further arguments, without meaning here (see `make_data`).
    """
    del impl, options
    return _on(Data(mjjax.put_data(put_model(m).native, d)), device)


def get_data(m: Any, d: Data, keepalive_refs: Any = None) -> Any:
    """A `mujoco.MjData` of a world, or a list of them of a batch; see `mjjax.get_data`."""
    del keepalive_refs
    return mjjax.get_data(m, d.native)


def get_data_into(result: Any, m: Any, d: Data, keepalive_refs: Any = None) -> None:
    """Writes a world into a `mujoco.MjData`, or a batch into a list of them.

    Raises:
        ValueError: there are other numbers of worlds and of `mujoco.MjData`, or the latter belong
            to another model.
    """
    made = get_data(m, d, keepalive_refs)
    worlds, there = (x if isinstance(x, list) else [x] for x in (made, result))
    if isinstance(made, list) != isinstance(result, list) or len(worlds) != len(there):
        raise ValueError(f"get_data_into: {len(worlds)} worlds and {len(there)} mujoco.MjData")
    for world, place in zip(worlds, there, strict=True):
        for name in ("qpos", "qvel", "act", "ctrl", "xpos", "geom_xpos", "sensordata"):
            found, wanted = (getattr(x, name).shape for x in (world, place))
            if found != wanted:
                raise ValueError(f"Input field {name} has shape {found}, mujoco.MjData {wanted}")
        module_of(m).mj_copyData(place, m, world)


def _on(tree: Any, device: Any) -> Any:
    return tree if device is None else jax.device_put(tree, device)


def state_size(m: Model, spec: Any) -> int:
    """Number of elements of some components of the state (`mj_stateSize`)."""
    return mjjax.state_size(m.native, int(spec))


def get_state(m: Model, d: Data, spec: Any) -> Array:
    """Some components of the state as one vector (`mj_getState`)."""
    return mjjax.get_state(m.native, d.native, int(spec))


def set_state(m: Model, d: Data, state: Any, spec: Any) -> Data:
    """The data with some components of the state from a vector (`mj_setState`)."""
    return Data(mjjax.set_state(m.native, d.native, state, int(spec)))
