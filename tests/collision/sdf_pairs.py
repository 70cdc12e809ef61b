"""SDF geoms against all kinds of geoms: random poses, and the contacts of both engines."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.fields.sdf_mesh import mesh_sdf
from mjjax.collision.fields.sdf_pair import sdf_pair
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, pools_of
from mjjax.xla.compiling import quick
from tests.collision.placements import rotation

POINTS = (np.random.default_rng(3).normal(size=(12, 3)) * 0.06).round(4)
MESHES = {
    "ball": 'builtin="sphere" params="1" scale=".1 .1 .1"',
    "cloud": f'vertex="{" ".join(map(str, POINTS.ravel()))}"',
}
GEOMS = {
    "sphere": 'type="sphere" size=".07"',
    "capsule": 'type="capsule" size=".05 .08"',
    "ellipsoid": 'type="ellipsoid" size=".1 .08 .06"',
    "cylinder": 'type="cylinder" size=".07 .05"',
    "box": 'type="box" size=".06 .08 .1"',
    "sdf": 'type="sdf" mesh="ball"',
    "mesh": 'type="mesh" mesh="cloud"',
}
FIELDS = {"ball": 'type="sdf" mesh="ball"', "cloud": 'type="sdf" mesh="cloud"'}
SOLIDS = [kind for kind in GEOMS if kind != "mesh"]


def xml() -> str:
    """A model with all geoms; each may touch both SDFs."""
    rest = 'contype="0" conaffinity="0" mass="1"'
    bodies = "".join(
        f'<body><freejoint/><geom name="{name}" {text} {rest}/></body>'
        for name, text in [*GEOMS.items(), *((f"field {k}", x) for k, x in FIELDS.items())]
    )
    pairs = "".join(f'<pair geom1="{g}" geom2="field {f}"/>' for g in GEOMS for f in FIELDS)
    assets = "".join(f'<mesh name="{k}" {x}/>' for k, x in MESHES.items())
    return (
        f"<mujoco><asset>{assets}</asset><worldbody>{bodies}</worldbody>"
        f"<contact>{pairs}</contact></mujoco>"
    )


@functools.cache
def models() -> tuple[mujoco.MjModel, mjjax.Model]:
    return mujoco.MjModel.from_xml_string(xml()), mjjax.Model.from_xml_string(xml())


class Poses(NamedTuple):
    """N pairs: geoms (N, 2), positions and rotations of both."""

    geom: np.ndarray
    pos: np.ndarray
    mat: np.ndarray


def poses(kinds: list[str], count: int, seed: int = 0) -> Poses:
    """`count` poses for each kind and field, shallow or deep, some with parallel axes."""
    reference, _ = models()
    rng = np.random.default_rng(seed)
    rows = []
    for kind in kinds:
        for field in FIELDS:
            geom = [reference.geom(kind).id, reference.geom(f"field {field}").id]
            for k in range(count):
                mats = [rotation(rng.normal(size=4)) for _ in range(2)]
                if k % 4 == 3:
                    mats[1] = mats[0] @ rotation(np.array([1, *(1e-4 * rng.normal(size=3))]))
                line = rng.normal(size=3)
                away = (0.03, 0.09, 0.13, 0.1)[k % 4] * rng.uniform(0.8, 1.2)
                pos = rng.normal(size=3) * 0.1
                rows.append((geom, (pos, pos + away * line / np.linalg.norm(line)), mats))
    return Poses(*(np.array(x) for x in zip(*rows, strict=True)))


def theirs(given: Poses) -> list[ContactSet]:
    """MuJoCo's contacts of each pair."""
    m, _ = models()
    d = mujoco.MjData(m)
    found = []
    for geom, pos, mat in zip(*given, strict=True):
        d.geom_xpos[:] = 1e3 * np.arange(1, m.ngeom + 1)[:, None]
        d.geom_xpos[geom], d.geom_xmat[geom] = pos, mat.reshape(2, 9)
        mujoco.mj_collision(m, d)
        frame = d.contact.frame.reshape(-1, 3, 3).copy()
        parts = d.contact.dist.copy(), d.contact.pos.copy(), frame[:, 0], frame[:, 1]
        found.append(ContactSet(*parts))
    return found


def flipping(given: Poses, found: list[ContactSet], step: float = 1e-9) -> list[np.ndarray]:
    """Whether MuJoCo's contacts jump if geoms move by `step`; all do if their number changes."""
    rng = np.random.default_rng(1)
    flips = [np.zeros(len(f.dist), bool) for f in found]
    for _ in range(8):
        pos = given.pos + step * rng.normal(size=given.pos.shape)
        turn = [rotation(np.array([1, *(5 * step * rng.normal(size=3))])) for _ in found]
        mat = given.mat.copy()
        mat[:, 1] = np.stack(turn) @ mat[:, 1]
        for k, other in enumerate(theirs(given._replace(pos=pos, mat=mat))):
            flips[k] |= np.max(errors(other, found[k]), axis=0, initial=0) > 1e3 * step
    return flips


def errors(a: ContactSet, b: ContactSet) -> np.ndarray:
    """Largest differences (3, n) of distance, point and normal; infinite if numbers differ."""
    if len(a.dist) != len(b.dist):
        return np.full((3, len(b.dist)), np.inf)
    gaps = [
        np.abs(x - y).reshape(len(y), -1 if len(y) else 1)
        for x, y in zip(a[:3], b[:3], strict=True)
    ]
    return np.stack([gap.max(axis=1, initial=0) for gap in gaps])


def shapes(given: Poses, dtype: type = np.float64) -> tuple[Pools, Shape, Shape]:
    """The pools and both geoms of all pairs."""
    s = models()[1].structure
    model = jax.tree.map(lambda x: jnp.asarray(x, dtype), models()[1])
    sides = []
    for k in range(2):
        geom = given.geom[:, k]
        pos, mat = (jnp.asarray(x[:, k], dtype) for x in (given.pos, given.mat))
        kind, asset = (jnp.asarray(t[geom], jnp.int32) for t in (s.geom_type, s.geom_dataid))
        size = jnp.asarray(model.geom_size)[geom]
        sides.append(Shape(pos, mat, size, kind, asset, jnp.zeros_like(kind)))
    return pools_of(model, ()), sides[0], sides[1]


def ours(given: Poses, mesh: bool = False, dtype: type = np.float64) -> list[ContactSet]:
    """Our contacts of each pair."""
    pools, one, two = shapes(given, dtype)
    kernel = mesh_sdf if mesh else sdf_pair
    settings = Settings(35, jnp.asarray(1e-6, dtype))
    run = quick(lambda a, b: kernel(pools, a, b, jnp.zeros(len(a.pos), dtype), settings)[0])
    touch = ContactSet(*(np.asarray(x, float) for x in run(one, two)))
    on = touch.dist < NO_CONTACT / 2
    return [ContactSet(*(x[full] for x in slots)) for *slots, full in zip(*touch, on, strict=True)]
