"""A training in a folder: what it was asked for, for commands that come back to it."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import mjjax
from mjjax.cli.arguments import UsageError
from mjjax.cli.progress import doing
from mjjax.core.files import write_atomic

PLAYGROUND = "playground:"  # before the name of an environment of MuJoCo Playground
FILE = "run.json"


class Run(NamedTuple):
    """What a training was asked for.

    Attributes:
        task: task of mjjax, of Playground, or a class.
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


def _environment(task: str) -> mjjax.envs.Environment:
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
