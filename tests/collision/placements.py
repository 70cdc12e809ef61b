"""Placements of pairs of geoms, and MuJoCo's and our contacts for them."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from mjjax.collision.plan.table import COLLIDERS
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.core.enums import GeomType
from mjjax.xla.compiling import quick

KINDS = tuple(COLLIDERS)
MODEL = """
<mujoco>
  <worldbody>
    <body mocap="true"><geom name="1" type="{}" size="1 1 1" contype="0" conaffinity="0"/></body>
    <body><freejoint/>
      <geom name="2" type="{}" size="1 1 1" contype="0" conaffinity="0" mass="1"/></body>
  </worldbody>
  <contact><pair geom1="1" geom2="2"/></contact>
</mujoco>
"""


class Placement(NamedTuple):
    """Arguments of one call of a kernel, or of many calls on the leading axis."""

    pos1: np.ndarray
    mat1: np.ndarray
    size1: np.ndarray
    pos2: np.ndarray
    mat2: np.ndarray
    size2: np.ndarray
    margin: np.ndarray


def name(kind: tuple[GeomType, GeomType]) -> str:
    return "-".join(t.name.lower() for t in kind)


def rotation(quat: np.ndarray) -> np.ndarray:
    mat = np.zeros(9)
    mujoco.mju_quat2Mat(mat, np.asarray(quat) / np.linalg.norm(quat))
    return mat.reshape(3, 3)


def stack(placements: list[Placement]) -> Placement:
    return Placement(*(np.stack(x) for x in zip(*placements, strict=True)))


def placed(
    size1: list,
    mat1: np.ndarray,
    size2: list,
    mat2: np.ndarray,
    offset: list | np.ndarray,
    margin: float = 0.0,
) -> Placement:
    """Geom 2 at `offset` from geom 1, which stands at the origin."""
    return Placement(
        np.zeros(3), mat1, np.array(size1), np.array(offset, float), mat2, np.array(size2),
        np.array(margin),
    )  # fmt: skip


PLANE, SPHERE, CAPSULE, BOX = GeomType.PLANE, GeomType.SPHERE, GeomType.CAPSULE, GeomType.BOX
CYLINDER, ELLIPSOID = GeomType.CYLINDER, GeomType.ELLIPSOID
Z = np.eye(3)
FLIP = np.diag([1.0, -1, -1])
X = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # z axis along the world's x
# The z axis is normal to the world's x but for a number whose square underflows in float32.
ACROSS = np.array([[1, 0, -1e-30], [0, -0.6, 0.8], [0, -0.8, -0.6]])
SLANT = rotation(np.array([0.9, 0.2, -0.3, 0.1]))
BALL, PILL, BRICK = [0.25, 1, 1], [0.125, 0.5, 1], [0.5, 0.25, 0.125]
DEGENERATE = {
    "sphere in the plane": ((PLANE, SPHERE), placed([1, 1, 1], Z, BALL, Z, [0, 0, 0])),
    "capsule upright": ((PLANE, CAPSULE), placed([1, 1, 1], Z, PILL, Z, [0, 0, 0.5])),
    "box flat on the plane": ((PLANE, BOX), placed([1, 1, 1], Z, BRICK, Z, [3, 1, 0.125])),
    "box on the plane, on its side": ((PLANE, BOX), placed([1, 1, 1], X, BRICK, Z, [0.5, 0, 0])),
    "one centre, z axes parallel": ((SPHERE, SPHERE), placed(BALL, Z, BALL, Z, [0, 0, 0])),
    "one centre, z axes not parallel": ((SPHERE, SPHERE), placed(BALL, SLANT, BALL, X, [0, 0, 0])),
    "just within the margin": ((SPHERE, SPHERE), placed(BALL, Z, BALL, Z, [1, 0, 0], 0.5)),
    "sphere on the capsule's axis": ((SPHERE, CAPSULE), placed(BALL, Z, PILL, X, [0.25, 0, 0])),
    "sphere on the capsule's end": ((SPHERE, CAPSULE), placed(BALL, X, PILL, Z, [0, 0, 0.5])),
    "sphere in the middle of a cube": ((SPHERE, BOX), placed(BALL, Z, [0.5] * 3, Z, [0, 0, 0])),
    "sphere in a box": ((SPHERE, BOX), placed(BALL, SLANT, BRICK, SLANT, [0.01, 0.02, -0.01])),
    "sphere's centre on a face": ((SPHERE, BOX), placed(BALL, Z, BRICK, Z, [0, 0, -0.125])),
    "sphere's centre on a corner": ((SPHERE, BOX), placed(BALL, Z, BRICK, Z, [0.5, 0.25, 0.125])),
    "one capsule twice": ((CAPSULE, CAPSULE), placed(PILL, Z, PILL, Z, [0, 0, 0])),
    "crossing at the middle": ((CAPSULE, CAPSULE), placed(PILL, Z, PILL, X, [0, 0, 0])),
    "parallel": ((CAPSULE, CAPSULE), placed(PILL, Z, PILL, Z, [0.2, 0, 0])),
    "parallel, shifted": ((CAPSULE, CAPSULE), placed(PILL, Z, PILL, Z, [0.2, 0, 0.7])),
    "parallel, one shorter": ((CAPSULE, CAPSULE), placed(PILL, X, [0.1, 0.2, 1], X, [0, 0.2, 0])),
    "parallel, one longer": ((CAPSULE, CAPSULE), placed(PILL, X, [0.1, 0.9, 1], X, [0, 0.2, 0])),
    "end to end": ((CAPSULE, CAPSULE), placed(PILL, Z, PILL, Z, [0, 0, 1.2])),
    "capsule along the box, inside": ((CAPSULE, BOX), placed(PILL, X, BRICK, Z, [0, 0, 0])),
    "capsule pierces the box": ((CAPSULE, BOX), placed(PILL, Z, BRICK, Z, [0, 0, 0])),
    "capsule lies on the box": ((CAPSULE, BOX), placed(PILL, X, [1, 1, 0.25], Z, [0, 0, -0.35])),
    "capsule hangs over both ends": ((CAPSULE, BOX), placed(PILL, X, BRICK, Z, [0, 0, -0.25])),
    "capsule stands on a corner": ((CAPSULE, BOX), placed(PILL, Z, BRICK, Z, [0.5, 0.25, 0.7])),
    "capsule along an edge": ((CAPSULE, BOX), placed(PILL, X, BRICK, Z, [0, 0.3, 0.2])),
    "capsule across an edge's end": (
        (CAPSULE, BOX),
        placed(PILL, ACROSS, BRICK, Z, [-0.5, -0.3, -0.2]),
    ),
    "ball lies on the plane": (
        (PLANE, ELLIPSOID),
        placed([1, 1, 1], Z, [0.25] * 3, X, [0, 0, 0.25]),
    ),
    "lens in the plane": (
        (PLANE, ELLIPSOID),
        placed([1, 1, 1], Z, [0.5, 0.5, 0.125], Z, [0, 0, 0]),
    ),
    "cylinder upright": ((PLANE, CYLINDER), placed([1, 1, 1], Z, PILL, Z, [0, 0, 0.5])),
    "cylinder upside down": ((PLANE, CYLINDER), placed([1, 1, 1], Z, PILL, FLIP, [0, 0, 0.5])),
    "cylinder lies": ((PLANE, CYLINDER), placed([1, 1, 1], Z, PILL, X, [0, 0, 0.125])),
    "sphere in the cylinder's centre": ((SPHERE, CYLINDER), placed(BALL, X, PILL, Z, [0, 0, 0])),
    "sphere in a disk's centre": ((SPHERE, CYLINDER), placed(BALL, X, [1, 0.125, 1], Z, [0, 0, 0])),
    "sphere on the axis": ((SPHERE, CYLINDER), placed(BALL, Z, PILL, X, [0.375, 0, 0])),
    "sphere's centre on the rim": ((SPHERE, CYLINDER), placed(BALL, Z, PILL, Z, [0.125, 0, 0.5])),
    "sphere's centre on the end": ((SPHERE, CYLINDER), placed(BALL, Z, PILL, Z, [0, 0, -0.5])),
    "box twice": ((BOX, BOX), placed(BRICK, X, BRICK, X, [0, 0, 0])),
    "boxes with one centre": ((BOX, BOX), placed(BRICK, Z, BRICK, X, [0, 0, 0])),
    "box on a box": ((BOX, BOX), placed(BRICK, Z, BRICK, Z, [0, 0, 0.25])),
    "box across a box": ((BOX, BOX), placed(BRICK, Z, [0.25, 0.5, 0.25], Z, [0, 0, 0.25])),
    "box on a larger box": ((BOX, BOX), placed([1, 1, 0.25], Z, BRICK, X, [0, 0.25, 0.75])),
    "box over a box": ((BOX, BOX), placed(BRICK, Z, BRICK, Z, [0, 0, 0.25], 0.125)),
    "boxes side by side": ((BOX, BOX), placed(BRICK, Z, BRICK, Z, [0.5, 0.5, 0])),
    "boxes at a corner": ((BOX, BOX), placed(BRICK, Z, BRICK, Z, [1, 0.5, 0.25])),
    "boxes cross": ((BOX, BOX), placed([1, 0.125, 0.125], Z, [0.125, 1, 0.125], Z, [0, 0, 0.25])),
    "thick capsule, small box": ((CAPSULE, BOX), placed([5, 0.1, 1], Z, [0.1] * 3, Z, [0, 0, 4])),
}


def placements(kind: tuple[GeomType, GeomType], sort: str, count: int, seed: int = 0) -> Placement:
    """Random placements of two geoms, from far apart to deep in each other.

    There are three sorts. `general` has random numbers. In `square` and `diagonal` positions and
    sizes are multiples of 1/8, and rotations are multiples of 90 or 45 degrees about axes of the
    world. So parallel axes, coincident centres and equally near features are frequent. The
    rotations of `square` have no rounding errors.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        size = rng.uniform(0.05, 0.6, (2, 3))
        offset = rng.normal(size=3)
        reach = size[1].sum() + (0 if kind[0] == GeomType.PLANE else size[0].sum())
        offset *= rng.uniform(0, 1) * reach / np.linalg.norm(offset)
        pos = np.round(8 * rng.normal(size=3)) / 8
        margin = rng.choice([0, 1 / 32, rng.uniform(0, 0.3)])
        mats = [rotation(q) for q in rng.normal(size=(2, 4))]
        if sort != "general":
            size, offset = np.ceil(8 * size) / 8, np.round(8 * offset) / 8
            turns = rng.integers(0, 8, 2) * np.pi / (8 if sort == "diagonal" else 4)
            axes = np.eye(3)[rng.integers(0, 3, 2)]
            mats = [
                rotation(np.array([np.cos(a), *(np.sin(a) * v)]))
                for a, v in zip(turns, axes, strict=True)
            ]
        if sort == "square":
            mats = [np.round(m) for m in mats]
        found.append(Placement(pos, mats[0], size[0], pos + offset, mats[1], size[1], margin))
    return stack(found)


def oracle(kind: tuple[GeomType, GeomType], placements: Placement) -> list[ContactSet]:
    """MuJoCo's contacts for each placement, in MuJoCo's order."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(*(t.name.lower() for t in kind)))
    data = mujoco.MjData(model)
    found = []
    for p in zip(*placements, strict=True):
        p = Placement(*p)
        model.geom_size[:] = p.size1, p.size2
        model.geom_rbound[:] = [0 if t == GeomType.PLANE else 100 for t in kind]
        model.pair_margin[:] = p.margin
        data.geom_xpos[:] = p.pos1, p.pos2
        data.geom_xmat[:] = p.mat1.reshape(9), p.mat2.reshape(9)
        mujoco.mj_collision(model, data)
        con = data.contact
        frame = con.frame.reshape(-1, 3, 3).copy()
        found.append(ContactSet(con.dist.copy(), con.pos.copy(), frame[:, 0], frame[:, 1]))
    return found


@functools.cache
def kernel(kind: tuple[GeomType, GeomType]) -> Callable[..., ContactSet]:
    """The kernel of a pair of types, for many placements at once."""
    return quick(jax.vmap(COLLIDERS[kind].function))


def contacts(kind: tuple[GeomType, GeomType], placements: Placement) -> list[ContactSet]:
    """Our contacts, without the empty slots, for each placement."""
    arguments = [jnp.asarray(x) for x in placements]
    touch = ContactSet(*(np.asarray(x) for x in kernel(kind)(*arguments)))
    return [
        ContactSet(*(x[on] for x in slots))
        for *slots, on in zip(*touch, touch.dist < NO_CONTACT, strict=True)
    ]


def differ(a: ContactSet, b: ContactSet, tol: float = 1e-9) -> bool:
    """Whether the lists of contacts differ in number, order, distance, point or normal."""
    return len(a.dist) != len(b.dist) or any(
        np.max(np.abs(x - y), initial=0) > tol for x, y in zip(a[:3], b[:3], strict=True)
    )
