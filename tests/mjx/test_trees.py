"""MJX's trees: its shapes and names, what people replace, and the program that is left."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import mjx
from tests.mjx.scenes import ROBOT
from tests.oracle_tools import quick


@pytest.fixture(scope="module")
def model() -> mjx.Model:
    return mjx.put_model(mjjax.Model.from_xml_string(ROBOT))


@pytest.fixture(scope="module")
def data(model: mjx.Model) -> mjx.Data:
    return quick(mjx.forward)(model, mjx.make_data(model))


def test_matrices_have_mjx_shapes(model: mjx.Model, data: mjx.Data) -> None:
    """Programs for MJX index rotations by row and column, also in batches."""
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)
    for name in "xmat ximat geom_xmat site_xmat cam_xmat".split():
        ours = getattr(data.native, name)
        np.testing.assert_array_equal(getattr(data, name), ours.reshape(-1, 3, 3))
        assert getattr(batch, name).shape == (2, len(ours), 3, 3)
        assert batch[1].qpos.shape == data.qpos.shape and len(batch[:1].qpos) == 1
    assert data.contact.frame.shape[1:] == (3, 3)
    assert model.cam_mat0.shape == (1, 3, 3)
    assert data._impl.contact.geom1.shape == data.contact.dist.shape
    turned = data.replace(geom_xmat=2 * data.geom_xmat)
    np.testing.assert_array_equal(turned.native.geom_xmat, 2 * data.native.geom_xmat)


def test_forces_are_zero_until_they_are_computed(data: mjx.Data) -> None:
    """Observations of `cfrc_ext` have MJX's size, also in models without a force sensor."""
    assert data.cfrc_ext.shape == (data.native.structure.nbody, 6)
    assert not data.cfrc_ext.any()


def test_trees_of_marks(model: mjx.Model, data: mjx.Data) -> None:
    """Randomization in Playground's form: `in_axes` are a model with a mark in every place."""
    axes = jax.tree.map(lambda x: None, model)
    axes = axes.tree_replace({"body_mass": 0, "opt.timestep": 0, "dof_frictionloss": 0})
    times = jnp.array([0.001, 0.002])
    models = model.tree_replace(
        {
            "body_mass": jnp.stack([model.body_mass, 2 * model.body_mass]),
            "opt.timestep": times,
            "dof_frictionloss": jnp.ones((2, model.nv)),
        }
    )
    after = quick(jax.vmap(mjx.step, in_axes=(axes, None)))(models, data)
    np.testing.assert_allclose(after.time, times)
    assert after.qpos.shape == (2, model.nq)


def test_the_layer_adds_nothing_to_a_program(model: mjx.Model, data: mjx.Data) -> None:
    """A step of MJX's trees is the program of `mjjax.step`, operation for operation."""
    ours = jax.jit(mjjax.step).lower(model.native, data.native).as_text()
    theirs = jax.jit(mjx.step).lower(model, data).as_text()
    assert _operations(theirs) == _operations(ours)


def _operations(program: str) -> list[str]:
    """The operations of a program, without the names of its functions."""
    return re.findall(r"= (stablehlo\.\w+|call @\w+)", program)


def test_fields_that_do_not_exist(model: mjx.Model, data: mjx.Data) -> None:
    """A misspelt name is refused, and one that mjjax computes says by which function."""
    with pytest.raises(AttributeError, match="constraint_jacobian"):
        _ = data.efc_J
    with pytest.raises(AttributeError, match="qposs"):
        _ = data.qposs
    with pytest.raises(TypeError, match="qposs"):
        data.replace(qposs=1)
    with pytest.raises(AttributeError, match="replace"):
        data.qpos = data.qpos
    with pytest.raises(AttributeError):
        _ = model.no_such_field


def test_trees_are_pickled_and_scanned(model: mjx.Model, data: mjx.Data) -> None:
    """Training code carries data through `scan`, and saves them."""
    import pickle

    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.qpos, data.qpos)
    assert jax.tree.structure(data) == jax.tree.structure(jax.tree.map(jnp.copy, data))

    def run(d: mjx.Data) -> mjx.Data:
        return jax.lax.scan(lambda d, _: (mjx.step(model, d), None), d, length=3)[0]

    np.testing.assert_allclose(quick(run)(data).time, 0.012)


def test_data_of_some_fields(data: mjx.Data) -> None:
    """Programs keep a few fields of each step, in a Data of Nones, as Playground's script does."""
    empty = data.__class__(**dict.fromkeys(data.__annotations__))
    assert empty.qpos is None and not jax.tree.leaves(empty)
    kept = jax.vmap(lambda q: empty.replace(qpos=q))(jnp.stack([data.qpos, data.qpos]))
    one = jax.tree.map(lambda x: x[1], kept)
    np.testing.assert_array_equal(one.qpos, data.qpos)
    with pytest.raises(TypeError, match="without qpositions"):
        empty.replace(qpositions=data.qpos)
