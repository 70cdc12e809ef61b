"""`Model` and `Data` as values: names, views, changes, what is static."""

import copy

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import ObjType
from tests.oracle_tools import full_inertia, load, quick, random_state, to_ours
from tests.random_models import random_mjcf

XML = """
<mujoco><option gravity="0 0 -10"/><worldbody>
  <body name="cart" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="y" axis="0 1 0" damping="0.3"/><geom name="hull" size="0.1" mass="2"/>
    <site name="tip" pos="0.1 0 0"/><camera name="eye"/>
    <body name="pole"><joint name="b" type="ball"/><geom size="0.1" mass="3"/></body></body>
  <body name="loose" pos="1 2 3"><freejoint name="root"/><geom size="0.1"/></body>
  </worldbody><actuator><motor name="m" joint="y" gear="3"/></actuator></mujoco>
"""
forward = quick(mjjax.forward)


@pytest.mark.feature("D24", "A168")
def test_views_of_the_model() -> None:
    """`model.body("cart").mass` and the like, with MuJoCo's ids and rows."""
    both = load(XML)
    for kind in ("body", "joint", "geom", "site", "camera", "actuator"):
        for name in both.ours.structure.names[kind]:
            if name:
                mine, theirs = (getattr(m, kind)(name) for m in (both.ours, both.reference))
                assert (mine.id, mine.name) == (theirs.id, theirs.name)
    model = both.ours
    assert float(model.body("cart").mass) == pytest.approx(2)
    np.testing.assert_allclose(model.body("loose").pos, [1, 2, 3])
    np.testing.assert_allclose(model.joint("y").damping, [0.3])
    np.testing.assert_allclose(model.joint("root").qpos0, [1, 2, 3, 1, 0, 0, 0])
    np.testing.assert_allclose(model.actuator("m").gear[0], 3)
    assert int(model.geom("hull").type) == 2
    assert model.body(0).name == "world"


@pytest.mark.feature("D24")
def test_views_of_the_data() -> None:
    """`data.joint("b").qpos` are the joint's coordinates, also in a batch."""
    model = load(XML).ours
    data = mjjax.make_data(model).replace(qpos=jnp.arange(13.0), qvel=jnp.arange(11.0))
    np.testing.assert_allclose(data.joint("y").qpos, [1])
    np.testing.assert_allclose(data.joint("b").qpos, [2, 3, 4, 5])
    np.testing.assert_allclose(data.joint("root").qvel, np.arange(5, 11))
    np.testing.assert_allclose(data.body("pole").xpos, np.zeros(3))
    chex.assert_shape(data.actuator("m").ctrl, ())
    batch = jax.tree.map(lambda x: jnp.stack([x, x + jnp.ones_like(x)]), data)
    np.testing.assert_allclose(batch.joint("b").qpos, [[2, 3, 4, 5], [3, 4, 5, 6]])
    chex.assert_shape(batch.site("tip").xpos, (2, 3))


@pytest.mark.slow
@pytest.mark.feature("A101")
def test_fields_made_on_demand() -> None:
    """Inertias and rotations are MuJoCo's, in a batch and by name; none can be replaced."""
    both = load(XML)
    d = random_state(both.reference, 0)
    data = forward(both.ours, to_ours(both.ours, d))
    mujoco.mj_forward(both.reference, d)
    expected = {"xmat": d.xmat, "crb": d.crb, "qM": full_inertia(both.reference, d)}
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)
    for name, theirs in expected.items():
        np.testing.assert_allclose(getattr(data, name), theirs, atol=1e-12)
        np.testing.assert_array_equal(getattr(batch, name)[1], getattr(data, name))
    np.testing.assert_allclose(batch.body("pole").xmat[1], d.body("pole").xmat, atol=1e-12)
    np.testing.assert_allclose(data.joint("root").qM, expected["qM"][5:], atol=1e-12)
    with pytest.raises(TypeError, match="no field xmat; xmat is made of xquat"):
        data.replace(xmat=data.xmat)


def test_what_no_sensor_needs_is_empty() -> None:
    """Fields that no sensor needs are empty, not zero, until a function computes them."""
    model = load(XML).ours
    data = mjjax.make_data(model)
    for name, function in (("cacc", "rne_postconstraint"), ("subtree_linvel", "subtree_vel")):
        with pytest.raises(AttributeError, match=f"call mjjax.{function}"):
            getattr(data.body("pole"), name)
        filled = quick(getattr(mjjax, function))(model, data)
        chex.assert_shape(getattr(filled.body("pole"), name), getattr(filled, name).shape[1:])
    with pytest.raises(ValueError, match="call rne_postconstraint"):
        mjjax.object_acceleration(model, data, ObjType.BODY, 1)
    read = XML.replace("</mujoco>", '<sensor><accelerometer site="tip"/></sensor></mujoco>')
    data = mjjax.make_data(load(read).ours)
    chex.assert_shape(data.cacc, (4, 6))
    chex.assert_shape(data.subtree_linvel, (0, 3))


@pytest.mark.feature("D24")
@pytest.mark.parametrize(
    "look", [lambda m: m.body("card"), lambda m: m.body("cart").colour, lambda m: m.nothing]
)
def test_wrong_names_are_errors(look) -> None:
    """A misspelt object is answered with the existing names; a misspelt field is an error."""
    with pytest.raises((KeyError, AttributeError)) as error:
        look(load(XML).ours)
    assert error.type is AttributeError or "cart" in str(error.value)


@pytest.mark.feature("A168")
def test_names_and_ids() -> None:
    """name2id and id2name are MuJoCo's, also for what does not exist."""
    both = load(XML)
    for kind in (ObjType.BODY, ObjType.JOINT, ObjType.GEOM, ObjType.ACTUATOR, ObjType.CAMERA):
        for name in ("cart", "b", "hull", "m", "eye", "none", ""):
            expected = mujoco.mj_name2id(both.reference, int(kind), name)
            assert mjjax.name2id(both.ours, kind, name) == expected
        for index in (-1, 0, 1, 2, 99):
            expected = mujoco.mj_id2name(both.reference, int(kind), index)
            assert mjjax.id2name(both.ours, kind, index) == expected


@pytest.mark.feature("A007", "A097")
def test_changes_make_new_models() -> None:
    """`replace` leaves the model as it was; equal structures are shared between loads."""
    model = load(XML).ours
    heavy = model.replace(body_mass=model.body_mass * 2)
    assert float(model.body("cart").mass) == pytest.approx(2)
    assert heavy.structure is model.structure
    again = mjjax.Model.from_xml_string(XML)
    assert again.structure == model.structure and hash(again.structure) == hash(model.structure)
    with pytest.raises(AttributeError):
        model.body_mass = model.body_mass  # type: ignore[misc]


@pytest.mark.feature("A008")
def test_data_are_copied_with_all_that_is_derived() -> None:
    """Data cannot be changed in place, and a deep copy has every field."""
    model = load(XML).ours
    data = mjjax.make_data(model)
    data = data.replace(qvel=data.qvel + 1, cvel=data.cvel + 2)
    twin = copy.deepcopy(data)
    chex.assert_trees_all_equal_structs(twin, data)
    chex.assert_trees_all_equal(twin, data)
    with pytest.raises(AttributeError):
        data.qvel = data.qvel  # type: ignore[misc]


@pytest.mark.feature("C31", "C54", "C55", "C57", "D13")
@pytest.mark.parametrize("traced", [False, True])
def test_terms_appear_when_their_coefficients_do(traced: bool) -> None:
    """Friction loss, damping, springs and gravcomp act once they are not zero any more."""
    both = load(XML)
    nv, njnt, nbody = both.ours.nv, both.ours.njnt, both.ours.nbody
    loss = jnp.zeros(nv).at[1].set(0.2)

    def changed(loss: jax.Array) -> mjjax.Model:
        return both.ours.replace(
            dof_frictionloss=loss,
            dof_damping=both.ours.dof_damping + 0.1,
            jnt_stiffness=jnp.full(njnt, 2.0),
            body_gravcomp=jnp.full(nbody, 0.5),
            opt=both.ours.opt.replace(density=jnp.asarray(100.0)),
        )

    def run(loss: jax.Array) -> mjjax.Data:
        model = changed(loss)
        data = mjjax.make_data(model).replace(qvel=jnp.linspace(-1, 1, nv), qpos=qpos)
        return mjjax.forward(model, data) if traced else forward(model, data)

    qpos = jnp.linspace(0.1, 1, both.ours.nq)
    data = quick(run)(loss) if traced else run(loss)
    reference = mujoco.MjModel.from_xml_string(XML)
    reference.dof_frictionloss[:] = loss
    reference.dof_damping += 0.1
    reference.jnt_stiffness[:] = 2
    reference.body_gravcomp[:] = 0.5
    reference.opt.density = 100
    mujoco.mj_setConst(reference, d := mujoco.MjData(reference))
    d.qpos[:], d.qvel[:] = qpos, np.linspace(-1, 1, nv)
    mujoco.mj_forward(reference, d)
    assert int(data.nefc) == d.nefc == 1
    for name in ("qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_constraint"):
        assert np.abs(getattr(d, name)).max() > 0.01, name
        np.testing.assert_allclose(getattr(data, name), getattr(d, name), atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.feature("C43", "D19")
def test_coefficients_of_zero_make_no_rows() -> None:
    """A widened model whose friction loss is zero again counts no row and feels no friction."""
    model = load(XML).ours
    wide = model.replace(dof_frictionloss=jnp.ones(model.nv))
    wide = wide.replace(dof_frictionloss=jnp.zeros(model.nv).at[3].set(1))
    data = forward(wide, mjjax.make_data(wide))
    assert data.efc_D.shape[0] == mjjax.make_data(model).efc_D.shape[0] + model.nv
    assert int(data.nefc) == 1
    assert np.flatnonzero(np.asarray(data.efc_frictionloss)).tolist() == [3]
    plain = forward(model, mjjax.make_data(model))
    nearly = wide.replace(dof_frictionloss=wide.dof_frictionloss.at[3].set(0))
    np.testing.assert_allclose(forward(nearly, data).qacc, plain.qacc, atol=1e-9)


CONSTANTS = (
    "body_subtreemass body_invweight0 dof_M0 dof_invweight0 dof_length actuator_acc0 "
    "actuator_length0 cam_pos0 cam_poscom0 cam_mat0 light_pos0 light_poscom0 light_dir0"
).split()


@pytest.mark.feature("A084", "A085", "A086", "A088", "A090")
@pytest.mark.parametrize("shape", [1, 5])
def test_set_const_is_mujocos(shape: int) -> None:
    """Constants recomputed after changes of masses, frames, armature and qpos0, traced."""
    both = load(random_mjcf(shape))
    reference = mujoco.MjModel.from_xml_string(random_mjcf(shape))
    rng = np.random.default_rng(0)
    changes = {
        name: getattr(reference, name) * rng.uniform(0.8, 1.2, getattr(reference, name).shape)
        for name in ("body_mass", "body_ipos", "body_pos", "jnt_pos", "dof_armature", "qpos0")
    }
    changes["body_inertia"] = reference.body_inertia * 1.1
    changes["qpos0"] = reference.qpos0.copy()
    mujoco.mj_integratePos(reference, changes["qpos0"], rng.normal(size=reference.nv), 0.2)
    for name, value in changes.items():
        getattr(reference, name)[:] = value
    for kind in ("body", "geom", "site"):  # frames that coincided no longer do
        getattr(reference, f"{kind}_sameframe")[:] = 0
    mujoco.mj_setConst(reference, mujoco.MjData(reference))
    new = quick(mjjax.set_const)(
        both.ours.replace(**{k: jnp.asarray(v) for k, v in changes.items()})
    )
    for name in CONSTANTS:
        theirs = getattr(reference, name)
        scale = max(1, np.abs(theirs).max(initial=0))
        np.testing.assert_allclose(
            getattr(new, name), theirs, rtol=0, atol=1e-9 * scale, err_msg=name
        )
    for name in ("meaninertia", "meanmass", "meansize", "extent"):
        expected = getattr(reference.stat, name)
        np.testing.assert_allclose(getattr(new.stat, name), expected, rtol=1e-9, err_msg=name)


@pytest.mark.slow
def test_options_may_be_plain_numbers() -> None:
    """A time step that is a Python number serves like the array that was there."""
    model = mjjax.Model.from_xml_string("<mujoco><worldbody/></mujoco>")
    model = model.replace(opt=model.opt.replace(timestep=0.25))
    data = mjjax.step(model, mjjax.make_data(model))
    assert float(data.time) == 0.25
