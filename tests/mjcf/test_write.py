"""`Spec.to_xml`: what is written is read back as the same model, here and by MuJoCo."""

import os
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import mjcf
from mjjax.compiler import Compiled, compile_spec
from tests.compiler.oracle import compare
from tests.mjcf.test_attach import CHILD
from tests.mjcf.test_edit import ARM, BUILT
from tests.mjcf.test_macros import CABLE, CAPSULE, MOTORS, NESTED, model, scene
from tests.random_models import random_mjcf

MODELS = {
    "child": CHILD,
    "arm": ARM,
    "built": BUILT,
    "replicate": scene(NESTED, MOTORS),
    "cable": model(CABLE.format('count="5" curve="cos(s) sin(s) 0" size="1 2 1"', CAPSULE)),
    "settings": '<mujoco model="a &lt;b&gt;"><compiler angle="radian" eulerseq="XYZ" '
    'boundmass=".1"><lengthrange tolrange="1"/></compiler><option gravity="1 2 3" cone="elliptic">'
    '<flag gravity="disable" multiccd="enable"/></option><size nuserdata="3" memory="1M"/>'
    '<statistic extent="2"/><visual><map znear="0.1"/></visual><custom><numeric name="n" size="3" '
    'data="1e-300 0.1"/><text name="t" data="a &amp; b"/></custom></mujoco>',
    "servo": '<mujoco><default><position kp="3" dampratio="1"/></default><worldbody><body>'
    '<joint name="j" range="-1 2"/><geom size="1"/></body></worldbody><actuator><position joint="j"'
    ' inheritrange="1" timeconst="2"/><intvelocity joint="j" inheritrange="2" kv="1"/>'
    '<position joint="j" kp="2"/></actuator></mujoco>',
    "light": '<mujoco><default><light directional="true"/></default><worldbody><light/>'
    '<light directional="false"/><camera mode="trackcom" output="rgb depth" sensorsize="1 1" '
    'focal="1 2" resolution="3 4"/><body><freejoint align="true"/><geom size="1" pos="1 0 0" '
    'fluidshape="ellipsoid" user="1 2"/></body><body><joint type="free" damping="1"/>'
    '<inertial pos="1 2 3" mass="1" fullinertia="3 3 3 .1 .2 .3"/></body></worldbody></mujoco>',
    "tendon": '<mujoco><default><tendon width=".1" rgba="1 0 0 1"/></default><worldbody><body>'
    '<joint name="j"/><geom size="1"/></body></worldbody><tendon><fixed><joint joint="j" coef="1"/>'
    '</fixed><fixed range="0 1"><joint joint="j" coef="2"/></fixed></tendon></mujoco>',
    "fuse": '<mujoco><compiler fusestatic="true" discardvisual="true"/><worldbody><body><joint/>'
    '<body pos="1 0 0"><geom size="1" contype="0" conaffinity="0"/></body></body></worldbody>'
    "</mujoco>",
}


def assert_equal(ours: Compiled, other: Compiled) -> None:
    """Two compiled models agree to the last bit."""
    assert ours.fields.keys() == other.fields.keys()
    for name, value in ours.fields.items():
        np.testing.assert_array_equal(other.fields[name], value, err_msg=name)
    assert (ours.sizes, ours.names, ours.modelname) == (other.sizes, other.names, other.modelname)
    assert repr(ours.option) == repr(other.option)
    assert repr(ours.statistic) == repr(other.statistic)


@pytest.mark.feature("A013", "B90")
@pytest.mark.parametrize("name", MODELS)
def test_written_model_is_the_same(name: str) -> None:
    """Every field is read back exactly, and MuJoCo reads the same model from what we write."""
    spec = mjcf.read_string(MODELS[name])
    ours, text = compile_spec(spec), spec.to_xml()
    again = mjcf.read_string(text)
    assert_equal(ours, compile_spec(again))
    assert again.to_xml() == text
    theirs = mujoco.MjModel.from_xml_string(text)
    compare(theirs, ours, ignore=("actuator_biasprm",))  # it replaces damping ratios later


@pytest.mark.feature("A013")
@pytest.mark.parametrize("shape", range(10))
def test_random_model_is_the_same(shape: int) -> None:
    """Random models survive being written and read."""
    spec = mjcf.read_string(random_mjcf(shape, shape))
    assert_equal(compile_spec(spec), compile_spec(mjcf.read_string(spec.to_xml())))


def test_files_keep_their_place(tmp_path: Path) -> None:
    """A model written to another folder still finds its files; the first text is unchanged."""
    folder = tmp_path / "here" / "meshes"
    folder.mkdir(parents=True)
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (folder / "a.obj").write_text(corners)
    xml = '<mujoco><compiler meshdir="meshes"/><asset><mesh file="a.obj"/></asset><worldbody>'
    xml += '<geom type="mesh" mesh="a"/></worldbody></mujoco>'
    (tmp_path / "here" / "m.xml").write_text(xml)
    spec = mjjax.Spec.from_file(tmp_path / "here" / "m.xml")
    assert 'file="a.obj"' in spec.to_xml()
    for place in ("here/n.xml", "n.xml"):
        spec.to_file(tmp_path / place)
        again = mjjax.Spec.from_file(tmp_path / place)
        assert_equal(compile_spec(spec), compile_spec(again))
    assert sorted(os.listdir(tmp_path)) == ["here", "n.xml"]


def test_failed_write_leaves_the_file(tmp_path: Path) -> None:
    """An error while writing destroys nothing and leaves nothing behind."""
    path = tmp_path / "m.xml"
    path.write_text("old")
    spec = mjjax.Spec()
    spec.worldbody.add_body().values["pos"] = ("not a number",)
    with pytest.raises(ValueError):
        spec.to_file(path)
    with pytest.raises(FileNotFoundError):
        mjjax.Spec().to_file(tmp_path / "none" / "m.xml")
    assert path.read_text(encoding="utf-8") == "old" and os.listdir(tmp_path) == ["m.xml"]
