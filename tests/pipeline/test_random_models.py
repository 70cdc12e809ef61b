"""Random models in all stages, against MuJoCo."""

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

from tests.oracle_tools import (
    assert_same_results,
    differences,
    load,
    random_state,
    stack,
    step_models,
    to_ours,
    world,
)
from tests.random_models import random_mjcf

# Shape of the model -> options; every integrator meets both cones.
SHAPES = {
    1: 'cone="elliptic"',
    2: 'integrator="implicitfast"',
    3: 'cone="elliptic" integrator="RK4"',
    4: "",
    5: 'cone="elliptic" integrator="implicitfast"',
    10: 'integrator="RK4"',
    11: 'cone="elliptic" gravity="1 2 -3" timestep="0.001"',
}
STEPS = 5


def variants(shape: int) -> Iterator[tuple]:
    """The same structure with two sets of numbers, each in three states."""
    for numbers in range(2):
        both = load(random_mjcf(shape, numbers, option=SHAPES[shape]))
        for seed in range(3):
            yield both, random_state(both.reference, seed)


@pytest.mark.slow(but=2)
@pytest.mark.feature("A021", "A033", "A040", "A075", "A132", "A134", "A135", "A166")
@pytest.mark.feature("C01", "C02", "C03", "C04", "C05", "C06", "C08", "C14", "C15", "C16", "C17")
@pytest.mark.feature("C20", "C21", "C22", "C24", "C31", "C32", "C34", "C35", "C36", "C37", "C38")
@pytest.mark.feature("C39", "C40", "C41", "C42", "C44", "C45", "C52", "C54", "C55", "C57", "C58")
@pytest.mark.feature("C60", "C63", "C67", "C68", "C79", "C80", "C83", "C84", "C117")
@pytest.mark.feature("D10", "D11", "D16")
@pytest.mark.parametrize("shape", SHAPES)
def test_every_stage_agrees(shape: int) -> None:
    """Any combination of features gives MuJoCo's poses, forces, contacts, rows and new state."""
    runs = list(variants(shape))
    models = stack([both.ours for both, _ in runs])
    data = stack([to_ours(both.ours, d) for both, d in runs])
    touched = 0
    for k in range(STEPS):
        data = step_models(models, data)
        for i, (both, d) in enumerate(runs):
            mujoco.mj_step(both.reference, d)
            if k == 0:
                assert_same_results(both, world(data, i), d, f"run {i}")
                touched += d.ncon
    assert touched > 6
    for i, (_, d) in enumerate(runs):
        bad = differences(world(data, i), d, {"time": 1e-12, "qpos": 1e-7, "qvel": 1e-6})
        assert not bad, (i, bad)


def test_models_are_different() -> None:
    """The generator covers what it promises, and numbers do not change the structure."""
    models = [load(random_mjcf(shape)).ours for shape in SHAPES]
    for name, least in {"jnt_type": 4, "geom_type": 6, "actuator_dyntype": 4}.items():
        assert len(np.unique(np.concatenate([getattr(m, name) for m in models]))) >= least, name
    for shape in SHAPES:
        assert len({load(random_mjcf(shape, n)).ours.structure for n in range(3)}) == 1
