"""Convex geoms without flag `nativeccd`: Minkowski portal refinement along libccd's path."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.motion import motion
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Shape
from mjjax.xla.namespace import Array
from tests.collision import convex_pairs
from tests.collision.convex_pairs import KINDS
from tests.collision.protocol import REGIMES, Agreement, judge
from tests.collision.test_convex_derivatives import flat, moved
from tests.oracle_tools import load, quick

COUNT = 40
SCENE = """
<mujoco><option><flag nativeccd="disable" multiccd="enable"/></option>
  <default><geom friction=".8 .01 .01"/></default>
  <asset>
    <mesh name="m" vertex="-.1 0 0 .1 .02 0 0 .15 0 .01 .03 .12 -.02 .05 -.1"/>
    <hfield name="h" nrow="4" ncol="3" size="1 1 .1 .1" elevation="0 1 0 .3 .5 0 .8 0 1 .1 .2 1"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="h"/>
    <body pos="0 0 .2"><freejoint/><geom name="0" type="mesh" mesh="m"/></body>
    <body pos=".1 .1 .3"><freejoint/><geom name="1" type="ellipsoid" size=".1 .15 .1"/></body>
    <body pos="-.1 .1 .3"><freejoint/><geom name="2" type="cylinder" size=".1 .1"/></body>
    <body pos=".1 -.1 .2"><freejoint/><geom name="3" type="box" size=".1 .1 .2"/></body>
    <body pos="-.1 -.1 .3"><freejoint/><geom name="4" type="capsule" size=".1 .1"/></body>
    <body pos=".2 -.1 .4"><freejoint/><geom name="5" type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <sensor>{sensors}</sensor>
</mujoco>"""
MEASURED = [(0, 1), (1, 0), (3, 5), (5, 3)]
SENSORS = "".join(
    f'<{kind} geom1="{a}" geom2="{b}" cutoff="{cutoff}"/>'
    for a, b in MEASURED
    for kind, cutoff in (("distance", 0.3), ("fromto", 0.3))
)


@pytest.fixture(scope="module")
def judged() -> dict[bool, list[Agreement]]:
    """Agreement of every pair, without and with `multiccd`."""
    found = {}
    for multiccd in (False, True):
        options = {"multiccd": multiccd, "native": False}
        pairs = [convex_pairs.pair_of(k, **options) for k in KINDS]
        poses = [convex_pairs.pair_of(k, **options).poses(COUNT)[0] for k in KINDS]
        touch, _ = convex_pairs.contacts(convex_pairs.batch(pairs, poses), **options)
        parts = zip(*(np.split(x, len(KINDS)) for x in touch), strict=True)
        found[multiccd] = [
            judge(pair, lambda _, part=part: ContactSet(*part), COUNT)
            for pair, part in zip(pairs, parts, strict=True)
        ]
    return found


@pytest.mark.slow
@pytest.mark.feature("C75", "B19")
@pytest.mark.parametrize("multiccd", [False, True])
def test_agrees_with_mujoco(multiccd: bool, judged: dict[bool, list[Agreement]]) -> None:
    """Contacts of all kinds are MuJoCo's, except if a cap lies flat on a face."""
    for kinds, agreement in zip(KINDS, judged[multiccd], strict=True):
        used = ~agreement.aside
        assert used.sum() > COUNT / 2, kinds
        assert agreement.count[used].all(), kinds
        assert agreement.share(1e-9) >= (0.9 if kinds[0] == "cylinder" else 1), (kinds, agreement)


@pytest.mark.slow
@pytest.mark.feature("C75", "A139")
def test_scene_agrees_with_mujoco() -> None:
    """The flag reaches contacts, height fields and distances; boxes keep their own kernel."""
    met, other, count, both = set(), 0, 0, load(SCENE.format(sensors=SENSORS))
    m, rng = both.reference, np.random.default_rng(1)
    d, program = mujoco.MjData(m), quick(mjjax.forward)
    for _ in range(8):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.1)
        mujoco.mj_forward(m, d)
        data = program(both.ours, mjjax.make_data(both.ours).replace(qpos=jnp.asarray(d.qpos)))
        on = np.asarray(data.contact.geom[:, 0]) >= 0
        np.testing.assert_array_equal(data.contact.geom[on], d.contact.geom)
        ours = np.c_[data.contact.pos, data.contact.dist][on]
        different = np.abs(ours - _places(d)).max(axis=1) > 1e-9
        if different.any():
            assert (nearest_when_rounded(m, d, ours)[different] < 1e-9).all()
        other, count = other + different.sum(), count + len(ours)
        np.testing.assert_allclose(data.sensordata, d.sensordata, atol=1e-8)
        met |= {tuple(m.geom_type[pair]) for pair in d.contact.geom}
    assert len(met) >= 8, met
    assert other <= 0.05 * count  # cylinders, where rounding says which step is last


def _places(d: mujoco.MjData) -> np.ndarray:
    """Points and distances (ncon, 4) of MuJoCo's contacts."""
    return np.c_[d.contact.pos, d.contact.dist]


def nearest_when_rounded(m: mujoco.MjModel, d: mujoco.MjData, ours: np.ndarray) -> np.ndarray:
    """Least distances (ncon,) of MuJoCo's contacts from ours if positions move by 1e-15 m."""
    rounded, rng, nearest = mujoco.MjData(m), np.random.default_rng(0), np.full(d.ncon, np.inf)
    for _ in range(1000):
        rounded.qpos[:] = d.qpos
        mujoco.mj_integratePos(m, rounded.qpos, rng.normal(size=m.nv), 1e-15)
        mujoco.mj_forward(m, rounded)
        if rounded.ncon == d.ncon:
            nearest = np.minimum(nearest, np.abs(_places(rounded) - ours).max(axis=1))
    return nearest


@pytest.mark.slow
@pytest.mark.feature("C75", "D05")
def test_derivative_is_that_of_what_touches() -> None:
    """Near the surface distances move as in MuJoCo; deep inside, its depth is not the least one."""
    kinds = [("sphere", "mesh"), ("mesh", "mesh"), ("ellipsoid", "box"), ("capsule", "cylinder")]
    pairs = [convex_pairs.pair_of(k, native=False, seed=3) for k in kinds]
    b = convex_pairs.batch(pairs, [pair.poses(COUNT)[0] for pair in pairs])
    one, two = jax.tree.map(jnp.asarray, (b.one, b.two))
    speeds = np.random.default_rng(0).normal(size=(6, len(b.margin), 3))
    speeds[[2, 5]] = 0

    def distance(h: float) -> np.ndarray:
        sides = b._replace(one=moved(one, speeds[:3], h), two=moved(two, speeds[3:], h))
        return np.asarray(convex_pairs.contacts(sides, native=False)[0].dist)[:, 0]

    touch, certificate = convex_pairs.contacts(b, native=False)
    first = jax.tree.map(lambda x: x[:, 0], touch)

    def along(one: Shape, two: Shape, speeds: Array, touch: ContactSet, label: Array) -> Array:
        def at(h: Array) -> Array:
            shapes = moved(one, speeds[:3], h), moved(two, speeds[3:], h)
            return flat(motion(b.pools, *shapes, jnp.zeros(()), touch, label))

        return jax.jvp(at, (jnp.zeros(()),), (jnp.ones(()),))[1]

    run = quick(jax.vmap(along))
    slope = run(one, two, speeds.swapaxes(0, 1), first, certificate[:, 0])
    assert np.isfinite(slope).all()
    above, below = distance(1e-5), distance(-1e-5)
    on = np.all([x < NO_CONTACT for x in (first.dist, above, below)], axis=0)
    regime = np.arange(len(on)) % COUNT % len(REGIMES)
    on &= regime == REGIMES.index("shallow")
    error = np.abs(slope[on, 0] - (above - below)[on] / 2e-5)
    assert on.sum() > COUNT / 2 and np.median(error) < 0.01 and np.quantile(error, 0.9) < 0.1


@pytest.mark.slow
@pytest.mark.feature("C75", "D19")
def test_single_precision() -> None:
    """In float32 contacts are the same, unless the portal ends one step earlier."""
    pairs = [convex_pairs.pair_of(k, native=False) for k in KINDS]
    poses = [convex_pairs.pair_of(k, native=False).poses(COUNT)[0] for k in KINDS]
    found = [
        convex_pairs.contacts(convex_pairs.batch(pairs, poses, kind), native=False)[0]
        for kind in (np.float64, np.float32)
    ]
    same = np.all([x.dist[:, 0] < NO_CONTACT for x in found], axis=0)
    different = np.any([x.dist[:, 0] < NO_CONTACT for x in found], axis=0) & ~same
    error = np.abs(found[0].dist - found[1].dist)[same, 0]
    assert different.mean() < 0.01
    assert np.isfinite(found[1].normal[same]).all()
    assert np.quantile(error, 0.9) < 1e-5 and error.max() < 0.02, np.sort(error)[-9:]
