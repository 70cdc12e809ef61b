"""Sites and tendons in pictures: the same shapes in the same places as in MuJoCo's scene."""

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.core.enums import ObjType
from mjjax.render.drawn import Shown, drawn
from mjjax.render.smooth import posed
from tests.oracle_tools import Both, load, to_ours

SCENE = """
<mujoco>
  <option><flag contact="disable"/></option>
  <asset><material name="m" rgba=".1 .2 .3 1"/></asset>
  <default><site size=".03 .05 .04"/></default>
  <worldbody>
    <geom type="plane" size="4 3 1" pos="0 0 -1"/>
    <site name="a" pos="-.6 0 .3"/>
    <site name="side" pos=".1 0 .4" type="box" material="m"/>
    <site type="capsule" pos="1 0 0" euler="10 20 30" rgba="1 0 0 .5"/>
    <site type="cylinder" pos="1 1 0" euler="10 20 30" group="3"/>
    <body name="b"><joint axis="0 1 0"/><joint axis="1 0 .3"/>
      <geom name="g" size=".2"/>
      <geom name="h" size=".1 .3" type="cylinder" pos="1 0 0" euler="80 0 0"/>
      <site name="c" pos=".6 .1 .1" type="ellipsoid" group="2"/>
      <site name="d" pos="1.5 0 -.1" euler="30 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <fixed><joint joint="#" coef="1"/></fixed>
    <spatial width=".02" rgba="0 1 0 1"><site site="a"/><geom geom="g" sidesite="side"/>
      <site site="c"/><geom geom="h"/><site site="d"/></spatial>
    <spatial width=".01" material="m"><site site="a"/><site site="c"/><pulley divisor="2"/>
      <site site="c"/><site site="d"/></spatial>
    <spatial group="4"><site site="a"/><site site="d"/></spatial>
  </tendon>
</mujoco>
""".replace('<joint axis="0 1 0"/>', '<joint name="#" axis="0 1 0"/>')


def decorations(both: Both, d: mujoco.MjData) -> list[tuple]:
    """Sites and tendons of MuJoCo's scene: element, type, position, size, z axis, colour."""
    scene, look = mujoco.MjvScene(both.reference, 100), mujoco.MjvCamera()
    everything = mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(both.reference, d, mujoco.MjvOption(), None, look, everything, scene)
    kinds = (ObjType.SITE, ObjType.TENDON)
    return [
        ((g.objid, g.objtype), g.type, g.pos, g.size, g.mat.reshape(3, 3)[:, 2], g.rgba)
        for g in scene.geoms[: scene.ngeom]
        if g.objtype in kinds
    ]


@pytest.mark.feature("A176")
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_sites_and_tendons_are_where_the_oracle_draws_them(angle: float) -> None:
    """Shapes, places, sizes and colours, by group; segments around geoms are thin there."""
    both = load(SCENE)
    d = mujoco.MjData(both.reference)
    d.qpos[:] = angle
    mujoco.mj_forward(both.reference, d)
    data = posed(both.ours, to_ours(both.ours, d))
    model, data, element = drawn(jax.device_get(both.ours), data, Shown())
    rgba = np.asarray(model.geom_rgba)
    plain = (rgba == [0.5, 0.5, 0.5, 1]).all(axis=1) & (model.structure.geom_matid >= 0)
    rgba = np.where(plain[:, None], np.asarray(both.ours.mat_rgba)[0], rgba)
    ours = [
        (tuple(element[i]), model.structure.geom_type[i], *pose)
        for i, pose in enumerate(zip(
            np.asarray(data.geom_xpos),
            np.asarray(model.geom_size),
            np.asarray(data.geom_xmat).reshape(-1, 3, 3)[:, :, 2],
            rgba,
            strict=True,
        ))
        if element[i, 1] != ObjType.GEOM and rgba[i, 3] > 0
    ]  # fmt: skip

    def order(row: tuple) -> tuple:
        return row[0], *np.round(row[2], 4)

    theirs = decorations(both, d)
    assert len(ours) == len(theirs) > 8
    for mine, other in zip(sorted(ours, key=order), sorted(theirs, key=order), strict=True):
        assert mine[:2] == other[:2]
        np.testing.assert_allclose(mine[2], other[2], atol=1e-6)
        size = slice(0, {2: 1, 3: 2, 5: 2}.get(mine[1], 3))
        np.testing.assert_allclose(mine[3][size], _sizes(mine[1], other[3])[size], atol=1e-6)
        np.testing.assert_allclose(mine[4], other[4], atol=1e-5)
        np.testing.assert_allclose(mine[5], other[5], atol=1e-6)


def _sizes(kind: int, size: np.ndarray) -> np.ndarray:
    """Sizes as geoms have them: MuJoCo's scene has radius, radius, half length."""
    return size[[0, 2, 1]] if kind in (3, 5) else size


@pytest.mark.feature("A176")
def test_sites_and_tendons_are_in_pictures() -> None:
    """A picture of a site shows its id and type; without its group it does not."""
    xml = '<mujoco><worldbody><site name="s" size=".1"/><camera pos="0 0 1"/></worldbody></mujoco>'
    model = mjjax.Model.from_xml_string(xml)
    data = posed(model, mjjax.make_data(model))
    seen = mjjax.render(model, data, camera=0, width=3, height=3)
    np.testing.assert_array_equal(seen.segmentation[1, 1], [0, ObjType.SITE])
    np.testing.assert_array_equal(seen.segmentation[0, 0], [-1, -1])
    assert float(seen.depth[1, 1]) == pytest.approx(0.9)
    off = mjjax.render(model, data, camera=0, width=3, height=3, sitegroup=[False] * 6)
    assert (off.segmentation == -1).all()
