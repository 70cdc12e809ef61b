"""Models as differentiable functions of attributes, against compiling again and MuJoCo."""

import operator
import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.mjcf.orientation import matrix
from mjjax.xla.compiling import quick
from tests.compiler.oracle import assert_close
from tests.compiler.parametrized import SCENE, compiled, recompiled, references
from tests.derivatives import both_modes, difference, directions, inner
from tests.oracle_tools import stack, world

SMALL = """
<mujoco>
  <compiler settotalmass="3"/>
  <default><default class="metal"><geom density="2700"/></default></default>
  <worldbody>
    <body name="upper" pos="0 0.1 1">
      <joint name="hip" axis="0.1 1 0" ref="10" armature="0.01"/>
      <geom name="bone" type="capsule" fromto="0 0 0 0.05 0.1 -0.4" size="0.04"/>
      <geom name="pad" class="metal" type="box" size="0.05 0.02 0.03" pos="0.1 0 -0.1"
            euler="0 20 30"/>
      <frame name="end" pos="0 0 -0.4" euler="10 0 0">
        <body name="lower">
          <joint name="knee" axis="0 1 0"/>
          <geom name="foot" type="sphere" size="0.06" pos="0 0.01 -0.2" mass="0.3"/>
        </body>
      </frame>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="knee" kp="20" dampratio="0.8" gear="1.5"/></actuator>
</mujoco>
"""
CHOSEN = (
    "geom:bone:fromto geom:bone:size geom:bone:density geom:pad:size geom:pad:pos geom:pad:euler "
    "geom:pad:density geom:foot:mass geom:foot:pos frame:end:euler frame:end:pos body:upper:quat "
    "joint:hip:axis joint:hip:ref joint:knee:frictionloss joint:knee:damping actuator:servo:kp "
    "actuator:servo:dampratio actuator:servo:gear compiler:settotalmass option:gravity"
).split()
# Jacobi rotations end when the next one would be smaller than about 1e-6, here and in MuJoCo
VALUES = {"": 1e-12, ".body_iquat": 1e-11, ".body_inertia": 1e-11}
SLOPES = {"": 1e-6}


def nearby(values: dict[str, Any], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values near the described ones, none of them negative, and a direction."""
    scale = {name: 0.01 * np.where(np.asarray(x) == 0, 0.1, x) for name, x in values.items()}
    rng = np.random.default_rng(seed)
    v = {name: jnp.asarray(rng.uniform(0.5, 1, size=x.shape) * x) for name, x in scale.items()}
    return {name: x + v[name] for name, x in values.items()}, v


def assert_same_leaves(mine: Any, theirs: Any, tolerances: dict[str, float]) -> None:
    """All leaves agree to 1e-12, or to the tolerance of the leaf."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(mine), jax.tree.leaves(theirs), strict=True)
    for (path, x), other in pairs:
        name = jax.tree_util.keystr(path)
        assert_close(x, np.asarray(other), tolerances.get(name, tolerances[""]), name)


def assert_follows(
    spec: mjjax.Spec, names: Sequence[str], at: Any, along: Any, model: Any, slope: Any
) -> None:
    """Asserts that a model and its derivative at some values are those of compiling again."""
    assert_same_leaves(model, compiled(spec, names, at), VALUES)
    expected = difference(lambda x: compiled(spec, names, x), at, along, 1e-3)
    assert_same_leaves(slope, expected, SLOPES)


@pytest.mark.slow
@pytest.mark.feature("D05", "D06", "D27")
def test_equals_compiling_again() -> None:
    """All leaves and their derivatives are those of the recompiled model, and of MuJoCo's."""
    spec = mjjax.Spec.from_string(SMALL)
    values, build = mjjax.parametrize(spec, CHOSEN)
    points = [nearby(values, seed) for seed in range(2)]
    x, v = (stack([point[i] for point in points]) for i in range(2))
    u = directions(jax.eval_shape(jax.vmap(build), x), 7)
    models, slopes, pulled = both_modes(build)(x, v, u)
    for i, point in enumerate(points):
        assert_follows(spec, CHOSEN, *point, world(models, i), world(slopes, i))
    np.testing.assert_allclose(inner(u, slopes), inner(pulled, v), rtol=1e-9, atol=1e-9)
    reference = mujoco.MjModel.from_xml_string(recompiled(spec, CHOSEN, points[1][0]).to_xml())
    names = "body_mass body_inertia body_subtreemass geom_size geom_rbound geom_aabb jnt_axis qpos0"
    derived = "dof_M0 dof_invweight0 body_invweight0 actuator_acc0 actuator_biasprm"
    for name in f"{names} {derived}".split():
        mine = np.asarray(getattr(models, name))[1]
        assert_close(mine, getattr(reference, name).reshape(mine.shape), 1e-9, name)


@pytest.mark.slow
@pytest.mark.feature("D06")
def test_every_attribute() -> None:
    """Every real attribute of every kind of element reaches the leaves that it should."""
    spec = mjjax.Spec.from_string(SCENE)
    names = references(spec)
    kinds = {name.partition(":")[0] for name in names}
    assert len(names) > 250 and len(kinds) >= 17
    values, build = mjjax.parametrize(spec, names)
    at, along = nearby(values, 0)
    model, slope = quick(lambda x, v: jax.jvp(build, (x,), (v,)))(at, along)
    assert_follows(spec, names, at, along, model, slope)


@pytest.mark.feature("D06", "D13")
def test_structure_is_fixed() -> None:
    """New values never compile a step again; terms that they may need are there from the start."""
    spec = mjjax.Spec.from_string(SMALL)
    values, build = mjjax.parametrize(spec, ["joint:knee:frictionloss", "geom:pad:friction"])
    model, other = build(values), build({name: x + 0.1 for name, x in values.items()})
    assert model.structure == other.structure
    np.testing.assert_array_equal(model.terms["dof_frictionloss"], [False, True])
    alone, build = mjjax.parametrize(spec, {"d": (spec.joint("knee"), "damping")})
    assert list(alone) == ["d"] and build(alone).structure == spec.compile().structure
    spec.joint("knee").damping = 3
    assert build(alone).dof_damping[1] == 0


@pytest.mark.parametrize(
    ("name", "leaf", "slope"),
    [("statistic:meansize", "stat.meansize", 1.0), ("joint:rail:springdamper", "dof_damping", 0)],
)
@pytest.mark.feature("D06")
def test_what_is_no_field_reaches_the_model(name: str, leaf: str, slope: float) -> None:
    """Statistics and time constants, which act after derived constants, work even alone."""
    values, build = mjjax.parametrize(mjjax.Spec.from_string(SCENE), [name])

    def total(values: Any) -> jax.Array:
        return jnp.sum(operator.attrgetter(leaf)(build(values)))

    found = np.asarray(quick(jax.jacfwd(total))(values)[name])
    assert np.any(found != 0) and (not slope or found == slope)


def inertia(model: mjjax.Model, body: int) -> np.ndarray:
    """Inertia (3, 3) of a body about its centre, in its own frame."""
    frame = matrix(np.asarray(model.body_iquat[body]))
    return frame @ np.diag(model.body_inertia[body]) @ frame.T


SPUN = """
<mujoco><worldbody><body name="b"><joint/>
  <geom name="a" size="0.1"/><geom name="z" size="0.05" pos="0 0 0.3"/>
</body><body name="c" pos="1 0 0"><joint/>
  <geom name="up" type="capsule" fromto="0 0 0 0 0 0.4" size="0.1"/>
</body></worldbody></mujoco>
"""


@pytest.mark.parametrize(("name", "body"), [("geom:z:pos", 1), ("geom:up:fromto", 2)])
@pytest.mark.feature("D06")
def test_inertia_follows_where_moments_are_equal(name: str, body: int) -> None:
    """R diag(I) R' has its derivative, although R alone is not unique, also at half a turn."""
    spec = mjjax.Spec.from_string(SPUN)
    values, build = mjjax.parametrize(spec, [name])

    def tensor(x: jax.Array) -> jax.Array:
        model = build({name: x})
        frame = mjjax.math.quat.to_mat(model.body_iquat[body])
        return (frame * model.body_inertia[body][None]) @ frame.T

    mine = quick(jax.jacrev(tensor))(values[name])
    for i, row in enumerate(np.eye(values[name].size)):
        step = difference(
            lambda x: inertia(compiled(spec, [name], {name: x}), body),
            np.asarray(values[name]),
            row,
            1e-4,
        )
        np.testing.assert_allclose(mine[..., i], step, atol=1e-6 * np.abs(step).max())


ROTORS = """
<mujoco><worldbody><body name="b"><joint/>
  <geom name="e" size="0.1" pos="1 0 0"/><geom size="0.1" pos="-1 0 0"/>
  <geom size="0.1" pos="0 1 0"/><geom size="0.1" pos="0 -1 0"/>
</body></worldbody></mujoco>
"""


@pytest.mark.parametrize(
    ("change", "reference", "error", "message"),
    [
        ("", "geom:e:pos", mjjax.UnsupportedFeature, "equal, and geom:e:pos turns their axes"),
        ("", "geo:e:pos", ValueError, "did you mean 'geom'"),
        ("", "geom:f:pos", ValueError, "no geom 'f'"),
        ("", "geom:e:sise", ValueError, "did you mean 'size'"),
        ("", "geom:e:condim", ValueError, "not a real number"),
        ("", "geom:e:material", ValueError, "not a real number"),
        ("", "geom:e:mass", ValueError, "comes from its density"),
        ("", "geom:e:fromto", ValueError, "name pos, size and orientation"),
        ("", "geom:e:fluidcoef", ValueError, "no effect"),
        ('name="e" mass="1"', "geom:e:density", ValueError, "'mass' is given"),
        ('name="e" euler="0 0 1"', "geom:e:quat", ValueError, "given by 'euler'"),
        ("<mujoco><compiler fusestatic='true'/>", "geom:e:size", ValueError, "turn off fusestatic"),
    ],
)
@pytest.mark.feature("D06")
def test_refusals(change: str, reference: str, error: type[Exception], message: str) -> None:
    """Attributes without a derivative give a clear error when the function is made."""
    place = "<mujoco>" if change.startswith("<") else 'name="e"'
    spec = mjjax.Spec.from_string(ROTORS.replace(place, change) if change else ROTORS)
    with pytest.raises(error, match=re.escape(message)):
        mjjax.parametrize(spec, [reference])


@pytest.mark.feature("D06")
def test_refuses_meshes_and_other_values() -> None:
    """Changes of a mesh are refused in a clear error; values are never broadcast."""
    spec = mjjax.Spec.from_string(SCENE)
    with pytest.raises(mjjax.UnsupportedFeature, match=re.escape("mesh:tetra:scale")):
        mjjax.parametrize(spec, ["mesh:tetra:scale", "geom:tip:pos"])
    _, build = mjjax.parametrize(spec, ["joint:knee:damping"])
    for wrong in ({}, {"joint:knee:damping": jnp.zeros(2)}):
        with pytest.raises(ValueError, match="must have the shapes"):
            build(wrong)
    unnamed = mjjax.Spec.from_string(ROTORS)
    with pytest.raises(ValueError, match="give the attributes names"):
        mjjax.parametrize(unnamed, [(unnamed.geoms[1], "pos")])
    with pytest.raises(ValueError, match="not in this model"):
        mjjax.parametrize(unnamed, [(spec.geom("tip"), "pos")])


@pytest.mark.slow
@pytest.mark.feature("D06")
def test_simulated_length_ranges() -> None:
    """Simulated length ranges stay if they do not depend on the values; else they must be given."""
    spec = mjjax.Spec.from_string(
        '<mujoco><worldbody><body><joint name="j" type="slide" range="-1 1" limited="true"/>'
        '<geom name="g" size="0.1"/></body></worldbody>'
        '<actuator><muscle name="m" joint="j"/></actuator></mujoco>'
    )
    values, build = mjjax.parametrize(spec, ["actuator:m:scale"])
    lengths = np.asarray(spec.compile().actuator_lengthrange)
    np.testing.assert_array_equal(build(values).actuator_lengthrange, lengths)
    with pytest.raises(mjjax.UnsupportedFeature, match="give it a lengthrange"):
        mjjax.parametrize(spec, ["geom:g:size"])
