"""Quaternions: axioms, MuJoCo's values, derivatives through zero rotation."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax.math import components, quat
from mjjax.xla.namespace import Array
from mjjax.xla.polynomials import constant_bilinear, constant_quadratic

COUNT = 200
REAL = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def unit(seed: int, dtype: type = np.float64) -> np.ndarray:
    """Random unit quaternions, with the special ones among them."""
    q = np.random.default_rng(seed).normal(size=(COUNT, 4))
    q[:4] = np.eye(4)
    q[4] = [-1, 0, 0, 0]
    return (q / np.linalg.norm(q, axis=-1, keepdims=True)).astype(dtype)


def vectors(seed: int, dtype: type = np.float64) -> np.ndarray:
    """Random vectors."""
    return np.random.default_rng(seed).normal(size=(COUNT, 3)).astype(dtype)


def close(a: Array, b: Array, dtype: type = np.float64) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 if dtype == np.float64 else 2e-5)


@REAL
def test_product_is_a_group(dtype: type) -> None:
    """Closure, associativity, neutral element and inverse."""
    a, b, c = (unit(seed, dtype) for seed in range(3))
    one = np.broadcast_to(np.eye(4, dtype=dtype)[0], a.shape)
    close(np.linalg.norm(quat.mul(a, b), axis=-1), np.ones(COUNT), dtype)
    close(quat.mul(quat.mul(a, b), c), quat.mul(a, quat.mul(b, c)), dtype)
    close(quat.mul(a, one), a, dtype)
    close(quat.mul(quat.conj(a), a), one, dtype)


@REAL
def test_rotations_act_on_vectors(dtype: type) -> None:
    """Rotation by a product, by a matrix and by a quaternion agree and keep handedness."""
    a, b, v, w = unit(0, dtype), unit(1, dtype), vectors(2, dtype), vectors(3, dtype)
    close(quat.rotate(quat.mul(a, b), v), quat.rotate(a, quat.rotate(b, v)), dtype)
    close(np.einsum("nij,nj->ni", quat.to_mat(a), v), quat.rotate(a, v), dtype)
    turned = quat.cross(quat.rotate(a, v), quat.rotate(a, w))
    close(turned, quat.rotate(a, quat.cross(v, w)), dtype)


@REAL
def test_exp_and_log_are_inverse(dtype: type) -> None:
    """log(exp(v)) = v below half a turn, exp(log(q)) = q up to sign, from tiny to large."""
    v = vectors(0, dtype)
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    v = (v / length * np.geomspace(1e-12, 3.1, COUNT)[:, None]).astype(dtype)
    close(quat.log(quat.exp(v)), v, dtype)
    q = unit(1, dtype)
    back = quat.exp(quat.log(q))
    close(back * np.sign(np.sum(back * q, axis=-1, keepdims=True)), q, dtype)
    assert np.linalg.norm(quat.log(q), axis=-1).max() <= np.pi * (1 + 1e-6)


@pytest.mark.feature("A183", "A185")
def test_values_are_mujocos() -> None:
    """Integration, differences, axis-angle and the unit of the zero quaternion are MuJoCo's."""
    a, b, v, out = unit(0), unit(1), vectors(2), np.zeros(4)
    integrated, sub = quat.integrate(a, 0.3 * v), quat.sub(a, b)
    axis = v / np.linalg.norm(v, axis=-1, keepdims=True)
    turned = quat.from_axis_angle(axis, np.linspace(-4, 4, COUNT))
    for i in range(COUNT):
        expected = a[i].copy()
        mujoco.mju_quatIntegrate(expected, v[i], 0.3)
        close(integrated[i], expected)
        mujoco.mju_subQuat(difference := np.zeros(3), a[i], b[i])
        close(sub[i], difference)
        mujoco.mju_axisAngle2Quat(out, axis[i], np.linspace(-4, 4, COUNT)[i])
        close(turned[i], out)
    close(quat.normalize(np.zeros(4)), np.array([1.0, 0, 0, 0]))


@pytest.mark.slow(but=4)
@pytest.mark.feature("D07")
@REAL
@pytest.mark.parametrize("size", [0, 1e-20, 1e-9, 1e-5, 1e-3])
def test_derivatives_pass_through_zero_rotation(dtype: type, size: float) -> None:
    """d exp = v / 2 and d log = 2 u at the identity: exact, in both modes, and twice."""
    v = jnp.asarray(size * np.array([0.6, 0, 0.8]), dtype)
    one = jnp.asarray([1, 0, 0, 0], dtype)
    tolerance = 1e-5 if size < 1e-4 else 2e-3
    half = np.vstack([np.zeros(3), 0.5 * np.eye(3)])

    def derivatives(v: jax.Array) -> list[jax.Array]:
        near = quat.mul(one, quat.exp(v))
        found = []
        for mode in (jax.jacfwd, jax.jacrev):
            found += [mode(quat.exp)(v), mode(quat.log)(near)[:, 1:]]
            found += [mode(lambda v: quat.log(quat.exp(v)))(v)]
        found += [jax.hessian(lambda v: jnp.sum(quat.exp(v)))(v)]
        return [*found, jax.hessian(lambda q: jnp.sum(quat.log(q)))(one)]

    *first, second, of_log = jax.jit(derivatives)(v)
    for mine, expected in zip(first, (half, 2 * np.eye(3), np.eye(3)) * 2, strict=True):
        np.testing.assert_allclose(mine, expected, atol=tolerance)
    np.testing.assert_allclose(second, -0.25 * np.eye(3), atol=max(tolerance, 1e-3))
    chex.assert_tree_all_finite(of_log)


def test_derivative_of_log_beyond_half_a_turn() -> None:
    """-q is the same rotation: its logarithm and derivative are those of q."""
    for q in unit(3)[5:15]:
        np.testing.assert_allclose(quat.log(-q), quat.log(q), atol=1e-12)
        a, b = jax.jacrev(quat.log)(jnp.asarray(q)), jax.jacrev(quat.log)(jnp.asarray(-q))
        np.testing.assert_allclose(a, -b, atol=1e-10)


@pytest.mark.feature("A186")
def test_poses_compose() -> None:
    """A point of a child frame is at the composed pose."""
    a, b, p, r, x = unit(0), unit(1), vectors(2), vectors(3), vectors(4)
    whole = components.compose(
        (*components.split(p), *components.split(a)), (*components.split(r), *components.split(b))
    )
    place, turn = quat.join(whole[:3]), quat.join(whole[3:])
    inner = r + quat.rotate(b, x)
    close(place + quat.rotate(turn, x), p + quat.rotate(a, inner))
    mujoco.mju_mulPose(pos := np.zeros(3), q := np.zeros(4), p[0], a[0], r[0], b[0])
    close(place[0], pos)
    close(turn[0], q)


@pytest.mark.parametrize("xp", [np, jnp])
def test_matrices_of_constant_quaternions(xp: Any) -> None:
    """One product gives the same matrices as sums do, and the same derivatives."""
    q = np.random.default_rng(3).normal(size=(5, 4))  # of any length: the form is quadratic
    product = constant_quadratic(components.to_mat, xp.asarray(q))
    np.testing.assert_allclose(product, components.to_mat(components.split(q)), atol=1e-14)
    slopes = [
        jax.jacfwd(lambda x, f=f: jnp.stack(tuple(f(x))))(jnp.asarray(q))
        for f in (
            lambda x: constant_quadratic(components.to_mat, x),
            lambda x: components.to_mat(components.split(x)),
        )
    ]
    np.testing.assert_allclose(*slopes, atol=1e-14)


@pytest.mark.parametrize("xp", [np, jnp])
def test_products_of_constant_quaternions(xp: Any) -> None:
    """One product gives the same quaternions as sums do, and the same derivatives."""
    random = np.random.default_rng(4)
    q, v = random.normal(size=(5, 4)), random.normal(size=(5, 3))

    def sums(q: Any, v: Any) -> Any:
        return components.mul(components.split(q), (0 * v[:, 0], *components.split(v)))

    def product_of(q: Any, v: Any) -> Any:
        return constant_bilinear(components.mul_vector, q, v)

    product = product_of(xp.asarray(q), xp.asarray(v))
    np.testing.assert_allclose(product, sums(q, v), atol=1e-14)
    slopes = [
        jax.jacfwd(lambda q, v, f=f: jnp.stack(tuple(f(q, v))), (0, 1))(
            jnp.asarray(q), jnp.asarray(v)
        )
        for f in (product_of, sums)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-14), *slopes)
