"""Pictures outside of programs: what rays meet, without Embree too, and smooth edges."""

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.core.enums import GeomType
from mjjax.render import embree, picture
from mjjax.render.drawn import Shown
from mjjax.render.host import HostTracer, host_scene
from mjjax.render.scene import Sight
from mjjax.render.smooth import posed, smooth_picture
from tests.oracle_tools import load, to_ours
from tests.render.scenes import SCENE

ALL = (True,) * 6


def world() -> tuple[mujoco.MjModel, mujoco.MjData, HostTracer]:
    """The scene with every type of geom in the oracle, and what our rays meet there."""
    both = load(SCENE)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    data = posed(both.ours, to_ours(both.ours, d))
    sight = Sight(None, 4, 4, Shown(ALL))
    return both.reference, d, HostTracer(host_scene(both.ours, data, None, sight))


def rays(seed: int, place: np.ndarray, wide: float) -> tuple[np.ndarray, np.ndarray]:
    """Starts (300, 3) above a place, and unit directions to somewhere near it."""
    rng = np.random.default_rng(seed)
    start = place + 2 * rng.normal(size=(300, 3)) + [0, 0, 4]
    along = place + rng.uniform(-wide, wide, size=(300, 3)) - start
    return start, along / np.linalg.norm(along, axis=1, keepdims=True)


@pytest.mark.feature("A177")
@pytest.mark.parametrize("kind", [x for x in GeomType if x != GeomType.SDF])
def test_rays_meet_what_the_oracles_meet(kind: GeomType) -> None:
    """The distance of a geom of every type, seen alone, is that of `mj_ray`; normals are unit."""
    m, d, tracer = world()
    geom = int(np.flatnonzero(m.geom_type == int(kind))[-1])
    start, along = rays(int(kind), d.geom_xpos[geom], 0.5)
    seen = np.arange(m.ngeom) == geom
    hit, _ = tracer.first(start, along, seen)
    m.geom_group[:] = np.where(seen, 0, 1)
    met, group = np.zeros(1, np.int32), np.array([1, 0, 0, 0, 0, 0], np.uint8)
    pairs = zip(start, along, strict=True)
    wanted = np.array([mujoco.mj_ray(m, d, p, v, group, 1, -1, met) for p, v in pairs])
    assert (wanted >= 0).sum() > 20
    np.testing.assert_allclose(hit.dist, wanted, atol=1e-6)
    np.testing.assert_array_equal(hit.geomid, np.where(wanted >= 0, geom, -1))
    length = np.linalg.norm(hit.normal, axis=1)
    np.testing.assert_allclose(length, hit.geomid >= 0, atol=1e-12)


@pytest.mark.feature("A177")
def test_shadows_are_first_hits() -> None:
    """A ray is blocked exactly if its first hit is nearer than its reach."""
    m, _, tracer = world()
    start, along = rays(0, np.zeros(3), 1.5)
    seen = np.ones(m.ngeom, bool)
    hit, _ = tracer.first(start, along, seen)
    reach = np.random.default_rng(0).uniform(-1, 6, size=len(start))
    blocked = (hit.dist >= 0) & (hit.dist < reach)
    assert 30 < blocked.sum() < 270
    np.testing.assert_array_equal(tracer.blocked(start, along, reach, seen), blocked)


def test_height_field_is_closed() -> None:
    """Its triangles face outward: they enclose the volume under the surface and of the base."""
    model = jax.device_get(load(SCENE).ours)
    geom = int(np.flatnonzero(model.geom_type == GeomType.HFIELD)[0])
    found = embree.triangles_of(model, geom)
    a, b, c = (found.vert[found.face[:, k]] for k in range(3))
    volume = np.sum(np.linalg.det(np.stack([a, b, c], axis=1))) / 6
    x, y, z, base = model.hfield_size[0]
    # Each cell has two triangles, so its mean height is that of their corners.
    h = model.hfield_data.reshape(3, 4)
    mean = (2 * h[:-1, :-1] + h[:-1, 1:] + h[1:, :-1] + 2 * h[1:, 1:]) / 6
    assert volume == pytest.approx(4 * x * y * (z * mean.mean() + base))


SHAPE = """
<mujoco>
  <asset><mesh name="m" MESH/></asset>
  <visual><headlight ambient="0 0 0" diffuse="1 1 1" specular="0 0 0"/></visual>
  <worldbody><geom type="mesh" mesh="m" pos="0 0 0"/>
    <camera pos="2 -4 3" xyaxes="1 .5 0 -.5 1 1.5" fovy="30"/></worldbody>
</mujoco>
"""


@pytest.mark.feature("A178")
def test_sharp_edges_of_meshes_look_sharp() -> None:
    """A mesh of a box has one colour on each side; one of a round shape has many."""
    box = 'vertex="-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"'
    ball = 'builtin="sphere" params="3"'
    counts = []
    for mesh in (box, ball):
        model = mjjax.Model.from_xml_string(SHAPE.replace("MESH", mesh))
        data = posed(model, mjjax.make_data(model))
        rgb = mjjax.render(model, data, camera=0, width=40, height=40).rgb
        counts.append(len(np.unique(np.round(255 * rgb[rgb.any(axis=2)]), axis=0)))
    assert counts[0] == 3 and counts[1] > 20


@pytest.mark.feature("A178")
def test_haze_hides_the_horizon() -> None:
    """Over an endless plane the colour of the haze is seen, and the sky begins at the horizon."""
    xml = (
        '<mujoco><visual><rgba haze="1 0 0 1"/><map haze=".5"/></visual><asset>'
        '<texture type="skybox" builtin="flat" rgb1="0 0 1" width="4" height="4"/></asset>'
        '<worldbody><geom type="plane" size="0 0 1" rgba="0 1 0 1"/>'
        '<camera pos="0 0 1" xyaxes="1 0 0 0 0 1" fovy="10"/></worldbody>'
        '<statistic extent="1"/></mujoco>'
    )
    model = mjjax.Model.from_xml_string(xml)
    data = posed(model, mjjax.make_data(model))
    rgb = mjjax.render(model, data, camera=0, width=1, height=400).rgb[:, 0]
    np.testing.assert_allclose(rgb[:200], np.tile([0, 0, 1.0], (200, 1)))
    # It rises from the plane at half the distance of the sky, 35 m, to the height of the eye.
    low = np.tan(np.deg2rad(5)) * (np.arange(400) + 0.5 - 200) / 200
    begin = np.flatnonzero(low > 1 / 17.5)[0]
    assert rgb[begin, 0] < 1e-6 and rgb[begin - 2, 0] > 0 and rgb[begin, 1] > 0.1
    assert rgb[200 : begin - 1, 0].max() > 0.97 and rgb[200, 0] < 0.5


def test_without_embree_our_own_rays_are_traced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Models with meshes are drawn by our tracer, which is said once; others need no Embree."""
    monkeypatch.setattr(embree, "is_there", lambda: False)
    picture.say_that_embree_is_missing.cache_clear()
    asked = []
    nothing = np.zeros((2, 2, 3)), np.zeros((2, 2)), np.zeros((2, 2, 2), np.int32)
    monkeypatch.setattr(picture, "traced", lambda *args: asked.append(args) or nothing)
    plain = mjjax.Model.from_xml_string('<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
    for model, count in ((plain, 0), (load(SCENE).ours, 2)):
        for _ in range(2):
            mjjax.render(model, posed(model, mjjax.make_data(model)), width=2, height=2)
        assert len(asked) == count
    assert [r.getMessage() for r in caplog.records] == [
        "pictures of meshes take minutes without Embree: pip install 'mjjax[render]'"
    ]


def test_edges_are_smooth() -> None:
    """A pixel that is half covered has a colour in between, from the state of a world alone."""
    xml = (
        '<mujoco><visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>'
        '<worldbody><body><freejoint/><geom type="box" size="1 1 1" rgba="1 1 1 1"/></body>'
        '<camera pos="0 0 4" projection="orthographic" fovy="3"/></worldbody></mujoco>'
    )
    model = mjjax.Model.from_xml_string(xml)
    start = mjjax.make_data(model)
    moved = start.replace(qpos=start.qpos.at[0].set(0.05))  # half a pixel to the right
    for data, edge in ((start, [0, 0, 0, 255]), (moved, [0, 0, 0, 0, 255])):
        line = smooth_picture(model, data, 0, 30, 30)[15, 2 : 2 + len(edge), 0]
        np.testing.assert_array_equal(np.sort(line), line)
    assert smooth_picture(model, moved, 0, 30, 30)[15, 5, 0] == pytest.approx(127.5, abs=1)
