"""Our environments for Gymnasium work with its loops, wrappers and checkers."""

import functools
import json
import sys
import types
import warnings
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import mjjax.envs.gymnasium
from mjjax import envs
from mjjax.envs import Params
from mjjax.envs.gymnasium import GymnasiumEnv, GymnasiumVectorEnv
from mjjax.envs.worlds import advance_all

WORLDS, STEPS = 3, 4
VECTOR: Any = functools.partial(gymnasium.make_vec, "mjjax/pendulum-v0", WORLDS)


@functools.cache
def short() -> Params:
    """Episodes of four steps."""
    params = envs.make("pendulum").default_params
    return params.replace(max_steps_in_episode=jnp.asarray(STEPS, jnp.int32))


def actions(steps: int) -> np.ndarray:
    """Random ones; one that is not a number ends the episode of a world early."""
    found = np.random.default_rng(0).uniform(-1, 1, (steps, WORLDS, 1)).astype(np.float32)
    found[1, 1] = np.nan
    return found


def assert_same(ours: Any, theirs: Any) -> None:
    """Numbers up to rounding, of dictionaries with the same keys."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert_same(ours[name], theirs[name])
    elif isinstance(ours, np.ndarray) and ours.dtype == object:
        assert [x is None for x in ours] == [x is None for x in theirs]
        for x, y in zip(ours, theirs, strict=True):
            assert x is None or np.allclose(x, y, atol=1e-12)
    else:
        assert ours.shape == theirs.shape and ours.dtype.kind == theirs.dtype.kind
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.slow
def test_gymnasium_checks_one_world() -> None:
    """Gymnasium's checker, with pictures, complains only that there are no bounds."""
    env = gymnasium.make("mjjax/pendulum-v0", render_mode="rgb_array", width=16, height=12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    said = [str(w.message) for w in caught]
    assert all("infinity. This is probably" in text for text in said), said
    picture = env.unwrapped.render()
    assert isinstance(picture, np.ndarray) and picture.shape == (12, 16, 3)
    assert env.spec is not None and json.loads(env.spec.to_json())["id"] == "mjjax/pendulum-v0"


@pytest.mark.slow
@pytest.mark.parametrize("mode", AutoresetMode)
def test_worlds_start_anew_as_gymnasiums_do(mode: AutoresetMode) -> None:
    """Every number, end and entry is that of Gymnasium's loop over our single environments."""
    ours = VECTOR(params=short(), autoreset_mode=mode.value)
    loop = SyncVectorEnv([lambda: GymnasiumEnv("pendulum", short())] * WORLDS, autoreset_mode=mode)
    for one, other in zip(ours.reset(seed=7), loop.reset(seed=[7, 8, 9]), strict=True):
        assert_same(one, other)
    ended = 0
    for action in actions(3 * STEPS):
        found, expected = ours.step(action), loop.step(action)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        over = found[2] | found[3]
        ended += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            with pytest.raises(ResetNeeded, match="have ended: reset with a reset_mask"):
                ours.step(action)
            both = (env.reset(options={"reset_mask": over.copy()}) for env in (ours, loop))
            for one, other in zip(*both, strict=True):
                assert_same(one, other)
    assert ended >= 2 * WORLDS and ours.metadata["autoreset_mode"] == mode


WRAPPERS = {
    "FlattenObservation": {},
    "NormalizeObservation": {},
    "NormalizeReward": {},
    "RecordEpisodeStatistics": {},
    "ClipAction": {},
    "ClipReward": {"max_reward": 0.1},
    "RescaleAction": {"min_action": -2.0, "max_action": 2.0},
    "DtypeObservation": {"dtype": np.float64},
    "ReshapeObservation": {"shape": (2, 2)},
    "DictInfoToList": {},
    "TransformAction": {"func": lambda action: action / 2},
    "TransformObservation": {"func": lambda obs: 2 * obs},
    "TransformReward": {"func": lambda reward: 2 * reward},
    "VectorizeTransformObservation": {
        "wrapper": gymnasium.wrappers.TransformObservation,
        "func": lambda obs: 2 * obs,
        "observation_space": None,
    },
    "VectorizeTransformAction": {
        "wrapper": gymnasium.wrappers.TransformAction,
        "func": lambda action: action / 2,
        "action_space": None,
    },
    "VectorizeTransformReward": {
        "wrapper": gymnasium.wrappers.TransformReward,
        "func": lambda reward: 2 * reward,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_go_around_it(name: str) -> None:
    """Gymnasium's vector wrappers run the environment through resets without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = getattr(wrappers, name)(VECTOR(params=short()), **WRAPPERS[name])
        obs, _ = env.reset(seed=0)
        for _ in range(2 * STEPS + 2):
            obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
            assert np.isfinite(obs).all() and np.isfinite(reward).all()
            assert obs.shape == env.observation_space.shape
            if name == "RecordEpisodeStatistics" and (terminated | truncated).any():
                assert (info["episode"]["l"] == STEPS).all()
        env.close()
        env.close()
    assert env.closed and env.unwrapped.spec.id == "mjjax/pendulum-v0"


@pytest.mark.slow
def test_pictures_of_all_worlds(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of each world, as `RecordVideo` wants them; none without a render mode."""
    assert VECTOR(params=short()).render() is None
    videos = []

    class Clip:
        def __init__(self, frames: list[np.ndarray], fps: int):
            videos.append((np.array(frames), fps))

        def write_videofile(self, *_: Any, **__: Any) -> None: ...

    sequence = types.SimpleNamespace(ImageSequenceClip=Clip)
    for module in ("moviepy", "moviepy.video", "moviepy.video.io"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setitem(sys.modules, "moviepy.video.io.ImageSequenceClip", sequence)
    env = VECTOR(params=short(), render_mode="rgb_array", width=16, height=12)
    assert env.render_mode == "rgb_array" and env.metadata["render_modes"] == ["rgb_array"]
    env = wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda n: n == 0)
    env.reset(seed=0)
    for action in np.ones((STEPS + 1, WORLDS, 1), np.float32):
        env.step(action)
    pictures = env.unwrapped.render()
    assert isinstance(pictures, tuple) and {x.shape for x in pictures} == {(12, 16, 3)}
    assert (pictures[0] != pictures[1]).any() and pictures[0].dtype == np.uint8
    frames, fps = videos[0]
    assert len(frames) == STEPS + 1 and fps == env.metadata["render_fps"] == 25
    env.close()


class Foreign:
    """An array of another library, as far as DLPack shows it."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.slow
def test_jax_arrays_stay_where_they_are() -> None:
    """With `arrays="jax"` a step holds the same numbers and brings none of them to the host."""
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        numpy = VECTOR(params=short(), autoreset_mode=mode)
        env = VECTOR(params=short(), autoreset_mode=mode, arrays="jax")
        assert_same(numpy.reset(seed=1)[0], np.asarray(env.reset(seed=1)[0]))
        for i, action in enumerate(actions(STEPS)):
            given = (action, jnp.asarray(action), action.tolist(), action)[i]
            *found, info = env.step(given)
            *expected, said = numpy.step(action)
            assert all(isinstance(x, jax.Array) for x in jax.tree.leaves((found, info)))
            for one, other in zip(found, expected, strict=True):
                assert_same(np.asarray(one), other)
            np.testing.assert_allclose(info["up"], said.get("up", 0), atol=1e-12)
    assert info["final_obs"].shape == found[0].shape and info["_final_obs"][0]
    # arrays of other libraries are bound to their device, and the worlds with them from then on
    count = advance_all._cache_size()
    for action in actions(STEPS):
        env.step(Foreign(action))
    assert advance_all._cache_size() == count + 1
    # a number that goes to the host is an error while tracing
    jax.eval_shape(lambda u: env.step(u)[:4], jnp.ones((WORLDS, 1)))


def test_a_reset_goes_on_at_random_or_from_seeds() -> None:
    """Seeds by world; without one the next episodes are new, and the same in every run."""
    env: Any = GymnasiumVectorEnv("pendulum", WORLDS, short())
    first = env.reset(seed=[3, None, 5])[0]
    env.reset(seed=[3, 4, 5])
    later = env.reset()[0]
    again = env.reset(seed=3)[0]
    np.testing.assert_array_equal(first[[0, 2]], again[[0, 2]])
    np.testing.assert_array_equal(later, env.reset()[0])
    mask = np.array([False, True, False])
    some, _ = env.reset(seed=[0, 4, 0], options={"reset_mask": mask})
    np.testing.assert_array_equal(some, np.where(mask[:, None], again, later))
    assert len(np.unique(np.stack([first, later, again]), axis=0)) == 3 and some.flags.writeable


MISTAKES = {
    "there are ant": lambda: GymnasiumVectorEnv("pendulums"),
    "render_mode must be one of None, 'rgb_array', not 'humans'": lambda: GymnasiumEnv(
        "pendulum", render_mode="humans"
    ),
    "autoreset_mode must be one of NEXT_STEP": lambda: VECTOR(autoreset_mode="sometimes"),
    "arrays must be one of 'numpy', 'jax'": lambda: VECTOR(arrays="torch"),
    "num_envs must be at least 1": lambda: GymnasiumVectorEnv("pendulum", 0),
    "params is of 2 worlds, but num_envs is 3": lambda: VECTOR(
        params=short().replace(max_steps_in_episode=jnp.array([3, 4], jnp.int32))
    ),
    "2 seeds for 3 worlds": lambda: VECTOR().reset(seed=[1, 2]),
    "a seed is a whole number that is not negative, not -1": lambda: VECTOR().reset(
        seed=[1, 2, -1]
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_one_sentence(message: str) -> None:
    """An error says what was given and what is possible."""
    with pytest.raises(ValueError, match=message) as caught:
        MISTAKES[message]()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_class_is_no_environment() -> None:
    """Protects from late failures if a class is given instead of an instance."""
    kind: Any = type(mjjax.envs.make("pendulum"))
    for make in (GymnasiumEnv, GymnasiumVectorEnv):
        with pytest.raises(TypeError, match=r"env is an mjjax\.envs\.Environment or the name of"):
            make(kind)


def test_steps_and_masks_that_do_not_fit() -> None:
    """A forgotten reset and wrong actions or masks are told in a sentence."""
    env: Any = None
    for env in (GymnasiumEnv("pendulum"), GymnasiumVectorEnv("pendulum", WORLDS)):
        with pytest.raises(ResetNeeded, match="call reset"):
            env.step(env.action_space.sample())
    with pytest.raises(ResetNeeded, match="the first reset"):
        env.reset(options={"reset_mask": np.ones(WORLDS, bool)})
    env.reset(seed=0)
    for given, message in (
        (np.zeros(1), r"actions must have shape \(3, 1\), got \(1,\)"),
        (np.zeros((1, WORLDS)), r"actions must have shape \(3, 1\), got \(1, 3\)"),
        ("left", "actions must be real numbers, not 'left'"),
        (np.zeros((WORLDS, 1), complex), "actions must be real numbers, not of type complex"),
    ):
        with pytest.raises(ValueError, match=message):
            env.step(given)
    for mask in ([True] * WORLDS, np.ones(2, bool), np.ones(WORLDS), np.zeros(WORLDS, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            env.reset(options={"reset_mask": mask})
