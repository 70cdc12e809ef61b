"""Arguments of users: shapes, types and kinds are checked before anything is computed."""

import array
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.core.struct import PyTree, specs
from mjjax.pipeline.arguments import ARGUMENTS, ElementId, RealArray, WholeNumber
from mjjax.pipeline.boundary import check_shapes

XML = """
<mujoco model="arms"><option><flag sleep="enable"/></option>
  <worldbody><geom type="plane" size="3 3 .1"/><light name="sun"/><camera name="eye"/>
  <body name="a" pos="0 0 .5"><joint name="ja" axis="0 1 0"/><geom name="ga" size=".1"/>
    <site name="tip"/></body>
  <body name="b" pos="1 0 .5"><joint name="jb" axis="0 1 0"/><geom size=".1"/></body>
  <body name="m" mocap="true"><geom size=".1" contype="0" conaffinity="0"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="ja" coef="1"/></fixed></tendon>
  <equality><joint name="e" joint1="ja" joint2="jb" active="false"/></equality>
  <actuator><motor name="ma" joint="ja"/><general name="mb" joint="jb" dyntype="filter"/></actuator>
  <sensor><jointpos name="p" joint="ja"/></sensor><custom><numeric name="n" data="1 2"/></custom>
  <keyframe><key name="up" qpos=".1 .2" act="0"/></keyframe></mujoco>
"""
Change = Callable[[Any], Any]


@functools.cache
def arms() -> tuple[mjjax.Model, mjjax.Data]:
    model = mjjax.Model.from_xml_string(XML)
    return model, mjjax.make_data(model)


def leaves(tree: PyTree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Array fields of a tree and of the trees within it, with the names on the way there."""
    for name in specs(tree):
        value = vars(tree).get(name)
        if isinstance(value, PyTree):
            yield from leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def put(tree: Any, path: tuple[str, ...], value: Any) -> Any:
    """A tree with another leaf."""
    name, *rest = path
    return tree.replace(**{name: put(getattr(tree, name), tuple(rest), value) if rest else value})


def check(tree: Any) -> None:
    """The check of a step in which one tree is of the test."""
    model, data = arms()
    of_model = isinstance(tree, mjjax.Model)
    check_shapes(
        "step", {"model": tree, "data": data} if of_model else {"model": model, "data": tree}
    )


def message_of(call: Callable[[], Any]) -> str:
    """The message of an error; fails if there is none, or if it is of another kind."""
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError, OSError)) as found:
        call()
    error = found.value
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


@pytest.mark.parametrize("which", [0, 1], ids=["model", "data"])
def test_every_field_of_another_shape_is_refused(which: int) -> None:
    """Protects from silent broadcasts: the message has the field, both shapes, and vmap."""
    tree = arms()[which]
    for path, x in leaves(tree):
        name = ".".join(path)
        longer = np.zeros((*x.shape[:-1], x.shape[-1] + 1) if x.ndim else (2, 2), x.dtype)
        batch = np.zeros((5, *x.shape), x.dtype)
        for wrong in (longer, batch):
            text = message_of(lambda path=path, wrong=wrong: check(put(tree, path, wrong)))
            # of two row fields that disagree either may be the wrong one
            named = name in text or (name == "efc_vel" and "efc_force" in text)
            assert named and str(wrong.shape) in text, (name, text)
            assert str(tuple(x.shape)) in text and len(text) < 250, (name, text)
        assert "vmap" in text, text


@pytest.mark.parametrize("which", [0, 1], ids=["model", "data"])
def test_every_field_keeps_its_type(which: int) -> None:
    """Protects from second compilations: lists, NumPy and other precisions become the field's."""
    tree = arms()[which]
    kinds: tuple[Change, ...] = (
        lambda x: np.asarray(x).tolist(),
        lambda x: np.asarray(x, np.float32 if x.dtype == np.float64 else np.float64),
        lambda x: np.asarray(x, int) if x.dtype != bool else np.asarray(x, np.float32),
    )
    for path, x in leaves(tree):
        for kind in kinds if x.dtype.kind == "f" or x.dtype == bool else (kinds[0], kinds[2]):
            new = dict(leaves(put(tree, path, kind(x))))[path]
            assert isinstance(new, jax.Array) and jax.typeof(new) == jax.typeof(x), path


def test_numbers_fill_the_fields_of_a_model() -> None:
    """Protects `model.replace(body_mass=2.0)`; in data a number only replaces a number."""
    model, data = arms()
    for path, x in leaves(model):
        if x.dtype.kind == "f":
            assert dict(leaves(put(model, path, 2)))[path].shape == x.shape, path
    assert "ctrl has shape (), not (2,)" in message_of(lambda: check(data.replace(ctrl=2.0)))
    assert data.replace(time=3).time == 3


def mistakes(folder: str) -> dict[str, tuple[Callable[[], Any], tuple[str, ...]]]:
    """Mistakes of beginners, and words that the messages contain."""
    model, data = arms()
    other = mjjax.Model.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    theirs = mujoco.MjModel.from_xml_string(XML)
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)
    step: Any = mjjax.step
    make_data: Any = mjjax.make_data
    made: Any = mjjax.Model
    made_data: Any = mjjax.Data
    wrong, file, swapped = None, "a.xml", (data, model)
    return {
        "swapped": (lambda: step(*swapped), ("mjjax.Model", "order")),
        "path for a model": (lambda: make_data(file), ("from_xml_path",)),
        "model of MuJoCo": (lambda: mjjax.make_data(theirs), ("mjjax.put_model",)),
        "data of MuJoCo": (lambda: mjjax.step(model, mujoco.MjData(theirs)), ("put_data",)),
        "no data": (lambda: step(model, wrong), ("make_data",)),
        "data of another model": (lambda: mjjax.step(other, data), ("another model",)),
        "forgotten vmap": (lambda: mjjax.step(model, batch), ("vmap", "(None, 0)")),
        "wrong length": (lambda: check(data.replace(ctrl=[1.0])), ("ctrl", "(2,)")),
        "text for numbers": (lambda: data.replace(qpos="home"), ("qpos", "'home'")),
        "unknown field": (lambda: model.replace(body_masses=1), ("did you mean 'body_mass'",)),
        "option on the model": (lambda: model.replace(timestep=0.01), ("model.opt.replace",)),
        "static field": (lambda: model.replace(jnt_type=[1, 1]), ("static", "compile")),
        "in place": (lambda: setattr(data, "qpos", 0), ("data = data.replace(qpos=...)",)),
        "made field": (lambda: data.replace(xmat=0), ("made of xquat",)),
        "unknown keyframe": (lambda: mjjax.reset_data(model, data, "home"), ("up",)),
        "wrong name": (lambda: model.body("torso"), ("torso", "a")),
        "controls of a rollout": (
            lambda: mjjax.rollout(model, data, jnp.zeros((3, 4)), nstep=4),
            ("ctrl", "(4, 2)"),
        ),
        "no number of steps": (lambda: mjjax.rollout(model, data), ("nstep",)),
        "negative mass": (
            lambda: model.replace(body_mass=[0, 1, -1, 0]),
            ("body_mass", "'b'", "negative"),
        ),
        "folder for a file": (lambda: mjjax.Model.from_xml_path(folder), ("directory",)),
        "control as an argument": (lambda: step(model, data, jnp.ones(2)), ("replace(ctrl=",)),
        "constructor": (lambda: made("a.xml"), ("from_xml_path",)),
        "constructor of data": (lambda: made_data(model), ("make_data(model)",)),
        "text for a file": (lambda: mjjax.Model.from_xml_path(XML), ("from_xml_string",)),
        "name of a solver": (lambda: model.opt.replace(solver="CG"), ("SolverType", "'CG'")),
        "number of no cone": (lambda: model.opt.replace(cone=7), ("ConeType", "7")),
        "part of an iteration": (lambda: model.opt.replace(iterations=2.5), ("whole number",)),
        "swapped back": (lambda: mjjax.get_data(model, data), ("mujoco.MjModel", "mjjax.Data")),
        "back to another": (
            lambda: mjjax.get_data(mujoco.MjModel.from_xml_string("<mujoco/>"), data),
            ("another model", "nq=2"),
        ),
        "missing file": (lambda: mjjax.Model.from_xml_path(f"{folder}/no.xml"), ("no.xml",)),
        "unknown task": (lambda: mjjax.envs.make("humanoit"), ("humanoid",)),
    }


def more_mistakes() -> dict[str, tuple[Callable[[], Any], tuple[str, ...]]]:
    """Arguments of another kind, as passed without a look at the signature."""
    model, data = arms()
    theirs = mujoco.MjModel.from_xml_string(XML)
    step, rollout, any_of = cast(Any, mjjax.step), cast(Any, mjjax.rollout), cast(Any, mjjax)
    return {
        "options of MuJoCo": (lambda: model.replace(opt=theirs.opt), ("opt", "mjjax.Option")),
        "no contacts": (lambda: data.replace(contact=None), ("contact", "mjjax.Contact")),
        "function for numbers": (lambda: data.replace(qpos=step), ("qpos", "array")),
        "view for numbers": (lambda: data.replace(qpos=model.body("a")), ("qpos", "body 1 'a'")),
        "half precision": (
            lambda: step(*(jax.tree.map(_half, x) for x in (model, data))),
            ("float16", "float32"),
        ),
        "function for callbacks": (
            lambda: step(model, data, lambda m, d: d),
            ("mjjax.Callbacks(control=f)",),
        ),
        "one name for many": (
            lambda: mjjax.rollout(model, data, nstep=2, keep="qpos"),
            ("keep", "['qpos']"),
        ),
        "one derived name": (lambda: step(model, data, derived="xpos"), ("derived", "['xpos']")),
        "part of a sub-step": (
            lambda: rollout(model, data, nstep=2, substeps=2.5),
            ("substeps", "2.5"),
        ),
        "name for a state": (
            lambda: any_of.get_state(model, data, "qpos"),
            ("mjjax.State", "'qpos'"),
        ),
        "state swapped": (
            lambda: any_of.set_state(model, data, jnp.ones(1), jnp.ones(2)),
            ("mjjax.State",),
        ),
        "part of a keyframe": (lambda: any_of.reset_data(model, data, 0.5), ("0.5",)),
        "keyframe that is none": (lambda: mjjax.set_keyframe(model, data, 3), ("0 to 0",)),
        "velocity of a joint": (
            lambda: mjjax.object_velocity(model, data, mjjax.ObjType.JOINT, 0),
            ("objtype", "ObjType.BODY"),
        ),
        "few groups": (
            lambda: mjjax.ray(model, data, jnp.ones(3), jnp.ones(3), geomgroup=[True]),
            ("geomgroup", "6"),
        ),
    }


def _half(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float16) if jnp.issubdtype(x.dtype, jnp.floating) else x


def test_mistakes_are_answered_in_a_sentence(tmp_path: Any) -> None:
    """Protects beginners: what is wrong and what to do, in less than 200 characters."""
    folder = str(tmp_path)
    for name, (call, words) in (mistakes(folder) | more_mistakes()).items():
        text = message_of(call).replace(folder, "")
        missing = [word for word in words if word not in text]
        assert not missing and len(text) < 200 and "\n" not in text, f"{name}: {text}"


def test_marks_are_no_arrays() -> None:
    """Protects from deep failures where a tree of axes is given for a model."""
    model, data = arms()
    axes = jax.tree.map(lambda x: None, model)
    assert "marks" in message_of(lambda: mjjax.step(axes, data))


def test_precision_is_that_of_the_model() -> None:
    """Protects from failures deep in a product: data of another precision are an error."""
    _, data = arms()
    single = jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, data)
    text = message_of(lambda: check(single))
    assert "float32" in text and "float64" in text


def test_static_options_are_numbers() -> None:
    """Protects static options: an array with one number counts as the number; one compilation."""
    model, _ = arms()
    for name, value in {"iterations": 3, "solver": mjjax.SolverType.CG, "disableflags": 1}.items():
        given = [value, np.int32(value), np.asarray(value), jnp.asarray(value)]
        options = [model.opt.replace(**{name: x}) for x in given]
        assert {jax.tree.structure(x) for x in options} == {jax.tree.structure(options[0])}
    with pytest.raises(TypeError, match="it cannot be traced"):
        jax.eval_shape(lambda i: model.opt.replace(iterations=i), 1)
    assert data_of(range(2)) == data_of(array.array("d", [0, 1])) == [0, 1]


def data_of(qpos: Any) -> list[float]:
    """Positions after `replace`."""
    return arms()[1].replace(qpos=qpos).qpos.tolist()


ARGUMENT = [(f, name) for f, declared in ARGUMENTS.items() for name in declared]


@pytest.mark.parametrize(("function", "name"), ARGUMENT)
def test_arguments_are_what_they_are_declared_as(function: str, name: str) -> None:
    """Protects from late failures: lists and names are accepted, other arguments are errors."""
    model, data = arms()
    sizes = {"nq": len(data.qpos), "nv": len(data.qvel), "nray": 5}
    named = {"body": "a", "geom": "ga", "site": "tip", "actuator": "ma", "sensor": "p"}
    given: dict[str, Any] = {"model": model, "data": data, "times": None, "values": [0.0]}
    for other, declared in ARGUMENTS[function].items():
        if isinstance(declared, RealArray):
            whole = [n if isinstance(n, int) else sizes[n] for n in declared.shape]
            given[other] = np.ones(whole, int).tolist()
        elif isinstance(declared, ElementId):
            given[other] = named[declared.kind]
        else:
            given[other] = np.int64(6) if isinstance(declared, WholeNumber) else {"xpos"}
    call, declared = getattr(mjjax, function), ARGUMENTS[function][name]
    parameters = inspect.signature(call).parameters
    given = {n: x for n, x in given.items() if n in parameters}
    if not function.startswith("init_"):  # which need a model with buffers
        jax.eval_shape(lambda: call(**given))
    if isinstance(declared, RealArray):
        shape = np.shape(given[name])
        wrong = [np.ones((7, *shape)), np.ones((9,) * (1 + len(shape))), "ab", 1j]
        wrong += [1.0] if shape else []
    elif isinstance(declared, ElementId):
        wrong = [-7, 99, "nobody", 0.5, model.light("sun"), object()]
    else:
        wrong = (
            [declared.least - 1, 0.5, "ab"] if isinstance(declared, WholeNumber) else ["xpos", 1]
        )
    for value in wrong:
        text = message_of(lambda x=value: call(**given | {name: x}))
        told = f"{function}: {name}" in text or "valid names" in text
        assert told and len(text) < 200, text
    if isinstance(declared, ElementId | WholeNumber) and not getattr(declared, "traced", False):
        text = message_of(lambda: jax.eval_shape(lambda i: call(**given | {name: i}), 1))
        assert f"{function}: {name}" in text and "trac" in text, text


def test_elements_go_by_name_id_or_view() -> None:
    """Protects readable programs: a name and a view give what the id gives."""
    model, data = arms()
    data = mjjax.forward(model, data)
    want = mjjax.jac_body(model, data, 2)
    others: list[Any] = ["b", model.body("b"), data.body(2), np.int64(2), jnp.int32(2)]
    for body in others:
        for x, y in zip(mjjax.jac_body(model, data, body), want, strict=True):
            np.testing.assert_array_equal(x, y)
    site = mjjax.object_velocity(model, data, mjjax.ObjType.SITE, "tip")
    np.testing.assert_array_equal(
        site, mjjax.object_velocity(model, data, mjjax.ObjType.SITE, model.site("tip").id)
    )
    assert mjjax.set_keyframe(model, data.replace(qpos=[3, 3]), "up").key_qpos.tolist() == [[3, 3]]


def test_a_contact_that_there_is_not_has_no_force() -> None:
    """Protects from the last slot's force for a negative id; MuJoCo returns zeros."""
    model = mjjax.Model.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/>"
        "<geom size='.1'/></body></worldbody></mujoco>"
    )
    data = mjjax.step(model, mjjax.make_data(model))
    assert mjjax.contact_force(model, data, 0)[0] > 1
    for contact in (-1, 1, 99):
        assert not mjjax.contact_force(model, data, contact).any()
    traced = jax.vmap(lambda i: mjjax.contact_force(model, data, i))(jnp.arange(-1, 2))
    assert traced.any(axis=1).tolist() == [False, True, False]
    assert (data.contact.geom1[0], data.contact.geom2[0]) == (0, 1)


class _Library:
    """An array of another library."""

    def __init__(self, numbers: list[float]):
        self.numbers = np.asarray(numbers)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.numbers.__dlpack_device__()


def test_arrays_of_other_libraries_are_arrays() -> None:
    """Protects `data.replace(ctrl=tensor)`: PyTorch's and others' arrays come by DLPack."""
    assert data_of(_Library([0.0, 1.0])) == [0, 1]
