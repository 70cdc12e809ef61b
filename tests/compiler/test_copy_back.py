"""Changed models copied back into their descriptions."""

from collections.abc import Callable
from typing import Any

import chex
import jax
import numpy as np
import pytest

import mjjax
from mjjax.core.struct import specs
from mjjax.model.model import Model
from tests.random_models import random_mjcf

XML = """
<mujoco>
  <compiler alignfree="true" {compiler}/>
  <default>
    <geom density="900"/>
  </default>
  <asset>
    <mesh name="m" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/>
    <hfield name="h" nrow="2" ncol="2" size="1 2 3 4" elevation="1 2 3 4"/>
    <material name="shiny" specular=".3"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="h"/>
    <light pos="0 0 3" dir="0 1 -1"/>
    <frame pos=".1 .2 .3" euler="10 20 30">
      <body name="a" pos="1 2 3">
        <joint name="j" axis="1 2 3" range="-20 30" ref="5" springdamper=".5 1"/>
        <frame pos=".3 .2 .1" axisangle="1 2 3 40">
          <geom type="capsule" size=".1" fromto="0 0 0 1 2 3"/>
          <geom type="mesh" mesh="m" pos="3 2 1"/>
          <geom type="box" mesh="m" pos="1 2 1"/>
          <site name="s" pos=".1 0 0"/>
          <camera pos="0 1 2" fovy="30"/>
          <joint name="k" type="slide" pos=".1 .2 .3" damping="2" armature=".1"/>
        </frame>
        <body name="b">
          <joint type="ball" range="0 30"/>
          <geom name="one" type="ellipsoid" size=".3 .2 .1" rgba="1 0 0 1"/>
        </body>
      </body>
    </frame>
    <body name="f" pos="4 4 4">
      <freejoint/>
      <geom name="two" size=".3" pos=".1 .2 .3"/>
      <site name="e" pos=".1 0 0"/>
    </body>
    <body name="w" mocap="true"/>
  </worldbody>
  <contact>
    <pair geom1="one" geom2="two" gap=".1"/>
  </contact>
  <tendon>
    <spatial name="t" springlength="-1" stiffness="3">
      <site site="s"/>
      <site site="e"/>
      <pulley divisor="2"/>
      <site site="s"/>
      <site site="e"/>
    </spatial>
    <fixed range="-1 1">
      <joint joint="j" coef="2"/>
      <joint joint="k" coef="3"/>
    </fixed>
  </tendon>
  <equality>
    <connect body1="b" body2="f" anchor="1 2 3"/>
    <weld body1="b" body2="f"/>
    <joint joint1="j" joint2="k" polycoef="1 2 3 0 0"/>
    <weld site1="s" site2="e" torquescale="2"/>
  </equality>
  <actuator>
    <position joint="j" kp="3" dampratio=".7" inheritrange="1"/>
    <motor tendon="t" gear="2" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <jointpos joint="j" cutoff="2"/>
  </sensor>
  <keyframe>
    <key ctrl="1 .2"/>
  </keyframe>
  <custom>
    <numeric name="n" data="1 2 3" size="4"/>
    <numeric name="o" data="4 5"/>
  </custom>
</mujoco>
"""
# Computed from others, of assets, or not copied.
LEFT = (
    "qpos0 qpos_spring body_subtreemass body_invweight0 dof_invweight0 dof_M0 dof_length "
    "cam_pos0 cam_poscom0 cam_mat0 light_pos0 light_poscom0 light_dir0 actuator_acc0 "
    "actuator_length0 tendon_length0 tendon_invweight0 geom_aabb geom_rbound geom_fluid "
    "geom_size body_margin mesh_vert mesh_normal mesh_texcoord mesh_scale mesh_pos mesh_quat "
    "mesh_box mesh_nodeball mesh_polynormal oct_aabb oct_coeff "
    "hfield_data cam_intrinsic cam_sensorsize cam_fovy sensor_delay sensor_interval actuator_delay "
    "eq_data key_mquat key_qpos wrap_prm stat opt vis structure"
).split()
FIRST_OF_JOINT = "dof_armature dof_damping dof_frictionloss dof_solref dof_solimp".split()


def compiled(spec: mjjax.Spec) -> Model:
    """The model with numpy arrays, on which `set_const` needs no compilation."""
    return jax.tree.map(np.asarray, spec.compile())


def edited(x: Any, *changes: tuple[Any, float]) -> np.ndarray:
    """A copy with some entries replaced."""
    x = np.array(x)
    for index, value in changes:
        x[index] = value
    return x


def changed(model: Model, seed: int) -> Model:
    """Every number a little different, as far as the result is a valid model."""
    rng, s = np.random.default_rng(seed), model.structure
    new = {}
    for name in set(specs(Model)) - set(LEFT):
        old = np.asarray(getattr(model, name))
        x = old * rng.uniform(1, 1.05)
        if name.endswith(("_pos", "quat", "_axis", "_dir")):
            x = old + 0.02 * rng.normal(size=old.shape)
        if name.endswith(("quat", "_axis", "_dir")):
            x /= np.linalg.norm(x, axis=-1, keepdims=True)
        if name.startswith("body"):
            x[0] = old[0]
        if name in FIRST_OF_JOINT:
            x = (old * rng.uniform(1, 1.05, old.shape))[s.jnt_dofadr[s.dof_jntid]]
        if name == "jnt_pos":
            x[s.jnt_type == mjjax.JointType.FREE] = 0
        if name == "jnt_axis":
            x[s.jnt_type <= mjjax.JointType.BALL] = 0, 0, 1
        new[name] = x
    new["qpos0"], new["qpos_spring"] = (np.array(x) for x in (model.qpos0, model.qpos_spring))
    scalar = s.jnt_qposadr[s.jnt_type >= mjjax.JointType.SLIDE]
    new["qpos0"][scalar] += 0.1
    new["qpos_spring"][scalar] -= 0.1
    for adr, body in zip(s.jnt_qposadr, s.jnt_bodyid, strict=True):
        if s.jnt_type[s.jnt_qposadr == adr][0] == mjjax.JointType.FREE:
            pose = np.concatenate([new["body_pos"][body], new["body_quat"][body]])
            new["qpos0"][adr : adr + 7] = new["qpos_spring"][adr : adr + 7] = pose
    return model.replace(**new)


def assert_compiles_to(spec: mjjax.Spec, model: Model) -> None:
    """Asserts that a description compiles to a model, with every number and everything else."""
    again = mjjax.Spec.from_string(spec.to_xml()).compile()
    assert again.structure.sizes == model.structure.sizes
    for name in set(model.structure.arrays) - {"body_simple"}:  # which numbers decide
        values = model.structure.arrays[name]
        np.testing.assert_array_equal(again.structure.arrays[name], values, err_msg=name)
    for part in ("opt", "stat"):
        for name in specs(type(getattr(model, part))):
            mine, theirs = (getattr(getattr(m, part), name) for m in (again, model))
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10, err_msg=name)
    chex.assert_trees_all_close(again.vis, model.vis, rtol=1e-10)
    for name in set(specs(Model)) - {"opt", "stat", "vis", "structure", "body_margin"}:
        mine, theirs = np.asarray(getattr(again, name)), np.asarray(getattr(model, name))
        atol = 1e-10 * max(1, np.abs(theirs).max(initial=0))
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=atol, err_msg=name)


@pytest.mark.feature("A014")
@pytest.mark.parametrize(
    "compiler", ["", 'angle="radian" inertiafromgeom="true"', 'settotalmass="3"']
)
def test_every_number_is_copied(compiler: str) -> None:
    """If every number of a model is changed, its description compiles to the changed model."""
    spec = mjjax.Spec.from_string(XML.format(compiler=compiler))
    model = mjjax.set_const(changed(compiled(spec), 0))
    spec.copy_back(model)
    assert_compiles_to(spec, model)


@pytest.mark.slow(but=1)
@pytest.mark.feature("A014")
@pytest.mark.parametrize("seed", range(3))
def test_random_models_are_copied(seed: int) -> None:
    """Changed random models of every kind are copied back as well."""
    spec = mjjax.Spec.from_string(random_mjcf(seed))
    model = mjjax.set_const(changed(compiled(spec), seed))
    spec.copy_back(model)
    assert_compiles_to(spec, model)


Edit = Callable[[Model], Model]
EDITS: dict[str, Edit] = {
    "option": lambda m: m.replace(
        opt=m.opt.replace(
            timestep=np.array(0.1), iterations=7, disableflags=5, enableflags=2, disableactuator=6
        )
    ),
    "visual": lambda m: m.replace(
        vis=m.vis.replace(
            global_=m.vis.global_.replace(fovy=np.array(30.0), orthographic=1),
            headlight=m.vis.headlight.replace(ambient=np.array([0.5, 0.4, 0.3])),
        )
    ),
    "statistic": lambda m: m.replace(stat=m.stat.replace(extent=np.array(7.0))),
    "constraint": lambda m: m.replace(
        eq_data=edited(m.eq_data, ((0, 0), 0.5), ((1, 0), 0.3), ((2, 0), 0.2), ((3, 10), 3))
    ),
    "path": lambda m: m.replace(wrap_prm=edited(m.wrap_prm, (2, 5.0), (5, 5.0))),
    "size": lambda m: m.replace(hfield_size=m.hfield_size * 2),
    "custom": lambda m: m.replace(numeric_data=edited(m.numeric_data, (-1, 9.0))),
}


@pytest.mark.feature("A014", "A094")
@pytest.mark.parametrize("what", EDITS)
def test_single_changes(what: str) -> None:
    """Options, statistics, data of constraints, coefficients, sizes of assets, custom numbers."""
    spec = mjjax.Spec.from_string(XML.format(compiler=""))
    model = EDITS[what](mjjax.set_const(compiled(spec)))
    if what in ("size", "constraint", "path"):
        model = mjjax.set_const(model)
    spec.copy_back(model)
    assert_compiles_to(spec, model)


@pytest.mark.feature("A014")
def test_what_did_not_change_stays_as_written() -> None:
    """If one number changes, the rest of the file stays as it was."""
    spec = mjjax.Spec.from_string(XML.format(compiler="").replace('alignfree="true"', ""))
    model, before = compiled(spec), spec.to_xml().splitlines()
    spec.copy_back(model)
    assert spec.to_xml().splitlines() == before
    spec.copy_back(model.replace(jnt_stiffness=edited(model.jnt_stiffness, (1, 3.0))))
    after = spec.to_xml().splitlines()
    assert (
        len(after) == len(before) and sum(a != b for a, b in zip(after, before, strict=True)) == 1
    )


@pytest.mark.feature("A014")
def test_other_models_are_refused() -> None:
    """Models of another description are refused before anything is changed."""
    spec = mjjax.Spec.from_string(XML.format(compiler=""))
    before = spec.to_xml()
    with pytest.raises(ValueError, match="not compiled from"):
        spec.copy_back(mjjax.Spec.from_string(random_mjcf(0)).compile())
    assert spec.to_xml() == before
    spec.compiler.fusestatic = True
    with pytest.raises(ValueError, match="fusestatic"):
        spec.copy_back(spec.compile())
