"""Planes against meshes: MuJoCo's contacts, their derivatives."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.collision.convex.gjk import Settings
from mjjax.collision.primitive.plane_mesh import plane_mesh, plane_mesh_motion
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet
from mjjax.collision.shape.shapes import Pools, Shape, pools_of
from mjjax.xla.compiling import quick
from mjjax.xla.namespace import Array
from tests.collision.protocol import Pair, Poses, judge
from tests.derivatives import derivative_errors, directions

RNG = np.random.default_rng(0)
CUBE = "-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"

SETTINGS = Settings(35, jnp.asarray(1e-6))


def points(n: int) -> str:
    return " ".join(map(str, (0.1 * RNG.normal(size=(n, 3))).round(4).ravel()))


MESHES = {
    "box": f'vertex="{CUBE}" scale=".1 .07 .05"',
    "few": f'vertex="{points(8)}"',
    "more": f'vertex="{points(30)}"',
    "ball": 'builtin="sphere" params="2" scale=".1 .1 .05"',
}
ASSETS = "".join(f'<mesh name="{name}" {text}/>' for name, text in MESHES.items())
GEOMS = [f'type="mesh" mesh="{name}"' for name in MESHES]


@functools.cache
def model() -> mjjax.Model:
    geoms = "".join(f"<geom {g}/>" for g in GEOMS)
    return mjjax.Model.from_xml_string(
        f"<mujoco><asset>{ASSETS}</asset><worldbody>{geoms}</worldbody></mujoco>"
    )


def pools(dtype: type = np.float64) -> Pools:
    with jax.ensure_compile_time_eval():
        found = pools_of(model())
    return found._replace(vert=found.vert.astype(dtype))


def shapes(arguments: list, mesh: jax.Array) -> tuple[Shape, Shape]:
    none = jnp.zeros_like(mesh)
    one = Shape(*arguments[:3], kind=none, asset=none - 1, offset=none)
    return one, Shape(*arguments[3:6], kind=none + 7, asset=mesh, offset=none)


def arguments(poses: Poses, dtype: type = np.float64) -> tuple[list, jax.Array]:
    given = [jnp.asarray(x) for x in poses.kernel_arguments(dtype)]
    return given, jnp.asarray(poses.model % len(MESHES), jnp.int32)


@quick
def contacts(given: list, mesh: jax.Array) -> tuple[ContactSet, Array]:
    return plane_mesh(pools(given[0].dtype), *shapes(given[:6], mesh), given[6], SETTINGS)


def pair(margin: float = 0.0) -> Pair:
    return Pair("plane", "mesh", geoms2=GEOMS, assets=ASSETS, base_margin=margin)


@pytest.mark.feature("C64")
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_agrees_with_mujoco(margin: float) -> None:
    """The contacts are MuJoCo's, from the lowest vertex and its neighbours, for any mesh."""
    found = judge(pair(margin), lambda poses: contacts(*arguments(poses))[0], 800)
    assert found.touching.sum() > 600 and found.share(1e-9) > 0.99, str(found)
    assert found.aside.sum() < 20


@pytest.mark.feature("C64")
def test_single_precision_agrees() -> None:
    """In float32 dtypes stay, and contacts are right up to rounding."""
    poses, _ = pair().poses(200)
    double, single = (contacts(*arguments(poses, t))[0] for t in (np.float64, np.float32))
    assert all(x.dtype == np.float32 for x in single)
    a, b = np.asarray(double.dist), np.asarray(single.dist)
    same = np.all((a < NO_CONTACT) == (b < NO_CONTACT), axis=1)
    assert np.mean(same) > 0.97
    gap = np.where(b < NO_CONTACT, a - b, 0)
    assert np.quantile(np.abs(gap[same]), 0.95) < 1e-6


@pytest.mark.feature("C64", "D05")
def test_derivatives() -> None:
    """Derivatives are those of the touching vertices, in both modes; finite in empty slots."""
    poses, _ = pair().poses(80)
    given, mesh = arguments(poses)
    touch, vertex = contacts(given, mesh)

    def moving_one(x: dict) -> ContactSet:
        one, two = shapes([x[f"{k}"] for k in range(6)], x["mesh"])
        motion = functools.partial(plane_mesh_motion, pools(), one, two, jnp.zeros(()))
        return jax.vmap(motion)(x["touch"], x["vertex"])

    floats = {f"{k}": given[k] for k in range(6)}
    fixed = {"mesh": mesh, "touch": touch, "vertex": vertex}
    found = jax.vmap(lambda x, y: moving_one(x | y))(floats, fixed)
    on = np.asarray(touch.dist) < NO_CONTACT
    for a, b in zip(found, touch, strict=True):
        np.testing.assert_allclose(a[on], b[on], atol=1e-12)
    first = jax.tree.map(lambda x: x[0], fixed)
    bad = derivative_errors(lambda x: moving_one(x | first), floats, directions(floats, 0), 1e-6)
    assert not bad, bad

    def total(x: dict) -> jax.Array:
        found = jax.vmap(lambda a, b: moving_one(a | b))(x, fixed)
        return jnp.sum(jnp.stack([jnp.sum(v) for v in found]))

    chex.assert_tree_all_finite(jax.grad(total)(floats))
