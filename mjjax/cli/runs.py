"""A training in a folder: what it was asked for, for commands that come back to it."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import mjjax
from mjjax.cli.arguments import UsageError
from mjjax.cli.models import load as load_model
from mjjax.cli.progress import doing
from mjjax.core.files import write_atomic

_MODELS = (".xml", ".urdf")
PLAYGROUND = "playground:"  # before the name of an environment of MuJoCo Playground
FILE = "run.json"


class Run(NamedTuple):
    """What a training was asked for.

    Attributes:
        task: task of mjjax or of Playground, a class, or a file of a model.
        algorithm: name of the algorithm.
        steps: steps in all.
        every: steps between points of the learning curve.
        seed: first seed.
        seeds: number of seeds.
        settings: settings of the algorithm.
    """

    task: str
    algorithm: str
    steps: int
    every: int
    seed: int
    seeds: int
    settings: dict[str, Any]

    def save(self, folder: Path) -> None:
        """Writes it into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._asdict(), indent=1)
        write_atomic(folder / FILE, text.encode())

    @classmethod
    def load(cls, folder: Path) -> "Run":
        """Reads what `save` wrote."""
        try:
            return cls(**json.loads((folder / FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise UsageError(f"{folder} is no folder of a training: it has no {FILE}") from None
        except (json.JSONDecodeError, TypeError) as error:
            raise UsageError(f"{folder / FILE} is damaged: {error}") from None

    def environment(self) -> mjjax.envs.Environment:
        """The environment of its task."""
        try:
            return _environment(self.task)
        except (ImportError, ValueError) as error:
            raise UsageError(str(error)) from None


def task_of(text: str) -> str:
    """A task as it is written down: the path of a model does not depend on the current folder."""
    path, keyframe = _model_file(text)
    if path is None:
        return text
    return f"{path.absolute()}:{keyframe}" if keyframe else str(path.absolute())


def _model_file(task: str) -> tuple[Path | None, str]:
    """The file and the keyframe of a task that is MODEL.xml or MODEL.xml:KEYFRAME."""
    for text, keyframe in ((task, ""), task.rpartition(":")[::2]):
        if Path(text).suffix in _MODELS:
            return Path(text), keyframe
    return None, ""


def _environment(task: str) -> mjjax.envs.Environment:
    path, keyframe = _model_file(task)
    if path:
        key = int(keyframe) if keyframe.isdecimal() else keyframe or None
        model = load_model(str(path))
        try:
            return mjjax.envs.Hold(model, key)
        except KeyError as error:  # there is no such keyframe
            raise ValueError(error.args[0]) from None
    if task.startswith(PLAYGROUND):
        from mjjax.playground import load

        with doing("loading Playground"):
            return load(task.removeprefix(PLAYGROUND))
    module, colon, name = task.partition(":")
    if not colon:
        return mjjax.envs.make(task)
    sys.path.insert(0, "")  # the current folder, which Python leaves out for installed commands
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, mjjax.envs.Environment)):
        raise ValueError(f"{module} has no class {name!r} of an mjjax.envs.Environment")
    return found()
