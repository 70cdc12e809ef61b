"""Scenes with many contacts, as MJCF; each shows one kind of contact at work."""

from pathlib import Path

import numpy as np

import mjjax

SETTINGS = '<option timestep="0.004" cone="elliptic" impratio="10"><flag energy="enable"/></option>'
FLOOR = '<geom name="floor" type="plane" size="3 3 .1"/>'


def scene(body: str, assets: str = "", more: str = "") -> str:
    return (
        f"<mujoco>{SETTINGS}<asset>{assets}</asset>"
        f"<worldbody>{FLOOR}{body}</worldbody>{more}</mujoco>"
    )


def stack(count: int = 10, half: float = 0.1) -> str:
    """Boxes on each other, with a little room between them."""
    bodies = [
        f'<body pos="0 0 {half + k * (2 * half + 0.001)}"><freejoint/>'
        f'<geom type="box" size="{half} {half} {half}"/></body>'
        for k in range(count)
    ]
    return scene("".join(bodies))


def dominoes(count: int = 5) -> str:
    """Thin boxes in a row; the first one leans on the second.

    A perturbation of 1e-9 moves MuJoCo's own final state by 1e-3 if there are five dominoes, and by
    2e-2 if there are eight.
    """
    bodies = []
    for k in range(count):
        lean = 'euler="0 20 0"' if k == 0 else ""
        bodies.append(
            f'<body pos="{0.12 * k} 0 .201" {lean}><freejoint/>'
            '<geom type="box" size=".015 .08 .2"/></body>'
        )
    return scene("".join(bodies))


def vertices(points: np.ndarray) -> str:
    return " ".join(f"{x:.5f}" for x in points.ravel())


def blob(rng: np.random.Generator, count: int, size: float) -> np.ndarray:
    """Points on a sphere with random half axes."""
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * size * rng.uniform(0.6, 1, 3)


def gripper() -> str:
    """Two fingers with pads of meshes close on a mesh, and the hand lifts it."""
    pad = np.array([[x, y, z] for x in (-0.01, 0.01) for y in (-0.03, 0.03) for z in (-0.03, 0.03)])
    pad = np.concatenate([pad, [[0.0, 0, 0.035], [0, 0, -0.035]]])
    angle = (np.arange(6) + 0.5) * np.pi / 3
    rim = np.stack([0.03 * np.cos(angle), 0.03 * np.sin(angle)], axis=1)
    nut = np.concatenate([np.c_[rim, np.full(6, z)] for z in (-0.04, 0.04)])
    assets = "".join(
        f'<mesh name="{name}" vertex="{vertices(points)}"/>'
        for name, points in (("pad", pad), ("nut", nut))
    )
    rough = 'friction="1.5 .1" condim="4"'
    fingers = "".join(
        f'<body pos="{side * 0.06} 0 -.1"><joint name="{name}" type="slide" axis="{-side} 0 0" '
        f'range="0 .04" damping="5"/><geom type="mesh" mesh="pad" mass=".1" {rough}/></body>'
        for name, side in (("left", -1), ("right", 1))
    )
    body = (
        '<body pos="0 0 .16"><joint name="lift" type="slide" axis="0 0 1" damping="20"/>'
        '<geom type="box" size=".09 .03 .02" mass="1"/>' + fingers + "</body>"
        f'<body pos="0 0 .045"><freejoint/><geom type="mesh" mesh="nut" mass=".2" {rough}/></body>'
    )
    actuators = (
        '<actuator><position name="lift" joint="lift" kp="300"/>'
        '<motor joint="left"/><motor joint="right"/></actuator>'
    )
    return scene(body, assets, actuators)


def car(rows: int = 30, columns: int = 30) -> str:
    """A car with four cylinders for wheels rolls over hills."""
    y, x = np.mgrid[0 : 3 * np.pi : rows * 1j, 0 : 3 * np.pi : columns * 1j]
    height = 0.5 + 0.25 * (np.sin(x) + np.cos(y))
    hills = (
        f'<hfield name="hills" nrow="{rows}" ncol="{columns}" size="2 2 .12 .1" '
        f'elevation="{vertices(height)}"/>'
    )
    wheels = "".join(
        f'<body pos="{x} {y} -.03"><joint type="hinge" axis="0 1 0" damping=".02"/>'
        '<geom type="cylinder" size=".07 .02" euler="90 0 0" mass=".2"/></body>'
        for x in (-0.15, 0.15)
        for y in (-0.13, 0.13)
    )
    body = (
        '<geom type="hfield" hfield="hills" pos="0 0 .3"/>'
        '<body pos=".2 .1 .6"><freejoint/><geom type="box" size=".2 .1 .04" mass="2"/>'
        + wheels
        + "</body>"
    )
    return scene(body, hills)


def lying() -> str:
    """The humanoid falls on its back from a hand's breadth, and does not move by itself."""
    text = (Path(mjjax.__file__).parent / "assets" / "humanoid.xml").read_text(encoding="utf-8")
    upright = '<body name="pelvis" pos="0 0 0.96">'
    assert upright in text and '<option timestep="0.005"/>' in text
    text = text.replace(upright, '<body name="pelvis" pos="0 0 0.2" euler="0 -85 0">')
    return text.replace('<option timestep="0.005"/>', SETTINGS)


def heap(count: int = 18, seed: int = 0) -> str:
    """Random convex meshes fall into a box."""
    rng = np.random.default_rng(seed)
    assets = "".join(
        f'<mesh name="{k}" vertex="{vertices(blob(rng, 12, 0.08))}"/>' for k in range(count)
    )
    places = ((0.35, 0, 0.05, 0.4), (-0.35, 0, 0.05, 0.4))
    walls = "".join(
        f'<geom type="box" size="{a} {b} .3" pos="{x} {y} .3"/>'
        for x, y, a, b in (*places, *((y, x, b, a) for x, y, a, b in places))
    )
    bodies = "".join(
        f'<body pos="{0.18 * (k % 3 - 1)} {0.18 * (k // 3 % 3 - 1)} {0.12 + 0.19 * (k // 9)}">'
        f'<freejoint/><geom type="mesh" mesh="{k}" density="500"/></body>'
        for k in range(count)
    )
    return scene(walls + bodies, assets)
