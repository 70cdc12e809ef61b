"""Rays of cameras, depth and geoms in pictures are those of MuJoCo and of `ray`."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.core.enums import GeomType
from mjjax.render import camera as cameras
from mjjax.render import smooth
from mjjax.xla.namespace import Array
from tests.oracle_tools import load, quick, stack, to_ours, world
from tests.render.scenes import CAMERAS, SCENE, oracle_rays, posed

WIDTH, HEIGHT = 30, 20
SEEN = (True, True, True, False, False, False)


def draw(model: mjjax.Model, data: mjjax.Data) -> mjjax.Picture:
    return mjjax.render(model, data, camera="plain", width=WIDTH, height=HEIGHT)


render = quick(draw)


def state(seed: int) -> mujoco.MjData:
    """The scene with its body moved a little."""
    both = load(SCENE)
    d = mujoco.MjData(both.reference)
    move = np.random.default_rng(seed).normal(size=both.reference.nv)
    mujoco.mj_integratePos(both.reference, d.qpos, move, 0.1)
    mujoco.mj_forward(both.reference, d)
    return d


def ours(d: mujoco.MjData) -> mjjax.Data:
    return smooth.posed(load(SCENE).ours, to_ours(load(SCENE).ours, d))


def rays(data: mjjax.Data, name: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Our rays through the pixels (height, width, 3)."""
    model = jax.device_get(load(SCENE).ours)
    camera = None if name is None else cameras.camera_id(model, name)
    if camera is None:
        view = cameras.free_view(model, mjjax.free_camera(model), WIDTH / HEIGHT)
    else:
        view = cameras.fixed_view(model, data, camera, WIDTH / HEIGHT)
    parallel = cameras.is_orthographic(model, camera)
    places = cameras.pixel_places(WIDTH, HEIGHT, np.arange(WIDTH * HEIGHT))
    found = cameras.view_rays(view, parallel, places)
    start, along = (np.array(x).reshape(HEIGHT, WIDTH, 3) for x in found)
    return start, along


@pytest.mark.feature("A177")
@pytest.mark.parametrize("name", CAMERAS)
def test_rays_are_those_of_the_camera(name: str | None) -> None:
    """Row 0 is at the top, and every kind of camera sees what MuJoCo's does (float32 there)."""
    d = state(1)
    start, along = rays(ours(d), name)
    begin, way, _ = oracle_rays(load(SCENE), d, name, WIDTH, HEIGHT)
    np.testing.assert_allclose(start, begin, atol=2e-6)
    np.testing.assert_allclose(along, way, atol=2e-6)
    above = along[0] - along[-1] + start[0] - start[-1]
    assert (above[:, 2] > 0).all()


@pytest.mark.slow
@pytest.mark.feature("A177", "D22")
def test_geoms_and_depth_are_those_of_single_rays() -> None:
    """Each pixel of a program's picture shows what `mj_ray` meets, at the same distance."""
    both = load(SCENE)
    far = float(both.ours.vis.map.zfar * both.ours.stat.extent)
    for seed in range(2):
        d = state(seed)
        data = ours(d)
        picture = render(both.ours, data)
        start, along = rays(data, "plain")
        ahead = -np.asarray(data.camera("plain").xmat).reshape(3, 3)[:, 2]
        element, depth = np.asarray(picture.segmentation), np.asarray(picture.depth)
        met, groups = np.zeros(1, np.int32), np.array(SEEN, np.uint8)
        for pixel in np.ndindex(HEIGHT, WIDTH):
            dist = mujoco.mj_ray(both.reference, d, start[pixel], along[pixel], groups, 1, -1, met)
            kind = -1 if met[0] < 0 else int(mjjax.ObjType.GEOM)
            np.testing.assert_array_equal(element[pixel], [met[0], kind])
            away = far if dist < 0 else dist * (along[pixel] @ ahead)
            assert depth[pixel] == pytest.approx(away, rel=1e-6)
        assert set(both.ours.geom_type[np.unique(element[element[..., 0] >= 0, 0])]) == set(
            GeomType
        )


@pytest.mark.slow
@pytest.mark.feature("A177")
def test_pictures_of_both_tracers_are_equal() -> None:
    """Inside and outside of a program, 99 % of the pixels are within a grey level of each other.

    The SDF geom is left out: outside of programs, its mesh is drawn, as by MuJoCo.
    """
    model = load(SCENE).ours
    sdf = np.flatnonzero(model.geom_type == GeomType.SDF)
    model = model.replace(geom_rgba=model.geom_rgba.at[sdf, 3].set(0))
    for seed in range(2):
        data = ours(state(seed))
        one, other = render(model, data), draw(model, data)
        assert isinstance(other.rgb, np.ndarray)
        away = np.abs(255 * (np.asarray(one.rgb) - other.rgb)).max(axis=-1)
        assert (away <= 1).mean() > 0.99
        same = (np.asarray(one.segmentation) == other.segmentation).all(axis=-1)
        assert same.mean() > 0.99
        np.testing.assert_allclose(np.asarray(one.depth)[same], other.depth[same], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.feature("D22")
def test_batch_is_loop() -> None:
    """Worlds that are drawn together look as drawn one by one."""
    model = load(SCENE).ours
    singles = [ours(state(seed)) for seed in range(3)]
    batch = quick(jax.vmap(draw, in_axes=(None, 0)))(model, stack(singles))
    for i, data in enumerate(singles):
        for one, many in zip(render(model, data), world(batch, i), strict=True):
            np.testing.assert_allclose(many, one, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.feature("D23")
def test_derivative_of_depth() -> None:
    """Depth changes with the pose of a body as differences say, in every pixel that keeps its geom;
    also backward.
    """
    model = load(SCENE).ours
    data = ours(state(0))
    step = 1e-6

    def seen(move: Array) -> tuple[Array, Array]:
        qpos = mjjax.integrate_pos(model, data.qpos, move, jnp.ones(()))
        picture = draw(model, posed(model, data.replace(qpos=qpos)))
        return picture.depth, picture.segmentation

    way = jnp.asarray(np.random.default_rng(0).normal(size=6))
    derivative = quick(lambda v: jax.jvp(lambda x: seen(x)[0], (0 * v,), (v,))[1])(way)
    depth, geom = quick(lambda x: jax.lax.map(seen, x))(jnp.stack([step * way, -step * way]))
    same = np.asarray(geom[0] == geom[1]).all(axis=-1)
    assert same.mean() > 0.99 and np.abs(np.asarray(derivative)).max() > 0.1
    differences = np.asarray(depth[0] - depth[1]) / (2 * step)
    np.testing.assert_allclose(np.asarray(derivative)[same], differences[same], atol=2e-5)
    back = quick(jax.grad(lambda x: jnp.sum(seen(x)[0])))(jnp.zeros(6))
    assert float(back @ way) == pytest.approx(float(jnp.sum(derivative)), rel=1e-8)


HIDDEN = """
<mujoco><worldbody><geom name="around" size="1"/><geom name="ahead" size=".2" pos="0 0 -3"/>
<geom name="beyond" type="box" size="90 90 1" pos="0 0 -500"/>
<camera name="c"/></worldbody><statistic extent="2"/></mujoco>
"""


@pytest.mark.feature("A177")
def test_what_is_around_and_too_far_is_not_seen() -> None:
    """A camera in a head sees out of it, and nothing beyond the far plane."""
    model = load(HIDDEN).ours
    data = smooth.posed(model, mjjax.make_data(model))
    picture = mjjax.render(model, data, camera=0, width=9, height=9)
    np.testing.assert_array_equal(np.unique(picture.segmentation[..., 0]), [-1, 1])
    assert picture.segmentation[4, 4, 0] == 1
    assert picture.depth[4, 4] == pytest.approx(2.8) and picture.depth[0, 0] == 100


def test_wrong_arguments_are_errors() -> None:
    """A misspelt camera is answered with the names there are, a batch with the way to map it."""
    model = load(SCENE).ours
    data = mjjax.make_data(model)
    with pytest.raises(KeyError, match="riding"):
        mjjax.render(model, data, camera="ridin")
    with pytest.raises(ValueError, match="no camera 4: the model has 4"):
        mjjax.render(model, data, camera=4)
    with pytest.raises(ValueError, match="empty"):
        mjjax.render(model, data, width=0)
    with pytest.raises(ValueError, match="data is a batch"):
        mjjax.render(model, stack([data, data]))
