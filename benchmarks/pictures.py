"""`python -m benchmarks.pictures [NAME=MODEL.xml ...]`: our pictures beside MuJoCo's own.

It saves NAME.jpg in OUT, ours on the left, and prints a line of JSON for each: how far the colours
are apart, and how long a picture takes. `landscape` is always there. MuJoCo draws with OpenGL,
which needs no display if `libosmesa6` or EGL is installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

import mjjax
from mjjax.render.smooth import smooth_picture

WIDTH, HEIGHT = 400, 300
REPEATS = 5  # of which the median is printed
ORACLE = """
import sys
import time
import mujoco
import numpy as np

path, width, height, camera, repeats = sys.argv[1], *map(int, sys.argv[2:6])
m = mujoco.MjModel.from_xml_path(path)
m.vis.global_.offwidth = max(m.vis.global_.offwidth, width)
m.vis.global_.offheight = max(m.vis.global_.offheight, height)
d = mujoco.MjData(m)
mujoco.mj_resetDataKeyframe(m, d, 0) if m.nkey else None
mujoco.mj_forward(m, d)
seconds = []
with mujoco.Renderer(m, height, width) as made:
    for _ in range(repeats):
        begin = time.perf_counter()
        made.update_scene(d, camera)
        rgb = made.render()
        seconds.append(time.perf_counter() - begin)
    made.enable_segmentation_rendering()
    made.update_scene(d, camera)
    found = made.render()
np.savez(sys.argv[6], rgb=rgb, segmentation=found, seconds=np.median(seconds))
"""
LANDSCAPE = """
<mujoco model="landscape">
  <visual>
    <map shadowclip="2"/>
    <headlight ambient=".2 .2 .2" diffuse=".3 .3 .3"/>
    <rgba haze=".8 .85 .9 1"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2=".9 .95 1" width="64"
      height="384"/>
    <texture name="grid" type="2d" builtin="checker" rgb1=".3 .35 .4" rgb2=".45 .5 .55"
      width="128" height="128" mark="edge" markrgb=".8 .8 .8"/>
    <texture name="die" type="cube" builtin="gradient" rgb1=".8 .3 .2" rgb2=".3 .1 .1"
      mark="cross" markrgb="1 1 1" width="64" height="64"/>
    <texture name="noise" type="2d" builtin="flat" rgb1=".35 .5 .25" mark="random"
      markrgb=".5 .65 .3" random=".4" width="128" height="128"/>
    <material name="floor" texture="grid" texuniform="true" reflectance=".3"/>
    <material name="die" texture="die"/>
    <material name="grass" texture="noise" texrepeat="3 3"/>
    <material name="glass" rgba=".4 .7 1 .35" specular="1" shininess=".9"/>
    <hfield name="hills" nrow="8" ncol="10" size="1.5 1.2 .5 .1" elevation="
      0 0 0 0 0 0 0 0 0 0  0 1 2 3 2 1 0 0 0 0  0 2 4 6 4 2 1 1 1 0  0 3 6 9 6 3 2 3 2 0
      0 2 4 6 4 3 4 6 4 0  0 1 2 3 3 4 6 8 5 0  0 0 1 1 2 3 4 5 3 0  0 0 0 0 0 0 0 0 0 0"/>
    <mesh name="dome" builtin="hemisphere" params="8" scale=".4 .4 .4"/>
    <mesh name="roof" vertex="-.4 -.4 0 .4 -.4 0 .4 .4 0 -.4 .4 0 0 -.4 .4 0 .4 .4"/>
  </asset>
  <worldbody>
    <light pos="2 -3 4" dir="-.4 .6 -1" type="directional" diffuse=".7 .7 .6"/>
    <light pos="-2 -1 3" dir=".5 .4 -1" cutoff="40" diffuse=".4 .4 .6" specular=".3 .3 .3"/>
    <geom type="plane" size="0 0 .1" material="floor"/>
    <geom type="hfield" hfield="hills" pos="0 1.4 .1" material="grass"/>
    <geom type="box" size=".25 .25 .25" pos="-1.2 -.6 .25" euler="0 0 30" material="die"/>
    <geom type="sphere" size=".3" pos="-.3 -.7 .3" material="glass"/>
    <geom type="capsule" size=".12 .3" pos=".4 -.9 .13" euler="0 90 20" rgba=".9 .7 .2 1"/>
    <geom type="cylinder" size=".2 .3" pos="1.1 -.5 .3" rgba=".3 .7 .4 1"/>
    <geom type="ellipsoid" size=".3 .2 .15" pos="1.7 -.9 .15" rgba=".7 .4 .8 1"/>
    <geom type="mesh" mesh="dome" pos="-2 .2 0" rgba=".8 .8 .85 1"/>
    <geom type="mesh" mesh="roof" pos="2.2 .3 .4" rgba=".8 .4 .3 1"/>
    <geom type="box" size=".4 .4 .2" pos="2.2 .3 .2" rgba=".9 .85 .7 1"/>
    <site name="a" pos="-1.2 -.6 .8" size=".04" rgba="1 0 0 1"/>
    <site name="b" pos="1.1 -.5 1" size=".04" rgba="1 0 0 1"/>
    <camera pos="0 -5.5 2" xyaxes="1 0 0 0 .22 1"/>
  </worldbody>
  <tendon>
    <spatial width=".015" rgba=".2 .4 .9 1"><site site="a"/><site site="b"/></spatial>
  </tendon>
</mujoco>
"""


def theirs(
    path: Path, size: tuple[int, int], camera: int, repeats: int = 1
) -> dict[str, np.ndarray] | None:
    """MuJoCo's picture, None where no OpenGL works. In a process of its own: it may crash there."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "oracle.npz"
        numbers = map(str, (*size, camera, repeats))
        command = [sys.executable, "-c", ORACLE, str(path), *numbers, str(out)]
        for gl in ("egl", "osmesa"):
            done = subprocess.run(command, env={**os.environ, "MUJOCO_GL": gl}, capture_output=True)
            if done.returncode == 0:
                return dict(np.load(out))
    return None


def start(model: mjjax.Model) -> mjjax.Data:
    """A world in its first keyframe, if there is one, like the oracle's."""
    data = mjjax.make_data(model)
    return mjjax.reset_data(model, data, 0) if model.nkey else data


def beside(path: Path, camera: int) -> tuple[np.ndarray, dict[str, float]]:
    """Both pictures of a model from a file (height, 2 width, 3), and figures about them."""
    other = theirs(path, (WIDTH, HEIGHT), camera, REPEATS)
    if other is None:
        raise SystemExit("no OpenGL without a display: apt-get install libosmesa6")
    model = mjjax.Model.from_xml_path(path)
    data, seconds = start(model), []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        mine = smooth_picture(model, data, None if camera < 0 else camera, WIDTH, HEIGHT)
        seconds.append(time.perf_counter() - begin)
    away = np.abs(mine.astype(int) - other["rgb"])
    figures = {
        "mean difference": round(float(away.mean()), 2),
        "within 8 levels": round(float((away.max(axis=2) <= 8).mean()), 3),
        "s": round(float(np.median(seconds)), 3),
        "s of MuJoCo": round(float(other["seconds"]), 3),
    }
    return np.concatenate([mine, other["rgb"]], axis=1), figures


def main() -> None:
    """Makes the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="NAME=MODEL.xml")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "landscape.xml"
        own.write_text(LANDSCAPE, encoding="utf-8")
        asked = [("landscape", own, 0)]
        pairs = (text.split("=", 1) for text in args.models)
        for name, path, camera in asked + [(name, Path(path), -1) for name, path in pairs]:
            both, figures = beside(path, camera)
            Image.fromarray(both).save(args.out / f"{name}.jpg", quality=88, optimize=True)
            print(json.dumps({"picture": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
