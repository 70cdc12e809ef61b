"""Derivatives of convex contacts against differences of converged runs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.contacts import convex
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.convex.motion import motion
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Shape
from mjjax.math.quat import cross
from mjjax.xla.namespace import Array
from tests.collision import convex_pairs
from tests.oracle_tools import quick

# What touches at vertices, edges, faces and balls converges in a few steps; curved surfaces
# converge slowly, and their differences with them.
EXACT = [("sphere", "mesh"), ("capsule", "mesh"), ("box", "mesh"), ("mesh", "mesh")]
CURVED = [("capsule", "cylinder"), ("ellipsoid", "cylinder"), ("cylinder", "box")]
CURVED += [("ellipsoid", "mesh"), ("ellipsoid", "box")]
COUNT = 48
STEP = 2e-5
CONVERGED = Settings(100, jnp.asarray(1e-14))


def moved(shape: Shape, speeds: Array, h: Array | float) -> Shape:
    """A shape (..., 3) after the time `h`, to third order, from speeds of place, turn and size."""
    velocity, turn, growth = speeds
    spin = [shape.mat]
    for _ in range(3):
        columns = jnp.swapaxes(spin[-1], -1, -2)
        turned = cross(jnp.broadcast_to(turn[..., None, :], columns.shape), columns)
        spin.append(jnp.swapaxes(turned, -1, -2))
    mat = spin[0] + h * spin[1] + h**2 / 2 * spin[2] + h**3 / 6 * spin[3]
    return shape._replace(pos=shape.pos + h * velocity, mat=mat, size=shape.size + h * growth)


def flat(touch: ContactSet) -> Array:
    """Distance, position and normal (..., 7)."""
    return jnp.concatenate([touch.dist[..., None], touch.pos, touch.normal], axis=-1)


@pytest.fixture(scope="module")
def errors() -> Callable:
    """Relative errors (pairs, poses, 3) of distance, position and normal, NaN without a contact."""
    kinds = EXACT + CURVED
    pairs = [convex_pairs.pair_of(k, seed=3) for k in kinds]
    b = convex_pairs.batch(pairs, [pair.poses(COUNT)[0] for pair in pairs])
    one, two = jax.tree.map(jnp.asarray, (b.one, b.two))
    rng = np.random.default_rng(0)
    speeds = rng.normal(size=(6, len(b.margin), 3)) * np.array([1, 1, 0.3] * 2)[:, None, None]

    @quick
    def contacts(h: Array) -> tuple[Array, ContactSet, Array]:
        sides = moved(one, speeds[:3], h), moved(two, speeds[3:], h)
        touch, certificate = convex(b.pools, *sides, jnp.asarray(b.margin), CONVERGED)
        touch = jax.tree.map(lambda x: x[:, 0], touch)
        return flat(touch), touch, certificate[:, 0]

    def along(one: Shape, two: Shape, speeds: Array, touch: ContactSet, certificate: Array):
        def at(h: Array) -> Array:
            sides = moved(one, speeds[:3], h), moved(two, speeds[3:], h)
            return flat(motion(b.pools, *sides, jnp.zeros(()), touch, certificate))

        return jax.jvp(at, (jnp.zeros(()),), (jnp.ones(()),))[1]

    _, touch, certificate = contacts(jnp.zeros(()))
    slope = quick(jax.vmap(along))(one, two, speeds.swapaxes(0, 1), touch, certificate)
    above, below, far, near = (contacts(jnp.asarray(k * STEP))[0] for k in (1, -1, 2, -2))
    change = (8 * (above - below) - (far - near)) / (12 * STEP)
    error = np.abs(slope - change) / (1 + np.abs(change))
    parts = [error[:, :1], error[:, 1:4], error[:, 4:]]
    worst = np.stack([p.max(axis=1) for p in parts], axis=1)
    real = np.all([x[:, 0] < NO_CONTACT for x in (above, below, far, near)], axis=0)
    worst = np.where(real[:, None], worst, np.nan).reshape(len(kinds), COUNT, 3)
    return lambda k: worst[kinds.index(k)]


@pytest.mark.slow
@pytest.mark.feature("C70", "C71", "C72", "D05")
@pytest.mark.parametrize("kinds", EXACT, ids="-".join)
def test_vertices_edges_and_faces(kinds: tuple[str, str], errors: Callable) -> None:
    """Protects exact derivatives; in a few poses other features touch within the differences."""
    found = errors(kinds)
    assert np.isfinite(found).all(axis=1).sum() > COUNT / 2
    quantiles = np.nanquantile(found, 0.9, axis=0)
    assert (quantiles < 1e-4).all(), quantiles


@pytest.mark.slow
@pytest.mark.feature("C70", "C71", "C72", "D05")
@pytest.mark.parametrize("kinds", CURVED, ids="-".join)
def test_curved_surfaces(kinds: tuple[str, str], errors: Callable) -> None:
    """Protects the curvature in the derivatives of normals, as far as differences can tell."""
    found = errors(kinds)
    assert np.isfinite(found).all(axis=1).sum() > COUNT / 2
    dist, pos, normal = np.nanquantile(found, 0.8, axis=0)
    assert dist < 1e-4 and pos < 5e-3 and normal < 2e-2, (dist, pos, normal)


LYING = """
<mujoco><option><flag multiccd="enable"/></option>
<asset><mesh name="slab" scale="1 1 .3"
  vertex="-1 -1 -1 1 -1 -1 1 1 -1 1 1 1 1 -1 1 -1 1 -1 -1 1 1 -1 -1 1"/></asset>
<worldbody><geom type="mesh" mesh="slab" pos="0 0 -.3"/>
  <body pos="0 0 .028" euler="90 40 0"><freejoint/><geom type="capsule" size=".03 .1"/></body>
</worldbody></mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("C76", "D05")
def test_further_contacts() -> None:
    """Protects contacts after the first: they have its distance and move with the turned shapes."""
    model = mjjax.Model.from_xml_string(LYING)
    data = mjjax.make_data(model)
    rng = np.random.default_rng(0)
    starts, ways = 3e-4 * rng.normal(size=(8, 6)), rng.normal(size=(8, 6))

    def lying(v: Array) -> tuple[Array, Array]:
        moved = data.replace(qpos=mjjax.integrate_pos(model, data.qpos, v, 1))
        now = mjjax.collision(model, mjjax.kinematics(model, moved)).contact
        found = jnp.concatenate([now.dist[:, None], now.pos, now.frame[:, :3]], axis=1)
        return jnp.where(now.geom[:, :1] >= 0, found, 0), now.geom[:, 0] >= 0

    run = quick(jax.vmap(lambda v, w: jax.jvp(lying, (v,), (w,), has_aux=True)))
    _, slopes, found = run(starts, ways)
    above, below = (run(starts + h * ways, ways)[0] for h in (1e-6, -1e-6))
    assert (np.sum(found, axis=1) == 2).sum() >= 4
    np.testing.assert_allclose(slopes, (above - below) / 2e-6, atol=1e-6)
