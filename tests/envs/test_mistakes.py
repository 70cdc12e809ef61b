"""Mistakes in using environments and writing tasks are each told in a sentence."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.envs import Environment


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
    """A misspelt term or weight is named, so that no term is silently left out."""
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
    """A forgotten `vmap` over states is named; lists and whole numbers are valid actions."""
    env, state = rail()
    many = jax.eval_shape(lambda s: jax.tree.map(lambda x: jnp.stack([x] * 8), s), state)
    with pytest.raises(ValueError, match=r"got \(8,\): vmap over worlds"):
        jax.eval_shape(env.step, jax.random.key(0), many, jnp.zeros(1))
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
    """A task's controls are not broadcast over actuators; a list of numbers is valid."""
    made, message = CONTROLS[case]
    env = Arm(arm())
    state = jax.eval_shape(env.reset, jax.random.key(0))[1]
    jax.eval_shape(env.step, jax.random.key(0), state, jnp.zeros(2))
    env.made = made
    with pytest.raises(ValueError, match=f"control.. of Arm returns {message}"):
        jax.eval_shape(env.step_env, jax.random.key(0), state, jnp.zeros(2), env.default_params)


def test_tasks_of_another_kind() -> None:
    """Wrong models, starts of another shape and weights that are no numbers are errors."""
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
    """A task that defines nothing."""


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
    "observations of words": (
        {"observe": lambda s, m, d: {"qpos": d.qpos, "name": "odd"}},
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
    """Parameters and states of other tasks, and incomplete tasks, are errors."""
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
    """Changed fields keep their shape, and masses are not negative, even if traced."""
    change, message = RANDOMIZE[case]
    with pytest.raises((TypeError, ValueError), match=message):
        mjjax.envs.randomize(arm(), change, jax.random.key(0), 2)


@pytest.mark.parametrize("worlds", [0, 2.5, -1])
def test_numbers_of_worlds_that_are_none(worlds: Any) -> None:
    """A number of worlds is whole and positive."""
    with pytest.raises((TypeError, ValueError), match=r"randomize: worlds (is|must be)"):
        mjjax.envs.randomize(arm(), lambda m, k: m, jax.random.key(0), worlds)


def test_a_step_is_exported() -> None:
    """Protects programs of environments as files: `jax.export` knows states and parameters."""
    env, state = rail()

    def time(state: Any, params: Any) -> jax.Array:
        return state.time + params.max_steps_in_episode

    program = jax.export.export(jax.jit(time))(state, env.default_params)
    again = jax.export.deserialize(program.serialize())
    assert again.in_tree == jax.tree.structure(((state, env.default_params), {}))
