"""Sweep and prune: the same contacts, in the same order, as from a test of every pair."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.contacts import convex
from mjjax.collision.driver import inputs
from mjjax.collision.plan.search import SWEEP_FROM, search_of
from mjjax.collision.queue import sweep
from mjjax.collision.queue.contact_list import Slots
from mjjax.collision.queue.detect import detect
from tests.collision.test_queue import mix
from tests.oracle_tools import quick

ALWAYS, NEVER = 0, 10**9
SLOTS = 500


@functools.cache
def scene() -> mjjax.Model:
    """Bodies of one to three geoms of two types over a plane; a few filters and explicit pairs."""
    rng = np.random.default_rng(0)
    bodies, count = "", 0
    for k in range(45):
        x, y, z = rng.uniform([-0.6, -0.3, 0], [0.6, 0.3, 0.4])
        geoms = ""
        for _ in range(1 + k % 3):
            kind = 'type="capsule" size=".04 .05"' if rng.random() < 0.5 else 'size=".07"'
            place = " ".join(map(str, rng.uniform(-0.1, 0.1, 3)))
            bits = f'contype="{rng.integers(1, 4)}" conaffinity="{rng.integers(1, 4)}"'
            margin = rng.choice([0, 0.01])
            geoms += f'<geom name="g{count}" pos="{place}" {kind} {bits} margin="{margin}"/>'
            count += 1
        bodies += f'<body name="b{k}" pos="{x} {y} {z}"><joint/>{geoms}</body>'
    return mjjax.Model.from_xml_string(f"""
        <mujoco>
          <worldbody><geom type="plane" size="0 0 1"/><geom size=".2"/>{bodies}</worldbody>
          <contact><pair geom1="g3" geom2="g40" margin=".3"/><pair geom1="g41" geom2="g2"/>
            <exclude body1="b1" body2="b2"/><exclude body1="b5" body2="b9"/></contact>
        </mujoco>""")


def slots_of(
    model: mjjax.Model, sweep_from: int, pos: jax.Array, factor: jax.Array | float, slots: int
) -> Slots:
    """Contacts of geoms at `pos` (ngeom, 3), all larger by a factor."""
    data = mjjax.kinematics(model, mjjax.make_data(model))
    model = model.replace(
        geom_size=model.geom_size * factor, geom_rbound=model.geom_rbound * factor
    )
    search = search_of(model, data.rules, sweep_from)
    assert (search.swept is not None) == (sweep_from == ALWAYS)
    return detect(search, *inputs(model, data.replace(geom_xpos=pos), search), slots)


def places(model: mjjax.Model, count: int) -> jax.Array:
    placed = mjjax.kinematics(model, mjjax.make_data(model)).geom_xpos
    noise = np.random.default_rng(1).normal(0, 0.02, (count, model.ngeom, 3))
    return placed[None] + jnp.asarray(noise)


def assert_same(one: Slots, two: Slots, least: int) -> None:
    """Asserts that all contacts agree, world by world, and that there are at least so many."""
    on = np.asarray(one.touch.dist) < 1
    assert on.sum(-1).min() >= least
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.slow
@pytest.mark.feature("C78", "D10", "D11")
@pytest.mark.parametrize("small", [False, True])
def test_same_contacts_as_from_every_pair(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contacts are the same in one world, nested batches, a model per world, and many rounds."""
    if small:
        for name, value in (("TILES_CPU", 3), ("TAKEN_CPU", 24), ("ROOM", 1)):
            monkeypatch.setattr(sweep, name, value)
    model = scene()
    pos = places(model, 4)

    def both(sweep_from: int, pos: jax.Array) -> list[Slots]:
        run = functools.partial(slots_of, model, sweep_from)
        inner = jax.vmap(lambda f, p: run(p, f, SLOTS), in_axes=(None, 0))
        grid = jax.vmap(inner)(jnp.asarray([1, 1.3]), pos.reshape(2, 2, -1, 3))
        return [run(pos[0], 1.0, SLOTS), grid, jax.vmap(lambda p: run(p, 1.0, 20))(pos)]

    one, two = (quick(functools.partial(both, k))(pos) for k in (NEVER, ALWAYS))
    for a, b, least in zip(one, two, (60, 60, 20), strict=True):
        assert_same(a, b, least)
    assert np.asarray(two[2].lost).all() and not np.asarray(two[1].lost).any()


@pytest.mark.slow
@pytest.mark.feature("C78", "D01")
def test_same_derivatives_as_from_every_pair() -> None:
    """Forward and reverse, with respect to places and sizes."""
    model = scene()
    pos = places(model, 2)

    def total(sweep_from: int, pos: jax.Array, factor: jax.Array) -> jax.Array:
        touch = slots_of(model, sweep_from, pos, factor, SLOTS).touch
        values = jnp.concatenate([touch.dist[:, None], touch.pos, touch.normal], axis=1)
        weight = jnp.sin(jnp.arange(values.size, dtype=float).reshape(values.shape))
        return jnp.sum(jnp.where(touch.dist[:, None] < 1, values**2 * weight, 0))

    def slopes(sweep_from: int) -> list[jax.Array]:
        value = functools.partial(total, sweep_from)
        one = jnp.ones(())
        back = jax.vmap(jax.grad(value, argnums=(0, 1)), (0, None))(pos, one)
        return [*back, jax.jvp(lambda p: value(p, one), (pos[0],), (pos[1],))[1]]

    one, two = (quick(functools.partial(slopes, k))() for k in (NEVER, ALWAYS))
    for a, b in zip(one, two, strict=True):
        assert np.abs(np.asarray(a)).max() > 0.1
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def balls(count: int, size: float = 0.1) -> str:
    """Spheres along a line, each in its neighbours."""
    body = '<body pos="{} {} 0"><joint/><geom size="{}"/></body>'
    turn = np.random.default_rng(2).permutation(count)
    text = "".join(body.format(0.15 * k, 0.001 * k, size) for k in turn)
    return f"<mujoco><worldbody>{text}</worldbody></mujoco>"


@pytest.mark.feature("C78", "D11")
def test_worlds_and_unbounded_geoms() -> None:
    """A world full of NaN changes no other; geoms without bounds count as very large."""
    model = mjjax.Model.from_xml_string(balls(70))
    pos = jnp.stack([places(model, 1)[0] * x for x in (1, jnp.nan, 1)])
    model = model.replace(geom_rbound=model.geom_rbound.at[5].set(0))
    run = quick(jax.vmap(lambda p: slots_of(model, ALWAYS, p, 1.0, SLOTS)))
    dist, number = np.asarray(run(pos).touch.dist), np.asarray(run(pos).number)
    plain = quick(lambda p: slots_of(model, NEVER, p, 1.0, SLOTS))(pos[0])
    assert (dist[1] > 1).all()
    for k in (0, 2):
        np.testing.assert_array_equal(dist[k], plain.touch.dist)
        np.testing.assert_array_equal(number[k], plain.number)


@pytest.mark.slow
@pytest.mark.feature("C78")
def test_many_geoms_need_no_list_on_the_device() -> None:
    """Scenes above the threshold are swept, and no array has an entry for every pair."""
    model = mjjax.Model.from_xml_string(balls(500, 0.08))
    data = mjjax.kinematics(model, mjjax.make_data(model, nconmax=1000, njmax=10))
    search = search_of(model, data.rules)
    pairs = len(search.plan.geom)
    assert search.swept is not None and pairs == 500 * 499 // 2 >= SWEEP_FROM
    compiled = jax.jit(mjjax.collision).lower(model, data).compile()
    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes < 8 * pairs
    contact = compiled(model, data).contact
    assert int((contact.geom[:, 0] >= 0).sum()) == 499


@pytest.mark.parametrize("sweep_from", [ALWAYS, NEVER])
def test_one_kernel_serves_all_convex_pairs(sweep_from: int) -> None:
    """The program does not grow with the number of kinds, however the pairs are found."""
    model = mix().ours
    search = search_of(model, mjjax.make_data(model).rules, sweep_from)
    functions = [kind.collider.function for kind in search.classes]
    assert functions.count(convex) == 1 and len(functions) == len(set(functions))


@pytest.mark.feature("C82")
def test_flag_midphase_tests_every_pair() -> None:
    """Without the midphase MuJoCo's order needs a list of all pairs, so nothing is swept."""
    for flag, expected in (("enable", True), ("disable", False)):
        xml = balls(4).replace("<mujoco>", f'<mujoco><option><flag midphase="{flag}"/></option>')
        model = mjjax.Model.from_xml_string(xml)
        search = search_of(model, mjjax.make_data(model).rules, ALWAYS)
        assert (search.swept is not None) == expected
