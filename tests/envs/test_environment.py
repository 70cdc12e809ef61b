"""Environments: starts, ends, repeatability, one compilation, one model per world."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import envs
from mjjax.envs import Environment, EnvState, Params
from tests.oracle_tools import quick, world

WORLDS = 8


@functools.cache
def pendulum() -> tuple[Environment, Params]:
    """A task that is quick to compile, with episodes of ten steps."""
    env = envs.make("pendulum")
    return env, env.default_params.replace(max_steps_in_episode=jnp.asarray(10, jnp.int32))


def keys(seed: int, count: int = WORLDS) -> jax.Array:
    return jax.random.split(jax.random.key(seed), count)


@functools.cache
def started() -> tuple[jax.Array, EnvState]:
    env, params = pendulum()
    return jax.vmap(env.reset, in_axes=(0, None))(keys(0), params)


def stepped(state: EnvState, count: int) -> tuple:
    """The last of some steps of full torque."""
    env, params = pendulum()
    step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    for i in range(count):
        found = step(keys(i + 1), state, jnp.ones((WORLDS, 1)), params)
        state = found[1]
    return found


@pytest.mark.slow
def test_starts_are_random() -> None:
    """Protects against worlds that all start, or start again, in one and the same state."""
    obs, state = started()
    assert len(np.unique(np.asarray(obs[:, 0]))) == WORLDS
    first, second = (stepped(state, n)[1].physics["qpos"] for n in (10, 20))
    assert len(np.unique(np.concatenate([first, second]))) == 2 * WORLDS


@pytest.mark.slow
def test_end_keeps_the_last_observation() -> None:
    """Learners bootstrap from the true last observation and know why the episode ended."""
    env, params = pendulum()
    before = stepped(started()[1], 9)
    assert not before[3].any()
    obs, state, reward, done, info = stepped(started()[1], 10)
    assert done.all() and info["truncated"].all() and not info["terminated"].any()
    assert (state.time == 0).all()
    # one world by `step_env`, which does not start again
    first = world(before[1], 0)
    seen, after, r, *_ = jax.jit(env.step_env)(keys(0)[0], first, jnp.ones(1), params)
    np.testing.assert_allclose(info["final_observation"][0], seen, atol=1e-12)
    np.testing.assert_allclose(reward[0], r, atol=1e-12)
    assert jnp.abs(obs[0] - seen).max() > 1e-3
    assert after.time == 10


@pytest.mark.slow
def test_reward_is_the_weighted_sum() -> None:
    """Keeps the documented weights those that count, and changeable."""
    env, params = pendulum()
    *_, info = stepped(started()[1], 1)
    reward = stepped(started()[1], 1)[2]
    expected = sum(env.weights[name] * info["terms"][name] for name in env.weights)
    np.testing.assert_allclose(reward, expected, atol=1e-12)
    changed = params.replace(weights=params.weights | {"effort": jnp.asarray(-1.0)})
    state = world(started()[1], 0)
    a, b = (env.step(keys(1)[0], state, jnp.ones(1), p)[2] for p in (params, changed))
    np.testing.assert_allclose(b - a, -0.99, atol=1e-12)


@pytest.mark.slow
def test_observation_belongs_to_its_state() -> None:
    """Observations are those of the state that is returned, also after a restart."""
    env, params = pendulum()
    for count in (3, 10):
        obs, state, *_ = stepped(started()[1], count)
        data = env.data(world(state, 0), params)
        np.testing.assert_allclose(obs[0], data.sensordata, atol=1e-12)


@pytest.mark.slow
@pytest.mark.feature("D13")
def test_compiles_once() -> None:
    """New keys, states, weights and models reuse the program."""
    env, params = pendulum()
    counts = []

    def count(*args: Any) -> tuple:
        counts.append(1)
        return env.step(*args)

    step = jax.jit(count)
    _, state = env.reset(keys(0)[0], params)
    heavier = params.model.replace(body_mass=params.model.body_mass * 2)
    for i, p in enumerate((params, params.replace(model=heavier), env.default_params)):
        _, state, *_ = step(keys(i)[0], state, env.action_space(p).sample(keys(i)[1]), p)
    assert len(counts) == 1
    assert envs.make("pendulum") is env


@pytest.mark.slow
@pytest.mark.feature("D18")
def test_diverged_world_ends_its_episode() -> None:
    """A world that the simulator had to reset terminates, with finite numbers."""
    env, params = pendulum()
    state = world(started()[1], 0)
    bad = state.replace(physics=state.physics | {"qvel": jnp.array([jnp.nan])})
    obs, after, reward, done, info = env.step(keys(1)[0], bad, jnp.zeros(1), params)
    assert done and info["terminated"] and not info["truncated"]
    assert all(jnp.isfinite(x).all() for x in (obs, reward, after.physics["qvel"]))


@pytest.mark.slow
@pytest.mark.feature("D11")
def test_one_model_per_world() -> None:
    """`randomize` and `vectorize` work the axes out; every world moves as its own model says."""
    env, params = pendulum()

    def change(model: mjjax.Model, key: jax.Array) -> mjjax.Model:
        factor = jax.random.uniform(key, minval=0.5, maxval=2.0)
        return mjjax.set_const(
            model.replace(
                body_mass=model.body_mass * factor, body_inertia=model.body_inertia * factor
            )
        )

    models = envs.randomize(params.model, change, jax.random.key(1), WORLDS)
    assert models.body_mass.shape == (WORLDS, 2) and models.geom_size.ndim == 2
    axes = envs.world_axes(models)
    assert axes.body_mass == 0 and axes.dof_invweight0 == 0 and axes.opt.gravity is None
    many = params.replace(model=models)
    reset, step = envs.vectorize(env, many)
    actions = jnp.ones((WORLDS, 1))
    obs, state = reset(keys(0), many)
    obs, *_ = step(keys(1), state, actions, many)
    own = jax.vmap(lambda model, _: model, in_axes=(axes, 0))(models, keys(0))  # all in full
    for i in (0, WORLDS - 1):
        mine = params.replace(model=world(own, i))
        alone, *_ = env.step(keys(1)[i], world(state, i), actions[i], mine)
        np.testing.assert_allclose(alone, obs[i], atol=1e-12)
    with pytest.raises(ValueError, match="body_mass has shape"):
        envs.world_axes(models.replace(body_mass=models.body_mass[None]))


def test_unknown_task_is_named() -> None:
    """A typing error shows what there is."""
    with pytest.raises(ValueError, match="cartpole_swingup"):
        envs.make("cartpole_swing")
    with pytest.raises(KeyError, match="speed"):
        model = pendulum()[0].model
        envs.reading(model, mjjax.make_data(model), "spede")


@pytest.mark.slow
def test_derivatives_of_actions() -> None:
    """Inside and at a bound that of the physics, beyond it and of a bad action zero, never NaN."""
    env, params = pendulum()
    state = world(started()[1], 0)

    def speed(action: jax.Array) -> jax.Array:
        return env.step_env(keys(0)[0], state, action[None], params)[1].physics["qvel"][0]

    actions = jnp.array([0.5, 0.5 + 1e-6, 1.0, 1.5, jnp.inf, jnp.nan])
    value, slope = quick(jax.vmap(jax.value_and_grad(speed)))(actions)
    np.testing.assert_allclose(slope[0], (value[1] - value[0]) / 1e-6, rtol=1e-4)
    np.testing.assert_allclose(slope[2], slope[0], rtol=1e-2)
    np.testing.assert_array_equal(slope[3:], 0)
    np.testing.assert_array_equal(value[3:5], value[2])


class Rail(Environment):
    """A cart whose terms and weights a test sets."""

    asset = "cartpole"
    given: ClassVar[dict[str, Any]] = {"a": 1.0, "b": 2.0}
    weights: ClassVar[dict[str, float]] = {"a": 1.0, "b": 1.0}

    def start(self, key: jax.Array, model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
        return data

    def terms(
        self, model: mjjax.Model, before: mjjax.Data, data: mjjax.Data
    ) -> dict[str, jax.Array]:
        return {name: jnp.asarray(x) for name, x in self.given.items()}


@functools.cache
def rail() -> tuple[Rail, Any]:
    """The environment, and the shapes of its state."""
    env = Rail()
    return env, jax.eval_shape(env.reset, jax.random.key(0))[1]


def traced(action: Any, weights: dict[str, Any] | None = None) -> None:
    """A step as far as tracing goes."""
    env, state = rail()
    params = env.default_params
    if weights is not None:
        params = params.replace(weights=weights)
    jax.eval_shape(lambda s: env.step(jax.random.key(0), s, action, params), state)


@pytest.mark.parametrize(
    ("given", "weights", "message"),
    [
        ({"a": 1.0, "c": 2.0}, None, "Rail: term 'c' has no weight, weight 'b' has no term"),
        ({"a": 1.0}, None, "Rail: weight 'b' has no term"),
        ({"a": 1.0, "b": 1.0}, {"a": jnp.ones(())}, "Rail: term 'b' has no weight"),
        ({"a": 1.0, "b": [1.0]}, None, r"Rail: term 'b' has shape \(1,\), not that of a number"),
        ({}, {}, r"Rail: terms\(\) gives no term"),
    ],
)
def test_terms_and_weights_that_do_not_match(
    monkeypatch: pytest.MonkeyPatch, given: Any, weights: Any, message: str
) -> None:
    """A typing error in either is said by name: nothing counts for nothing."""
    monkeypatch.setattr(Rail, "given", given)
    with pytest.raises(ValueError, match=message):
        traced(jnp.zeros(1), weights)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (jnp.zeros((4, 1)), r"must have shape \(1,\), got \(4, 1\): vmap over worlds"),
        (jnp.zeros(3), r"an action of Rail must have shape \(1,\), got \(3,\)"),
        (jnp.zeros((1, 1)), r"must have shape \(1,\), got \(1, 1\)"),
        ("left", "an action of Rail must be real numbers, not 'left'"),
        (None, "must be real numbers, not None"),
        (np.zeros(1, complex), "must be real numbers, not of type complex"),
    ],
)
def test_actions_that_are_none(action: Any, message: str) -> None:
    """The shape given and the shape wanted, in a sentence, not deep inside."""
    with pytest.raises(ValueError, match=message) as caught:
        traced(action)
    assert "\n" not in str(caught.value)


def test_states_of_many_worlds_want_vmap() -> None:
    """A forgotten `vmap` over states is said to be one; lists and whole numbers are actions."""
    env, state = rail()
    many = jax.eval_shape(lambda s: jax.tree.map(lambda x: jnp.stack([x] * 8), s), state)
    with pytest.raises(ValueError, match=r"got \(8,\): vmap over worlds"):
        jax.eval_shape(env.step, keys(0)[0], many, jnp.zeros(1))
    traced([1])
    traced(0.5)  # rejax drops the axis of an action of one number


CONTROLS: dict[str, tuple[Any, str]] = {
    "a number for two": (lambda action: action[0], r"must have shape \(2,\), got \(\)"),
    "one for two": (lambda action: action[:1], r"must have shape \(2,\), got \(1,\)"),
    "one for each step": (lambda _: jnp.ones((4, 2)), r"must have shape \(2,\), got \(4, 2\)"),
}


class Arm(Rail):
    """Two motors, one of which the task may forget."""

    given: ClassVar[Any] = {"a": 1.0, "b": 1.0}
    made: Any = None

    def control(self, model: mjjax.Model, action: jax.Array) -> Any:
        return [action[0], action[1]] if self.made is None else self.made(action)


@functools.cache
def arm() -> mjjax.Model:
    joints = "".join(
        f'<body><joint name="{n}" type="slide"/><geom size="1"/></body>' for n in ("x", "y")
    )
    motors = '<motor joint="x"/><motor joint="y"/>'
    return mjjax.Model.from_xml_string(
        f"<mujoco><worldbody>{joints}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


@pytest.mark.parametrize("case", CONTROLS)
def test_controls_of_another_shape(case: str) -> None:
    """What a task makes of an action is not spread over actuators; a list of numbers will do."""
    made, message = CONTROLS[case]
    env = Arm(arm())
    state = jax.eval_shape(env.reset, jax.random.key(0))[1]
    jax.eval_shape(env.step, jax.random.key(0), state, jnp.zeros(2))
    env.made = made
    with pytest.raises(ValueError, match=f"control.. of Arm returns {message}"):
        jax.eval_shape(env.step_env, jax.random.key(0), state, jnp.zeros(2), env.default_params)


def test_tasks_of_another_kind() -> None:
    """A model that is none, a start of another shape and weights that are no numbers are told."""
    env, _ = rail()
    with pytest.raises(TypeError, match=r"Rail: model must be a mjjax.Model.*from_xml_path"):
        Rail("rail.xml")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"weight 'a' has shape \(2,\), not that of a number"):
        traced(jnp.zeros(1), dict.fromkeys(env.weights, jnp.ones(2)))

    class Long(Rail):
        def start(self, key: jax.Array, model: mjjax.Model, data: mjjax.Data) -> mjjax.Data:
            return data.replace(qpos=jnp.zeros(3))

    with pytest.raises(ValueError, match=r"start.. of Long: qpos has shape \(3,\), not \(2,\)"):
        jax.eval_shape(Long(env.model).reset, jax.random.key(0))
    weights = env.default_params.replace(weights={"a": 3, "b": 0.5}).weights
    assert not any(x.weak_type for x in weights.values())


class Bare(mjjax.envs.Environment):
    """A task that says nothing."""


KEYS: dict[str, Any] = {
    "a seed": 0,
    "text": "seed",
    "none": None,
    "floats": np.zeros(2),
    "many": np.zeros((3, 2), np.uint32),
}
TASK: dict[str, tuple[dict[str, Any], str]] = {
    "start that is a tuple": ({"start": lambda s, k, m, d: (d, 1)}, "start.. of Odd: data must be"),
    "no start": ({"start": mjjax.envs.Environment.start}, "Odd does not define start"),
    "no terms": ({"terms": mjjax.envs.Environment.terms}, "Odd does not define terms"),
    "terms that are an array": (
        {"terms": lambda s, m, b, d: d.qpos},
        "Odd: terms.. must return a dictionary of numbers",
    ),
    "failed that is a number": ({"failed": lambda s, m, d: 1.0}, "one truth value, not 1.0"),
    "failed of two": (
        {"failed": lambda s, m, d: d.qpos > 0},
        r"one truth value, not bool of shape \(2,\)",
    ),
    "observations by name": (
        {"observe": lambda s, m, d: {"qpos": d.qpos}},
        "observe.. of Odd returns must be real numbers",
    ),
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_that_are_none(case: str) -> None:
    """Protects beginners who hand in a seed, and those who forget `vmap` over keys."""
    env, _ = rail()
    with pytest.raises((TypeError, ValueError), match=r"reset of Rail takes (a|the) .*key"):
        env.reset(KEYS[case])


@pytest.mark.parametrize("case", TASK)
def test_what_a_task_returns(case: str) -> None:
    """Protects authors of tasks: what their functions return is checked and said by name."""
    changes, message = TASK[case]
    env = type("Odd", (Rail,), {"given": {"a": 1.0, "b": 1.0}} | changes)(rail()[0].model)
    key = jax.random.key(0)

    def episode() -> Any:
        return env.step(key, env.reset(key)[1], jnp.zeros(1))

    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message) as caught:
        jax.eval_shape(episode)
    assert "\n" not in str(caught.value)


def test_what_belongs_to_another_environment() -> None:
    """Parameters and states of others, and tasks that are not complete, are told."""
    env, _ = rail()
    other, key = Arm(arm()), jax.random.key(0)
    theirs = jax.eval_shape(other.reset, key)[1]
    with pytest.raises(ValueError, match="params have another model"):
        env.reset(key, other.default_params)
    with pytest.raises(TypeError, match=r"takes an mjjax.envs.Params, not Model"):
        env.reset(key, env.model)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes the state that reset or step returned, not 3"):
        env.step(key, 3, [0.0])  # type: ignore[arg-type]
    smaller = theirs.replace(physics={"qpos": theirs.physics["qpos"]})
    with pytest.raises(ValueError, match="the state is of another environment"):
        jax.eval_shape(env.step, key, smaller, jnp.zeros(1))
    with pytest.raises(TypeError, match="Bare has no asset"):
        Bare()
    with pytest.raises(TypeError, match="Bare has no weights"):
        Bare(arm())
    with pytest.raises(TypeError, match="a weight is a number, not 'b'"):
        env.default_params.replace(weights={"a": "b"})


RANDOMIZE: dict[str, tuple[Any, str]] = {
    "no model": (lambda m, k: None, "model must be a mjjax.Model"),
    "another shape": (lambda m, k: m.replace(body_mass=jnp.ones(7)), r"has shape \(7,\), not"),
    "a negative mass": (lambda m, k: m.replace(body_mass=-m.body_mass), "is negative"),
}


@pytest.mark.parametrize("case", RANDOMIZE)
def test_models_that_randomize_refuses(case: str) -> None:
    """What is changed keeps its shape, and masses are not negative, also where they are traced."""
    change, message = RANDOMIZE[case]
    with pytest.raises((TypeError, ValueError), match=message):
        mjjax.envs.randomize(arm(), change, jax.random.key(0), 2)


@pytest.mark.parametrize("worlds", [0, 2.5, -1])
def test_numbers_of_worlds_that_are_none(worlds: Any) -> None:
    """A number of worlds is whole and positive."""
    with pytest.raises((TypeError, ValueError), match="randomize: worlds is"):
        mjjax.envs.randomize(arm(), lambda m, k: m, jax.random.key(0), worlds)


def test_a_step_is_exported() -> None:
    """Protects programs of environments as files: `jax.export` knows states and parameters."""
    env, state = rail()

    def time(state: Any, params: Any) -> jax.Array:
        return state.time + params.max_steps_in_episode

    program = jax.export.export(jax.jit(time))(state, env.default_params)
    again = jax.export.deserialize(program.serialize())
    assert again.in_tree == jax.tree.structure(((state, env.default_params), {}))
