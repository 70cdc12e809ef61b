"""Training: the command, its files, the policy that it saves."""

import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

from mjjax import cli
from mjjax.envs.train import Point, Policy, Trained

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
import numpy as np
from mjjax import envs
from mjjax.envs.train import Policy, train

env = envs.make("pendulum")
points = []
# a layout that fits no whole number of evaluations
done = train(env, 3, 600, points=2, report=points.append, num_envs=8, num_steps=16,
             num_minibatches=2, num_epochs=1)
assert points == done.curve and len(points) == 2
assert points[-1].steps >= 600 and np.isfinite([p.mean for p in points]).all()
assert points[0].length == env.episode
done.policy.save(sys.argv[1])
obs = jnp.linspace(-1, 1, 4)
again = Policy.load(sys.argv[1])
assert (again(obs) == done.policy(obs)).all() and again(obs).shape == (1,)
assert jnp.abs(again(1e6 * obs)).max() <= 1
print("trained")
"""


@pytest.mark.slow
def test_trains_and_saves_a_policy(tmp_path: Path) -> None:
    """Points of the curve as reported, and a policy that is the same after loading."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "policy.npz")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "trained\n"


def test_an_interrupted_training_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C loses nothing: the policy at the last point of the curve is in the folder."""
    ones = jnp.ones(3)
    policy = Policy(ones, ones, [(jnp.eye(3), ones)])

    def training(*_, **__):
        yield Trained(policy, [Point(640, 2.5, 1.0, 0.5, 100.0)])
        raise KeyboardInterrupt

    monkeypatch.setattr("mjjax.cli.train.training", training)
    assert cli.main(["train", "pendulum", "--steps", "9000", "--out", str(tmp_path)]) == 130
    assert Policy.load(tmp_path / "policy.npz")(ones).shape == (3,)
    assert (tmp_path / "curve.csv").read_text().count("640") == 1
    said = capsys.readouterr()
    assert "return      1.0" in said.out and "saved" in said.out
    assert said.err.splitlines()[-1] == "mjjax: interrupted after 640 of 9,000 steps"


def test_command_names_the_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    """A task that does not exist is one line that says which do."""
    assert cli.main(["train", "cartpole"]) == 2
    said = capsys.readouterr().err
    assert "no task 'cartpole'" in said and "cartpole_swingup" in said and said.count("\n") == 1
