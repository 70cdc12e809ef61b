"""Convex pairs of all kinds in one batch, so that one compiled program serves them all."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjjax
from mjjax.collision.convex.contacts import convex
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.shape.contact_set import ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, pools_of
from mjjax.xla.compiling import quick
from tests.collision.protocol import Pair, Poses

KINDS = [
    ("sphere", "ellipsoid"),
    ("sphere", "mesh"),
    ("capsule", "ellipsoid"),
    ("capsule", "cylinder"),
    ("capsule", "mesh"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "box"),
    ("ellipsoid", "mesh"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
    ("cylinder", "mesh"),
    ("box", "mesh"),
    ("mesh", "mesh"),
]


def _vertices() -> list[np.ndarray]:
    """Vertices of meshes: few (all are compared) or many (climbed), with flat faces, or a tip."""
    rng = np.random.default_rng(5)
    clouds = [rng.normal(size=(n, 3)) * 0.07 for n in (4, 9, 10, 20, 60, 200)]
    cube = np.array([[1 if i >> k & 1 else -1 for k in range(3)] for i in range(8)])
    angle = np.arange(6) * np.pi / 3
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) * 0.1
    up = np.array([0, 0, 0.06])
    prism = np.concatenate([ring + up, ring - up])
    pyramid = np.concatenate([ring, [[0, 0, 0.1]]])
    return [*clouds, cube * [0.08, 0.1, 0.05], prism, pyramid]


MESHES = _vertices()
ASSETS = "".join(
    f'<mesh name="{k}" vertex="{" ".join(map(str, v.ravel()))}"/>' for k, v in enumerate(MESHES)
)
GEOMS = [f'type="mesh" mesh="{k}"' for k in range(len(MESHES))]


class Batch(NamedTuple):
    """N pairs of geoms, and the pair of the protocol from which each comes."""

    one: Shape
    two: Shape
    margin: np.ndarray
    pools: Pools


def pair_of(kinds: tuple[str, str], **settings) -> Pair:
    """The protocol's pair for two kinds of geoms, which runs MuJoCo."""
    geoms = [GEOMS if kind == "mesh" else None for kind in kinds]
    return Pair(*kinds, geoms1=geoms[0], geoms2=geoms[1], assets=ASSETS, **settings)


def pools(faces: bool = True, dtype: type = np.float64) -> Pools:
    """The pools of the meshes, from our compiler."""
    body = "".join(f"<body><freejoint/><geom {g}/></body>" for g in GEOMS)
    xml = f"<mujoco><asset>{ASSETS}</asset><worldbody>{body}</worldbody></mujoco>"
    found = pools_of(mjjax.Model.from_xml_string(xml), faces=faces)
    reals = {k: jnp.asarray(getattr(found, k), dtype) for k in ("vert", "polygon_normal")}
    return found._replace(**reals)


def shapes(pair: Pair, poses: Poses, dtype: type = np.float64) -> list[Shape]:
    """Both sides of the pair in these poses."""
    sides = []
    for g in (0, 1):
        kind, asset = (
            np.array([getattr(m, name)[g] for m in pair.models], np.int32)[poses.model]
            for name in ("geom_type", "geom_dataid")
        )
        reals = [np.asarray(x, dtype) for x in poses[3 * g : 3 * g + 3]]
        pos, mat, size = reals
        sides.append(Shape(pos, mat, size, kind, asset, np.zeros_like(kind)))
    return sides


def batch(pairs: Sequence[Pair], all_poses: Sequence[Poses], dtype: type = np.float64) -> Batch:
    """All pairs in one batch."""
    sides = [shapes(pair, poses, dtype) for pair, poses in zip(pairs, all_poses, strict=True)]
    one, two = (
        Shape(*(np.concatenate(x) for x in zip(*(s[g][:6] for s in sides), strict=True)))
        for g in (0, 1)
    )
    margin = np.concatenate([np.asarray(p.margin, dtype) for p in all_poses])
    return Batch(one, two, margin, pools(dtype=dtype))


def settings_of(dtype: type = np.float64, multiccd: bool = False, native: bool = True) -> Settings:
    """MuJoCo's default settings."""
    return Settings(35, jnp.asarray(1e-6, dtype), multiccd, native=native)


def contacts(b: Batch, multiccd: bool = False, native: bool = True) -> tuple[ContactSet, jax.Array]:
    """Our contacts of a batch."""
    settings = settings_of(b.margin.dtype.type, multiccd, native)
    # The corner where a refined portal ends depends on the last bit, so this compiles as users do.
    compiled = quick if native else jax.jit
    run = compiled(lambda one, two, margin: convex(b.pools, one, two, margin, settings))
    return jax.tree.map(np.asarray, run(b.one, b.two, b.margin))
