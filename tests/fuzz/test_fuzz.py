"""Every file loads or is refused, without another exception and in bounded time."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz import worker
from tests.fuzz.__main__ import outcomes, wrong
from tests.fuzz.mutate import Input
from tests.fuzz.seeds import seeds
from tests.fuzz.strategies import models

_ROUNDS, _EACH = 10, 30


def check(given_: Input) -> str:
    """The kind of outcome, which must be one of those promised."""
    found = worker.load(given_)
    assert not wrong(found | {"peak": 0}), json.dumps(found)
    return found["kind"]


def test_seeds_load() -> None:
    """The seeds are valid models, so that their mutations reach every phase."""
    for seed in seeds():
        assert check(seed) == "Model"


@pytest.mark.parametrize("number", range(_ROUNDS))
def test_mutated_model_loads_or_is_refused(number: int) -> None:
    """Damaged files of every kind end in a model or an error that says what is wrong."""
    kinds = {check(worker.case(seeds(), number, index)) for index in range(_EACH)}
    assert "MjcfError" in kinds


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(models())
def test_any_combination_loads_or_is_refused(xml: bytes) -> None:
    """Elements and attributes in any combination end in a model or an error."""
    check(Input(xml))


def test_worker_reports_every_input(tmp_path: Path) -> None:
    """The long run loses no input, and says how much each one took."""
    path = tmp_path / "m.xml"
    path.write_text('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
    found = list(outcomes([str(path)], 0, range(3)))
    assert [one["index"] for one in found] == [0, 1, 2]
    assert all(one["peak"] > 0 and not wrong(one) for one in found)
