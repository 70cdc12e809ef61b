"""Checkpoints of a training, written by Orbax: whole or not at all."""

import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.training.spread import on_each
from mjjax.training.training import Point, Trained, Training

FOLDER = "checkpoints"
KEPT = 2  # the newest, and the one before, to which a user returns by deleting the newest


def save(training: Training, folder: str | os.PathLike[str]) -> None:
    """Writes a checkpoint into `checkpoints` of a folder, and removes old ones.

    Args:
        training: training.
        folder: folder of the training.

    Raises:
        OSError: the folder cannot be written into.
    """
    import orbax.checkpoint as ocp

    curves = [[list(point) for point in result.curve] for result in training.results]
    with _manager(folder) as manager:
        manager.save(
            training.made_steps,
            args=ocp.args.Composite(
                arrays=ocp.args.StandardSave(_arrays(training)),
                curves=ocp.args.JsonSave({"curves": curves}),
            ),
        )


def restore(training: Training, folder: str | os.PathLike[str]) -> None:
    """Continues a training from the newest checkpoint in a folder.

    Args:
        training: a training with the same environment, algorithm, settings and number of seeds. Its
            number of steps may be larger.
        folder: folder of the training that was saved.

    Raises:
        FileNotFoundError: there is no checkpoint.
        ValueError: the checkpoint is of another training.
    """
    import orbax.checkpoint as ocp

    with _manager(folder) as manager:
        newest = manager.latest_step()
        if newest is None:
            raise FileNotFoundError(f"{Path(folder) / FOLDER} has no checkpoint")
        arrays = ocp.args.StandardRestore(_arrays(training))
        wanted = ocp.args.Composite(arrays=arrays, curves=ocp.args.JsonRestore())
        try:
            found = manager.restore(newest, args=wanted)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"the checkpoint in {folder} is of a training with other settings: {reason}"
            ) from error
    state = _placed(found.arrays["state"], training.state)
    policies = _placed(found.arrays["policies"], [result.policy for result in training.results])
    curves = [[Point(*point) for point in curve] for curve in found.curves["curves"]]
    training.continue_from(state, [Trained(*x) for x in zip(policies, curves, strict=True)])


def _arrays(training: Training) -> dict[str, Any]:
    """All numbers of a training, whole and on the host, so that other devices can go on."""
    plain = jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, training.state)
    whole = jax.jit(lambda x: x, out_shardings=on_each())(plain)
    policies = [result.policy for result in training.results]
    return jax.tree.map(np.asarray, {"state": whole, "policies": policies})


def _placed(found: Any, like: Any) -> Any:
    """The numbers, on the devices of `like`."""

    def place(x: Any, y: jax.Array) -> jax.Array:
        if _is_key(y):
            return jax.jit(jax.random.wrap_key_data, out_shardings=y.sharding)(np.asarray(x))
        return jax.device_put(np.asarray(x), y.sharding)

    return jax.tree.map(place, found, like)


def _is_key(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _manager(folder: str | os.PathLike[str]) -> Any:
    import orbax.checkpoint as ocp

    options = ocp.CheckpointManagerOptions(max_to_keep=KEPT, enable_async_checkpointing=False)
    return ocp.CheckpointManager(Path(folder).absolute() / FOLDER, options=options)
