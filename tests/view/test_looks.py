"""Groups, transparency and tendons are shown as MuJoCo's viewer shows them."""

import functools

import jax
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.render.drawn import SEEN, Shown
from mjjax.view.looks import Look, Looks
from mjjax.view.scene import Moment, Scene
from mjjax.view.server import started
from mjjax.view.world import EVERY, frame
from tests.oracle_tools import load

SCENE = """
<mujoco>
  <visual><map alpha=".4"/></visual>
  <asset>
    <texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <material name="m" texture="t" rgba="1 1 1 .5"/>
  </asset>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <geom size=".1" rgba="1 0 0 .5"/>
    <geom size=".1" rgba="1 0 0 0"/>
    <site name="hook" pos="0 0 2" group="4"/>
    <body name="hand" pos="1 0 0" mocap="true"><geom size=".1" group="2"/></body>
    <body name="post" pos="2 0 0">
      <geom size=".1"/><site/>
      <body name="slider" pos="0 0 1">
        <joint type="slide" axis="0 0 1"/>
        <geom size=".2" group="3"/>
        <geom size=".1" rgba="0 0 1 .5"/>
        <geom type="box" size=".1 .1 .1" material="m" group="1"/>
        <site name="eye" group="5"/><site group="1"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial group="2"><site site="hook"/><site site="eye"/></spatial>
    <spatial group="3" rgba="0 1 0 1"><site site="hook"/><site site="eye"/></spatial>
  </tendon>
</mujoco>
"""
SEEN_BY_DEFAULT = Look()
SOME = (False, True, True, True, True, False)
LOOKS = (
    SEEN_BY_DEFAULT,
    Look(Shown(EVERY, EVERY, EVERY)),
    Look(Shown(SOME, SOME, SOME), transparent=True),
    SEEN_BY_DEFAULT,
)


def expected(m: mujoco.MjModel, look: Look) -> dict[tuple[int, int], float]:
    """The alpha of all geoms, sites and tendons that MuJoCo draws."""
    d, option = mujoco.MjData(m), mujoco.MjvOption()
    mujoco.mj_forward(m, d)
    option.geomgroup, option.sitegroup, option.tendongroup = look.shown
    option.flags[mujoco.mjtVisFlag.mjVIS_TRANSPARENT] = look.transparent
    scene = mujoco.MjvScene(m, 100)
    mujoco.mjv_updateScene(m, d, option, None, mujoco.MjvCamera(), 7, scene)
    drawn = scene.geoms[: scene.ngeom]
    return {(int(g.objtype), g.objid): float(g.rgba[3]) for g in drawn if g.rgba[3] > 0}


def shown(scene: Scene, look: Look, m: mujoco.MjModel) -> dict[tuple[int, int], float]:
    """The alpha of all geoms and sites that our scene shows; the floor is no object that moves."""
    found = {(int(mujoco.mjtObj.mjOBJ_GEOM), 0): 1.0} if look.shown.geoms[0] else {}
    for (kind, _), group in scene._bodies._groups.items():
        for thing in group.things if group.frame.visible else ():
            for i in thing.geoms:
                alpha = float(scene._bodies._paint.rgba[i, 3])
                if not thing.textured:
                    assert (thing.handle.opacity or 1) == pytest.approx(alpha)
                found[(int(kind), int(i) - (m.ngeom if kind.name == "SITE" else 0))] = alpha
    return found


@pytest.mark.feature("A176")
def test_what_is_seen_is_what_mujoco_draws() -> None:
    """Choosing groups and transparency, in turn, shows and fades what it does in MuJoCo."""
    both = load(SCENE)
    world = jax.tree.map(lambda x: x[None], mjjax.make_data(both.ours))
    seen = jax.device_get(jax.jit(jax.vmap(functools.partial(frame, both.ours)))(world))
    m, tendon = both.reference, int(mujoco.mjtObj.mjOBJ_TENDON)
    with started(None) as server:
        scene = Scene(server, both.ours, 1)
        for look in LOOKS:
            scene.show(Moment(seen, look))
            drawn = expected(m, look)
            rows = [i for kind, i in drawn if kind == tendon]
            solid = {key: alpha for key, alpha in drawn.items() if key[0] != tendon}
            assert shown(scene, look, m) == pytest.approx(solid)
            assert scene._tendons is not None
            assert scene._tendons.points.shape == (len(rows), 2, 3)
            colours = np.round(255 * m.tendon_rgba[rows, :3]).astype(int)
            np.testing.assert_allclose(scene._tendons.colors[:, 0], colours, atol=1)
        nothing = Look(Shown(*[(False,) * 6] * 3))
        scene.show(Moment(seen, nothing))
        assert shown(scene, nothing, m) == {} and scene._tendons is None


@pytest.mark.feature("A179")
def test_groups_that_hold_something_have_switches() -> None:
    """A switch stands for each group in use, and is at first as in MuJoCo."""
    s = load(SCENE).ours.structure
    with started(None) as server:
        looks = Looks(server.gui, s)
        assert looks.look() == Look()
        assert {kind: list(boxes) for kind, boxes in looks._groups.items()} == {
            "geoms": [0, 1, 2, 3],
            "sites": [0, 1, 4, 5],
            "tendons": [2, 3],
        }
        looks._groups["geoms"][3].value = looks._flags["transparent"].value = True
        assert looks.look() == Look(Shown(geoms=(*SEEN[:3], True, False, False)), transparent=True)
