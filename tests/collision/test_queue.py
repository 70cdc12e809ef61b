"""The queue over the pairs of all worlds: the same contacts as from all candidates."""

import functools
import subprocess
import sys

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import WarningType
from mjjax.collision.plan import search
from mjjax.collision.plan.broad import current_bounds
from mjjax.collision.plan.search import every_candidate, plan_of
from mjjax.core.struct import specs
from tests.oracle_tools import Both, load, quick

BALLS = 20
WORLDS = 6


@pytest.fixture(autouse=True)
def queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes cheap kernels use the queue at fewer candidates, because the scenes are small."""
    monkeypatch.setattr(search, "FEW_CHEAP", search.FEW_CANDIDATES)


HEAP = """
<mujoco>
  <worldbody><geom type="plane" size="0 0 1"/>{}</worldbody>
  <contact><pair geom1="g3" geom2="g10" margin=".05" condim="1"/></contact>
</mujoco>
"""


@functools.cache
def heap() -> mjjax.Model:
    """Balls and a few capsules in a heap on a floor, one pair of them explicit."""
    place = np.random.default_rng(0).uniform([-0.3, -0.3, 0.05], [0.3, 0.3, 0.3], (12, 3))
    kinds = 9 * ["sphere"] + 3 * ["capsule"]
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/>'
        f'<geom name="g{i}" type="{kind}" size=".1 .1" margin=".01"/></body>'
        for i, ((x, y, z), kind) in enumerate(zip(place, kinds, strict=True))
    )
    return mjjax.Model.from_xml_string(HEAP.format(bodies))


def both_ways(
    model: mjjax.Model, callbacks: mjjax.Callbacks | None = None
) -> tuple[mjjax.Data, mjjax.Data]:
    """Data with which all candidates are computed, and data with which the queue runs."""
    n = plan_of(model, mjjax.make_data(model, callbacks=callbacks).rules).ncandidate
    every, queue = (mjjax.make_data(model, nconmax=k, callbacks=callbacks) for k in (n, n - 1))
    assert every_candidate(model, every.rules, n) and not every_candidate(model, queue.rules, n - 1)
    return every, queue


def states(model: mjjax.Model, count: int = WORLDS) -> jax.Array:
    noise = np.random.default_rng(1).normal(0, 0.02, (count, model.nq))
    return model.qpos0[None] + jnp.asarray(noise)


def detected(model: mjjax.Model, data: mjjax.Data, qpos: jax.Array) -> mjjax.Data:
    return mjjax.collision(model, mjjax.kinematics(model, data.replace(qpos=qpos)))


def found(data: mjjax.Data) -> dict[str, np.ndarray]:
    """The contacts of one world without the empty slots."""
    on = np.asarray(data.contact.geom)[:, 0] >= 0
    return {name: np.asarray(getattr(data.contact, name))[on] for name in specs(mjjax.Contact)}


def assert_same(one: mjjax.Data, two: mjjax.Data) -> None:
    """Contacts agree, world by world, whatever the slots, and there are some."""
    shape = one.ncon.shape
    assert np.asarray(one.ncon).min() > 3 and not np.asarray(one.warning).any()
    for i in np.ndindex(shape):
        a, b = (found(jax.tree.map(lambda x, i=i: x[i], d)) for d in (one, two))
        for name in a:
            np.testing.assert_allclose(a[name], b[name], atol=1e-12, err_msg=name)


def weighed(model: mjjax.Model, data: mjjax.Data, qpos: jax.Array) -> jax.Array:
    """A number that depends on every entry of every contact, and not on the slots."""
    contact = detected(model, data, qpos).contact
    geom = contact.geom.astype(qpos.dtype)
    columns = [contact.dist[:, None], contact.pos, contact.frame, contact.friction]
    values = jnp.concatenate([*columns, contact.includemargin[:, None]], axis=1)
    weight = jnp.sin(geom @ jnp.array([0.3, 0.7]))[:, None]
    weight = weight + jnp.cos(jnp.arange(values.shape[1]).astype(qpos.dtype))[None]
    return jnp.sum(jnp.where(geom[:, :1] >= 0, values**2 * weight, 0))


def scaled(model: mjjax.Model, factor: jax.Array) -> mjjax.Model:
    """The model with all geoms larger."""
    return model.replace(geom_size=model.geom_size * factor)


def test_bounds_follow_sizes() -> None:
    """Geoms whose sizes are changed have the bounds with which they would have been compiled."""
    kinds = "sphere capsule ellipsoid cylinder box".split()
    sizes = np.random.default_rng(0).uniform(0.1, 0.4, (5, 3))
    geoms = "".join(
        f'<geom type="{kind}" size="{" ".join(map(str, size))}"/>'
        for kind, size in zip(kinds, sizes, strict=True)
    )
    xml = f"""
    <mujoco>
      <asset><mesh name="m" vertex="0 0 0  2 0 0  0 3 0  0 0 4"/></asset>
      <worldbody>{geoms}<geom type="mesh" mesh="m"/></worldbody>
    </mujoco>"""
    m = mjjax.Model.from_xml_string(xml)
    rbound, aabb = m.geom_rbound.at[:5].set(0), m.geom_aabb.at[:5].set(9)
    found = current_bounds(m.structure.geom_type, m.geom_size, rbound, aabb)
    np.testing.assert_allclose(found[0], m.geom_rbound, atol=1e-12)
    np.testing.assert_allclose(found[1], m.geom_aabb, atol=1e-12)


@pytest.mark.slow
@pytest.mark.feature("C86", "D11")
def test_same_contacts_as_from_all_candidates() -> None:
    """The queue has all contacts, in C's order: in one world, nested batches, a model per world."""
    model = heap()
    every, queue = both_ways(model)
    qpos, factor = states(model), jnp.linspace(0.9, 1.2, WORLDS)
    nested = factor.reshape(2, WORLDS // 2)

    def one(data: mjjax.Data) -> mjjax.Data:
        return detected(model, data, qpos[0])

    def grid(data: mjjax.Data) -> mjjax.Data:
        inner = jax.vmap(lambda f, q: detected(scaled(model, f), data, q), in_axes=(None, 0))
        states = qpos.reshape(2, WORLDS // 2, -1)
        return jax.vmap(jax.vmap(inner, (0, None)), (0, 0))(nested, states)

    def both(data: mjjax.Data) -> tuple[mjjax.Data, mjjax.Data]:
        return one(data), grid(data)

    for a, b in zip(*(quick(both)(data) for data in (every, queue)), strict=True):
        assert_same(a, b)


@pytest.mark.slow
@pytest.mark.feature("D01", "D05")
def test_same_derivatives_as_from_all_candidates() -> None:
    """First and second derivatives are those of all candidates, in both modes, batched or not."""
    model = heap()
    qpos = states(model, 3)

    def gradients(data: mjjax.Data) -> list[jax.Array]:
        def value(qpos: jax.Array, factor: jax.Array) -> jax.Array:
            return weighed(scaled(model, factor), data, qpos)

        def some(x: jax.Array) -> jax.Array:
            return value(qpos[0].at[:7].set(x), jnp.ones(()))

        one = jnp.ones(())
        return [
            *jax.vmap(jax.grad(value, argnums=(0, 1)), (0, None))(qpos, one),
            jax.grad(lambda f: jnp.sum(jax.vmap(value, (0, None))(qpos, f)))(one),
            jax.jvp(lambda q: jax.vmap(value, (0, None))(q, one), (qpos,), (qpos,))[1],
            jax.hessian(some)(qpos[0, :7]),
            jax.jacrev(jax.jacrev(some))(qpos[0, :7]),
        ]

    a, b = (quick(gradients)(data) for data in both_ways(model))
    for x, y in zip(a, b, strict=True):
        assert np.abs(np.asarray(x)).max() > 1
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def lopsided(
    pos1: jax.Array, mat1: jax.Array, size1: jax.Array,
    pos2: jax.Array, mat2: jax.Array, size2: jax.Array, margin: jax.Array,
) -> tuple[jax.Array, ...]:  # fmt: skip
    """Balls that push along the x axis of the first, in two slots of which the second is used."""
    del mat2, margin
    normal = jnp.stack([mat1[:, 0]] * 2)
    dist = jnp.linalg.norm(pos2 - pos1) - size1[0] - size2[0]
    slots = jnp.stack([jnp.full_like(dist, 1e10), jnp.where(dist < 0, dist, 1e10)])
    return slots, jnp.stack([pos1] * 2), normal, jnp.zeros_like(normal)


@pytest.mark.feature("A141")
def test_callbacks_decide_in_the_queue() -> None:
    """A filter discards pairs, and a narrow phase of the user's own is used."""
    model = heap()
    calls = mjjax.Callbacks(
        contact_filter=lambda m, d, a, b: (a + b) % 5 == 0,
        collision={(mjjax.GeomType.SPHERE, mjjax.GeomType.SPHERE): lopsided},
    )

    def run(data: mjjax.Data) -> mjjax.Data:
        def one(qpos: jax.Array) -> mjjax.Data:
            placed = mjjax.kinematics(model, data.replace(qpos=qpos))
            return mjjax.collision(model, placed, calls.contact_filter)

        return jax.vmap(one)(states(model, 2))

    every, queue = (quick(run)(data) for data in both_ways(model, calls))
    assert_same(every, queue)
    geom = np.asarray(queue.contact.geom)
    listed = (geom[..., 0] == 4) & (geom[..., 1] == 11)
    assert not ((geom.sum(axis=-1) % 5 == 0) & (geom[..., 0] >= 0) & ~listed).any()


def balls() -> mjjax.Model:
    """Many balls in one place that overlap each other."""
    body = '<body pos="{} {} {}"><freejoint/><geom size="{}"/></body>'
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(0, 0.02, (BALLS, 3)), rng.uniform(0.1, 0.2, (BALLS, 1))], 1)
    text = "".join(body.format(*row) for row in rows)
    return mjjax.Model.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")


@pytest.mark.slow(but=3)
@pytest.mark.feature("A017", "C86")
@pytest.mark.parametrize("slots", [0, 1, 5, 150])
@pytest.mark.parametrize("dense", [False, True])
def test_deepest_contacts_stay_whatever_their_number(
    dense: bool, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If contacts exceed the slots, the deepest stay in order, whatever the worlds and chunks."""
    model = balls()
    every, _ = both_ways(model)
    if dense:
        monkeypatch.undo()
        assert every_candidate(model, every.rules, slots)
    program = quick(jax.vmap(functools.partial(detected, model), in_axes=(None, 0)))
    full = program(every, states(model, 4))
    few = program(mjjax.make_data(model, nconmax=slots), states(model, 4))
    assert np.asarray(few.ncon).tolist() == [slots] * 4
    assert (np.asarray(few.warning)[:, WarningType.CONTACTFULL] == 1).all()
    for i in range(4):
        theirs, mine = (found(jax.tree.map(lambda x, i=i: x[i], d)) for d in (full, few))
        assert len(theirs["dist"]) > 150
        deepest = np.sort(np.argsort(theirs["dist"])[:slots])
        np.testing.assert_array_equal(mine["geom"], theirs["geom"][deepest])
        np.testing.assert_allclose(mine["dist"], theirs["dist"][deepest], atol=1e-12)


MIX = """
<mujoco>
  <asset><mesh name="a" vertex="{}"/><mesh name="b" vertex="{}"/></asset>
  <worldbody>{}</worldbody>
</mujoco>
"""


@functools.cache
def mix() -> Both:
    """Overlapping bodies of every convex kind, among them two meshes."""
    rng = np.random.default_rng(7)
    numbers = [" ".join(map(str, 0.07 * rng.normal(size=3 * n).round(4))) for n in (7, 14)]
    kinds = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "a", "b")
    bodies = ""
    for kind, place in zip(kinds + kinds, rng.uniform(-0.2, 0.2, (14, 3)), strict=True):
        shape = f'type="mesh" mesh="{kind}"' if len(kind) == 1 else f'type="{kind}"'
        bodies += (
            f'<body pos="{place[0]} {place[1]} {place[2]}" euler="{300 * place[1]} 20 70">'
            f'<freejoint/><geom {shape} size=".1 .08 .12"/></body>'
        )
    return load(MIX.format(*numbers, bodies))


@pytest.mark.slow
@pytest.mark.feature("C73", "D19")
def test_convex_pairs_in_worlds_of_their_own_meshes() -> None:
    """With other meshes in each world every pair has MuJoCo's contacts and finite derivatives."""
    both = mix()
    model = both.ours
    data = mjjax.make_data(model, nconmax=91)
    qpos, factor = states(model, 2), jnp.asarray([1.0, 1.25])

    def run(factor: jax.Array, qpos: jax.Array) -> mjjax.Data:
        mine = model.replace(
            mesh_vert=model.mesh_vert * factor, geom_rbound=model.geom_rbound * 2,
            geom_aabb=model.geom_aabb * 2,
        )  # fmt: skip
        return detected(mine, data, qpos)

    def slope(qpos: jax.Array) -> jax.Array:
        return jax.grad(lambda q: jnp.sum(run(factor[1], q).contact.pos))(qpos)

    mine, slopes = quick(lambda q: (jax.vmap(run)(factor, q), slope(q[0])))(qpos)
    for i, scale in enumerate(np.asarray(factor)):
        m = both.reference
        vert = m.mesh_vert.copy()
        m.mesh_vert[:] = vert * scale
        m.geom_rbound[:] *= 2
        d = mujoco.MjData(m)
        d.qpos[:] = qpos[i]
        mujoco.mj_fwdPosition(m, d)
        m.mesh_vert[:], m.geom_rbound[:] = vert, m.geom_rbound / 2
        contacts = found(jax.tree.map(lambda x, i=i: x[i], mine))
        np.testing.assert_array_equal(contacts["geom"], d.contact.geom)
        np.testing.assert_allclose(contacts["dist"], d.contact.dist, atol=1e-6)
        assert d.ncon > 20
    assert np.isfinite(slopes).all() and np.asarray(slopes).any()


@pytest.mark.feature("A017", "C86")
def test_size_of_the_bounds_does_not_decide_what_stays() -> None:
    """Short capsules in a floor have contacts although long ones over it are near."""
    capsule = (
        '<body pos="{} 0 {}" euler="90 0 0"><freejoint/><geom type="capsule" size=".1 {}"/></body>'
    )
    high = "".join(capsule.format(k, 0.15, 2) for k in range(30))
    deep = "".join(capsule.format(-1 - k, 0.09, 0.01) for k in range(3))
    model = mjjax.Model.from_xml_string(
        '<mujoco><default><geom contype="0"/></default><worldbody>'
        f'<geom type="plane" size="0 0 1" contype="1"/>{high}{deep}</worldbody></mujoco>'
    )
    data = quick(detected)(model, mjjax.make_data(model, nconmax=6), model.qpos0)
    assert int(data.ncon) == 6 and not np.asarray(data.warning).any()
    assert sorted(set(np.asarray(data.contact.geom)[:, 1].tolist())) == [31, 32, 33]


@pytest.mark.feature("D10", "D11")
def test_worlds_do_not_depend_on_each_other() -> None:
    """A world gives the same bits anywhere in a batch, even beside a world full of NaN."""
    model = heap()
    data = mjjax.make_data(model, nconmax=12)
    program = quick(jax.vmap(functools.partial(detected, model, data)))
    qpos = states(model)
    plain = program(qpos).contact
    mixed = program(qpos[::-1].at[2].set(jnp.nan)).contact
    for name, x in vars(plain).items():
        for place in (0, 1, 3, 4, 5):
            other = np.asarray(getattr(mixed, name))[place]
            np.testing.assert_array_equal(np.asarray(x)[WORLDS - 1 - place], other, err_msg=name)
    assert (np.asarray(mixed.geom)[2] == -1).all()


SHARDED = """
import jax, numpy as np, jax.numpy as jnp
jax.config.update("jax_num_cpu_devices", 2)
import mjjax
from mjjax.xla.compiling import known_options, quick
from tests.collision.test_queue import detected, heap, states, weighed

model = heap()
data = mjjax.make_data(model, nconmax=30)

def contacts(model, qpos):
    return jax.vmap(lambda q: detected(model, data, q).contact)(qpos)

def slope(model, qpos):
    return jax.vmap(jax.grad(lambda q: weighed(model, data, q)))(qpos)

qpos = states(model, 6).astype(jnp.float32)
for function in (contacts, slope):
    alone = quick(function)(model, qpos)
    spread = mjjax.jit_worlds(function, compiler_options=known_options())
    spread = spread(*mjjax.shard_worlds(model, qpos))
    for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(spread), strict=True):
        assert len(b.sharding.device_set) == 2
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
"""


@pytest.mark.slow
@pytest.mark.feature("A076", "D14")
def test_devices_have_queues_of_their_own() -> None:
    """Worlds on several devices have the same contacts and derivatives as on one."""
    subprocess.run([sys.executable, "-c", SHARDED], check=True, timeout=300)
