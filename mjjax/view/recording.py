"""A recording of a trajectory as one page of HTML that plays without a server."""

import html as text
from collections.abc import Iterable, Mapping

import jax
import numpy as np

from mjjax.dynamics.kinematics import PLACES
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import make_data
from mjjax.view.scene import Moment, Scene
from mjjax.view.server import started
from mjjax.view.views import View
from mjjax.view.world import Frame, frame
from mjjax.xla.namespace import Array


class Page(str):
    """An HTML page, which a notebook shows as the value of a cell."""

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
    """Makes a page that plays a trajectory in a browser, without a server or a network.

    A notebook, in Colab too, shows the page if it is the last line of a cell.
    `Path("run.html").write_text(page, encoding="utf-8")` saves it. The page holds viser's viewer
    (0.8 MB) and the poses of the bodies. Making it needs the extra `view`.

    Args:
        model: model.
        trajectory: the history of a `rollout` with `keep=("qpos",)`, and `mocap_pos` and
            `mocap_quat` if it has them: one world (nstep, ...), or many (nworld, nstep, ...) as
            `vmap` gives them, which the page shows side by side.
        fps: largest number of frames per second of the recording.
        interval: time between entries of the trajectory [s]; by default one time step.
        spacing: distance between worlds [m].

    Raises:
        ImportError: viser is not installed.
        ValueError: the trajectory has no `qpos`, or its shape is wrong.
    """
    moves = {name: np.asarray(trajectory[name]) for name in PLACES if name in trajectory}
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
    frames = (jax.tree.map(lambda x, k=k: x[:, k], seen) for k in range(count))
    return played(model, nworld, ((Moment(frame), stride * step) for frame in frames), spacing)


def played(
    model: Model,
    nworld: int,
    moments: Iterable[tuple[Moment, float]],
    spacing: float | None,
    view: View | None = None,
) -> Page:
    """A page that plays what a scene showed.

    Args:
        model: model.
        nworld: number of worlds.
        moments: what is shown, and for how long [s].
        spacing: distance between worlds [m]; None makes them fit beside each other.
        view: view at first; None takes that of the free camera.
    """
    with started(None) as server:
        scene = Scene(server, model, nworld, spacing)
        if view is not None:
            scene.begin_at(view)
        serializer = server.get_scene_serializer()
        for moment, pause in moments:
            scene.show(moment)
            serializer.insert_sleep(pause)
        return Page(serializer.as_html())


@jax.jit
def _frames(model: Model, data: Data, moves: dict[str, Array]) -> Frame:
    """The frame at each time in each world."""
    return jax.vmap(jax.vmap(lambda changed: frame(model, data.replace(**changed))))(moves)
