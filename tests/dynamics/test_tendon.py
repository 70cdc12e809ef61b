"""Tendon lengths, moment arms and transmissions against MuJoCo, and their derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax import Model, mjcf
from mjjax.compiler import compile_spec, set_const
from mjjax.compiler.assemble import host_model
from mjjax.compiler.constants import positions
from mjjax.dynamics.tendon import tendon
from mjjax.dynamics.transmission import moment, transmission
from mjjax.model.data import Data
from tests.derivatives import all_finite, derivative_errors, directions
from tests.oracle_tools import quick, stack


def numbers(rng: np.random.Generator, *shape: int) -> str:
    """Numbers as they stand in an attribute."""
    return " ".join(f"{x:.5g}" for x in rng.normal(size=shape).ravel())


def scene(seed: int, tendons: int = 12) -> str:
    """Moving bodies with geoms to wrap around, tendons that do, and every kind of transmission."""
    rng = np.random.default_rng(seed)
    bodies = ""
    for i, joint in enumerate(("ball", "hinge", "free", "slide")):
        kind = rng.choice(["sphere", "cylinder"])
        bodies += f'<body pos="{numbers(rng, 3)}"><joint name="j{i}" type="{joint}"/>'
        bodies += f'<geom name="g{i}" type="{kind}" size="{rng.uniform(0.2, 0.6):.4g} .3" '
        bodies += f'pos="{numbers(rng, 3)}" quat="{numbers(rng, 4)}"/>'
        bodies += f'<site name="in{i}" pos="{numbers(rng, 3)}"/>'
        bodies += "".join(
            f'<site name="s{i}{k}" pos="{numbers(rng, 3)}" quat="{numbers(rng, 4)}"/>'
            for k in range(3)
        )
        bodies += "</body>"
    sites = [f"s{i}{k}" for i in range(4) for k in range(3)]
    paths = ""
    for k in range(tendons):
        one, two, three, side = rng.choice(sites, 4, replace=False)
        side = f'sidesite="{side}"' if rng.uniform() < 0.5 else ""
        paths += f'<spatial name="t{k}"><site site="{one}"/><geom geom="g{k % 4}" {side}/>'
        paths += f'<site site="{two}"/><site site="{three}"/>'
        if k % 2:
            paths += f'<pulley divisor="{rng.uniform(0.5, 3):.3g}"/><site site="{one}"/>'
            paths += f'<geom geom="g{(k + 1) % 4}"/><site site="{three}"/>'
        paths += "</spatial>"
    gear = numbers(rng, 6)
    actuators = '<motor tendon="t0" gear="2"/><motor joint="j1"/><motor site="s00" gear="1 2 3"/>'
    actuators += f'<motor site="s00" refsite="s11" gear="{gear}"/><motor jointinparent="j0"/>'
    actuators += '<motor cranksite="s01" slidersite="s20" cranklength="9"/>'
    actuators += '<motor cranksite="s01" slidersite="s20" cranklength=".01" gear="-3"/>'
    actuators += '<motor tendon="t3"/>'
    return (
        f"<mujoco><worldbody>{bodies}</worldbody><tendon>{paths}<fixed>"
        '<joint joint="j1" coef="2"/><joint joint="j3" coef="-3"/></fixed></tendon>'
        f"<actuator>{actuators}</actuator></mujoco>"
    )


def inside(seed: int) -> str:
    """Tendons that pass through a geom, past a side site within it."""
    rng = np.random.default_rng(seed)
    paths = ""
    for k in range(8):
        paths += f'<spatial><site site="o{k}"/><geom geom="g{k % 2}" sidesite="in"/>'
        paths += f'<site site="m{k}"/></spatial>'
    fixed = "".join(f'<site name="o{k}" pos="{numbers(rng, 3)}"/>' for k in range(8))
    moving = "".join(f'<site name="m{k}" pos="{numbers(rng, 3)}"/>' for k in range(8))
    return (
        f'<mujoco><worldbody><site name="in"/>{fixed}<geom name="g0" size=".3"/>'
        '<geom name="g1" type="cylinder" size=".3 .1" euler="20 30 0"/><body><freejoint/>'
        f'<geom size=".1"/>{moving}</body></worldbody><tendon>{paths}</tendon></mujoco>'
    )


def host(xml: str) -> Model:
    """A numpy model without derived constants."""
    return host_model(compile_spec(mjcf.read_string(xml)))


def kernels(model: Model, qpos: Any) -> Data:
    """What the tendon and transmission kernels compute at some joint positions."""
    return transmission(model, tendon(model, positions(model, qpos)))


def moved(reference: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """MuJoCo's results at random joint positions."""
    d = mujoco.MjData(reference)
    step = np.random.default_rng(seed).normal(size=reference.nv)
    mujoco.mj_integratePos(reference, d.qpos, step, 0.5)
    mujoco.mj_forward(reference, d)
    return d


@pytest.mark.feature("B65", "C08", "C10")
@pytest.mark.parametrize("build", [scene, inside])
@pytest.mark.parametrize("seed", range(5))
def test_lengths_and_arms(build: Any, seed: int) -> None:
    """Paths around, inside and past geoms; pulleys; all transmissions."""
    xml = build(seed)
    reference = mujoco.MjModel.from_xml_string(xml)
    d = moved(reference, seed)
    model = host(xml)
    data = kernels(model, d.qpos)
    arms = np.zeros((reference.ntendon, reference.nv))
    mujoco.mju_sparse2dense(
        arms, d.ten_J, reference.ten_J_rownnz, reference.ten_J_rowadr, reference.ten_J_colind
    )
    np.testing.assert_allclose(data.ten_length, d.ten_length, atol=1e-10)
    np.testing.assert_allclose(data.ten_J, arms, atol=1e-8)
    np.testing.assert_allclose(data.actuator_length, d.actuator_length, atol=1e-10)
    if reference.nu:
        full = np.zeros((reference.nu, reference.nv))
        mujoco.mju_sparse2dense(
            full, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind
        )
        np.testing.assert_allclose(moment(model, data), full, atol=1e-8)
    # some paths wrap, some do not
    assert 0 < np.sum(d.wrap_obj >= 0) < 2 * reference.nwrap


@pytest.mark.feature("B65", "D05")
@pytest.mark.parametrize("xml", [scene(1, 5), inside(2)], ids=["outside", "inside"])
def test_derivatives(xml: str) -> None:
    """Lengths and moment arms have exact derivatives with respect to poses and sizes."""
    model = jax.tree.map(jnp.asarray, host(xml))
    qpos = jnp.asarray(moved(mujoco.MjModel.from_xml_string(xml), 1).qpos)
    x = {"qpos": qpos, "site_pos": model.site_pos, "geom_size": model.geom_size}

    def lengths(x: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
        changed = model.replace(site_pos=x["site_pos"], geom_size=x["geom_size"])
        data = kernels(changed, x["qpos"])
        return data.ten_length, data.ten_J, data.actuator_length

    v = [jax.tree.map(lambda a: 0.02 * a, directions(x, seed)) for seed in range(2)]
    bad = derivative_errors(lengths, stack([x] * 2), stack(v))
    assert not bad, bad


@pytest.mark.feature("D08")
def test_derivatives_at_singular_paths_are_finite() -> None:
    """Coincident sites, a site at the centre of a geom, a straight path through the centre."""
    xml = """
        <mujoco>
          <worldbody>
            <site name="a" pos="-1 0 0"/>
            <site name="c"/>
            <geom name="g" size=".3" mass="1"/>
            <geom name="k" type="cylinder" size=".3 .1" mass="1"/>
            <body>
              <joint name="j" type="slide"/>
              <geom size=".1"/>
              <site name="o"/>
              <site name="b" pos="1 0 0"/>
            </body>
          </worldbody>
          <tendon>
            <spatial><site site="c"/><site site="o"/></spatial>
            <spatial><site site="a"/><geom geom="g"/><site site="b"/></spatial>
            <spatial><site site="a"/><geom geom="k" sidesite="c"/><site site="b"/></spatial>
            <spatial><site site="c"/><geom geom="g" sidesite="a"/><site site="b"/></spatial>
          </tendon>
          <actuator>
            <motor cranksite="b" slidersite="a" cranklength="2"/>
            <motor cranksite="o" slidersite="c" cranklength=".1"/>
          </actuator>
        </mujoco>
    """
    model = jax.tree.map(jnp.asarray, host(xml))

    def total(qpos: jax.Array, site_pos: jax.Array) -> jax.Array:
        data = kernels(model.replace(site_pos=site_pos), qpos)
        return jnp.sum(data.ten_length) + jnp.sum(data.ten_J) + jnp.sum(data.actuator_length)

    both = quick(jax.value_and_grad(total, argnums=(0, 1)))
    assert all_finite(both(model.qpos0, model.site_pos))
    assert all_finite(set_const(host(xml)).tendon_invweight0)
