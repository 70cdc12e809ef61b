"""Derivatives of the narrow-phase kernels."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.collision.plan.table import COLLIDERS
from mjjax.collision.shape.contact_set import NO_CONTACT
from mjjax.core.enums import GeomType
from mjjax.math.quat import cross
from mjjax.xla.compiling import quick
from mjjax.xla.namespace import Array
from tests.collision.placements import DEGENERATE, KINDS, Placement, name, placements

COUNT = 100
every_kind = pytest.mark.parametrize("kind", KINDS, ids=name)


@functools.cache
def jvp(kind: tuple[GeomType, GeomType]):
    """Contacts and their derivatives along a motion, for many placements at once.

    A motion is a placement of velocities, with angular velocities in place of the rotations.
    """

    def one(p: Placement, motion: Placement):
        mats = [_turn(motion.mat1, p.mat1), _turn(motion.mat2, p.mat2)]
        tangent = motion._replace(mat1=mats[0], mat2=mats[1])
        return jax.jvp(COLLIDERS[kind].function, tuple(p), tuple(tangent))

    return quick(jax.vmap(one))


@functools.cache
def vjp(kind: tuple[GeomType, GeomType]):
    """Derivatives of the sum of all results except the distances of empty slots."""

    def total(p: Placement):
        touch = COLLIDERS[kind].function(*p)
        return sum(jnp.sum(x) for x in touch)

    return quick(jax.vmap(jax.grad(total)))


def _turn(velocity: Array, mat: Array) -> Array:
    return cross(jnp.broadcast_to(velocity, (3, 3)), mat.T).T


def _motions(count: int, seed: int) -> Placement:
    """Unit velocities of everything but the margin."""
    rng = np.random.default_rng(seed)
    pos1, turn1, size1, pos2, turn2, size2 = rng.normal(size=(6, count, 3))
    return Placement(pos1, turn1, size1, pos2, turn2, size2, np.zeros(count))


def _moved(p: Placement, motion: Placement, step: float) -> Placement:
    """Placements after the time `step`, to second order."""

    def turned(mat: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        first = np.cross(velocity[:, None], mat.swapaxes(1, 2))
        second = np.cross(velocity[:, None], first)
        return (mat.swapaxes(1, 2) + step * first + 0.5 * step**2 * second).swapaxes(1, 2)

    new = [a if a.ndim == 3 else a + step * b for a, b in zip(p, motion, strict=True)]
    new = Placement(*new)
    return new._replace(mat1=turned(p.mat1, motion.mat1), mat2=turned(p.mat2, motion.mat2))


@pytest.mark.feature("C63", "C64", "C67", "C68", "C69")
@every_kind
def test_derivatives_agree_with_differences(kind: tuple[GeomType, GeomType]) -> None:
    """Protects exactness for motions of both geoms and for sizes, away from kinks."""
    p, motion, step = placements(kind, "general", COUNT, 1), _motions(COUNT, 0), 1e-6
    value, tangent = jvp(kind)(p, motion)
    above, _ = jvp(kind)(_moved(p, motion, step), motion)
    below, _ = jvp(kind)(_moved(p, motion, -step), motion)
    touching = np.asarray(value.dist) < NO_CONTACT
    close = 0
    for field in ("dist", "pos", "normal", "tangent"):
        x, up, down, d = (np.asarray(getattr(t, field)) for t in (value, above, below, tangent))
        difference = (up - down) / (2 * step)
        # At a kink, where another feature takes over, the one-sided differences disagree.
        bent = np.abs(up - 2 * x + down) > 1e-3 * step
        smooth = touching.reshape(touching.shape + (1,) * (x.ndim - 2)) & ~bent
        error = np.abs(difference - d) / (1 + np.abs(d))
        assert np.max(error, where=smooth, initial=0) < 1e-6, field
        close += np.sum(smooth)
    assert close > 0.95 * 10 * np.sum(touching)


@pytest.mark.feature("C63", "C67", "C68")
@every_kind
def test_distance_moves_with_the_gap(kind: tuple[GeomType, GeomType]) -> None:
    """Protects d(dist) = normal . motion for a translation, also where the normal is arbitrary."""
    if kind in ((GeomType.CAPSULE, GeomType.BOX), (GeomType.BOX, GeomType.BOX)):
        pytest.skip("not all of its contacts are at nearest points: some follow the clipping face")
    for sort in ("general", "square", "diagonal"):
        p, motion = placements(kind, sort, COUNT), _motions(COUNT, 0)
        still = Placement(*(0 * x for x in motion))._replace(pos2=motion.pos2)
        value, tangent = jvp(kind)(p, still)
        expected = np.sum(np.asarray(value.normal) * motion.pos2[:, None], axis=-1)
        touching = np.asarray(value.dist) < NO_CONTACT
        np.testing.assert_allclose(tangent.dist[touching], expected[touching], atol=1e-7)
        assert not np.any(np.asarray(tangent.dist)[~touching])


@pytest.mark.slow(but=6)
@pytest.mark.feature("C63", "C67", "C68")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(k, marks=[pytest.mark.slow] * (k == (GeomType.BOX, GeomType.BOX)))
        for k in KINDS
    ],
    ids=name,
)
def test_derivatives_are_finite(kind: tuple[GeomType, GeomType]) -> None:
    """Keeps NaN and infinity out of values, jvp and vjp at and near degenerate placements."""
    cases = [p for k, p in DEGENERATE.values() if k == kind]
    square = placements(kind, "square", COUNT - len(cases))
    exact = Placement(*(np.stack([*x, *c]) for x, *c in zip(square, *cases, strict=True)))
    rng = np.random.default_rng(0)
    near = [_disturbed(placements(kind, "square", COUNT, seed), rng) for seed in range(8)]
    for p in (exact, *near):
        results = [jvp(kind)(p, _motions(COUNT, 0))]
        p, motion = (Placement(*(x.astype(np.float32) for x in a)) for a in (p, _motions(COUNT, 0)))
        results += [jvp(kind)(p, motion), vjp(kind)(p)]
        chex.assert_tree_all_finite(results)
        chex.assert_type(jax.tree.leaves(results[1:]), np.float32)


def _disturbed(p: Placement, rng: np.random.Generator) -> Placement:
    """Some numbers changed by amounts from 1e-3 down to the smallest float32."""

    def noise(x: np.ndarray) -> np.ndarray:
        scale = 10.0 ** -rng.integers(3, 44, (len(x),) + (1,) * (x.ndim - 1))
        return x + scale * rng.integers(0, 2, x.shape) * rng.normal(size=x.shape)

    offset = noise((p.pos2 - p.pos1) * (rng.random((COUNT, 1)) < 0.7))
    return p._replace(pos1=0 * p.pos1, mat1=noise(p.mat1), pos2=offset, mat2=noise(p.mat2))


@pytest.mark.feature("C63", "D07")
def test_contact_of_coincident_balls_moves_with_both() -> None:
    """The contact of coincident equal balls stays between them, whichever of them moves."""
    ball, size = np.eye(3), np.full((1,), 0.3)

    def pos(centre: Array) -> Array:
        one = jnp.zeros(3, centre.dtype), jnp.asarray(ball), jnp.asarray(size)
        two = centre, jnp.asarray(ball), jnp.asarray(size)
        return COLLIDERS[GeomType.SPHERE, GeomType.SPHERE].function(*one, *two, jnp.zeros(())).pos

    slope = jax.jacobian(pos)(jnp.zeros(3))[0]
    np.testing.assert_allclose(slope, 0.5 * np.eye(3), atol=1e-12)
