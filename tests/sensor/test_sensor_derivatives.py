"""Derivatives of the readings with respect to everything that they depend on."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load, quick
from tests.sensor.test_sensors import OBJECTS, SCENE

FRAME = 'reftype="site" refname="s"'
POSITION = ("pos", "quat", "xaxis", "linvel", "angvel")


def sensors() -> str:
    """Types that have a derivative, once each where they share a kernel."""
    text = '<camprojection site="s2" camera="w"/><e_potential/><e_kinetic/><clock/>'
    for tag in "velocimeter gyro accelerometer force torque magnetometer rangefinder".split():
        text += f'<{tag} site="s"/>'
    text += '<touch site="zone"/><ballquat joint="q"/><ballangvel joint="q"/><jointpos joint="h"/>'
    text += '<tendonpos tendon="l"/>'
    text += '<tendonactuatorfrc tendon="t"/><jointlimitfrc joint="x"/><subtreecom body="a"/>'
    text += '<subtreelinvel body="a"/><subtreeangmom body="e"/>'
    for kind in ("geom", "camera"):
        name = OBJECTS[kind]
        text += f'<framelinacc objtype="{kind}" objname="{name}"/>'
        for tag in POSITION:
            text += f'<frame{tag} objtype="{kind}" objname="{name}" {FRAME}/>'
    for tag in ("distance", "normal", "fromto"):
        text += f'<{tag} geom1="one" geom2="two" cutoff="1"/>'
    data = 'data="force torque dist pos normal tangent"'
    return text + f'<contact {data} num="9"/><contact {data} reduce="netforce" geom1="g"/>'


@functools.cache
def scene() -> tuple[mjjax.Model, mjjax.Data]:
    """A state with contacts and row slots, before the forces are known."""
    xml = SCENE.format(sensors=sensors(), cone="elliptic", shape="box", flag="", option="")
    model = load(xml).ours
    data = mjjax.make_data(model)
    stages = (mjjax.kinematics, mjjax.com_pos, mjjax.collision, mjjax.make_constraint)
    return model, quick(lambda m, d: functools.reduce(lambda d, f: f(m, d), stages, d))(model, data)


def readings(x: dict[str, Any]) -> jax.Array:
    """All readings, from positions, velocities, accelerations, contacts and forces."""
    model, data = scene()
    contact = data.contact.replace(pos=x.pop("pos"), dist=x.pop("dist"))
    data = data.replace(contact=contact, **x)
    for stage in (
        mjjax.kinematics,
        mjjax.com_pos,
        mjjax.camlight,
        mjjax.crb,
        mjjax.com_vel,
        mjjax.sensor_pos,
        mjjax.sensor_vel,
        mjjax.sensor_acc,
    ):
        data = stage(model, data)
    return data.sensordata


def points(n: int) -> dict[str, jax.Array]:
    """Random points, and as the last one the state at rest without forces."""
    _, data = scene()
    rng = np.random.default_rng(0)
    names = ("qpos", "qvel", "qacc", "efc_force", "actuator_force", "time", "ten_length")
    x = {name: getattr(data, name) for name in names}
    x |= {"pos": data.contact.pos, "dist": data.contact.dist}
    x = {name: np.repeat(np.asarray(value)[None], n, 0) for name, value in x.items()}
    for name, value in x.items():
        if name != "dist":
            value[:-1] += 0.02 * rng.normal(size=value[:-1].shape)
    x["efc_force"][:-1] = rng.uniform(0.5, 2, x["efc_force"][:-1].shape)
    return jax.tree.map(jnp.asarray, x)


@pytest.mark.slow
@pytest.mark.feature("C87", "C88", "C90", "C92", "C93", "C94", "C99", "C100", "C101", "C102", "D05")
@pytest.mark.feature("C104", "C105", "C106", "D08")
def test_derivatives() -> None:
    """Exact in both modes at random states, finite at rest, where norms vanish."""
    x = points(3)
    v = jax.tree.map(lambda a: 0.1 * a, directions(x, 1))
    # at rest there are kinks: finite is enough
    tolerance = np.array([1e-5, 1e-5, np.inf])
    bad = derivative_errors(lambda x: readings(dict(x)), x, v, tolerance)
    assert not bad, bad


def test_derivatives_at_the_cutoff() -> None:
    """Within a cutoff and at it the derivative is that of the reading, beyond it is zero."""
    model = load(
        """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
        <body pos="0 0 1"><joint name="x" type="slide" axis="0 0 -1"/><geom size="0.01"/>
          <site name="s" zaxis="0 0 -1"/></body></worldbody>
        <sensor><jointpos joint="x" cutoff="0.25"/><rangefinder site="s" cutoff="1.25"/></sensor>
        </mujoco>"""
    ).ours
    data = mjjax.make_data(model)

    def readings(x: jax.Array) -> jax.Array:
        moved = mjjax.kinematics(model, data.replace(qpos=x[None]))
        return mjjax.sensor_pos(model, moved).sensordata

    x = jnp.array([-0.5, -0.25, 0, 0.25, 0.5])
    ones = jnp.ones_like(x)
    value, slope = quick(lambda x, v: jax.jvp(jax.vmap(readings), (x,), (v,)))(x, ones)
    pulled = quick(lambda x, u: jax.vjp(jax.vmap(readings), x)[1](u)[0])(x, jnp.ones((5, 2)))
    np.testing.assert_allclose(value[:, 0], [-0.25, -0.25, 0, 0.25, 0.25])
    np.testing.assert_allclose(value[:, 1], [1.25, 1.25, 1, 0.75, 0.5])
    np.testing.assert_allclose(slope[:, 0], [0, 1, 1, 1, 0])
    np.testing.assert_allclose(slope[:, 1], [0, -1, -1, -1, -1])
    np.testing.assert_allclose(pulled, slope.sum(axis=1))
