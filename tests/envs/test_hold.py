"""The task that any model has: to keep the pose of a keyframe."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import cli
from mjjax.cli.runs import Run, task_of
from mjjax.envs import Hold
from mjjax.math import quat

XML = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 .5">
      <freejoint/>
      <geom size=".1"/>
      <body pos=".3 0 0">
        <joint name="ball" type="ball"/>
        <geom size=".05" pos=".1 0 0"/>
        <body pos=".2 0 0">
          <joint name="hinge" axis="0 1 0"/>
          <geom size=".05" pos=".1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m" joint="hinge" ctrlrange="-2 4"/></actuator>
  <keyframe>
    <key name="up" qpos="1 2 .7 1 0 0 0 1 0 0 0 .3" ctrl="1"/>
    <key name="bent" qpos="0 0 .6 .6 .8 0 0 .8 0 .6 0 -.4" ctrl="2"/>
  </keyframe>
</mujoco>
"""


def test_the_pose_is_worth_most_wherever_it_is() -> None:
    """Far away and turned about the vertical nothing changes; every other change costs."""
    env = Hold(mjjax.Model.from_xml_string(XML), "bent")
    assert env.dt == 0.02 and env.episode == 250 and env.action_space().shape == (1,)
    data = mjjax.make_data(env.model)
    pose = np.asarray(env.pose(env.model))
    turn = np.array([0.8, 0, 0, 0.6])

    def at(qpos: np.ndarray) -> tuple[jax.Array, jax.Array]:
        moved = data.replace(qpos=jnp.asarray(qpos), ctrl=env.control(env.model, jnp.zeros(1)))
        terms = env.terms(env.model, moved, moved)
        assert moved.ctrl == 2 and terms["effort"] == 0
        return env.observe(env.model, moved), terms["there"]

    away = pose.copy()
    away[:2] = 5, -3
    away[3:7] = quat.mul(turn, pose[3:7])
    for qpos in (pose, away):
        seen, there = at(qpos)
        np.testing.assert_allclose(seen, 0, atol=1e-12)
        np.testing.assert_allclose(there, 1)
    for change in (2, 4, 8, 11):  # height, tilt, ball, hinge
        other = pose.copy()
        other[change] += 0.1
        assert at(other)[1] < 0.99


def test_actions_reach_from_the_pose_to_the_ends() -> None:
    """Action zero gives the controls of the keyframe, -1 and 1 those of the range."""
    env = Hold(mjjax.Model.from_xml_string(XML), "up")
    found = [float(env.control(env.model, jnp.full(1, a))[0]) for a in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    np.testing.assert_allclose(found, [-2, -0.5, 1, 2.5, 4])


def test_velocities_of_a_free_body_are_seen_in_its_frame() -> None:
    """A robot that moves forward sees the same wherever it heads."""
    env = Hold(mjjax.Model.from_xml_string(XML))
    data = mjjax.make_data(env.model)
    turn = np.array([0.8, 0, 0, 0.6])
    ahead = np.asarray(quat.rotate(turn, np.array([1.0, 0, 0])))
    seen = [
        env.observe(
            env.model,
            data.replace(qpos=data.qpos.at[3:7].set(q), qvel=data.qvel.at[:3].set(v)),
        )
        for q, v in ((np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0])), (turn, ahead))
    ]
    np.testing.assert_allclose(seen[0], seen[1], atol=1e-12)


MISTAKES = {
    "actuator 'm' needs a ctrlrange": ("robot.xml", 'ctrlrange="-2 4"', ""),
    "has no actuator": (
        "robot.xml",
        '<actuator><motor name="m" joint="hinge" ctrlrange="-2 4"/></actuator>',
        "",
    ),
    "no key 'upp'; valid names: up, bent": ("robot.xml:upp", "", ""),
    "there is no keyframe 2; the model has 2": ("robot.xml:2", "", ""),
    "no model 'ROBOT.xml'": ("ROBOT.xml", "", ""),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_models_that_cannot_be_trained_are_refused(
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`mjjax train MODEL.xml` says in one line what is missing."""
    task, old, new = MISTAKES[message]
    monkeypatch.chdir(tmp_path)
    xml = XML.replace(' ctrl="1"', "").replace(' ctrl="2"', "") if "<motor" in old else XML
    Path("robot.xml").write_text(xml.replace(old, new) if old else xml, encoding="utf-8")
    assert cli.main(["train", task]) == 2
    said = capsys.readouterr().err.splitlines()
    assert message in said[-1].replace(str(tmp_path) + "/", "")


def test_a_folder_remembers_where_its_model_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training of a model goes on, and is played, from any folder."""
    monkeypatch.chdir(tmp_path)
    Path("robot.xml").write_text(XML, encoding="utf-8")
    task = task_of("./robot.xml:bent")
    assert task_of("./robot.xml") == task.removesuffix(":bent") == str(tmp_path / "robot.xml")
    monkeypatch.chdir("/")
    env = Run(task, "ppo", 256, 128, 0, 1, {}).environment()
    assert isinstance(env, Hold)
    np.testing.assert_array_equal(env.pose(env.model), env.model.key_qpos[1])
    obs, state = env.reset(jax.random.key(0))
    _, _, reward, *_ = env.step(jax.random.key(1), state, jnp.zeros(1))
    assert obs.shape == (8 + 10,) and 0 < reward <= 1
