"""SDF geoms against MuJoCo: contacts in its order, with their derivatives."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.fields.field import FIELD_SOLIDS, distance
from mjjax.collision.fields.sdf_mesh import mesh_sdf_motion
from mjjax.collision.fields.sdf_pair import sdf_motion
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.core.enums import GeomType
from mjjax.math.quat import rotate
from mjjax.xla.namespace import Array
from tests.collision import sdf_pairs
from tests.derivatives import difference, directions
from tests.oracle_tools import load, quick

COUNT = 24


def agreement(kinds: list[str], mesh: bool, dtype: type, step: float) -> dict[str, np.ndarray]:
    """Shares of equal counts by kind, and errors (3, n) of contacts; flipping ones are left out."""
    given = sdf_pairs.poses(kinds, COUNT)
    theirs = sdf_pairs.theirs(given)
    flips = sdf_pairs.flipping(given, theirs, step)
    ours = sdf_pairs.ours(given, mesh, dtype)
    same = [len(a.dist) == len(b.dist) for a, b in zip(ours, theirs, strict=True)]
    assert np.mean([len(t.dist) > 0 for t in theirs]) > 0.9
    found = zip(ours, theirs, flips, same, strict=True)
    gaps = [sdf_pairs.errors(a, b)[:, ~flip] for a, b, flip, equal in found if equal]
    steady = np.array([not flip.all() or not len(flip) for flip in flips])
    good, used = (np.reshape(x, (len(kinds), -1)).sum(axis=1) for x in (same & steady, steady))
    shares = dict(zip(kinds, good / used, strict=True))
    return shares | {"errors": np.concatenate(gaps, axis=1), "used": used / (2 * COUNT)}


@pytest.mark.slow
@pytest.mark.feature("C73")
def test_solids_have_mujocos_contacts() -> None:
    """Counts, order, distances and normals of all kinds, in one program.

    The first start is a corner of the boxes' common part. Where that is a corner of a box geom,
    rounding decides in MuJoCo, too, which face it sees: about a third of these poses are set
    aside. Normals carry the rounding of MuJoCo's differences of 1e-8 m.
    """
    found = agreement(sdf_pairs.SOLIDS, False, np.float64, 1e-9)
    dist, _, normal = found.pop("errors")
    assert found.pop("used").min() > 0.4
    assert found.pop("box") >= 0.95
    assert min(found.values()) >= 0.98, found
    assert np.mean(dist < 1e-9) > 0.995 and np.mean(normal < 1e-6) > 0.995


@pytest.mark.slow
@pytest.mark.feature("C73", "C72")
def test_meshes_have_mujocos_contacts() -> None:
    """Triangles come in the order of MuJoCo's boxes: all contacts agree up to rounding."""
    found = agreement(["mesh"], True, np.float64, 1e-9)
    assert found["mesh"] == 1
    assert found["errors"][:2].max() < 1e-12 and found["errors"][2].max() < 1e-8


@pytest.mark.slow
@pytest.mark.feature("C73", "D13")
@pytest.mark.parametrize("mesh", [False, True])
def test_single_precision(mesh: bool) -> None:
    """Nearly all counts and contacts are those of MuJoCo's double precision."""
    kinds = ["mesh"] if mesh else ["sphere", "cylinder", "sdf"]
    found = agreement(kinds, mesh, np.float32, 1e-6)
    dist, _, normal = found.pop("errors")
    assert found.pop("used").min() > 0.4
    assert min(found.values()) >= 0.95
    assert np.mean(dist < 1e-6) > 0.98 and np.mean(normal < 1e-4) > 0.98


def moved(side, x: dict, k: int):
    """A shape moved and turned by a little."""
    turn = rotate(jnp.concatenate([jnp.ones(1), 0.5 * x["turn"][k]]), side.mat.T).T
    return side._replace(pos=side.pos + x["shift"][k], mat=turn, size=side.size + x["size"][k])


def first_contacts(kinds: list[str], mesh: bool):
    """Pairs, and one of MuJoCo's contacts of each."""
    given = sdf_pairs.poses(kinds, 4, seed=5)
    theirs = sdf_pairs.theirs(given)
    on = [k for k, t in enumerate(theirs) if len(t.dist)]
    given = sdf_pairs.Poses(*(x[on] for x in given))
    contacts = [ContactSet(*(x[len(x) // 2] for x in theirs[k])) for k in on]
    touch = ContactSet(*(jnp.asarray(np.stack(x)) for x in zip(*contacts, strict=True)))
    return *sdf_pairs.shapes(given), touch


def still(touch: ContactSet) -> dict[str, jax.Array]:
    return {k: jnp.zeros((len(touch.dist), 2, 3)) for k in ("turn", "shift", "size")}


@pytest.mark.slow
@pytest.mark.feature("C73", "D05")
@pytest.mark.parametrize("mesh", [False, True])
def test_derivatives(mesh: bool) -> None:
    """Distances change by the mean of both fields at a point that moves with both geoms.

    A common motion of both geoms moves contacts rigidly and changes no distance.
    """
    kinds = ["mesh"] if mesh else sdf_pairs.SOLIDS
    pools, one, two, touch = first_contacts(kinds, mesh)
    motion = mesh_sdf_motion if mesh else sdf_motion
    none = jnp.zeros((), jnp.int32)

    def sides(x: dict) -> list[list]:
        """The shapes of pair x["row"] where they are, and moved."""
        row = x["row"].astype(int)
        now = [jax.tree.map(lambda t: t[row], s) for s in (one, two)]
        return [now, [moved(s, x, k) for k, s in enumerate(now)]]

    def known(x: dict) -> ContactSet:
        return jax.tree.map(lambda t: t[x["row"].astype(int)], touch)

    def contact(x: dict) -> dict:
        a, b = sides(x)[1]
        found = motion(pools, a, b, jnp.zeros(()), jax.lax.stop_gradient(known(x)), none)
        return {"dist": found.dist, "pos": found.pos, "normal": found.normal}

    def carried(x: dict) -> Array:
        """The distance at the contact's point, which goes with the geoms, or with the mesh."""
        now, then = sides(x)
        at = known(x).pos + 0.5 * known(x).dist * known(x).normal
        points = [b.mat @ (a.mat.T @ (at - a.pos)) + b.pos for a, b in zip(now, then, strict=True)]
        p = points[0] if mesh else 0.5 * (points[0] + points[1])
        gaps = [distance(pools, s, s.mat.T @ (p - s.pos)) for s in then]
        return gaps[1] if mesh else 0.5 * (gaps[0] + gaps[1])

    x = still(touch) | {"row": jnp.arange(len(touch.dist), dtype=float)}
    v = directions(x, 3) | {"row": jnp.zeros(len(touch.dist))}
    program = quick(lambda x, v: jax.jvp(jax.vmap(contact), (x,), (v,))[1])
    dy = program(x, v)
    assert all(np.isfinite(t).all() for t in jax.tree.leaves(dy))
    expected = difference(quick(jax.vmap(carried)), x, v, 1e-7)
    np.testing.assert_allclose(dy["dist"], expected, atol=1e-6, rtol=1e-6)

    together = {k: jnp.zeros_like(v[k]) for k in v}
    shift = jnp.broadcast_to(jnp.asarray([0.3, -0.2, 0.5]), x["shift"].shape)
    dy = program(x, together | {"shift": shift})
    np.testing.assert_allclose(dy["dist"], 0, atol=1e-12)
    np.testing.assert_allclose(dy["normal"], 0, atol=1e-12)
    np.testing.assert_allclose(dy["pos"], shift[:, 0], atol=1e-9)


SCENE = f"""
<mujoco><option sdf_initpoints="30" sdf_iterations="8"/>
<asset>
  <mesh name="ball" {sdf_pairs.MESHES["ball"]}/><mesh name="cloud" {sdf_pairs.MESHES["cloud"]}/>
</asset><worldbody>
  <geom type="plane" size="1 1 1"/>
  <body pos="0 0 .08" euler="10 20 30"><freejoint/><geom type="sdf" mesh="ball"/></body>
  <body pos=".1 0 .15"><freejoint/><geom type="cylinder" size=".06 .05"/></body>
  <body pos="-.08 .02 .17"><freejoint/><geom type="mesh" mesh="cloud"/></body>
  <body pos=".02 .13 .12"><freejoint/><geom type="sdf" mesh="cloud"/></body>
</worldbody></mujoco>
"""


@pytest.mark.slow
@pytest.mark.feature("C73")
def test_scene() -> None:
    """Options have effect; pairs of all classes come in MuJoCo's order, in one world or several."""
    both = load(SCENE)
    assert mjjax.make_data(both.ours).contact.dist.shape[0] >= 80
    d = mujoco.MjData(both.reference)
    data = mjjax.make_data(both.ours, nconmax=128)

    def contacts(model: mjjax.Model, qpos: jax.Array) -> mjjax.Data:
        return mjjax.collision(model, mjjax.kinematics(model, data.replace(qpos=qpos)))

    qpos = np.stack([both.reference.qpos0, both.reference.qpos0])
    qpos[1, [7, 14, 23]] += 0.003, -0.002, 0.004
    many = quick(jax.vmap(contacts, (None, 0)))(both.ours, jnp.asarray(qpos))
    models = jax.tree.map(lambda x: jnp.stack([x, x]), both.ours)
    apart = quick(jax.vmap(contacts))(models, jnp.asarray(qpos))
    np.testing.assert_array_equal(many.contact.geom, apart.contact.geom)
    # descents that have not converged carry the rounding of two programs a thousandfold and more
    geom = np.asarray(many.contact.geom)
    kinds = both.reference.geom_type[geom]
    descends = np.all(np.isin(kinds, [*FIELD_SOLIDS, GeomType.SDF]), axis=-1) & (geom[..., 0] >= 0)
    assert 20 < descends[0].sum() < int(many.ncon[0])
    for a, b in zip(jax.tree.leaves(many.contact), jax.tree.leaves(apart.contact), strict=True):
        np.testing.assert_allclose(a[~descends], b[~descends], atol=1e-12, rtol=0)
        np.testing.assert_allclose(a[descends], b[descends], atol=1e-6, rtol=0)
    gap = np.abs(np.asarray(many.contact.dist) - apart.contact.dist)[descends]
    assert gap.max() < 1e-8 and np.mean(gap < 1e-12) > 0.8
    for world, q in enumerate(qpos):
        d.qpos[:] = q
        mujoco.mj_forward(both.reference, d)
        n = int(many.ncon[world])
        assert n == d.ncon > 40
        ours = jax.tree.map(lambda x, w=world, n=n: np.asarray(x[w, :n]), many.contact)
        np.testing.assert_array_equal(ours.geom, d.contact.geom)
        assert np.mean(np.abs(ours.dist - d.contact.dist) < 1e-8) > 0.95
        assert len({tuple(g) for g in ours.geom}) >= 5


@pytest.mark.slow
@pytest.mark.feature("C73", "D05")
def test_gradient_through_a_step() -> None:
    """The gradient is finite; the distance falls by half of a ball's motion towards the SDF."""
    xml = f"""
    <mujoco><asset><mesh name="ball" {sdf_pairs.MESHES["ball"]}/></asset><worldbody>
      <geom type="sdf" mesh="ball"/>
      <body pos=".02 .01 .14"><joint type="slide" axis="0 0 1"/><geom size=".05"/></body>
    </worldbody></mujoco>"""
    model = mjjax.Model.from_xml_string(xml)
    data = mjjax.make_data(model)

    def depths(q: jax.Array) -> tuple[jax.Array, jax.Array]:
        now = mjjax.step(model, data.replace(qpos=q))
        return now.contact.dist, now.qpos

    here = jnp.zeros(1)
    dist, slope = quick(depths)(here)[0], quick(jax.jacfwd(depths))(here)
    on = np.asarray(dist < NO_CONTACT)
    assert on.sum() > 5
    assert all(np.isfinite(x).all() for x in slope)
    assert 0.4 < np.median(slope[0][on]) < 0.55


@pytest.mark.feature("C73", "D08")
def test_fields_are_finite_everywhere() -> None:
    """Distances and their derivatives in centres, on faces, edges, corners and far away."""
    given = sdf_pairs.poses(sdf_pairs.SOLIDS, 1)
    pools, one, _ = sdf_pairs.shapes(given)
    grid = np.array([0, 0.06, -0.08, 0.1, -0.11, 1e-9, 3.0])
    points = jnp.asarray(np.stack(np.meshgrid(grid, grid, grid), -1).reshape(-1, 3))

    def total(p: jax.Array) -> Array:
        wide = jax.tree.map(lambda x: x[:, None], one)
        return distance(pools, wide, jnp.broadcast_to(p, (len(one.kind), *p.shape)))

    value, change = quick(lambda p: jax.jvp(total, (p,), (jnp.ones_like(p),)))(points)
    assert np.isfinite(value).all() and np.isfinite(change).all()
    assert set(np.unique(one.kind)) >= {int(GeomType.SPHERE), int(GeomType.BOX)}
