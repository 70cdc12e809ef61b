"""Random models against MuJoCo, and properties that need no oracle."""

import numpy as np
import pytest

from tests.compiler.oracle import assert_same, compiled

TYPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


def numbers(rng: np.random.Generator, n: int, scale: float = 1.0) -> str:
    """Numbers as they stand in an attribute."""
    return " ".join(f"{x:.6g}" for x in scale * rng.normal(size=n))


def geom(rng: np.random.Generator) -> str:
    """A geom of any type, size, pose and density."""
    size = " ".join(f"{x:.6g}" for x in rng.uniform(0.01, 1, 3))
    turn = rng.choice(["euler", "zaxis", "xyaxes", "axisangle", "quat"])
    width = {"euler": 3, "zaxis": 3, "xyaxes": 6, "axisangle": 4, "quat": 4}[turn]
    return (
        f'<geom type="{rng.choice(TYPES)}" size="{size}" pos="{numbers(rng, 3)}" '
        f'{turn}="{numbers(rng, width)}" density="{rng.uniform(1, 1000):.6g}" '
        f'shellinertia="{rng.choice(["true", "false"])}" margin="{rng.uniform():.3g}" '
        f'contype="{rng.integers(8)}" conaffinity="{rng.integers(8)}"/>'
    )


def body(rng: np.random.Generator, depth: int) -> str:
    """A body with random joints, geoms, frames and children."""
    joints = [f'<joint type="slide" axis="{numbers(rng, 3)}"/>' for _ in range(rng.integers(3))]
    joints += [
        f'<joint axis="{numbers(rng, 3)}" range="-1 {i + 1}"/>' for i in range(rng.integers(2))
    ]
    inside = "".join(geom(rng) for _ in range(rng.integers(1, 4)))
    inside += f'<site pos="{numbers(rng, 3)}" euler="{numbers(rng, 3, 90)}"/>'
    if depth:
        inside += "".join(body(rng, depth - 1) for _ in range(rng.integers(3)))
    if rng.uniform() < 0.4:
        inside = f'<frame pos="{numbers(rng, 3)}" euler="{numbers(rng, 3, 90)}">{inside}</frame>'
    return (
        f'<body pos="{numbers(rng, 3)}" quat="{numbers(rng, 4)}">{"".join(joints)}{inside}</body>'
    )


def model(seed: int) -> str:
    """A random forest of bodies."""
    rng = np.random.default_rng(seed)
    bodies = "".join(body(rng, 3) for _ in range(3))
    return f"<mujoco><compiler balanceinertia='true'/><worldbody>{bodies}</worldbody></mujoco>"


@pytest.mark.feature("B48", "B50", "B85", "B91")
@pytest.mark.parametrize("seed", range(12))
def test_random_model_is_the_same_as_mujocos(seed: int) -> None:
    """Ids, poses and principal axes are MuJoCo's for any combination of elements."""
    assert_same(model(seed), tolerance=1e-10)


@pytest.mark.feature("B07")
@pytest.mark.parametrize(
    "geoms",
    [
        '<geom size=".1" pos="1 0 0"/><geom size=".1" pos="-1 0 0"/>',
        '<geom size=".1" pos="0 1 0"/><geom size=".1" pos="0 -1 0"/>',
        '<geom type="box" size="1 1 1"/><geom type="box" size="1 1 1" pos="2 0 0"/>',
        '<geom type="box" size="1 2 3"/><geom type="box" size="1 2 3" euler="0 0 90"/>',
        '<geom type="capsule" size=".1 .5"/><geom type="capsule" size=".1 .5" euler="45 0 0"/>',
        '<geom size="1"/><geom size="1"/>',
    ],
)
def test_principal_axes_where_they_are_not_unique(geoms: str) -> None:
    """Equal moments of inertia still give MuJoCo's axes."""
    assert_same(f"<mujoco><worldbody><body><freejoint/>{geoms}</body></worldbody></mujoco>")


def test_compiling_twice_gives_the_same() -> None:
    """Compiling does not change a spec, and nothing depends on the order of hashing."""
    first, second = compiled(model(0)), compiled(model(0))
    for name, value in first.fields.items():
        np.testing.assert_array_equal(value, second.fields[name], err_msg=name)
