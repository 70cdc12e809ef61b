"""Worlds in a real browser: the robot is there, it moves, and it can be pulled on."""

import contextlib
import io
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import mjjax
from mjjax import cli
from mjjax.view.running import Running, Worlds
from mjjax.view.server import started
from mjjax.view.viewer import Viewer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
WIDTH, HEIGHT = 1100, 400
SEEN = 760  # columns left of the panel
PATIENCE = 120.0  # seconds for what takes one or two on a quiet machine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as player:
        args = ["--no-sandbox", "--ignore-gpu-blocklist", *GL]
        browser = player.chromium.launch(executable_path=CHROMIUM, args=args)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(1000 * PATIENCE)
        yield page
        browser.close()


def blue(page: Page) -> np.ndarray:
    """Pixels (HEIGHT, SEEN) in which the pendulum is: it is blue, all around is grey.

    A pale blue where the machine is busy: viser may then light it before it is told how.
    """
    with Image.open(io.BytesIO(page.screenshot())) as image:
        rgb = np.asarray(image.convert("RGB"), int)[:, :SEEN]
    return rgb[..., 2] - rgb[..., 0] > 20


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Overlap of two silhouettes, 0 to 1; shades move only their edges."""
    return (a & b).sum() / (a | b).sum()


def until(page: Page, holds: object, what: str) -> np.ndarray:
    """Waits until a condition on the pixels holds, and returns them."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pixels = blue(page)
        if holds(pixels):  # pyright: ignore[reportCallIssue]
            return pixels
        page.wait_for_timeout(200)
    raise AssertionError(what)


def settled(page: Page) -> np.ndarray:
    """Pixels once they have stayed the same for a while: a camera may come in parts."""
    last, same = blue(page), 0
    while same < 4:
        page.wait_for_timeout(300)
        now = blue(page)
        same = same + 1 if overlap(now, last) > 0.98 else 0
        last = now
    return last


def pendulum() -> mjjax.Model:
    return mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])


@pytest.mark.feature("A176")
def test_page_plays_without_network(page: Page, tmp_path: Path) -> None:
    """A saved page shows two pendulums that move, and asks the network for nothing."""
    model, n = pendulum(), 120
    angle = jnp.linspace(0, 3, n)[:, None] * jnp.asarray([[1.0, 0.5]])
    html = mjjax.view.html(model, {"qpos": jnp.stack([angle, -angle])}, interval=1 / 30)
    assert isinstance(html, str) and len(html) < 3e6
    assert html._repr_html_().startswith("<iframe srcdoc=")
    path = tmp_path / "run.html"
    path.write_text(html, encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    first = until(page, lambda pixels: pixels.sum() > 200, "nothing is seen")
    until(page, lambda pixels: overlap(pixels, first) < 0.5, "nothing moves")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_wrong_trajectories_are_errors() -> None:
    """Wrong trajectories are refused before anything is drawn."""
    model = pendulum()
    with pytest.raises(ValueError, match="qpos"):
        mjjax.view.html(model, {"qvel": jnp.zeros((3, 2))})
    with pytest.raises(ValueError, match="3 numbers; the model has 2"):
        mjjax.view.html(model, {"qpos": jnp.zeros((5, 3))})


@contextlib.contextmanager
def window(page: Page, worlds: Running) -> Iterator[Viewer]:
    """The window of `mjjax view` with worlds that do not run yet, open in the browser."""
    with started(None) as server:
        viewer = Viewer(server, worlds, playing=False)
        done = threading.Event()

        def run() -> None:
            while not done.is_set():
                viewer.tick(1 / 30)
                time.sleep(0.02)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            page.goto(f"http://127.0.0.1:{server.get_port()}")
            page.get_by_text("time 0.00 s").wait_for()
            page.wait_for_timeout(1000)  # until all of it is there
            yield viewer
        finally:
            done.set()
            thread.join()


@pytest.mark.feature("A175", "A179")
def test_window_runs_pauses_resets_and_pulls(page: Page) -> None:
    """In the window of `mjjax view` running worlds move, and the switches have their effect."""
    with window(page, Worlds(pendulum())) as viewer:
        level = until(page, lambda pixels: pixels.sum() > 200, "nothing is seen")
        page.get_by_label("Play").click(force=True)
        until(page, lambda pixels: overlap(pixels, level) < 0.5, "nothing moves")
        page.get_by_label("Play").click(force=True)
        until(page, lambda _: not viewer._switches.playing, "it does not pause")
        page.get_by_text("Reset", exact=True).click()
        page.get_by_text("time 0.00 s").wait_for()
        until(page, lambda pixels: overlap(pixels, level) > 0.8, "it is not reset")

        column = int(np.median(np.argwhere(level)[:, 1]))
        row = int(np.median(np.argwhere(level[:, column])))  # on its axis, else the view turns
        drag(page, column, row, down=-96)
        page.get_by_label("Play").evaluate("e => e.click()")
        above = np.argwhere(level)[:, 0].min() - 30
        until(page, lambda pixels: pixels[: max(1, above)].any(), "it is not pulled up")
        page.mouse.up()


def drag(page: Page, column: int, row: int, *, down: int) -> None:
    """Moves the mouse with its button held."""
    page.mouse.move(column, row)
    page.wait_for_timeout(500)
    page.mouse.down()
    for k in range(1, 9):
        page.mouse.move(column, row + down * k // 8)
        page.wait_for_timeout(100)


@pytest.mark.feature("A175", "A176", "A179")
def test_window_has_cameras_and_groups_and_saves(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A camera holds its view, a group goes away, and a picture and a recording are on disk."""
    monkeypatch.chdir(tmp_path)
    near = '<worldbody><camera name="near" pos="0 -1.2 1.4" euler="90 0 0"/>'
    xml = cli.embedded()["double_pendulum"].replace("<worldbody>", near, 1)
    with window(page, Worlds(mjjax.Model.from_xml_string(xml))):
        far = until(page, lambda pixels: pixels.sum() > 200, "nothing is seen")
        page.get_by_role("combobox", name="Camera").click(force=True)
        page.get_by_role("option", name="near").click(force=True)
        until(page, lambda pixels: overlap(pixels, far) < 0.5, "the camera is not used")
        close = settled(page)
        drag(page, 100, 350, down=-160)
        page.mouse.up()
        until(page, lambda pixels: overlap(pixels, close) > 0.9, "the view is not set back")

        page.get_by_text("Record", exact=True).click(force=True)
        page.get_by_label("Play").click(force=True)
        page.get_by_text("Picture", exact=True).click(force=True)
        page.get_by_text("saved picture.png").wait_for()
        page.get_by_text("Stop recording").click(force=True)
        page.get_by_text("saved recording.html").wait_for()
        with Image.open(tmp_path / "picture.png") as image:
            rgb = np.asarray(image, int)
        assert rgb.shape[1] / rgb.shape[0] == pytest.approx(WIDTH / HEIGHT, rel=0.02)
        assert (rgb[..., 2] - rgb[..., 0] > 20).sum() > 200
        assert "<html" in (tmp_path / "recording.html").read_text(encoding="utf-8")[:300]

        page.get_by_text("Groups").click(force=True)
        page.get_by_label("Geoms 0").evaluate("e => e.click()")
        # a little blue remains: the axes in the corner
        until(page, lambda pixels: pixels.sum() < 0.2 * close.sum(), "the group is still seen")
