"""Terms that cost rows or passes: those that are on have derivatives, others say so."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import IntegratorType
from mjjax.model.terms import TERMS, leaf
from tests.dynamics.scenes import driven
from tests.oracle_tools import load, quick, random_state, to_ours

# Coefficients that must not be negative: at zero their derivative is the one from above.
ONE_SIDED = frozenset(
    "dof_frictionloss tendon_frictionloss dof_damping tendon_damping jnt_stiffness "
    "tendon_stiffness body_gravcomp tendon_armature dof_armature opt.density opt.viscosity".split()
)
STEPS = (1e-4, 1e-5, 1e-6)
POINTS = {True: (1, 2), False: (1, -1, 2, -2)}  # in steps, one-sided or not

ZEROS = """
<mujoco>
  <option timestep="0.005" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="0 0 1"/><site name="hook" pos="0.2 0.1 0.8"/>
    <body mocap="true" name="hand" pos="0.5 0.2 0.5"><site name="palm"/></body>
    <body name="upper" pos="0 0 0.6"><joint name="a" axis="0 1 0" range="-1 0.1" limited="true"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/>
      <body name="lower" pos="0.3 0 0"><joint name="b" type="ball"/>
        <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 -0.1"/><site name="tip" pos="0.3 0 0"/>
        <camera name="eye" mode="trackcom"/></body></body>
    <body name="box" pos="0.1 0.8 0.1"><freejoint/><geom type="box" size="0.1 0.12 0.11"/>
      <geom size="0.08" pos="0.25 0 0"/></body>
    <body name="cart" pos="0 -1 0.5"><joint name="c" type="slide" axis="1 0 0"/>
      <geom size="0.1" mass="1"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="c" coef="-2"/></fixed>
    <spatial name="rope" range="0 0.4" limited="true"><site site="hook"/><site site="tip"/>
    </spatial>
  </tendon>
  <equality><connect body1="lower" body2="hand" anchor="0.3 0 0"/><joint joint1="c" joint2="a"/>
  </equality>
  <actuator><motor name="m" joint="a"/><position joint="c" kp="3"/><intvelocity tendon="t" kp="2"
    actrange="-1 1"/><motor tendon="rope"/></actuator>
  <sensor><framepos objtype="site" objname="tip"/><accelerometer site="tip"/>
    <tendonpos tendon="rope"/><actuatorfrc actuator="m"/><rangefinder site="hook"/></sensor>
</mujoco>
"""
MORE = """
<equality><weld body1="b4" body2="ball" relpose=".3 .1 0 1 .1 0 0"/></equality>
<sensor><framelinacc objtype="site" objname="s3"/><velocimeter site="s4"/><force site="s4"/>
  <subtreeangmom body="b1"/><clock/></sensor>
"""


def everything(integrator: str) -> str:
    """A scene in which no term is absent."""
    text = driven(f'integrator="{integrator}"').replace("<mujoco>", '<mujoco model="everything">')
    text = text.replace('axis="1 0 .3"', 'axis="1 0 .3" frictionloss=".2" stiffness="2"')
    text = text.replace('<body name="b2"', '<body name="b2" gravcomp=".7"')
    text = text.replace(
        '<fixed name="fixed"', '<fixed name="fixed" armature=".2" frictionloss=".1"'
    )
    return text.replace("</mujoco>", MORE + "</mujoco>")


def fields(model: mjjax.Model) -> list[str]:
    """All real leaves that are not empty."""
    names = [f.name for f in dataclasses.fields(mjjax.Model)]
    names = [n for n in names if n not in ("structure", "opt", "stat", "vis")]
    for part in ("opt", "stat"):  # a step does not depend on how things look
        inner = jax.tree_util.tree_leaves_with_path(getattr(model, part))
        names += [part + jax.tree_util.keystr(path) for path, _ in inner]
    return [n for n in names if leaf(model, n).size]


def updated(model: mjjax.Model, field: str, value: Any) -> mjjax.Model:
    """The model with another leaf and the same structure, as `jax.tree.map` would make it."""
    part, _, name = field.rpartition(".")
    if not part:
        return dataclasses.replace(model, **{name: value})
    inner = dataclasses.replace(getattr(model, part), **{name: value})
    return dataclasses.replace(model, **{part: inner})


def outcome(model: mjjax.Model, data: mjjax.Data) -> jax.Array:
    """One number that depends on what a step computes, differently on every entry."""
    end = mjjax.step(model, data)
    parts = [end.qpos, end.qvel, end.act, end.qacc / 100, end.sensordata, end.energy]
    flat = jnp.concatenate([x.ravel() for x in parts])
    return jnp.sum(jnp.cos(jnp.arange(flat.size)) * flat)


def direction(field: str, value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A direction for the derivative by a leaf, of the leaf's size, upwards from zero."""
    scale = np.maximum(np.abs(value), 0.1 if field in ONE_SIDED else 1e-2)
    v = scale * rng.normal(size=value.shape)
    if field in SWITCHES:
        return np.where(value == 0, 0, v)
    return np.where(value == 0, np.abs(v), v) if field in ONE_SIDED else v


def difference(f: Any, x: float, one_sided: bool, h: float) -> float:
    """Derivative from the values at the multiples `POINTS` of h and at 0."""
    if one_sided:
        return (4 * f[0] - f[1] - 3 * x) / (2 * h)
    return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * h)


# What a step reads by sign or as a switch, so that at zero there is no derivative.
SWITCHES = frozenset({"sensor_delay", "geom_fluid", "sensor_cutoff"})


@pytest.mark.slow
@pytest.mark.feature("D02", "D06")
@pytest.mark.parametrize(
    "xml", [ZEROS, everything("Euler"), everything("implicit")], ids=["zeros", "Euler", "implicit"]
)
def test_every_leaf_has_its_derivative(xml: str) -> None:
    """Protects gradients by the model: of every real leaf, also where it is zero."""
    both = load(xml)
    model = both.ours.with_terms("all")
    start = to_ours(both.ours, random_state(both.reference, 1, spread=0.02))
    names = {n: getattr(start, n) for n in "qpos qvel act ctrl mocap_pos mocap_quat".split()}
    data = mjjax.make_data(model).replace(**names)
    data = data.replace(qfrc_applied=start.qfrc_applied, xfrc_applied=start.xfrc_applied)
    value, slope = quick(jax.value_and_grad(outcome))(model, data)
    rng, plan, changed = np.random.default_rng(0), [], []
    for field in fields(model):
        x = np.asarray(leaf(model, field))
        v = direction(field, x, rng)
        one_sided = field in ONE_SIDED and not x.all()
        for h in STEPS:
            plan.append((field, v, one_sided, h))
            changed += [(field, x + k * h * v) for k in POINTS[one_sided]]
    program = quick(jax.vmap(outcome, in_axes=(0, None)))
    values = iter(in_chunks(program, model, changed, data))
    found: dict[str, list[float]] = {}
    for field, v, one_sided, h in plan:
        f = [next(values) for _ in POINTS[one_sided]]
        expected = difference(f, float(value), one_sided, h)
        mine = float(np.sum(np.asarray(leaf(slope, field)) * v))
        # the outcome is near 100: differences of it are rounded by up to 1e-7 where h is small
        error = abs(mine - expected) / max(1e-3, abs(expected))
        found.setdefault(field, []).append(error)
    bad = {k: min(e) for k, e in found.items() if not min(e) < 1e-4}
    assert not bad, bad
    moving = [n for n in TERMS if n not in SWITCHES]
    for name in moving:
        for field in TERMS[name].fields:
            assert np.abs(leaf(slope, field)).max() > 1e-9, field


def in_chunks(
    program: Any,
    model: mjjax.Model,
    changed: list[tuple[str, Any]],
    data: mjjax.Data,
    size: int = 64,
) -> list[float]:
    """`program` of models that differ in one leaf each, `size` at a time."""
    found: list[float] = []
    for i in range(0, len(changed), size):
        part = changed[i : i + size] + changed[:1] * max(0, size - len(changed[i : i + size]))
        models = [updated(model, field, x) for field, x in part]
        batch = jax.tree.map(lambda *x: np.stack([np.asarray(a) for a in x]), *models)
        found += np.asarray(program(batch, data)).tolist()
    return found[: len(changed)]


# As little as has an entry of every term.
BARE = """
<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0 0 0.3"/>
  <site name="tip"/></body>
  <body pos="1 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.1"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="1"/></fixed></tendon>
  <sensor><framepos objtype="site" objname="tip"/></sensor></mujoco>
"""


@functools.cache
def bare() -> tuple[mjjax.Model, mjjax.Data]:
    both = load(BARE)
    return both.ours, to_ours(both.ours, random_state(both.reference, 0))


DERIVED = {field for term in TERMS.values() if term.derived for field in term.fields}


@pytest.mark.parametrize("field", [f for name, t in TERMS.items() for f in t.fields])
def test_values_without_their_term_are_refused(field: str) -> None:
    """Protects users who make a zero nonzero behind `replace`: make_data and a step say so."""
    model, data = bare()
    behind, call = (-0.1, mjjax.step) if field in DERIVED else (0.1, mjjax.forward)
    changed = updated(model, field, leaf(model, field) + behind)
    with pytest.raises(mjjax.AbsentTerm, match=f"{field} has values.*with_terms"):
        mjjax.make_data(changed)
    if field not in SWITCHES:
        with pytest.raises(mjjax.AbsentTerm, match=field):
            jax.eval_shape(lambda d: call(changed, d), data)


@pytest.mark.slow
def test_derivatives_without_their_term_are_those_with_it() -> None:
    """Protects gradients by a whole model: terms that are off have their slope at zero."""
    both = load(BARE)
    model = both.ours.replace(opt=both.ours.opt.replace(integrator=IntegratorType.IMPLICITFAST))
    state = to_ours(model, random_state(both.reference, 1))
    slopes = []
    for m in (model, model.with_terms("all")):
        data = mjjax.make_data(m).replace(qpos=state.qpos, qvel=state.qvel)
        slopes.append(quick(jax.grad(outcome))(m, data))
    for field in (f for name, term in TERMS.items() if name not in SWITCHES for f in term.fields):
        off, on = (np.asarray(leaf(slope, field)) for slope in slopes)
        np.testing.assert_allclose(off, on, rtol=1e-9, atol=1e-12, err_msg=field)
        assert np.abs(on).max() > 1e-9, field


@pytest.mark.slow
def test_other_derivatives_are_not_refused() -> None:
    """Absent terms cost derivatives by other fields or by the state nothing but their trace."""
    model, data = bare()

    def loss(mass: jax.Array, qvel: jax.Array) -> jax.Array:
        heavy = dataclasses.replace(model, body_mass=mass)
        end, _ = mjjax.rollout(heavy, data.replace(qvel=qvel), nstep=2)
        return jnp.sum(end.qpos)

    slopes = jax.eval_shape(jax.grad(loss, argnums=(0, 1)), model.body_mass, data.qvel)
    assert slopes[0].shape == model.body_mass.shape


def test_terms_are_seen_and_set() -> None:
    """Terms are turned on by the file, by `replace` and by `with_terms`."""
    model, _ = bare()
    assert not any(on.any() for on in model.terms.values())
    some = model.replace(dof_frictionloss=model.dof_frictionloss.at[1].set(0.1))
    assert np.flatnonzero(some.terms["dof_frictionloss"]).tolist() == [1]
    windy = model.replace(opt=model.opt.replace(density=jnp.array(1.2)))
    assert windy.terms["fluid"].all()
    assert model.with_terms("fluid").structure == windy.structure
    assert all(on.all() for on in model.with_terms("all").terms.values())
    full = load(everything("Euler")).ours
    rest = {"sensor_delay", "negative_damping"}
    assert all(on.any() for name, on in full.terms.items() if name not in rest)
    with pytest.raises(ValueError, match=r"no term.*dof_frictionloss"):
        model.with_terms("friction")
    # what is not changed decides nothing, even if it is traced
    traced = jax.eval_shape(
        lambda m: m.replace(opt=m.opt.replace(gravity=2 * m.opt.gravity)), model
    )
    assert traced.structure == model.structure


def test_data_made_before_a_term_are_brought_to_it() -> None:
    """Loops with data older than a term go on, or one sentence says why they cannot."""
    model, data = bare()
    later = model.with_terms("tendon_frictionloss")
    want = jax.eval_shape(mjjax.step, later, mjjax.make_data(later))
    got = jax.eval_shape(mjjax.step, later, data)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    assert all(a.shape == b.shape for a, b in zip(*map(jax.tree.leaves, (got, want)), strict=True))

    def loop(data: mjjax.Data) -> mjjax.Data:
        return jax.lax.scan(lambda d, _: (mjjax.step(later, d), None), data, length=2)[0]

    with pytest.raises(ValueError, match=r"before the loop: mjjax.make_data\(model\)"):
        jax.eval_shape(loop, data)
    for swept in (sweep, sweep_of_states):  # which carry no data
        found = jax.eval_shape(lambda data, f=swept: f(model, data), data)
        assert found.shape == (3, *data.qvel.shape)
    assert jax.eval_shape(lambda: sweep(model, data)).shape == (3, *data.qvel.shape)
    with pytest.raises(ValueError, match=r"make the data again, make_data\(model\)"):
        jax.eval_shape(mjjax.make_constraint, later, data)


def sweep(model: mjjax.Model, data: mjjax.Data) -> jax.Array:
    """Velocities with several frictions, of data that a loop reads and does not carry."""
    frictions = jnp.arange(3.0)
    return jax.lax.map(
        lambda x: mjjax.step(model.replace(tendon_frictionloss=x), data).qvel, frictions
    )


def sweep_of_states(model: mjjax.Model, data: mjjax.Data) -> jax.Array:
    """Velocities one after the other, where a loop carries positions and velocities alone."""
    rough = model.replace(tendon_frictionloss=1.0)

    def body(state: tuple[jax.Array, jax.Array], _: None) -> tuple[Any, jax.Array]:
        end = mjjax.step(rough, data.replace(qpos=state[0], qvel=state[1]))
        return (end.qpos, end.qvel), end.qvel

    return jax.lax.scan(body, (data.qpos, data.qvel), length=3)[1]
