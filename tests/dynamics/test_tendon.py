"""Tendon lengths, moment arms and transmissions against MuJoCo, and their derivatives."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax import Model, mjcf
from mjjax.compiler import compile_spec
from mjjax.compiler.assemble import host_model
from mjjax.compiler.constants.set_const import positions
from mjjax.dynamics.tendon import tendon
from mjjax.dynamics.transmission import moment, transmission
from mjjax.dynamics.wrap import wrap
from mjjax.model.data import Data
from tests.derivatives import derivative_errors, directions
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
    """Results of the tendon and transmission kernels at some joint positions."""
    return transmission(model, tendon(model, positions(model, qpos)))


def moved(reference: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """MuJoCo's results at random joint positions."""
    d = mujoco.MjData(reference)
    step = np.random.default_rng(seed).normal(size=reference.nv)
    mujoco.mj_integratePos(reference, d.qpos, step, 0.5)
    mujoco.mj_forward(reference, d)
    return d


@pytest.mark.feature("A130", "B65", "C08", "C10")
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


def paths(seed: int, n: int = 40) -> dict[str, Any]:
    """Random ends, side points and radii in the frame of a geom."""
    rng = np.random.default_rng(seed)
    ends = {name: rng.normal(size=(n, 3)) for name in ("start", "end")}
    # every other side point lies inside the geom
    side = rng.normal(size=(n, 3)) * np.where(np.arange(n) % 2, 1, 0.01)[:, None]
    return ends | {"side": side, "radius": rng.uniform(0.1, 0.4, n)}


def around(x: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
    """Points and length of the paths that wrap, nothing for the others."""
    n = len(x["radius"])
    has_side, sphere = np.arange(n) % 4 < 3, np.arange(n) % 8 < 4
    on, *found = wrap(x["start"], x["end"], x["side"], has_side, x["radius"], sphere)
    return tuple(jnp.where(on.reshape(-1, *[1] * (f.ndim - 1)), f, 0) for f in found)


@pytest.mark.feature("B65", "D05")
def test_derivatives() -> None:
    """Touching points and arcs have exact derivatives, around and inside spheres and cylinders."""
    x = stack([jax.tree.map(jnp.asarray, paths(seed)) for seed in range(2)])
    v = stack([jax.tree.map(lambda a: 0.02 * a[0], directions(x, seed)) for seed in range(2)])
    # MuJoCo stops its search for touching points inside a geom 1e-6 from the root, where the
    # derivative is that of the root: small entries agree with differences to no more
    bad = derivative_errors(around, x, v, floor=1.0)
    assert not bad, bad


@pytest.mark.slow
@pytest.mark.feature("D08")
def test_derivatives_at_singular_paths_are_finite() -> None:
    """Coincident ends, ends at or in line with the centre, side points there, tangent lines."""
    ends = [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (2, 0, 0), (0, 0, 1), (0.2, 0, 0), (0, 1, 0)]
    special = np.array([*ends, (1, 0.2, 0), (-1, 0.2, 0)], float)
    n = len(special)
    start, end, side = (special[i].reshape(-1, 3) for i in np.indices((n, n, n)))
    x = {"start": start, "end": end, "side": side, "radius": np.full(n**3, 0.2)}
    x = jax.tree.map(jnp.asarray, x)
    slopes = quick(jax.grad(lambda x: sum(jnp.sum(f) for f in around(x))))(x)
    chex.assert_tree_all_finite(slopes)
    chex.assert_tree_all_finite(around(x))
