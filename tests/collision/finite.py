"""Tests whether contacts stay finite in random and degenerate poses of all pairs of geoms.

Each pair of types has two geoms of its own, so that one world tries one pose of every pair of a
group. It computes the values, a forward derivative in a direction that moves everything, and the
reverse derivative of a weighted sum. If a result is not finite, its geoms tell from which pair it
comes.

    python -m tests.collision.finite --count 100000 --float32
"""

import argparse
import functools
import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjjax
from mjjax.collision.plan.search import plan_of
from mjjax.collision.plan.table import COLLIDERS, CONVEX, HFIELD, PLANE_MESH, SDF
from mjjax.core.enums import GeomType, WarningType
from mjjax.xla.compiling import quick

GROUPS = {
    "analytic": tuple(COLLIDERS),
    "convex": tuple(CONVEX),
    "multiccd": tuple(CONVEX),
    "portal": (*CONVEX, (GeomType.HFIELD, GeomType.CYLINDER)),
    "field": (*HFIELD, *PLANE_MESH),
    "sdf": tuple(SDF),
}
MESHES = (GeomType.MESH, GeomType.SDF)
SIZES = {GeomType.SPHERE: 1, GeomType.CAPSULE: 2, GeomType.CYLINDER: 2}  # the others are zero
ROWS, COLUMNS = 5, 6
FIELD = np.array([0.4, 0.3, 0.08])
SIZE = 0.1  # approximate size of the geoms [m]
HUGE = 1e3  # bounds that hide nothing [m]
PROBE = np.sin(np.arange(13))
SLOTS = {"field": 160}  # slots for contacts of a world; one for each candidate would be far more
BATCH = 1000


class Poses(NamedTuple):
    """Inputs of B worlds.

    Attributes:
        pos: (B, ngeom, 3) positions [m].
        mat: (B, ngeom, 9) rotations.
        size: (B, ngeom, 3) sizes [m].
        margin: (B, npair) margins [m].
    """

    pos: np.ndarray
    mat: np.ndarray
    size: np.ndarray
    margin: np.ndarray


@functools.cache
def model_of(group: str) -> mjjax.Model:
    """A model in which the geoms 2 k and 2 k + 1 are the k-th pair of the group."""
    rng = np.random.default_rng(0)
    cube = np.array(list(itertools.product((-1, 1), repeat=3)))
    clouds = [0.6 * SIZE * cube, 0.5 * SIZE * rng.normal(size=(30, 3))]
    assets = "".join(
        f'<mesh name="{k}" vertex="{" ".join(map(str, c.ravel()))}"/>' for k, c in enumerate(clouds)
    )
    heights = np.round(4 * rng.random((ROWS, COLUMNS))) / 4  # with level cells
    assets += (
        f'<hfield name="h" nrow="{ROWS}" ncol="{COLUMNS}" size=".4 .3 .08 .02" '
        f'elevation="{" ".join(map(str, heights.ravel()))}"/>'
    )
    bodies, pairs = "", ""
    for k, types in enumerate(GROUPS[group]):
        for side, kind in enumerate(types):
            shape = f'type="{kind.name.lower()}" size=".1 .1 .1"'
            if kind == GeomType.PLANE:
                shape = 'type="plane" size="0 0 .1"'
            if kind in MESHES:
                shape = f'type="{kind.name.lower()}" mesh="{(k + side) % 2}"'
            if kind == GeomType.HFIELD:
                shape = 'type="hfield" hfield="h"'
            bodies += f'<body mocap="true"><geom name="{k}.{side}" {shape} contype="0"/></body>'
        pairs += f'<pair geom1="{k}.0" geom2="{k}.1"/>'
    on = {"multiccd": group in ("multiccd", "portal"), "nativeccd": group != "portal"}
    flags = " ".join(f'{name}="{"enable" if on[name] else "disable"}"' for name in on)
    return mjjax.Model.from_xml_string(
        f"<mujoco><option><flag {flags}/></option><asset>{assets}</asset>"
        f"<worldbody>{bodies}</worldbody><contact>{pairs}</contact></mujoco>"
    )


def poses(group: str, count: int, seed: int = 0) -> Poses:
    """Random and degenerate poses, sizes and margins.

    In degenerate poses the centres coincide, or almost; axes are parallel, or almost; sizes and
    offsets are multiples of one length; surfaces touch; or sizes differ by a factor of a hundred.
    """
    rng, n = np.random.default_rng(seed), len(GROUPS[group])
    shape = (count, n)
    grid = rng.random(shape) < 0.5
    scale = np.where(rng.random(shape) < 0.2, 10 ** rng.uniform(-2, 1, shape), 1)
    size = SIZE * rng.uniform(0.2, 1.5, (*shape, 2, 3))
    size = np.where(grid[..., None, None], np.ceil(8 * size / SIZE) / 8 * SIZE, size)
    thin = rng.random(size.shape) < 0.05
    size = np.where(thin, 0.01 * size, size) * scale[..., None, None]
    endless = np.array([[t == GeomType.PLANE for t in pair] for pair in GROUPS[group]])
    size[endless[None, ..., None] & grid[:, :, None, None] & (np.arange(3) < 2)] = 0
    used = np.array([[SIZES.get(t, 3) for t in pair] for pair in GROUPS[group]])
    size[np.broadcast_to(np.arange(3) >= used[None, ..., None], size.shape)] = 0

    mats = _rotations(rng, (*shape, 2), grid[..., None])
    parallel = rng.random(shape) < 0.4
    tilt = np.where(rng.random(shape) < 0.5, 0, 10 ** rng.uniform(-9, -2, shape))
    turn = _rotations(rng, shape, parallel, tilt)
    mats[..., 1, :, :] = np.where(
        parallel[..., None, None], mats[..., 0, :, :] @ turn, mats[..., 1, :, :]
    )

    reach = np.zeros((*shape, 3))
    for k, types in enumerate(GROUPS[group]):
        reach[:, k] = sum(_extent(kind, size[:, k, side]) for side, kind in enumerate(types))
    steps = rng.integers(-8, 9, (*shape, 3)) / 8
    offset = np.where(grid[..., None], steps, rng.uniform(-0.7, 0.7, (*shape, 3))) * reach
    near = rng.random(shape)
    tiny = 10 ** rng.uniform(-15, -3, (*shape, 1)) * rng.normal(size=(*shape, 3)) * SIZE
    offset = np.where((near < 0.1)[..., None], 0, offset)
    offset = np.where(((near > 0.1) & (near < 0.2))[..., None], tiny, offset)
    axis = np.eye(3)[rng.integers(0, 3, shape)]
    touching = rng.random((*shape, 1)) < 0.2
    offset = np.where(touching, np.where(axis > 0, reach, offset * rng.integers(0, 2)), offset)
    start = np.where(rng.random((*shape, 1)) < 0.5, 0, rng.normal(size=(*shape, 3)))
    pos = np.stack([start, start + np.einsum("...ij,...j->...i", mats[..., 0, :, :], offset)], 2)
    return Poses(
        pos.reshape(count, 2 * n, 3),
        mats.reshape(count, 2 * n, 9),
        size.reshape(count, 2 * n, 3),
        rng.choice([0, 0, 0.02], shape),
    )


def _extent(kind: GeomType, size: np.ndarray) -> np.ndarray:
    """Half sizes (..., 3) of a geom's box."""
    if kind in (GeomType.PLANE, GeomType.HFIELD):
        field = kind == GeomType.HFIELD
        return np.broadcast_to(FIELD * field, size.shape)
    if kind in MESHES:
        return np.full(size.shape, 0.6 * SIZE)
    if kind == GeomType.SPHERE:
        return np.repeat(size[..., :1], 3, -1)
    if kind in (GeomType.CAPSULE, GeomType.CYLINDER):
        end = size[..., 1] + size[..., 0] * (kind == GeomType.CAPSULE)
        return np.stack([size[..., 0], size[..., 0], end], -1)
    return size


def _rotations(
    rng: np.random.Generator, shape: tuple, square: np.ndarray, angle: Any = None
) -> np.ndarray:
    """Rotations (..., 3, 3): random ones, quarter turns, or turns by about `angle` [rad]."""
    if angle is not None:
        turn = rng.normal(size=(*shape, 3))
        quat = np.concatenate([np.ones((*shape, 1)), turn * angle[..., None]], -1)
        return _matrix(quat)
    quat = rng.normal(size=(*shape, 4))
    quarter = np.zeros((*shape, 4))
    quarter[..., 0], other = 1, rng.integers(0, 4, shape)
    np.put_along_axis(quarter, other[..., None], 1.0, -1)
    return np.where(square[..., None, None], np.round(_matrix(quarter)), _matrix(quat))


def _matrix(quat: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) of quaternions (..., 4) of any length."""
    w, x, y, z = np.moveaxis(quat / np.linalg.norm(quat, axis=-1, keepdims=True), -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


class Outputs(NamedTuple):
    """Results of B worlds.

    Attributes:
        values: (B, K, 13) distance, point and frame in every slot.
        geom: (B, K) first geom in every slot, -1 in empty ones.
        lost: (B,) whether there were more contacts than slots.
        rates: (B, K, 13) forward derivative of the values.
        slopes: reverse derivatives of the weighted sum of the values, by name of the input.
    """

    values: np.ndarray
    geom: np.ndarray
    lost: np.ndarray
    rates: np.ndarray
    slopes: dict[str, np.ndarray]


def program(group: str, dtype: Any) -> Callable[[Poses], Outputs]:
    """Contacts of B worlds and their derivatives, in one compiled program."""
    model = jax.tree.map(lambda x: cast(x, dtype), model_of(group))
    every = plan_of(model, mjjax.make_data(model).rules).ncandidate
    slots = min(every, SLOTS.get(group, every))
    data = jax.tree.map(lambda x: cast(x, dtype), mjjax.make_data(model, nconmax=slots))
    bounds = jnp.full_like(model.geom_rbound, HUGE)
    planes = np.array([t == GeomType.PLANE for pair in GROUPS[group] for t in pair])
    aabb = jnp.zeros_like(model.geom_aabb).at[:, 3:].set(HUGE)
    model = model.replace(geom_rbound=jnp.where(planes, 0, bounds), geom_aabb=aabb)
    fixed = {"mesh_vert": model.mesh_vert, "hfield_data": model.hfield_data}

    def contacts(inputs: dict) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        leaves = {k: v for k, v in inputs.items() if k not in ("pos", "mat")}
        placed = data.replace(geom_xpos=inputs["pos"], geom_xmat=inputs["mat"])
        found = mjjax.collision(model.replace(**leaves), placed)
        contact, lost = found.contact, found.warning[WarningType.CONTACTFULL] > 0
        values = jnp.concatenate([contact.dist[:, None], contact.pos, contact.frame], axis=1)
        values = jnp.where(contact.geom[:, :1] >= 0, values, 0)
        return values, (contact.geom[:, 0], lost)

    @quick
    def run(p: Poses) -> Outputs:
        def one(pos: jax.Array, mat: jax.Array, size: jax.Array, margin: jax.Array) -> Outputs:
            inputs = {"pos": pos, "mat": mat, "geom_size": size, "pair_margin": margin, **fixed}
            values, push, (geom, lost) = jax.linearize(contacts, inputs, has_aux=True)
            change = {k: jnp.cos(jnp.arange(x.size, dtype=dtype)) for k, x in inputs.items()}
            rates = push({k: change[k].reshape(x.shape) for k, x in inputs.items()})
            weights = jnp.broadcast_to(jnp.asarray(PROBE, dtype), values.shape)
            (slopes,) = jax.linear_transpose(push, inputs)(weights)
            return Outputs(values, geom, lost, rates, slopes)

        return jax.vmap(one)(*(jnp.asarray(x, dtype) for x in p))

    return run


def cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x


def bad_poses(group: str, outputs: Outputs) -> np.ndarray:
    """Whether each pose (B, pairs) gave a value or a derivative that is not finite."""
    count, pairs = len(outputs.values), len(GROUPS[group])
    finite = np.isfinite(outputs.values).all(-1) & np.isfinite(outputs.rates).all(-1)
    owner = outputs.geom // 2
    bad = np.stack([(~finite & (owner == k)).any(1) for k in range(pairs)], axis=1)
    for name in ("pos", "mat", "geom_size", "pair_margin"):
        bad |= ~np.isfinite(outputs.slopes[name].reshape(count, pairs, -1)).all(-1)
    whole = finite.all(-1)
    for name in ("mesh_vert", "hfield_data"):
        whole &= np.isfinite(outputs.slopes[name].reshape(count, -1)).all(-1)
    lost = ~whole & ~bad.any(1)
    bad[lost] = True  # the pair cannot be told
    return bad


class Report(NamedTuple):
    """For each pair of a group the poses that touched, and the first few that were not finite.

    Attributes:
        count: number of poses of every pair.
        lost: worlds with more contacts than slots, of which the shallowest were not tried.
        touching: (pairs,) numbers of poses with a contact.
        bad: (pairs,) numbers of poses that gave something not finite.
        examples: (seed, row, pair) of some bad poses.
    """

    count: int
    lost: int
    touching: np.ndarray
    bad: np.ndarray
    examples: list[tuple[int, int, int]]

    def lines(self, group: str) -> str:
        """A table of the pairs."""
        rows = [f"{group}: {self.count} poses a pair, {self.lost} worlds with too many contacts"]
        for types, touching, bad in zip(GROUPS[group], self.touching, self.bad, strict=True):
            name = "-".join(t.name.lower() for t in types)
            rows.append(f"  {name:20s} {touching:7d} touch {bad:5d} bad")
        return "\n".join([*rows, f"  (seed, row, pair): {self.examples[:20]}"])


def check(group: str, count: int, dtype: Any, each: int = 0) -> Report:
    """Tries `count` poses of every pair of a group; prints its progress after `each` of them."""
    run, pairs = program(group, dtype), len(GROUPS[group])
    batch = min(BATCH, count)
    none = np.zeros(pairs, int)
    report = Report(0, 0, none, none, [])
    for seed in range(-(-count // batch)):
        outputs = jax.tree.map(np.asarray, run(poses(group, batch, seed)))
        broken = bad_poses(group, outputs)
        owner = outputs.geom // 2
        touching = [(owner == k).any(1).sum() for k in range(pairs)]
        first = [(seed, int(i), int(k)) for i, k in np.argwhere(broken)[:5]]
        report = Report(
            report.count + batch,
            report.lost + int(outputs.lost.sum()),
            report.touching + touching,
            report.bad + broken.sum(0),
            report.examples + first,
        )
        if each and report.count % each == 0:
            print(f"{group}: {report.count} poses, {report.bad.sum()} bad", flush=True)
    return report


def main() -> None:
    """Prints a table of all pairs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--groups", nargs="+", default=list(GROUPS))
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", not options.float32)
    dtype = jnp.float32 if options.float32 else jnp.float64
    for group in options.groups:
        start = time.perf_counter()
        report = check(group, options.count, dtype, each=10 * BATCH)
        seconds = time.perf_counter() - start
        print(f"{report.lines(group)}\n  {dtype.__name__}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
