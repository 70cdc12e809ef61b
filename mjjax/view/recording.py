"""A recording of a trajectory as one page of HTML, that plays without a server."""

import html as text
from collections.abc import Mapping

import jax
import numpy as np

from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data
from mjjax.view.scene import Scene
from mjjax.view.server import started
from mjjax.view.world import Frame, frame
from mjjax.xla.namespace import Array

_MOVES = ("qpos", "mocap_pos", "mocap_quat")  # what decides where everything is


class Page(str):
    """A page of HTML; a notebook shows it where it is the value of a cell."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{text.escape(self, quote=True)}" width="100%" height="480" '
            'style="border: none"></iframe>'
        )


def html(
    model: Model,
    trajectory: Mapping[str, Array],
    *,
    fps: float = 30.0,
    interval: float | None = None,
    spacing: float | None = None,
) -> Page:
    """A page that plays a trajectory in a browser: no server, no network, nothing to install there.

    In a notebook, Colab too, a cell that ends with it shows it;
    `Path("run.html").write_text(page, encoding="utf-8")` saves it. It holds the viewer of viser
    (0.8 MB) and the poses of bodies. Needs the extra `view`.

    Args:
        model: model.
        trajectory: the history of a `rollout` with `keep=("qpos",)`; `mocap_pos` and `mocap_quat`
            are used where they are in it. One world (nstep, ...), or many side by side
            (nworld, nstep, ...), as `vmap` gives them.
        fps: frames per second of the recording, at most.
        interval: time between entries of the trajectory [s]; None: one time step.
        spacing: distance between worlds [m].

    Raises:
        ImportError: viser is not installed.
        ValueError: the trajectory has no `qpos`, or one of another shape.
    """
    moves = {name: np.asarray(trajectory[name]) for name in _MOVES if name in trajectory}
    if "qpos" not in moves or moves["qpos"].ndim not in (2, 3):
        raise ValueError("a trajectory has qpos (nstep, nq) or (nworld, nstep, nq)")
    if moves["qpos"].shape[-1] != model.nq:
        raise ValueError(f"qpos has {moves['qpos'].shape[-1]} numbers; the model has {model.nq}")
    if moves["qpos"].ndim == 2:
        moves = {name: x[None] for name, x in moves.items()}
    step = float(model.opt.timestep) if interval is None else interval
    stride = max(1, round(1 / (fps * step)))
    moves = {name: x[:, ::stride] for name, x in moves.items()}
    seen = jax.tree.map(np.asarray, _frames(model, make_data(model), moves))
    nworld, count = moves["qpos"].shape[:2]
    with started(None) as server:
        scene = Scene(server, model, nworld, spacing)
        serializer = server.get_scene_serializer()
        for k in range(count):
            scene.show(jax.tree.map(lambda x, k=k: x[:, k], seen))
            serializer.insert_sleep(stride * step)
        return Page(serializer.as_html())


@jax.jit
def _frames(model: Model, data: Data, moves: dict[str, Array]) -> Frame:
    """What is seen at each time in each world."""
    return jax.vmap(jax.vmap(lambda changed: frame(model, data.replace(**changed))))(moves)
