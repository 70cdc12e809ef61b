"""Rows of equalities, friction and limits against MuJoCo, and their derivatives."""

import copy

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import (
    differences,
    forward_worlds,
    load,
    quick,
    random_state,
    row_differences,
    stack,
    to_ours,
    world,
    worlds,
)

SCENE = """
<mujoco><option cone="{cone}"><flag contact="disable"/>{flags}</option>
<worldbody>
<body name="a" pos="0 0 1"><freejoint/><geom size=".1 .2 .1" type="box"/>
 <site name="s1" pos=".1 .1 0" euler="10 20 30"/>
 <body pos=".3 0 0"><joint name="h1" axis="0 1 0" range="-20 20"/><geom size=".1"/>
  <site name="s3"/></body></body>
<body name="b" pos="1 0 1"><joint type="ball" range="0 15"/>
 <geom size=".1 .2 .1" type="box" pos=".1 0 0"/>
 <site name="s2" pos=".1 .1 .2" euler="40 20 30"/>
 <body name="c" pos=".3 0 0"><joint name="h2" axis="0 1 0" frictionloss=".2"/>
  <joint name="h3" axis="1 1 0" pos="0 .1 0" type="slide"/><geom size=".1"/>
  <site name="s4"/></body></body>
<body name="still"><geom size=".01"/></body>
</worldbody>
<tendon>
<fixed name="t1" limited="true" range="0 .1" frictionloss=".3" stiffness="10" damping="2">
 <joint joint="h1" coef="1"/><joint joint="h2" coef="-2"/></fixed>
<spatial name="t2" range="0 .5" limited="true" springlength=".2 .4" stiffness="20" damping="1"
 armature=".3" margin=".02"><site site="s3"/><site site="s4"/></spatial>
</tendon>
<equality>{equality}</equality></mujoco>
"""
BALLS = """
<mujoco><option cone="{cone}"/><worldbody><geom type="plane" size="0 0 1"/>
<body pos="0 0 .09"><freejoint/><geom size=".1"/></body>
<body pos=".1 0 .24"><joint type="slide" frictionloss=".2"/><geom size=".1" condim="1"/></body>
</worldbody></mujoco>
"""
EQUALITIES = {
    "none": "",
    "connect": '<connect body1="a" body2="b" anchor=".1 .02 .3" solref=".03 .8"/>',
    "connect to the world": '<connect body1="a" anchor=".1 .02 .3"/>',
    "connect sites": '<connect site1="s1" site2="s2"/>',
    "weld": '<weld body1="a" body2="b" torquescale=".7"/>',
    "weld with a pose": '<weld body1="a" body2="b" relpose=".1 .2 .3 .7 .1 .3 .2" '
    'anchor=".1 0 .2" torquescale="2" solimp=".8 .9 .5 .4 3"/>',
    "weld sites": '<weld site1="s2" site2="s1"/>',
    "joints": '<joint joint1="h1" joint2="h2" polycoef=".1 .5 .3 .2 .1"/>'
    '<joint joint1="h3" polycoef=".3 1 0 0 0"/>',
    "tendons": '<tendon tendon1="t1" tendon2="t2" polycoef=".1 .5 .3 .2 .1"/>'
    '<tendon tendon1="t2"/>',
    "all in mixed order": '<joint joint1="h1" joint2="h2"/><weld site1="s1" site2="s2"/>'
    '<tendon tendon1="t2"/><connect body1="a" body2="b" anchor="0 0 0" active="false"/>'
    '<connect body1="still" anchor="0 0 0"/><connect body1="c" anchor=".1 0 0"/>',
}
FIELDS = {"ten_length": 1e-10, "ten_velocity": 1e-9, "qfrc_passive": 1e-9, "qfrc_bias": 1e-9}


def scene(equality: str, cone: str = "pyramidal", flags: str = "") -> str:
    """The scene with some equality constraints."""
    return SCENE.format(equality=EQUALITIES[equality], cone=cone, flags=flags)


@pytest.mark.slow(but=2)
@pytest.mark.feature("C07", "C27", "C28", "C30", "C31", "C32", "C33", "C42", "C43", "C44", "C56")
@pytest.mark.parametrize("equality", EQUALITIES)
def test_rows_agree(equality: str) -> None:
    """Every row kind: residual, Jacobian, mass, reference and force, in MuJoCo's order."""
    both = load(scene(equality, "elliptic" if "weld" in equality else "pyramidal"))
    theirs, start = worlds(both, range(5), spread=0.3)
    data = forward_worlds(both.ours, start)
    for i, d in enumerate(theirs):
        mujoco.mj_forward(both.reference, d)
        ours = world(data, i)
        assert not row_differences(ours, d)
        assert not differences(ours, d, FIELDS | {"qacc": 1e-7, "qfrc_constraint": 1e-7})
        on = np.asarray(ours.efc_D) > 0
        jacobian = np.asarray(mjjax.constraint_jacobian(both.ours, ours))[on]
        theirs_j = d.efc_J.reshape(-1, both.reference.nv)[: d.nefc]
        np.testing.assert_allclose(jacobian, theirs_j, atol=1e-10)


@pytest.mark.feature("A041", "C27")
def test_equalities_switch_at_run_time() -> None:
    """`eq_active` starts as the model says and switches a constraint per world."""
    both = load(scene("all in mixed order"))
    d = random_state(both.reference, 3)
    data = to_ours(both.ours, d)
    np.testing.assert_array_equal(data.eq_active, both.reference.eq_active0.astype(bool))
    batch = stack([data, data.replace(eq_active=~data.eq_active)])
    batch = forward_worlds(both.ours, batch)
    for i in range(2):
        d.eq_active[:] = np.asarray(batch.eq_active[i])
        mujoco.mj_forward(both.reference, d)
        assert not row_differences(world(batch, i), d)


@pytest.mark.slow(but=1)
@pytest.mark.feature("C53")
@pytest.mark.parametrize("flag", ["constraint", "equality", "frictionloss", "limit"])
def test_disabled_rows(flag: str) -> None:
    """A disabled kind of rows has no slots."""
    both = load(scene("all in mixed order", flags="").replace("/>", f' {flag}="disable"/>', 1))
    theirs, start = worlds(both, [0], spread=0.3)
    data = world(forward_worlds(both.ours, start), 0)
    mujoco.mj_forward(both.reference, theirs[0])
    assert not row_differences(data, theirs[0])
    assert data.efc_pos.shape[0] < mjjax.make_data(load(scene("none")).ours).efc_pos.shape[0] + 30


@pytest.mark.slow(but=2)
@pytest.mark.feature("C53")
@pytest.mark.parametrize("flag", ["CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT"])
def test_rows_disabled_after_make_data(flag: str) -> None:
    """A flag that is set later removes the rows but not the slots, as in MuJoCo."""
    both = load(scene("all in mixed order"))
    theirs, start = worlds(both, [0], spread=0.3)
    bit = mjjax.DisableBit[flag]
    opt = both.ours.opt
    model = both.ours.replace(opt=opt.replace(disableflags=opt.disableflags | bit))
    data = world(forward_worlds(model, start), 0)
    reference = copy.copy(both.reference)
    reference.opt.disableflags |= int(bit)
    mujoco.mj_forward(reference, theirs[0])
    assert data.efc_pos.shape == mjjax.make_data(both.ours).efc_pos.shape
    assert not row_differences(data, theirs[0])
    assert not differences(data, theirs[0], {"qacc": 1e-7, "qfrc_constraint": 1e-7})


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_rows_of_a_batch(cone: str) -> None:
    """Row fields computed from other fields are, in a batch, those of each world."""
    both = load(BALLS.format(cone=cone))
    _, start = worlds(both, range(3), spread=0.02)
    batch = forward_worlds(both.ours, start)
    assert (np.asarray(batch.nefc) > 0).all()
    for name in ("efc_pos", "efc_margin", "efc_frictionloss", "efc_D", "efc_aref"):
        each = [np.asarray(getattr(world(batch, i), name)) for i in range(3)]
        np.testing.assert_array_equal(getattr(batch, name), np.stack(each), err_msg=name)


def test_data_of_another_cone() -> None:
    """Data for pyramidal cones are adapted to elliptic ones, or the error says what to do."""
    model = load(BALLS.format(cone="pyramidal")).ours
    other = model.replace(opt=model.opt.replace(cone=mjjax.ConeType.ELLIPTIC))
    with pytest.raises(ValueError, match=r"pyramidal cones of 3 .* elliptic .*make the data again"):
        mjjax.make_constraint(other, mjjax.make_data(model))
    brought = jax.eval_shape(mjjax.forward, other, mjjax.make_data(model))
    assert brought.efc_force.shape == mjjax.make_data(other).efc_force.shape


@pytest.mark.slow
@pytest.mark.feature("C27", "C28", "C33", "D19")
def test_derivatives() -> None:
    """Rows and accelerations have exact derivatives in position, velocity and parameters."""
    both = load(scene("all in mixed order", "elliptic"))
    _, start = worlds(both, [1, 4], spread=0.3)

    def run(x: dict[str, jax.Array]) -> dict[str, jax.Array]:
        model = both.ours.replace(eq_data=x["eq_data"], tendon_range=x["tendon_range"])
        model = model.replace(tendon_armature=x["tendon_armature"])
        data = mjjax.make_data(both.ours).replace(qpos=x["qpos"], qvel=x["qvel"])
        data = mjjax.forward(model, data)
        return {k: getattr(data, k) for k in ("efc_pos", "efc_D", "efc_aref", "qacc", "qfrc_bias")}

    numbers = {k: getattr(both.ours, k) for k in ("eq_data", "tendon_range", "tendon_armature")}
    repeated = jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * 2), numbers)
    x = {"qpos": start.qpos, "qvel": start.qvel, **repeated}
    v = jax.tree.map(lambda a: 0.1 * a, directions(x, 0))
    assert not derivative_errors(run, x, v, steps=(1e-5, 1e-6))


@pytest.mark.slow
def test_derivatives_at_the_reference() -> None:
    """If every residual is zero, all derivatives are finite."""
    model = load(scene("all in mixed order")).ours
    data = mjjax.make_data(model)
    slope = jax.jacrev(lambda q: mjjax.forward(model, data.replace(qpos=q)).qacc)
    chex.assert_tree_all_finite(quick(slope)(data.qpos))


@pytest.mark.slow
@pytest.mark.feature("A075")
def test_one_model_per_world() -> None:
    """Worlds with models of their own compute the same as each model alone."""
    both = load(scene("all in mixed order"))
    _, start = worlds(both, [2, 3])
    models = stack([both.ours, both.ours.replace(eq_data=both.ours.eq_data * 1.1)])
    batch = quick(jax.vmap(mjjax.forward))(models, start)
    for i in range(2):
        alone = quick(mjjax.forward)(world(models, i), world(start, i))
        np.testing.assert_allclose(batch.qacc[i], alone.qacc, rtol=1e-9, atol=1e-9)
