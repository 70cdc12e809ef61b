"""The camera menu moves the views of browsers as MuJoCo's viewer moves its camera."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.view.cameras import Cameras
from mjjax.view.server import started
from mjjax.view.views import View, fixed, view_of
from mjjax.view.world import Frame, frame
from tests.oracle_tools import Both, load, stack

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
CAMERAS = "".join(
    f'<camera name="{mode}" mode="{mode}" target="foot" pos=".3 -2 {i}" euler="70 20 {10 * i}"/>'
    for i, mode in enumerate(MODES)
)
SCENE = f"""
<mujoco>
  <worldbody>
    <camera pos="0 0 5" fovy="30"/>
    <camera name="film" pos="1 -3 1" euler="80 0 0" resolution="40 30" sensorsize=".04 .03"
      focal=".05 .05"/>
    <camera name="flat" pos="0 -3 1" euler="90 0 0" projection="orthographic" fovy="2"/>
    <body name="trunk" pos="0 0 1">
      <freejoint/><geom size=".1"/>{CAMERAS}
      <body name="foot" pos=".2 0 -.5"><joint axis="0 1 0"/><geom size=".05" pos="0 .1 0"/></body>
    </body>
  </worldbody>
</mujoco>
"""
PLACES = np.array([[-1.0, 0, 0], [1, 0, 0]])


class Client:
    """A browser's camera, as viser has it."""

    def __init__(self) -> None:
        self.client = self
        self.camera = self
        self.position, self.look_at = np.array([0.0, -4, 1]), np.array([0.0, 0, 1])
        self.up_direction, self.fov = np.array([0.0, 0, 1]), 0.8

    def atomic(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class Window:
    """The menus over a server without browsers, and one browser."""

    def __init__(self, server: Any, model: mjjax.Model):
        self.gui, self.browser = server.gui, Client()
        self.cameras = Cameras(self, model)

    def get_clients(self) -> dict[int, Client]:
        return {7: self.browser}

    def choose(self, camera: str, track: str) -> None:
        self.cameras._camera.value, self.cameras._track.value = camera, track


@pytest.fixture(scope="module")
def both() -> Both:
    return load(SCENE)


@pytest.fixture(scope="module")
def seen(both: Both) -> Frame:
    """Two worlds: one at qpos0, one that has moved."""
    start = mjjax.make_data(both.ours)
    worlds = stack([start, start.replace(qpos=start.qpos + qpos_change())])
    return jax.device_get(jax.jit(jax.vmap(functools.partial(frame, both.ours)))(worlds))


@pytest.fixture
def window(both: Both) -> Iterator[Window]:
    with started(None) as server:
        yield Window(server, both.ours)


def qpos_change() -> np.ndarray:
    return np.array([0.5, 0.2, 0.1, 0, 0.3, 0, 0, 0.7])


def assert_same_view(a: View, b: View) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.feature("A175")
@pytest.mark.parametrize("camera", range(len(MODES) + 3))
def test_cameras_see_what_mujocos_see(both: Both, seen: Frame, camera: int) -> None:
    """Place, axes and angle of all kinds of cameras are those of MuJoCo, where bodies moved."""
    m = both.reference
    d = mujoco.MjData(m)
    d.qpos += qpos_change()
    mujoco.mj_forward(m, d)
    scene, chosen = mujoco.MjvScene(m, 100), mujoco.MjvCamera()
    chosen.type, chosen.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera
    mujoco.mjv_updateScene(m, d, mujoco.MjvOption(), None, chosen, 7, scene)
    eyes, ours = scene.camera, fixed(jax.device_get(both.ours), seen, 1, camera)
    away = np.array([x.pos for x in eyes]).mean(axis=0) - ours.position
    forward = (ours.look_at - ours.position) / np.linalg.norm(ours.look_at - ours.position)
    np.testing.assert_allclose(forward, eyes[0].forward, atol=1e-5)
    np.testing.assert_allclose(ours.up, eyes[0].up, atol=1e-5)
    if eyes[0].orthographic:
        np.testing.assert_allclose(np.cross(away, forward), 0, atol=1e-5)
        depth = away @ forward
    else:
        np.testing.assert_allclose(away, 0, atol=1e-5)
        depth = eyes[0].frustum_near
    height = 0.5 * (eyes[0].frustum_top - eyes[0].frustum_bottom)
    np.testing.assert_allclose(np.tan(ours.fov / 2) * depth, height, rtol=1e-4)


@pytest.mark.feature("A175")
def test_fixed_cameras_hold_the_view_and_give_it_back(
    both: Both, seen: Frame, window: Window
) -> None:
    """A camera of the model undoes what the user does; then the free camera is where it was."""
    browser, before = window.browser, view_of(window.browser)
    window.choose("fixed", "none")
    expected = fixed(both.ours, seen, 1, both.ours.structure.id_of("camera", "fixed"))
    expected = expected._replace(
        position=expected.position + PLACES[1], look_at=expected.look_at + PLACES[1]
    )
    for _ in range(2):
        shift = window.cameras.move(seen, 1, PLACES[1])
        np.testing.assert_array_equal(shift, 0)
        assert_same_view(view_of(browser), expected)
        browser.position = browser.position + 1  # the user turns the view
    window.choose("free", "none")
    window.cameras.move(seen, 1, PLACES[1])
    assert_same_view(view_of(browser), before)
    assert {"camera 0", "film", *MODES} <= set(window.cameras._camera.options)


@pytest.mark.feature("A175")
def test_a_tracked_body_stays_in_the_middle(both: Both, seen: Frame, window: Window) -> None:
    """The subtree's centre of mass is where the view looks; users turn it, and nothing jumps."""
    browser = window.browser
    browser.look_at = np.array([3.0, 3, 3])
    window.choose("free", "foot")
    offset = browser.position - browser.look_at
    for world in (0, 1):
        shift = window.cameras.move(seen, world, PLACES[world])
        at = seen.subtree_com[world, 2] + PLACES[world] + shift
        np.testing.assert_allclose(browser.look_at, at, atol=1e-9)
        np.testing.assert_allclose(browser.position - browser.look_at, offset, atol=1e-9)
    turned = browser.position = browser.position + np.array([1.0, 2, 0])
    np.testing.assert_array_equal(window.cameras.move(seen, 1, PLACES[1]), shift)
    np.testing.assert_array_equal(browser.position, turned)
    window.choose("free", "none")
    np.testing.assert_array_equal(window.cameras.move(seen, 1, PLACES[1]), 0)
    np.testing.assert_allclose(browser.position, turned - shift, atol=1e-9)


def test_mujoco_tracks_the_centre_of_the_subtree(both: Both) -> None:
    """MuJoCo's tracking camera looks at the point that ours looks at."""
    d, chosen = mujoco.MjData(both.reference), mujoco.MjvCamera()
    mujoco.mj_forward(both.reference, d)
    chosen.type, chosen.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, 1
    scene = mujoco.MjvScene(both.reference, 100)
    mujoco.mjv_updateScene(both.reference, d, mujoco.MjvOption(), None, chosen, 7, scene)
    np.testing.assert_allclose(chosen.lookat, d.subtree_com[1])
