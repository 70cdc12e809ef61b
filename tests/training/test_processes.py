"""Several processes train as one: their numbers, their checkpoints, and the end of one of them."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from mjjax import cli
from tests.training.processes import said_by, started

PROGRAM = """
import sys
import jax
import numpy as np

folder, address, count, number = *sys.argv[1:3], *map(int, sys.argv[3:])
if count > 1:
    jax.distributed.initialize(address, count, number)
import mjjax
from mjjax.training import Training, restore, save

mjjax.cache_compilations(folder + "/cache")
small = {"num_envs": 8, "num_steps": 16, "num_minibatches": 2, "num_epochs": 2}
env = mjjax.envs.make("pendulum")

def numbers(training):
    return [np.array(x) for x in jax.tree.leaves(training.state.actor_ts.params)]

def close(first, second):
    for x, y in zip(first, second, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4)

training = Training(env, 512, every=128, **small)
if count == 1:  # after the two processes: from the start, and from their checkpoint
    with np.load(folder + "/two.npz") as found:
        two = [found[name] for name in found]
    begin = numbers(training)
    for _ in range(3):
        training.advance()
    close(numbers(training), two)
    assert max(np.abs(x - y).max() for x, y in zip(begin, two)) > 3e-3
    whole = training.advance()[0]
    resumed = Training(env, 512, every=128, **small)
    restore(resumed, folder)
    point = resumed.advance()[0]
    close(numbers(resumed), numbers(training))
    np.testing.assert_allclose((point.mean, point.std), (whole.mean, whole.std), rtol=1e-3)
else:
    for _ in range(3):
        training.advance()
    worlds = training.state.last_obs
    assert worlds.shape[0] == 8 and worlds.addressable_shards[0].data.shape[0] == 4
    save(training, folder)
    if number == 0:
        np.savez(folder + "/two.npz", *numbers(training))
"""


def address() -> str:
    """An address on this machine that nobody uses."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return f"localhost:{free.getsockname()[1]}"


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    """Three updates on two processes give one's parameters; one goes on from their checkpoint."""
    meeting = address()
    both = [started("-c", PROGRAM, str(tmp_path), meeting, "2", str(i)) for i in range(2)]
    for process in both:
        said_by(process)
    said_by(started("-c", PROGRAM, str(tmp_path), meeting, "1", "0"))


@pytest.mark.slow
def test_a_killed_process_ends_the_other(tmp_path: Path) -> None:
    """The one that is left says in a sentence what has happened and how to go on, and ends soon."""
    command = "-m mjjax train pendulum --steps 12800000 --every 128 --worlds 8 --set num_steps=16"
    command += f" --set num_minibatches=2 --out {tmp_path} --coordinator {address()} --processes 2"
    first, second = (started(*command.split(), "--process", str(i)) for i in range(2))
    begin = time.monotonic()
    while not (tmp_path / "checkpoints/128").exists():
        assert first.poll() is None and time.monotonic() < begin + 300
        time.sleep(0.1)
    os.kill(second.pid, signal.SIGKILL)
    second.communicate()
    _, errors = first.communicate(timeout=90)
    said = [line for line in errors.splitlines() if line.startswith("mjjax: error")]
    assert first.returncode == 2 and len(said) == 1, errors[-3000:]
    assert "another process has ended" in said[0] and f"--resume {tmp_path}" in said[0]


@pytest.mark.slow
def test_an_error_in_one_process_ends_both() -> None:
    """A mistake in the command of one host leaves no other host waiting."""
    rest = f"--worlds 8 --coordinator {address()} --processes 2 --process"
    first = started(*f"-m mjjax train pendulum {rest} 0".split())
    second = started(*f"-m mjjax train cartpole {rest} 1".split())
    for process, said in ((second, "no task 'cartpole'"), (first, "another process has ended")):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2 and said in errors, errors[-3000:]


@pytest.mark.parametrize(
    "options", ["--process 0", "--coordinator localhost:1 --processes 2"], ids=["alone", "half"]
)
def test_half_an_address_is_refused(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Processes that could not find each other are told which options they need."""
    assert cli.main(["train", "pendulum", *options.split()]) == 2
    assert "--coordinator HOST:PORT" in capsys.readouterr().err
