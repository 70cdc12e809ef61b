"""Text that a notebook prints fits on a screen, even if numbers are not known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import envs
from mjjax.core.representation import LIMIT, cut, short, table
from mjjax.envs.brax import BraxEnv
from tests.model.test_view import XML

LEGS = "".join(
    f"<body name='leg {i}'><joint name='{'j' * 60}{i}'/><geom size='.1'/></body>" for i in range(90)
)


@pytest.fixture(scope="module")
def model() -> mjjax.Model:
    return mjjax.Model.from_xml_string(
        XML.replace("</worldbody>", LEGS + "</worldbody>").replace(
            "<size", "<option timestep='.01' integrator='RK4'><flag energy='enable'/></option><size"
        )
    )


@pytest.fixture(scope="module")
def data(model: mjjax.Model) -> mjjax.Data:
    return mjjax.make_data(model)


def test_all_that_is_printed_is_short(model: mjjax.Model, data: mjjax.Data) -> None:
    """Public objects: at most 2000 characters, and no address in memory."""
    spec, env = mjjax.Spec.from_string(XML), envs.make("cartpole_swingup")
    numbers = jnp.zeros((60, 60))
    objects = [model, data, model.opt, model.stat, model.vis, data.contact, model.structure]
    objects += [data.slots, data.rules, mjjax.Callbacks(control=lambda m, d: d), spec, env]
    objects += [spec.worldbody, spec.body("free"), spec.geom("ball"), spec.sensor("angle")]
    objects += [spec.actuator("pull"), spec.defaults["main"], spec.option, spec.visual]
    objects += [env.default_params, env.action_space(), BraxEnv(env), model.body(1), data.joint(1)]
    objects += [mjjax.TransitionJacobian(numbers, numbers, numbers, numbers)]
    objects += [mjjax.Picture(numbers, numbers, numbers), mjjax.Adaptive()]
    objects += [mjjax.ContactsFromDistance(), envs.EnvState(numbers, {"qpos": numbers})]
    for x in objects:
        text = repr(x)
        assert len(text) < 2000 and " object at 0x" not in text, text


def test_models_and_data_say_what_they_are(model: mjjax.Model, data: mjjax.Data) -> None:
    """Name, sizes, options that are not the default, terms; worlds, time, warnings, shapes."""
    rubbing = model.dof_frictionloss.at[0].set(0.1)
    heavy = model.replace(body_mass=jnp.stack([model.body_mass] * 3), dof_frictionloss=rubbing)
    words = ["'all kinds'", "nv=101", "timestep=0.01", "integrator=RK4", "enableflags=ENERGY"]
    for word in (*words, "worlds in  body_mass", "dof_frictionloss (1 of 101)"):
        assert word in repr(heavy), repr(heavy)
    assert "tolerance" not in repr(heavy) and "worlds" not in repr(model)
    worlds = jax.tree.map(lambda x: np.stack([x, x]), data)
    warned = worlds.replace(time=jnp.asarray([1.0, 2.5]), warning=worlds.warning + 1)
    for words in ("worlds", "[1 2.5]", "BADQACC 2", "[95, 3]", "contact.dist", "qvel"):
        assert words in repr(warned), repr(warned)


def test_nothing_is_computed(model: mjjax.Model, data: mjjax.Data) -> None:
    """Traced values, marks, shapes and deleted arrays have a text, too."""
    shown: list[str] = []

    def look(model: mjjax.Model, data: mjjax.Data) -> jax.Array:
        shown.extend(map(repr, (model, data, model.opt, data.contact, model.body(1), data.body(1))))
        return data.time

    traced = jax.make_jaxpr(look)(model, data)
    assert not traced.eqns and all(0 < len(text) < 2000 for text in shown)
    marks = jax.tree.map(lambda x: None, model), jax.tree.map(lambda x: 0, data)
    assert all(map(repr, (*marks, jax.eval_shape(lambda: data))))
    gone = jnp.arange(3.0)
    gone.delete()
    assert short(gone) == f"{gone.dtype}[3]"
    assert short(jax.random.key(0)).startswith("key<")


def test_text_is_cut() -> None:
    """Rows, values and titles of any length are cut, and the text counts the omissions."""
    rows = [(f"name {k}", "x" * 100) for k in range(99)]
    text = table("title" * 100, rows)
    assert len(text) <= LIMIT + 20 and text.endswith("more")
    assert cut("one\n  two", 20) == "one two" and cut("abcdef", 4) == "abc…"
    assert short({k: [k] for k in range(20)}).startswith("{0: [0], 1: [1]")
    assert short(np.float32(0.1)) == "0.1" and short(jnp.ones((2, 2))) == "[[1 1] [1 1]]"
    assert short(object()) == "object" and short(len) == "len"
