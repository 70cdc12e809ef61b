"""Height fields against MuJoCo: all kinds of geoms in one program."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.convex.hfield import hfield
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Shape, pools_of
from mjjax.xla.compiling import quick
from tests.collision.convex_pairs import shapes
from tests.collision.placements import rotation
from tests.collision.protocol import CONVERGED, Pair, Poses, judge

ROWS, COLUMNS, COUNT = 9, 11, 72
TRIES = 100  # by which it shows that MuJoCo's own contact is noise: some flip in one of fifty
GEOMS = {
    "sphere": 'type="sphere" size=".12"',
    "capsule": 'type="capsule" size=".08 .15"',
    "ellipsoid": 'type="ellipsoid" size=".1 .15 .2"',
    "cylinder": 'type="cylinder" size=".1 .12"',
    "box": 'type="box" size=".1 .12 .08"',
    "mesh": 'type="mesh" mesh="m"',
}


def xml() -> str:
    rng = np.random.default_rng(0)
    heights = " ".join(map(str, rng.random(ROWS * COLUMNS).astype(np.float32)))
    points = rng.normal(size=(20, 3))
    points *= 0.15 / np.linalg.norm(points, axis=1, keepdims=True)
    geoms = "".join(
        f'<body><freejoint/><geom {g} contype="0" conaffinity="0" mass="1"/></body>'
        for g in GEOMS.values()
    )
    pairs = "".join(f'<pair geom1="ground" geom2="{k}"/>' for k in GEOMS)
    for k in GEOMS:
        geoms = geoms.replace("<geom type", f'<geom name="{k}" type', 1)
    return f"""
    <mujoco>
      <asset>
        <hfield name="h" nrow="{ROWS}" ncol="{COLUMNS}" size="1 .8 .2 .1" elevation="{heights}"/>
        <mesh name="m" vertex="{" ".join(map(str, points.ravel()))}"/>
      </asset>
      <worldbody>
        <body mocap="true"><geom name="ground" type="hfield" hfield="h"/></body>{geoms}
      </worldbody>
      <contact>{pairs}</contact>
    </mujoco>"""


def errors(ours: list[np.ndarray], theirs: list[np.ndarray]) -> np.ndarray:
    """Largest difference of each contact; infinite if there is not the same number."""
    if len(ours[0]) != len(theirs[0]):
        return np.full(len(theirs[0]), np.inf)
    parts = [np.abs(np.c_[a] - np.c_[b]) for a, b in zip(ours, theirs, strict=True)]
    return np.concatenate(parts, axis=1).max(axis=1, initial=0)


@pytest.fixture(scope="module")
def found() -> dict:
    """For each kind and margin the contacts (dist, pos, normal) of both engines, by pose."""
    m = mujoco.MjModel.from_xml_string(xml())
    d = mujoco.MjData(m)
    pools = pools_of(mjjax.Model.from_xml_string(xml()))
    rng, noise = np.random.default_rng(1), np.random.default_rng(2)
    cases = [(g, margin) for g in range(1, m.ngeom) for margin in (0.0, 0.02) for _ in range(COUNT)]
    theirs, flips, rows = [], [], []

    def collide(g: int, margin: float, pos: list, mats: list) -> list[np.ndarray]:
        d.geom_xpos[:] = 1e3 * np.arange(m.ngeom)[:, None] + 1e3
        d.geom_xpos[0], d.geom_xpos[g] = pos
        d.geom_xmat[0], d.geom_xmat[g] = (x.ravel() for x in mats)
        m.pair_margin[:] = margin
        mujoco.mj_collision(m, d)
        con = d.contact
        return [con.dist.copy(), con.pos.copy(), con.frame[:, :3].copy()]

    for g, margin in cases:
        pos1, mats = rng.normal(size=3), [rotation(rng.normal(size=4)) for _ in range(2)]
        pos2 = pos1 + mats[0] @ rng.uniform([-1.1, -0.9, -0.1], [1.1, 0.9, 0.35])
        theirs.append(collide(g, margin, [pos1, pos2], mats))
        near = [
            collide(g, margin, [pos1, pos2 + 1e-9 * noise.normal(size=3)], mats)
            for _ in range(TRIES)
        ]
        flips.append(np.max([errors(x, theirs[-1]) for x in near], axis=0) > 1e-6)
        sides = (pos1, mats[0], m.geom_size[0], pos2, mats[1], m.geom_size[g])
        rows.append((*sides, g, margin))
    pos1, mat1, size1, pos2, mat2, size2, _, margins = (
        jnp.asarray(np.stack(x)) for x in zip(*rows, strict=True)
    )
    geom = np.stack([np.zeros(len(cases), int), [g for g, _ in cases]])
    kind, asset = (jnp.asarray(t[geom], jnp.int32) for t in (m.geom_type, m.geom_dataid))
    none = jnp.zeros_like(kind[0])
    one = Shape(pos1, mat1, size1, kind[0], asset[0], none)
    two = Shape(pos2, mat2, size2, kind[1], asset[1], none)
    settings = Settings(35, jnp.asarray(1e-6))
    touch, _ = quick(lambda *x: hfield(pools, x[0], x[1], x[2], settings))(one, two, margins)
    touch = jax.tree.map(np.asarray, touch)
    result: dict = {}
    for k, (g, margin) in enumerate(cases):
        on = touch.dist[k] < NO_CONTACT
        ours = [touch.dist[k][on], touch.pos[k][on], touch.normal[k][on]]
        result.setdefault((list(GEOMS)[g - 1], margin), []).append((ours, theirs[k], flips[k]))
    return result


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.feature("C65", "C66")
@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("kind", GEOMS)
def test_agrees_with_mujoco(kind: str, margin: float, found: dict) -> None:
    """Protects number, order and place of the contacts, one for each prism that is met."""
    cases = found[kind, margin]
    assert sum(len(theirs[0]) > 0 for _, theirs, _ in cases) > COUNT / 2
    assert all(len(ours[0]) == len(theirs[0]) for ours, theirs, _ in cases)
    error = np.concatenate([errors(ours, theirs) for ours, theirs, _ in cases])
    flips = np.concatenate([flip for *_, flip in cases])
    assert np.mean(flips) < 0.25  # flat ends on flat prisms
    error = error[~flips]
    share = np.mean(error < 1e-7)
    assert share >= 0.97, (share, np.sort(error)[-9:])


@pytest.mark.slow
@pytest.mark.feature("C65", "C66")
def test_walls_of_prisms_are_upright() -> None:
    """Deep in a height field, of two corners above each other the upper one counts."""
    heights = " ".join(map(str, np.random.default_rng(2).random(90).astype(np.float32)))
    asset = f'<hfield name="h" nrow="9" ncol="10" size=".4 .35 .06 .05" elevation="{heights}"/>'
    geom = 'type="hfield" hfield="h"'
    corners = np.random.default_rng(6).normal(size=(20, 3)) * 0.07
    asset += f'<mesh name="m" vertex="{" ".join(map(str, corners.ravel()))}"/>'
    mesh = 'type="mesh" mesh="m"'
    body = f"<body><freejoint/><geom {mesh}/></body>"
    scene = f"<mujoco><asset>{asset}</asset><worldbody><geom {geom}/>{body}</worldbody></mujoco>"
    pools = pools_of(mjjax.Model.from_xml_string(scene))
    settings = Settings(35, jnp.asarray(1e-6))
    run = quick(lambda one, two, margin: hfield(pools, one, two, margin, settings)[0])
    pair = Pair("hfield", "mesh", geoms1=[geom], geoms2=[mesh], assets=asset)

    def kernel(poses: Poses) -> ContactSet:
        return jax.tree.map(np.asarray, run(*shapes(pair, poses), poses.margin))

    agreement = judge(pair, kernel, 400)
    close = agreement.count & (agreement.dist <= 1e-9) & (agreement.normal <= 1e-9)
    assert np.mean(close[~agreement.aside]) >= 0.98, agreement


@pytest.mark.slow
@pytest.mark.feature("C65")
def test_single_precision_is_exact() -> None:
    """In float32 curved geoms touch a height field where converged MuJoCo has the contact."""
    heights = " ".join(map(str, np.random.default_rng(2).random(90).astype(np.float32)))
    asset = f'<hfield name="h" nrow="9" ncol="10" size=".4 .35 .06 .05" elevation="{heights}"/>'
    geom = 'type="hfield" hfield="h"'
    scene = f"<mujoco><asset>{asset}</asset><worldbody><geom {geom}/></worldbody></mujoco>"
    pools = pools_of(mjjax.Model.from_xml_string(scene))
    pools = pools._replace(heights=jnp.asarray(pools.heights, np.float32))
    settings = Settings(35, jnp.asarray(1e-6, np.float32))
    run = quick(lambda one, two, margin: hfield(pools, one, two, margin, settings)[0])
    for kind in ("ellipsoid", "cylinder"):
        pair = Pair("hfield", kind, geoms1=[geom], assets=asset, options=CONVERGED)

        def kernel(poses: Poses, pair: Pair = pair) -> ContactSet:
            sides = shapes(pair, poses, np.float32)
            found = run(*sides, np.asarray(poses.margin, np.float32))
            return jax.tree.map(np.asarray, found)

        agreement = judge(pair, kernel, 200, 1e-6, dtype=np.float32)
        close = agreement.count & (agreement.dist <= 1e-6) & (agreement.normal <= 1e-3)
        assert np.mean(close[~agreement.aside]) >= 0.96, agreement
        assert np.mean((agreement.pos <= 1e-4)[~agreement.aside]) >= 0.96, agreement
