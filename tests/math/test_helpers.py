"""Math helpers against MuJoCo's functions."""

import itertools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax.math import (
    Band,
    band_mul_mat_vec,
    chol_factor_band,
    chol_solve_band,
    chol_update,
    decode_pyramid,
    dense_to_band,
    eig3,
    encode_pyramid,
    halton,
    mul_pose,
    neg_pose,
    quat,
    spring_damper,
    transform_spatial,
    trn_vec_pose,
)
from tests.derivatives import derivative_errors, directions
from tests.math.reference import CLOSE, both_ways, filled
from tests.oracle_tools import quick

RNG = np.random.default_rng(0)


def unit(n: int = 1) -> np.ndarray:
    q = np.random.default_rng(n).normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@pytest.mark.feature("A185")
@pytest.mark.parametrize(
    "ours, theirs",
    [(quat.from_mat, mujoco.mju_mat2Quat), (quat.from_z, mujoco.mju_quatZ2Vec)],
)
def test_conversions_to_quaternions(ours, theirs) -> None:
    """Conversions from matrices, in all four branches, and from directions, even zero ones."""
    if ours is quat.from_mat:
        q = np.concatenate([unit(20), np.eye(4), unit(4)[:, ::-1]])
        inputs = np.array([filled(9, mujoco.mju_quat2Mat, x).reshape(3, 3) for x in q])
    else:
        inputs = np.array([[0.1, 2, 3], [0, 0, 2], [0, 0, -2], [1, 0, 0], [0, 0, 0], [1, -1, -5.0]])
    expected = [filled(4, theirs, x.ravel()) for x in inputs]
    for mine in both_ways(ours, inputs):
        np.testing.assert_allclose(mine, expected, **CLOSE)


@pytest.mark.feature("A185")
def test_euler_angles() -> None:
    """Every kind of sequence, turned axes and fixed ones."""
    angles = RNG.uniform(-2, 2, (3,))
    for sequence in ("xyz", "XYZ", "zxz", "zYx", "XyX"):
        expected = filled(4, mujoco.mju_euler2Quat, angles, sequence)
        np.testing.assert_allclose(quat.from_euler(angles, sequence), expected, **CLOSE)
    with pytest.raises(ValueError, match="sequence"):
        quat.from_euler(angles, "xyw")


@pytest.mark.feature("A185")
def test_velocities_of_quaternions() -> None:
    """Velocity from a rotation, rate from a velocity, rotation by axis and angle."""
    for q in [*unit(5), np.array([-0.6, 0.8, 0, 0]), np.array([1.0, 0, 0, 0])]:
        v = RNG.normal(size=3)
        np.testing.assert_allclose(
            quat.to_vel(q, 0.1), filled(3, mujoco.mju_quat2Vel, q, 0.1), **CLOSE
        )
        np.testing.assert_allclose(quat.rate(q, v), filled(4, mujoco.mju_derivQuat, q, v), **CLOSE)
        axis = v / np.linalg.norm(v)
        np.testing.assert_allclose(
            quat.from_axis_angle(axis, np.array(0.7)),
            filled(4, mujoco.mju_axisAngle2Quat, axis, 0.7),
            **CLOSE,
        )
        mujoco.mju_quatIntegrate(turned := q.copy(), v, 0.3)
        np.testing.assert_allclose(quat.integrate(q, 0.3 * v), turned, **CLOSE)
        np.testing.assert_allclose(quat.conj(q), filled(4, mujoco.mju_negQuat, q), **CLOSE)
        np.testing.assert_allclose(
            quat.rotate(q, v), filled(3, mujoco.mju_rotVecQuat, v, q), **CLOSE
        )


@pytest.mark.feature("A185")
def test_closest_rotation() -> None:
    """The rotation nearest to an arbitrary matrix."""
    closest = quick(quat.closest)
    for k in range(4):
        mat = np.random.default_rng(k).normal(size=(3, 3)) + 2 * np.eye(3)
        start = unit(1)[0]
        mujoco.mju_mat2Rot(expected := start.copy(), mat.ravel())
        mine = closest(jnp.asarray(start), jnp.asarray(mat))
        assert abs(abs(np.dot(mine, expected)) - 1) < 1e-9


@pytest.mark.feature("A197", "A198")
def test_derivatives_of_rotations() -> None:
    """Derivatives of difference and integration are MuJoCo's formulas."""
    qa, qb = unit(2)
    v = RNG.normal(size=3)
    mujoco.mjd_subQuat(qa, qb, da := np.zeros((3, 3)), db := np.zeros((3, 3)))
    mujoco.mjd_quatIntegrate(v, 0.4, dq := np.zeros(9), dv := np.zeros(9), dh := np.zeros(3))

    def difference(a, b):
        return quat.sub(quat.integrate(jnp.asarray(qa), a), quat.integrate(jnp.asarray(qb), b))

    def integral(x, w, h):
        end = quat.integrate(quat.integrate(jnp.asarray(qa), x), h * w)
        return quat.sub(end, quat.integrate(jnp.asarray(qa), jnp.asarray(0.4 * v)))

    # MuJoCo's derivative by the velocity is that by the angle
    zero = jnp.zeros(3)
    mine = quick(jax.jacobian(difference, (0, 1)))(zero, zero)
    np.testing.assert_allclose(mine[0], da, atol=1e-9)
    np.testing.assert_allclose(mine[1], db, atol=1e-9)
    parts = quick(jax.jacobian(integral, (0, 1, 2)))(zero, jnp.asarray(v), jnp.asarray(0.4))
    for mine, theirs in zip(parts, (dq, 0.4 * dv, dh), strict=True):
        np.testing.assert_allclose(np.ravel(mine), theirs, atol=1e-9)


@pytest.mark.feature("A186", "A165")
def test_poses() -> None:
    """Products, inverses and points of poses; spatial vectors about other points and axes."""
    (q1, q2), (p1, p2, x) = unit(2), RNG.normal(size=(3, 3))
    pos, turn = np.zeros(3), np.zeros(4)
    mujoco.mju_mulPose(pos, turn, p1, q1, p2, q2)
    mine = mul_pose(p1, q1, p2, q2)
    np.testing.assert_allclose(np.concatenate(mine), np.concatenate([pos, turn]), **CLOSE)
    mujoco.mju_negPose(pos, turn, p1, q1)
    np.testing.assert_allclose(
        np.concatenate(neg_pose(p1, q1)), np.concatenate([pos, turn]), **CLOSE
    )
    np.testing.assert_allclose(
        trn_vec_pose(p1, q1, x), filled(3, mujoco.mju_trnVecPose, p1, q1, x), **CLOSE
    )
    v, mat = RNG.normal(size=6), filled(9, mujoco.mju_quat2Mat, q1)
    for force in (False, True):
        expected = filled(6, mujoco.mju_transformSpatial, v, force, p1, p2, mat)
        mine = transform_spatial(v, force, p1, p2, mat.reshape(3, 3))
        np.testing.assert_allclose(mine, expected, **CLOSE)


@pytest.mark.feature("A185")
def test_rotation_of_the_z_axis_to_itself() -> None:
    """The derivative is right at the z axis itself, next to it and near the opposite direction."""
    v = jnp.asarray([[0.0, 0, 2], [1e-9, 0, 0.5], [0.3, -0.2, -0.8], [0.1, 0.2, 0]])
    assert not derivative_errors(quat.from_z, v, directions(v, 1))
    slope = jax.jacobian(quat.from_z)(v[0])
    np.testing.assert_allclose(slope, [[0, 0, 0], [0, -0.25, 0], [0.25, 0, 0], [0, 0, 0]])


@pytest.mark.feature("A191")
@pytest.mark.parametrize("dim", [3, 4, 6])
def test_pyramids(dim: int) -> None:
    """Contact forces to the pyramid's edges and back."""
    force, mu = np.append(3.0, RNG.normal(size=dim - 1)), RNG.uniform(0.2, 1, dim - 1)
    # the binding takes the number of coefficients for the dimension: it gets one more
    more = np.append(mu, 1.0)
    edges = filled(2 * dim, mujoco.mju_encodePyramid, np.append(force, 0.0), more)[:-2]
    mine = encode_pyramid(jnp.asarray(force), jnp.asarray(mu))
    np.testing.assert_allclose(mine, edges, **CLOSE)
    back = filled(dim + 1, mujoco.mju_decodePyramid, np.append(edges, (0, 0)), more)[:-1]
    np.testing.assert_allclose(decode_pyramid(mine, jnp.asarray(mu)), back, **CLOSE)
    np.testing.assert_allclose(encode_pyramid(jnp.ones(1), jnp.ones(0)), 1)
    np.testing.assert_allclose(decode_pyramid(jnp.ones(1), jnp.ones(0)), 1)


@pytest.mark.feature("A192")
def test_spring_damper() -> None:
    """The exact motion of a damped spring, on either side of critical damping and at it."""
    solve = quick(spring_damper)
    for kp, kv, dt in itertools.product((0.5, 4.0, 100.0), (0.0, 4.0, 30.0), (0.0, 0.3, 2.0)):
        expected = mujoco.mju_springDamper(0.3, -0.7, kp, kv, dt)
        mine = solve(*(jnp.asarray(x) for x in (0.3, -0.7, kp, kv, dt)))
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)
    slope = jax.grad(spring_damper, (2, 3))(*(jnp.asarray(x) for x in (0.3, -0.7, 4.0, 4.0, 0.3)))
    chex.assert_tree_all_finite(slope)


@pytest.mark.feature("A192")
def test_halton() -> None:
    """The low-discrepancy sequence, one element or many."""
    for base in (2, 3, 7):
        expected = [mujoco.mju_Halton(i, base) for i in range(30)]
        np.testing.assert_allclose(halton(np.arange(30), base), expected, **CLOSE)


def test_derivatives() -> None:
    """Derivatives of public functions are exact in both modes."""
    band = Band(4, 2, 1)

    def everything(x: dict[str, jax.Array]) -> dict[str, Any]:
        a, v, q = x["a"], x["v"], quat.normalize(x["q"])
        full = a @ a.T + 4 * jnp.eye(4)
        factor, least = chol_factor_band(dense_to_band(full, band), band, v[0] ** 2, v[1] ** 2)
        mat, force = quat.to_mat(q), jnp.append(5.0, v[:2])
        edges = encode_pyramid(force, jnp.abs(v[2:]) + 0.5)
        values, vectors, _ = eig3(mat @ jnp.diag(jnp.array([1.0, 3, 7])) @ mat.T + full[:3, :3])
        return {
            "update": jnp.tril(chol_update(jnp.linalg.cholesky(full), v)),
            "downdate": jnp.tril(chol_update(jnp.linalg.cholesky(full), 0.1 * v, False)),
            "band": (factor, least, chol_solve_band(factor, v, band)),
            "product": band_mul_mat_vec(dense_to_band(full, band), v, band),
            "eig3": (values, vectors * vectors[:1]),
            "pyramid": (edges, decode_pyramid(edges, v[2:])),
            "pose": mul_pose(v[:3], q, a[0, :3], quat.exp(a[1, :3])),
            "inverse": (*neg_pose(v[:3], q), trn_vec_pose(v[:3], q, a[0, :3])),
            "spatial": [
                transform_spatial(a.ravel()[:6], force, v[:3], v[1:], mat)
                for force in (False, True)
            ],
            "quat": (quat.log(q), quat.from_mat(mat), quat.rate(q, v[:3]), quat.from_z(v[:3])),
            "euler": quat.from_euler(v[:3], "zYx"),
            "spring": spring_damper(v[0], v[1], v[2] ** 2 + 4, v[3] ** 2, jnp.asarray(0.3)),
        }

    rng = np.random.default_rng(2)
    x = {
        n: jnp.asarray(rng.normal(size=(5, *s)))
        for n, s in {"a": (4, 4), "v": (4,), "q": (4,)}.items()
    }
    bad = derivative_errors(everything, x, directions(x, 3), 1e-7)
    assert not bad, bad
