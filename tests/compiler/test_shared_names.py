"""A field with one of MuJoCo's names has MuJoCo's values, or it is not there."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjjax
from tests.compiler.survey import LOOSE, differences
from tests.compiler.test_textures import FILES
from tests.random_models import random_mjcf

POINTS = " ".join(map(str, np.random.default_rng(0).normal(size=90).round(3)))
ASSETS = f"""<mujoco model="all"><asset>
<mesh name="points" vertex="{POINTS}"/><mesh name="shown" vertex="{POINTS}" scale=".5 1 2"/>
<mesh name="ball" builtin="sphere" params="2" scale=".1 .1 .1"/>
<mesh name="field" builtin="sphere" params="1" scale=".1 .1 .1"/>
<hfield name="h" nrow="3" ncol="4" size="1 1 .2 .1"/><texture name="t" type="2d" file="rgb.png"/>
<texture type="skybox" builtin="gradient" width="8"/><material name="m" texture="t" rgba="1 0 0 1"/>
</asset><deformable><skin name="s" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2" material="m">
<bone body="b" bindpos="0 0 0" bindquat="2 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>
</deformable><worldbody><light/><geom type="hfield" hfield="h"/><camera name="c" fovy="30"/>
<geom type="mesh" mesh="shown" contype="0" conaffinity="0"/>
<body name="b" pos="0 0 2"><freejoint/><geom type="mesh" mesh="points" material="m"/>
<body><joint name="j"/><geom type="sdf" mesh="field"/><geom type="mesh" mesh="ball"/></body></body>
</worldbody><custom><text name="x" data="abc"/><numeric name="n" data="1 2"/>
<tuple name="u"><element objtype="body" objname="b"/></tuple></custom>
<keyframe><key/><key qpos="0 0 0 0 0 0 0 1"/></keyframe></mujoco>"""
EMBEDDED = ("ant", "arm", "humanoid", "quadruped")


@pytest.mark.parametrize("name", ["assets", *EMBEDDED, *range(4)])
def test_fields_with_mujocos_names_are_mujocos(name: str | int) -> None:
    """Sizes, tables, numbers, options, statistics and settings of pictures, none left out."""
    if isinstance(name, int):
        xml = random_mjcf(name, name)
    elif name == "assets":
        xml = ASSETS
    else:
        xml = (Path(mjjax.__file__).parent / "assets" / f"{name}.xml").read_text()
    theirs = mujoco.MjModel.from_xml_string(xml, FILES)
    found = differences(theirs, mjjax.Model.from_xml_string(xml, FILES))
    assert not found or set(found) <= set(LOOSE), found


@pytest.mark.slow
def test_own_trees_and_hulls_have_own_names() -> None:
    """Further fields for this engine's collisions and rays have names that MuJoCo does not use."""
    mesh = f'<asset><mesh name="m" vertex="{POINTS}"/></asset>'
    geom = '<worldbody><geom type="mesh" mesh="m"/></worldbody>'
    model = mjjax.Model.from_xml_string(f"<mujoco>{mesh}{geom}</mujoco>")
    for name in ("mesh_bvhadr", "mesh_bvhnum", "mesh_graph", "mesh_graphadr", "body_bvhadr"):
        assert not hasattr(model, name)
    assert model.mesh_boxnum.sum() == model.nmeshbox > 0 and len(model.mesh_hull) == model.nmeshhull
