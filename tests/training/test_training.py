"""Training: it goes on after any end as if nothing had happened; files, mistakes, episodes."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax import cli, envs
from mjjax.cli.runs import Run
from mjjax.training import Point, Policy, Trained, Training
from mjjax.training.episode import episode
from tests.training.processes import said_by, started

# Of packages that rejax imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

COMMAND = "train pendulum --steps 384 --every 128 --worlds 8 --set num_steps=16"
COMMAND += " --set num_minibatches=2 --set num_epochs=1 --out"
# In a process with the default precision: rejax does not run in the suite's.
PROGRAM = """
import sys
import jax
import jax.numpy as jnp
import numpy as np
import mjjax
from mjjax import envs
from mjjax.training import Policy, Training, restore, save, train
from mjjax.training.log import plot

folder, env = sys.argv[1], envs.make("pendulum")
mjjax.cache_compilations(folder + "/cache")  # trainings of one kind have one program
small = {"num_envs": 8, "num_steps": 16, "num_minibatches": 2, "num_epochs": 1}
few = {"num_envs": 8, "num_epochs": 1, "buffer_size": 1024, "fill_buffer": 64}

# train() reports each point; these steps are no whole number of iterations
points = []
done = train(env, 3, 200, every=100, report=points.append, **small)
assert points == done.curve and points[-1].steps == 256 and len(points) == 2
assert np.isfinite([p.mean for p in points]).all()
plot([done.curve, done.curve], folder + "/curve.png", "two seeds")

# two seeds in one program differ, and continue from a checkpoint bit by bit
for algorithm, settings in {"ppo": small, "sac": few, "shac": small}.items():
    def made():
        return Training(env, 256, every=128, algorithm=algorithm, seeds=2, **settings)

    first, second = made(), made()
    one, two = first.advance()
    assert one.steps == 128 and one.mean != two.mean and one.length == env.episode
    save(first, f"{folder}/{algorithm}")
    first.advance()
    assert first.finished
    restore(second, f"{folder}/{algorithm}")
    second.advance()
    for a, b in zip(first.results, second.results, strict=True):
        assert [p[2:] for p in a.curve] == [p[2:] for p in b.curve]
        same = jax.tree.map(lambda x, y: bool((x == y).all()), a.policy, b.policy)
        assert all(jax.tree.leaves(same))
    obs, policy = jnp.linspace(-1, 1, 4), first.best.policy
    policy.save(folder + "/policy.npz")
    again = Policy.load(folder + "/policy.npz")
    assert (again(obs) == policy(obs)).all() and again(obs).shape == (1,)
    assert jnp.abs(again(1e6 * obs)).max() <= 1

# worlds with models of their own, which tests use too; another number of them is refused
def heavier(model, key):
    return mjjax.set_const(model.replace(body_mass=model.body_mass * (1 + jax.random.uniform(key))))

models = [envs.randomize(env.model, heavier, jax.random.key(7), n) for n in (8, 4)]
params, too_few = (env.default_params.replace(model=model) for model in models)
returns = {}
for name, given in {"own": params, "same": None}.items():
    training = Training(env, 128, params=given, **small)
    returns[name] = training.advance()[0].mean
assert returns["own"] != returns["same"]
try:
    Training(env, 128, params=too_few, **small)
except ValueError as error:
    assert "parameters are of 4 worlds, but num_envs is 8" in str(error)
else:
    raise AssertionError("taken")

# a training with other settings does not take these numbers
try:
    restore(Training(env, 256, every=128, algorithm="ppo", **small), folder + "/ppo")
except ValueError as error:
    assert "with other settings" in str(error)
else:
    raise AssertionError("taken")
print("trained")
"""


@pytest.mark.slow
def test_seeds_train_in_parallel_and_go_on(tmp_path: Path) -> None:
    """Reports, seeds, all algorithms, checkpoints and the file of a policy."""
    assert said_by(started("-c", PROGRAM, str(tmp_path))) == "trained\n"
    assert (tmp_path / "curve.png").stat().st_size > 5_000


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path: Path) -> None:
    """SIGKILL after the first checkpoint: resumed, curve and policy are those without it."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    main = ("-m", "mjjax")
    said_by(started(*main, *COMMAND.split(), str(whole)))
    process = started(*main, *COMMAND.split(), str(killed))
    while not (killed / "checkpoints/128").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert "mjjax play" in said_by(started(*main, "train", "--resume", str(killed)))
    assert curve(whole) == curve(killed) and len(curve(whole)) == 4
    x, y = (Policy.load(folder / "policy.npz") for folder in (whole, killed))
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), x, y)))
    assert list((killed / "tensorboard/seed 0").glob("events*"))
    video = tmp_path / "episode.gif"
    shown = started(*main, "play", str(killed), "-o", str(video), "--width", "80")
    assert "in 250 steps (10.0 s)" in said_by(shown) and video.stat().st_size > 10_000


def curve(folder: Path) -> list[list[str]]:
    """The rows of the curve, without the time."""
    rows = (folder / "curve.csv").read_text().splitlines()
    return [[x for i, x in enumerate(row.split(",")) if i != 2] for row in rows]


class Fake(Training):
    """A training that makes one point and is then interrupted."""

    def __init__(self, *_: Any, **__: Any) -> None:
        ones = jnp.ones(3)
        policy = Policy(ones, ones, [(jnp.eye(3), ones)], [])
        self.state, self.steps = {"x": ones}, 384
        self.results, self._highest = [Trained(policy, [])], np.zeros(1)

    def advance(self) -> list[Point]:
        if self.made_steps:
            raise KeyboardInterrupt
        self.results[0].curve.append(Point(128, 2.5, 1.0, 0.5, 100.0))
        return self.results[0].curve


def test_an_interrupted_training_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C loses nothing that was tested, and the message has the command that goes on."""
    monkeypatch.setattr("mjjax.cli.train.Training", Fake)
    assert cli.main([*COMMAND.split(), str(tmp_path)]) == 130
    assert Policy.load(tmp_path / "policy.npz")(jnp.ones(3)).shape == (3,)
    assert curve(tmp_path)[1][1] == "128" and (tmp_path / "checkpoints/128").is_dir()
    said = capsys.readouterr()
    assert "return      1.0" in said.out
    last = said.err.splitlines()[-1]
    assert last.startswith("mjjax: interrupted after 128 of 384 steps") and "--resume" in last


MISTAKES = {
    "no task 'cartpole'": "train cartpole",
    "ppo has no setting 'lr'; it has learning_rate": "train pendulum --set lr=1",
    "write KEY=VALUE": "train pendulum --set lr",
    "'x' is no number": "train pendulum --set gamma=x",
    "is no folder of a training": "train --resume FOLDER",
    "takes no seed": "train --resume FOLDER --seed 1",
    "a task is needed": "train",
    "--video needs --out": "train pendulum --video",
    "has no class 'Nothing'": "train mjjax.envs:Nothing",
    "No module named 'nowhere'": "train nowhere:Task",
    "FOLDER is no folder": "play FOLDER",
    "has no policy yet": "play STARTED",
    "has no checkpoint": "train --resume STARTED",
    "STARTED has a training": "train pendulum --out STARTED",
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_one_line(
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each mistake on the command line is one sentence that says what to do or what there is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mjjax.cli.train.Training", Fake)
    Run("pendulum", "ppo", 256, 128, 0, 1, {}).save(Path("STARTED"))
    assert cli.main(MISTAKES[message].split()) == 2
    said = [x for x in capsys.readouterr().err.splitlines() if "mjjax: error" in x]
    assert len(said) == 1 and message in said[0]


def test_a_class_in_the_current_folder_is_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MODULE:CLASS is found in the current folder, as the installed command is started there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = "from mjjax.envs import TASKS\n\n\nclass Mine(TASKS['pendulum']): ...\n"
    (tmp_path / "my_task_here.py").write_text(text, encoding="utf-8")
    env = Run("my_task_here:Mine", "ppo", 256, 128, 0, 1, {}).environment()
    assert type(env).__name__ == "Mine"


def test_an_episode_ends_where_it_ends() -> None:
    """An episode has as many steps as the task makes of it, and no reward of the next one."""
    env = envs.make("hopper")
    done = episode(env, lambda obs: jnp.ones(env.model.nu), jax.random.key(0))
    assert len(done.rewards) == len(done.moves["qpos"]) < env.episode
    assert done.moves["qpos"].shape[1] == env.model.nq and done.interval == env.dt
