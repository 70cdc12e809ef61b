"""Models and data as trees: marks, leaves without entries, terms, donation, files of any kind."""

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from jax import export

import mjjax
from mjjax.core.struct import PyTree, specs
from mjjax.model.terms import TERMS
from tests.oracle_tools import quick

XML = """
<mujoco><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .5"><joint name="a" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
  <body pos="1 0 .5"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/></fixed></tendon>
  <actuator><motor joint="a"/></actuator>
  <sensor><jointpos joint="a"/></sensor></mujoco>
"""
MARKS = (None, 0, 1.5, "x", object(), True, jax.ShapeDtypeStruct((), jnp.float32))
# What is randomised while it runs: mostly fields whose terms are off.
RUN = (
    "dof_frictionloss tendon_frictionloss tendon_armature tendon_stiffness jnt_stiffness "
    "body_gravcomp geom_friction body_mass opt.density opt.wind"
).split()
WORLDS = 3


@functools.cache
def arms() -> tuple[mjjax.Model, mjjax.Data]:
    model = mjjax.Model.from_xml_string(XML)
    return model, mjjax.make_data(model).replace(qvel=jnp.asarray([1.0, -2.0]))


def fields(model: mjjax.Model) -> list[str]:
    """All real fields with entries that a step may read."""
    found = []
    for prefix, tree in (("", model), ("opt.", model.opt), ("stat.", model.stat)):
        own = vars(tree)
        found += [prefix + n for n in specs(tree) if n in own and not isinstance(own[n], PyTree)]
    return found


def get(model: Any, field: str) -> Any:
    return functools.reduce(getattr, field.split("."), model)


def put(model: Any, values: dict[str, Any]) -> Any:
    """A model with other fields, as users write it."""
    for part in ("opt", "stat"):
        inner = {k.partition(".")[2]: x for k, x in values.items() if k.startswith(f"{part}.")}
        model = model.replace(**{part: getattr(model, part).replace(**inner)}) if inner else model
    return model.replace(**{k: x for k, x in values.items() if "." not in k})


def scaled(model: mjjax.Model, names: list[str], factor: jax.Array) -> dict[str, Any]:
    """Values of some fields in one world, which differ from the model's, even if these are 0."""
    return {
        name: get(model, name) * factor + (0.1 * factor if name in RUN else 0.0) for name in names
    }


def end(model: mjjax.Model, data: mjjax.Data) -> jax.Array:
    return mjjax.rollout(model, data, nstep=3)[0].qpos


def by_axes(names: list[str], factors: jax.Array) -> tuple[mjjax.Model, Any]:
    """Models and axes as RL code writes them: a tree of None, then 0 for the fields with worlds."""
    model, _ = arms()
    values = jax.vmap(lambda r: scaled(model, names, r))(factors)
    axes = put(jax.tree.map(lambda x: None, model), dict.fromkeys(names, 0))
    return put(model, values), axes


def by_vmap(names: list[str], factors: jax.Array) -> tuple[mjjax.Model, Any]:
    """Models that a function under `vmap` makes."""
    model, _ = arms()
    return jax.vmap(lambda r: put(model, scaled(model, names, r)))(factors), 0


def by_randomize(names: list[str], factors: jax.Array) -> tuple[mjjax.Model, Any]:
    """Models of `envs.randomize`, and the axes that it finds."""
    model, _ = arms()
    del factors  # it has its own
    models = mjjax.envs.randomize(
        model,
        lambda m, key: put(m, scaled(m, names, jax.random.uniform(key, minval=0.5, maxval=2.0))),
        jax.random.key(0),
        WORLDS,
    )
    return models, mjjax.envs.world_axes(models)


IDIOMS: tuple[Callable[..., tuple[mjjax.Model, Any]], ...] = (by_axes, by_vmap, by_randomize)


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_field_can_have_worlds(idiom: Callable[..., tuple[mjjax.Model, Any]]) -> None:
    """Protects domain randomisation of any field, with data that were made before."""
    model, data = arms()

    def trace(names: list[str]) -> None:
        models, axes = idiom(names, jnp.linspace(0.5, 2.0, WORLDS))
        out = jax.eval_shape(jax.vmap(end, in_axes=(axes, None)), models, data)
        assert out.shape == (WORLDS, 2)

    def failing(names: list[str]) -> list[str]:
        try:
            trace(names)
        except Exception:
            half = len(names) // 2
            return names if len(names) == 1 else failing(names[:half]) + failing(names[half:])
        return []

    assert not failing(fields(model))


@pytest.mark.slow
def test_randomised_worlds_are_the_models_alone() -> None:
    """Protects results: with every idiom each world moves as its model does alone."""
    _, data = arms()
    alone = quick(end)
    for idiom in IDIOMS:
        models, axes = idiom(RUN, jnp.linspace(0.5, 2.0, WORLDS))
        got = quick(jax.vmap(end, in_axes=(axes, None)))(models, data)
        form = jax.tree.structure(models)
        every = form.flatten_up_to(mjjax.envs.world_axes(models))
        for i in range(WORLDS):
            own = zip(jax.tree.leaves(models), every, strict=True)
            one = form.unflatten(x if axis is None else x[i] for x, axis in own)
            np.testing.assert_allclose(got[i], alone(one, data), rtol=1e-9)


def test_trees_of_marks() -> None:
    """Protects trees of axes, shardings and shapes: leaves may be of any kind."""
    for tree in arms():
        for mark in MARKS:
            marked = jax.tree.map(lambda x, mark=mark: mark, tree)
            jax.tree.leaves(marked, is_leaf=lambda x: x is None)
            for name in specs(tree):
                changed = marked.replace(**{name: mark})
                assert vars(changed).get(name) is mark, name


def test_marks_match_other_terms_and_arrays_do_not() -> None:
    """Protects compiled programs: only trees of marks are equal to those with other terms."""
    model, _ = arms()
    wide = model.with_terms("all")
    axes = jax.tree.map(lambda x: 0, model)
    assert jax.tree.structure(axes) == jax.tree.structure(jax.tree.map(lambda x: 0, wide))
    assert jax.tree.structure(model) != jax.tree.structure(wide)
    back = jax.tree.map(lambda axis, x: x, axes, model)
    assert jax.tree.structure(back) == jax.tree.structure(model)
    heavy = jax.tree.map(lambda axis, x: x + 0.1, axes, model)
    assert heavy.terms["dof_frictionloss"].all() and heavy.terms["fluid"].all()


BARE = """
<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1"/>
  <body pos="1 0 0"><joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody></mujoco>
"""


@pytest.mark.parametrize("xml", [XML, BARE], ids=["arms", "bare"])
def test_a_traced_field_turns_on_its_own_terms(xml: str) -> None:
    """Protects programs from needless terms, also of elements that do not exist."""
    model = mjjax.Model.from_xml_string(xml)
    for field in fields(model):
        own = {name for name, term in TERMS.items() if field in term.fields}
        seen: dict[str, Any] = {}

        def change(model: mjjax.Model, field: str = field, seen: Any = seen) -> jax.Array:
            new = put(model, {field: 2 * get(model, field)})
            seen.update(new.terms)
            return new.qpos0

        jax.eval_shape(change, model)
        more = {name for name in TERMS if (seen[name] & ~model.terms[name]).any()}
        assert more <= own, field


def test_no_leaf_without_entries() -> None:
    """Protects user code over all leaves; fields without entries are arrays when read."""
    model, data = arms()
    for tree in (model, data):
        assert all(x.size for x in jax.tree.leaves(tree))
    assert data.act.shape == (0,) and data.act.dtype == data.qpos.dtype
    assert model.key_qpos.shape == (0, 2) and model.mesh_vert.shape == (0, 3)
    batch = jax.tree.map(lambda x: jnp.stack([x] * 4), data)
    assert batch.act.shape == (4, 0)
    pairs = jax.tree.map(lambda x: x.reshape(2, -1, *x.shape[1:]), batch)
    assert pairs.qpos.shape == (2, 2, 2)
    out = jax.eval_shape(
        lambda b: jax.lax.map(lambda d: mjjax.step(model, d).qpos, b, batch_size=2), batch
    )
    assert out.shape == (4, 2)
    assert data.replace(act=jnp.zeros(0)).act.shape == (0,)
    with pytest.raises(ValueError, match=r"ctrl has shape \(0,\), not \(1,\)"):
        mjjax.kinematics(model, data.replace(ctrl=jnp.zeros(0)))


def test_donated_data() -> None:
    """Protects loops that donate: no two leaves share a buffer, nor data one with their model."""
    model, _ = arms()
    data = mjjax.make_data(model)
    pointers = [x.unsafe_buffer_pointer() for x in jax.tree.leaves((model, data))]
    assert len(set(pointers)) == len(pointers)
    fresh = mjjax.reset_data(model, data)
    step = jax.jit(mjjax.kinematics, donate_argnums=1)
    for start in (data, fresh):
        step(model, step(model, start))
    assert not any(x.is_deleted() for x in jax.tree.leaves(model))


def test_copies_and_files(tmp_path: Any) -> None:
    """Protects pickle, deepcopy, Orbax and `jax.export` of trees and of programs on them."""
    model, data = arms()
    for tree in (model, data, model.opt, data.contact):
        for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), copy.copy(tree)):
            assert jax.tree.structure(other) == jax.tree.structure(tree)
            for a, b in zip(*map(jax.tree.leaves, (other, tree)), strict=True):
                np.testing.assert_array_equal(a, b)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "both", {"model": model, "data": data})
        checkpointer.wait_until_finished()
        back = checkpointer.restore(tmp_path / "both", {"model": model, "data": data})
    np.testing.assert_array_equal(back["data"].qvel, data.qvel)
    program = export.export(jax.jit(mjjax.kinematics))(model, data).serialize()
    found = export.deserialize(program).call(model, data)
    want = jax.jit(mjjax.kinematics)(model, data)
    assert jax.tree.structure(found) == jax.tree.structure(want)
    np.testing.assert_array_equal(found.xpos, want.xpos)


def test_batch_without_worlds() -> None:
    """Protects empty batches: a step of no worlds gives no worlds, with a queue of meshes too."""
    model = mjjax.Model.from_xml_string(
        "<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody>"
        "<geom type='plane' size='3 3 .1'/><body><freejoint/><geom type='mesh' mesh='m'/></body>"
        "<body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>"
    )
    none = jax.tree.map(lambda x: jnp.zeros((0, *x.shape), x.dtype), mjjax.make_data(model))
    out = jax.eval_shape(jax.vmap(mjjax.step, in_axes=(None, 0)), model, none)
    assert jax.tree.structure(out) == jax.tree.structure(none) and out.qpos.shape == (0, 14)
