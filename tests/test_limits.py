"""Compiled programs do not grow; these checks do not depend on the load of the machine."""

import json

import jax
import pytest

from benchmarks import limits
from benchmarks.scenes import SCENES


@pytest.mark.slow
@pytest.mark.feature("D13")
@pytest.mark.parametrize("name", SCENES)
def test_programs_are_within_their_limits(name: str) -> None:
    """Operations of a step and of its gradient, bytes per world, compilations of a short run.

    To lower limits, run `python -m benchmarks.limits --write`. A commit that raises one says why.
    """
    assert not limits.exceeded(name, limits.in_a_fresh_process(name))


def test_limits_say_what_is_exceeded() -> None:
    """Every figure of every model counts; on another JAX, all that do not depend on it."""
    stored = json.loads(limits.FILE.read_text(encoding="utf-8"))
    assert set(stored["models"]) == set(SCENES)
    same = stored["jax"] == jax.__version__
    for name, figures in stored["models"].items():
        assert not limits.exceeded(name, figures)
        more = figures | {"compilations": 10**6, "bytes_per_world": 10**9}
        more["gradient"] = figures["gradient"] | {"copies": 10**6}
        found = " ".join(limits.exceeded(name, more))
        assert name in found and "compilations 1000000" in found and "bytes_per_world" in found
        assert ("gradient copies" in found) == same
