"""Derivatives of distances for all pairs of types: always finite, and right where they exist.

All geoms of the first kind stand at one pose and all of the second at another, so that one program
tries a pose on every pair.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.motion import motion
from mjjax.collision.distance import by_optimization, candidates, closest
from mjjax.collision.plan.table import EVERY
from mjjax.collision.shape.contact_set import ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, float_pools, tables_of
from mjjax.core.enums import GeomType
from tests.collision.finite import cast
from tests.oracle_tools import quick

SIZES = {
    GeomType.SPHERE: ".1",
    GeomType.CAPSULE: ".1 .2",
    GeomType.ELLIPSOID: ".1 .15 .2",
    GeomType.CYLINDER: ".1 .2",
    GeomType.BOX: ".1 .1 .2",
}
SOLIDS = (*SIZES, GeomType.MESH)
PLANE, FIRST = 0, 1
SECOND = FIRST + len(SOLIDS)
CUBE = "-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1 -.1 -.1 .1 .1 -.1 .1 -.1 .1 .1 .1 .1 .1"
FAR = 10.0
COUNT = 12  # of poses in which there is a derivative
STEPS = (1e-4, -1e-4, 3e-5, -3e-5)


def _geom(kind: GeomType) -> str:
    shape = f'size="{SIZES[kind]}"' if kind in SIZES else 'mesh="cube"'
    return f'<geom type="{kind.name.lower()}" {shape}/>'


XML = f"""
<mujoco><asset><mesh name="cube" vertex="{CUBE}"/></asset>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body mocap="true">{"".join(map(_geom, SOLIDS))}</body>
    <body mocap="true">{"".join(map(_geom, SOLIDS))}</body></worldbody></mujoco>
"""
PAIRS = [(FIRST + i, SECOND + j) for i in range(len(SOLIDS)) for j in range(i, len(SOLIDS))]
PAIRS += [(PLANE, SECOND + j) for j in range(len(SOLIDS))]


class Pose(NamedTuple):
    """Position (B, 3) [m] and rotation (B, 3, 3) of second geoms; growth (B,) of all sizes."""

    pos: np.ndarray
    mat: np.ndarray
    grow: np.ndarray

    def moved(self, spin: np.ndarray, step: float) -> "Pose":
        """After a step along velocity, angular velocity and growth (B, 7)."""
        move = step * spin
        mat = rotation(move[:, 3:6]) @ self.mat
        return Pose(self.pos + move[:, :3], mat, self.grow + move[:, 6])

    def rate(self, spin: np.ndarray) -> "Pose":
        """The derivative of `moved`."""
        return Pose(spin[:, :3], np.cross(np.eye(3), -spin[:, None, 3:6]) @ self.mat, spin[:, 6])


def rotation(v: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) about vectors (..., 3), by Rodrigues' formula."""
    angle = np.linalg.norm(v, axis=-1)[..., None, None]
    unit = np.cross(np.eye(3), -v[..., None, :]) / np.where(angle > 0, angle, 1)
    return np.eye(3) + np.sin(angle) * unit + (1 - np.cos(angle)) * unit @ unit


def degenerate() -> Pose:
    """Poses that are exactly or almost concentric, parallel, touching, deep or coincident."""
    places = [(0, 0, 0), (1e-12, 0, 0), (0, 0, 1e-7), (0, 0, 0.1), (0.05, 0, 0), (0.2, 0, 0)]
    places += [(0, 0, 0.4), (0.2, 0.2, 0), (0.2, 0.2, 0.4), (0, 0.2, 0.2), (0.1, 0, 0.6)]
    turns = [(0, 0, 0), (np.pi / 2, 0, 0), (0, 0, np.pi / 4), (1e-9, 0, 0)]
    pos, mat = np.array(places, float), rotation(np.array(turns))
    mat[np.abs(mat) < 1e-15] = 0
    count = len(pos) * len(mat)
    pos, mat = np.repeat(pos, len(turns), axis=0), np.tile(mat, (len(pos), 1, 1))
    return Pose(pos, mat, np.zeros(count))


def generic(count: int) -> Pose:
    """Poses in which the distance has a derivative, apart and overlapping."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(count, 3))
    away *= (np.linspace(0.15, 0.6, count) / np.linalg.norm(away, axis=1))[:, None]
    return Pose(away, rotation(rng.normal(size=(count, 3))), np.zeros(count))


Outputs = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def run() -> Callable[[Pose, Pose], Outputs]:
    """Distances and segments (B, P, 7) at poses, their rates, reverse derivatives (B, 13)."""
    model = mjjax.Model.from_xml_string(XML)
    data = mjjax.make_data(model)
    kernels: dict[Any, list[int]] = {}
    for k, (a, b) in enumerate(PAIRS):
        types = GeomType(model.geom_type[a]), GeomType(model.geom_type[b])
        kernel = "convex" if by_optimization(types, True) else EVERY[types].function
        kernels.setdefault(kernel, []).append(k)
    order = np.argsort(np.concatenate(list(kernels.values())))
    second = np.arange(SECOND, SECOND + len(SOLIDS))

    def table(pose: Pose) -> jax.Array:
        mat = jnp.tile(jnp.eye(3).ravel(), (SECOND + len(SOLIDS), 1))
        placed = data.replace(
            geom_xpos=jnp.zeros_like(data.geom_xpos).at[second].set(jnp.asarray(pose.pos)),
            geom_xmat=mat.at[second].set(jnp.asarray(pose.mat).ravel()),
        )
        bigger = model.replace(geom_size=model.geom_size * (1 + pose.grow))
        found = []
        for members in kernels.values():
            geoms = np.array(PAIRS)[members]
            a, b = (GeomType(t) for t in model.geom_type[geoms[0]])
            limit = jnp.full(len(geoms), FAR)
            never = np.zeros(len(geoms), bool)
            near = closest(candidates(bigger, placed, (a, b), geoms, never, limit), limit)
            found.append(jnp.concatenate([near.dist[:, None], near.start, near.end], axis=1))
        return jnp.concatenate(found)[order]

    def one(pose: Pose, rate: Pose) -> Any:
        values, push = jax.linearize(table, pose)
        weights = jnp.broadcast_to(jnp.cos(jnp.arange(7.0)), values.shape)
        (back,) = jax.linear_transpose(push, pose)(weights)
        return values, push(rate), jnp.concatenate([x.ravel() for x in back])

    compiled = quick(jax.vmap(one))

    def batch(pose: Pose, rate: Pose) -> Outputs:
        return jax.tree.map(np.asarray, compiled(*jax.tree.map(jnp.asarray, (pose, rate))))

    return batch


def names(bad: Any) -> list[str]:
    """Names of the pairs (P,) that are bad."""
    kinds = (GeomType.PLANE, *SOLIDS, *SOLIDS)
    return ["-".join(kinds[g].name for g in PAIRS[k]) for k in np.flatnonzero(bad)]


@pytest.mark.slow
@pytest.mark.feature("A139", "D05", "D07", "D19")
def test_finite_and_right(run: Callable[[Pose, Pose], Outputs]) -> None:
    """Derivatives are finite in degenerate poses; unused sizes once made concentric ones NaN.

    Where the distance has a derivative, the forward one is that of central differences; the reverse
    one is its transpose.
    """
    touching, free = degenerate(), generic(COUNT)
    spin = np.random.default_rng(1).normal(size=(COUNT, 7))
    near = [free.moved(spin, step) for step in (0, *STEPS)]
    poses = Pose(*(np.concatenate(x) for x in zip(touching, *near, strict=True)))
    first = len(touching.pos)
    spins = np.concatenate([np.resize(spin, (first, 7)), *[spin] * len(near)])
    moves = poses.rate(spins)
    values, rates, back = run(poses, moves)
    assert not names((~np.isfinite(values) | ~np.isfinite(rates)).any((0, 2)))
    assert np.isfinite(back).all()
    move = np.concatenate([x.reshape(len(spins), -1) for x in moves], axis=1)
    forward = (rates * np.cos(np.arange(7.0))).sum((1, 2))
    np.testing.assert_allclose((back * move).sum(1)[first:], forward[first:], rtol=1e-8)

    dist = values[first:, :, 0].reshape(len(near), COUNT, -1)
    wide, narrow = ((dist[k] - dist[k + 1]) / (2 * STEPS[k - 1]) for k in (1, 3))
    # MuJoCo's distances of some penetrations are 0, and those of curved shapes end at a tolerance
    smooth = (np.abs(wide - narrow) < 2e-3) & (dist[0] != 0)
    rate = rates[first : first + COUNT, :, 0]
    assert smooth.mean() > 0.9 and (dist[0] < 0).mean() > 0.2
    # normals of curved shapes that overlap are known to the root of `ccd_tolerance`, as in MuJoCo
    allowed = np.where(dist[0] > 0, 1e-3, 5e-2)
    assert not names((smooth & (np.abs(rate - wide) > allowed)).any(0))


@pytest.mark.slow
@pytest.mark.feature("D19")
def test_contacts_of_all_shapes_move_in_single_precision() -> None:
    """Contacts at centres, on axes, faces and edges have derivatives, for all pairs of types."""
    dtype = jnp.float32
    model = jax.tree.map(lambda x: cast(x, dtype), mjjax.Model.from_xml_string(XML))
    pools = Pools(*float_pools(model, (0,), faces=False), *tables_of(model.structure, (0,), False))
    pairs = np.array([pair for pair in PAIRS if pair[0] != PLANE])
    points = np.array([(0, 0, 0), (0.1, 0, 0), (0.1, 0.1, 0), (0.1, 0.1, 0.2), (0, 0, 0.2)], dtype)
    normals = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (0.6, 0.8, 0)], dtype)
    ids = np.array([(-1,) * 6, (0, 1, 2, 0, 1, 3), (0, -1, -1, 3, 7, -1)], np.int32)
    kinds = jnp.asarray(model.geom_type, jnp.int32)
    zero, none = jnp.zeros((), dtype), jnp.zeros(3, dtype)

    def both(pair: Any, point: Any, normal: Any, ids: Any) -> Any:
        def moved(mats: Any, sizes: Any) -> ContactSet:
            one, two = (
                Shape(none, mats[k], sizes[k], kinds[pair[k]], jnp.int32(0), jnp.int32(0))
                for k in (0, 1)
            )
            return motion(pools, one, two, zero, ContactSet(zero, point, normal, none), ids)

        at = jnp.broadcast_to(jnp.eye(3, dtype=dtype), (2, 3, 3)), model.geom_size[pair]
        touch, push = jax.linearize(moved, *at)
        return push(*map(jnp.ones_like, at)), jax.linear_transpose(push, *at)(touch)

    grid = np.indices((len(pairs), len(points), len(normals), len(ids))).reshape(4, -1)
    choices = (pairs.astype(np.int32), points, normals, ids)
    found = quick(jax.vmap(both))(*(x[k] for x, k in zip(choices, grid, strict=True)))
    bad = [~np.isfinite(x).reshape(len(x), -1).all(1) for x in jax.tree.leaves(found)]
    assert not names(np.bincount(grid[0], np.any(bad, axis=0)) > 0)
