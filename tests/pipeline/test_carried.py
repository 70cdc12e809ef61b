"""Fields that are passed from step to step, and fields that are computed only on demand."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.pipeline.carried import ALWAYS, carried, reads
from mjjax.pipeline.step import whole_step
from tests.oracle_tools import quick
from tests.pipeline.scenes_of_steps import SCENES, Scene

STEPS = 24
FIELDS = [f.name for f in dataclasses.fields(mjjax.Data) if f.name not in ("structure", "rules")]
# Scenes whose rollouts are also asked for some derived fields, and for all.
EVERYTHING = ("delays", "policy, rk4")
WANTED = ("sensordata", "energy", "xpos", "ncon", "qM", "crb", "xmat", "efc_pos", "efc_aref")


@functools.cache
def start(scene: Scene) -> tuple[mjjax.Model, mjjax.Data, jax.Array]:
    """A model, data in which no derived field is zero by accident, and controls."""
    model = mjjax.Model.from_xml_string(scene.xml)
    data = mjjax.make_data(model, callbacks=scene.callbacks)
    data = data.replace(qfrc_inverse=data.qfrc_inverse + 7, cacc=data.cacc + 7)
    ctrl = jnp.asarray(np.random.default_rng(0).normal(size=(STEPS, model.nu)))
    return model, data, ctrl


def assert_same(found: mjjax.Data, expected: mjjax.Data, names: Any) -> None:
    for name in names:
        pairs = zip(
            jax.tree.leaves(getattr(found, name)),
            jax.tree.leaves(getattr(expected, name)),
            strict=True,
        )
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.feature("D15")
@pytest.mark.parametrize("name", SCENES)
def test_rollouts_are_loops_of_steps(name: str) -> None:
    """A rollout returns the results of a loop of steps, whatever it leaves out."""
    scene = SCENES[name]
    model, first, ctrl = start(scene)
    step = quick(functools.partial(mjjax.step, callbacks=scene.callbacks))
    data = first
    for u in ctrl:
        data = step(model, data.replace(ctrl=u))

    def run(model: mjjax.Model, data: mjjax.Data, derived: Any) -> mjjax.Data:
        given = {"callbacks": scene.callbacks, "derived": derived, "keep": ()}
        return mjjax.rollout(model, data, ctrl, **given)[0]

    run = quick(run, static_argnums=2)
    if name in EVERYTHING:
        assert_same(run(model, first, None), data, FIELDS)
    for derived in ((), WANTED) if name in EVERYTHING else ((),):
        found = run(model, first, derived)
        names = carried(whole(scene.callbacks), model, first, derived)
        assert_same(found, data, names)
        assert_same(found, first, set(FIELDS) - names)
        assert set(scene.reads) <= names
        assert "qacc_smooth" in scene.reads or "qacc_smooth" not in names


def whole(callbacks: mjjax.Callbacks | None) -> Any:
    return lambda m, d: (whole_step(m, d, callbacks), None)


@pytest.mark.slow
@pytest.mark.feature("D15", "D13")
def test_a_step_computes_what_is_asked_for() -> None:
    """A step with few derived fields computes these; the others stay. It is one program."""
    model, data, _ = start(SCENES["contact"])
    step = quick(functools.partial(mjjax.step, derived=("xpos",)))
    one = step(model, data)
    assert step._cache_size() == 1
    expected = quick(mjjax.step)(model, data)
    named = ALWAYS | {"xpos"}
    assert_same(one, expected, named)
    for name in set(FIELDS) - named:
        assert_same(one, data, [name])
    assert (np.asarray(one.qfrc_inverse) == 7).all()
    assert jax.tree.map(jax.typeof, one) == jax.tree.map(jax.typeof, expected)
    step(model, one)
    assert step._cache_size() == 1


@pytest.mark.parametrize("call", [mjjax.step, functools.partial(mjjax.rollout, nstep=2)])
def test_an_unknown_field_is_refused(call: Any) -> None:
    """An unknown field is refused, and the error names it."""
    model, data, _ = start(SCENES["contact"])
    with pytest.raises(ValueError, match="no fields speed, torque"):
        call(model, data, derived=("xpos", "torque", "speed"))


@pytest.mark.newest
def test_what_a_program_reads() -> None:
    """Loops, choices and programs within programs: an input counts if a wanted result needs it."""

    def loop(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            first, second, third = carry
            return (first + second, second * 2, third + x), None

        out, _ = jax.lax.scan(body, (a, b, c), d)
        return *out, jax.jit(lambda x, y: (x, y))(d, e)[1]

    one = jnp.ones(())
    jaxpr = jax.make_jaxpr(loop)(one, one, one, jnp.ones(3), one).jaxpr
    for result, inputs in enumerate(("ab", "b", "cd", "e")):
        found = reads(jaxpr, [i == result for i in range(4)])
        assert "".join(n for n, read in zip("abcde", found, strict=True) if read) == inputs

    def choice(a: Any, b: Any, c: Any) -> Any:
        return jax.lax.cond(a > 0, lambda b, c: (b + 1, c), lambda b, c: (b, b), b, c)

    jaxpr = jax.make_jaxpr(choice)(one, one, one).jaxpr
    assert reads(jaxpr, [True, False]) == [True, True, False]
    assert reads(jaxpr, [False, True]) == [True, True, True]
    assert reads(jaxpr, [False, False]) == [False, False, False]


@pytest.mark.newest
@pytest.mark.slow
@pytest.mark.feature("D02")
def test_gradients_pass_through_a_lean_rollout() -> None:
    """Derivatives by controls are those of the whole rollout; recorded fields are in them."""
    model, data, ctrl = start(SCENES["contact"])

    def cost(ctrl: jax.Array, derived: Any) -> jax.Array:
        end, kept = mjjax.rollout(model, data, ctrl, keep=("xpos",), derived=derived)
        return jnp.sum(end.qvel) + jnp.sum(jnp.sin(kept["xpos"]))

    slope = quick(jax.grad(cost), static_argnums=1)
    lean, full = slope(ctrl[:3], ()), slope(ctrl[:3], None)
    np.testing.assert_allclose(lean, full, rtol=1e-9, atol=1e-12)
    assert np.abs(full).max() > 1e-6


@pytest.mark.feature("D13")
def test_a_plain_call_compiles_once() -> None:
    """Outside of `jax.jit` each choice of fields is one program, which the next call reuses."""
    model, data, _ = start(SCENES["pendulum"])
    end, _ = mjjax.rollout(model, data, nstep=3, derived=())
    mjjax.step(model, data, derived=("xpos",))
    misses = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: misses.append(event) if "backend_compile" in event else None
    )
    mjjax.rollout(model, end, nstep=3, derived=())
    mjjax.step(model, end, derived=("xpos",))
    assert not misses
    mjjax.rollout(model, end, nstep=4, derived=())
    assert misses
    assert float(end.time) == pytest.approx(3 * 0.002)
