"""Products, factors, systems of equations, eigenvalues and quadratic programs."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from mjjax.math import (
    Band,
    band_diag,
    band_mul_mat_vec,
    band_to_dense,
    box_qp,
    chol_factor_band,
    chol_solve_band,
    chol_update,
    dense_to_band,
    eig3,
    quat,
)
from mjjax.xla import definite, linalg
from tests.derivatives import derivative_errors, directions
from tests.math.reference import CLOSE, both_ways, filled
from tests.oracle_tools import quick

RNG = np.random.default_rng(0)


def positive(n: int, seed: int = 0) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.feature("A184")
def test_matrix_products() -> None:
    """Products of matrices and vectors, alone and in batches of small ones."""
    a, b, v = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 5)), RNG.normal(size=3)
    expected = filled((4, 5), mujoco.mju_mulMatMat, a, b)
    for mine in both_ways(linalg.matmul, a, b):
        np.testing.assert_allclose(mine, expected, **CLOSE)
    for mine in both_ways(linalg.matmul, a, v):
        np.testing.assert_allclose(mine, filled(4, mujoco.mju_mulMatVec, a, v), **CLOSE)
    weight = RNG.uniform(1, 2, 4)
    square = filled((3, 3), mujoco.mju_sqrMatTD, a, weight)
    for mine in both_ways(lambda a, w: linalg.einsum("ki,k,kj->ij", a, w, a), a, weight):
        np.testing.assert_allclose(mine, square, **CLOSE)
    for mine in both_ways(linalg.matvec3, a[None, :3], v[None]):
        np.testing.assert_allclose(mine[0], a[:3] @ v, **CLOSE)
    for mine in both_ways(linalg.matmul3, a[None, :3], b[None, :, :3]):
        np.testing.assert_allclose(mine[0], a[:3] @ b[:, :3], **CLOSE)
    factor = np.linalg.cholesky(positive(3))
    for mine in both_ways(linalg.cho_solve, factor, v):
        np.testing.assert_allclose(
            mine, filled(3, mujoco.mju_cholSolve, factor, v), rtol=1e-9, atol=1e-12
        )


@pytest.mark.feature("C20")
def test_symmetric_systems() -> None:
    """A batch with one indefinite matrix is solved, with derivatives in both modes."""
    a = np.stack([positive(4, seed) for seed in range(3)])
    a[1] -= 6 * np.eye(4)
    assert np.linalg.eigvalsh(a[1])[0] < -0.1
    b = RNG.normal(size=(3, 4))
    x = jax.tree.map(jnp.asarray, (a, b))

    def solve(x: Any) -> Any:
        a, b = x
        return definite.solve_symmetric(0.5 * (a + a.T), b)

    expected = np.linalg.solve(a, b[..., None])[..., 0]
    found = quick(jax.vmap(solve))(x)
    np.testing.assert_allclose(found, expected, **CLOSE)
    twice = jax.vmap(jax.vmap(solve))(jax.tree.map(lambda x: x[None], x))
    np.testing.assert_allclose(twice[0], expected, **CLOSE)
    assert not derivative_errors(solve, x, directions(x, 0))
    # several right-hand sides share a factor, in a batch and by themselves
    some = jnp.asarray(RNG.normal(size=(3, 5, 4)))
    columns = jax.vmap(definite.solve_symmetric, in_axes=(None, 0))
    expected = np.linalg.solve(a[:, None], some[..., None])[..., 0]
    np.testing.assert_allclose(jax.vmap(columns)(x[0], some), expected, **CLOSE)
    np.testing.assert_allclose(columns(x[0][1], some[1]), expected[1], **CLOSE)


@pytest.mark.parametrize("columns", [1, 3])
def test_symmetric_systems_without_unknowns(columns: int) -> None:
    """Systems without unknowns are solved; a model without dofs has such a system."""
    a, b = jnp.zeros((2, 0, 0)), jnp.zeros((2, columns, 0))
    some = jax.vmap(jax.vmap(definite.solve_symmetric, in_axes=(None, 0)))
    assert some(a, b).shape == b.shape


@pytest.mark.feature("A187")
@pytest.mark.parametrize("plus", [True, False])
def test_cholesky_update(plus: bool) -> None:
    """A factor updated by one vector is the factor of the updated matrix."""
    x = RNG.normal(size=5)
    factor = np.linalg.cholesky(positive(5))
    mine = quick(lambda f, x: chol_update(f, x, plus))(jnp.asarray(factor), jnp.asarray(x))
    mujoco.mju_cholUpdate(theirs := factor.copy(), x, plus)
    np.testing.assert_allclose(np.tril(mine), np.tril(theirs), **CLOSE)


@pytest.mark.feature("A188")
@pytest.mark.parametrize("shape", [(7, 3, 2), (5, 2, 0), (4, 1, 3), (4, 4, 4)])
def test_band_matrices(shape: tuple[int, int, int]) -> None:
    """Storage, products, factors and solutions of band-dense matrices."""
    band = Band(*shape)
    n = band.ntotal
    full = positive(n)
    stored = filled(band.size, mujoco.mju_dense2Band, full, *shape)
    inside = filled((n, n), mujoco.mju_band2Dense, stored, *shape, 1)

    def everything(full, v):
        mat = dense_to_band(full, band)
        factor, least = chol_factor_band(mat, band, 0.1, 0.2)
        dense = [band_to_dense(mat, band, s) for s in (True, False)]
        products = [band_mul_mat_vec(mat, v, band, s) for s in (True, False)]
        return mat, dense, products, factor, least, chol_solve_band(factor, v[0], band)

    v = RNG.normal(size=(2, n))
    mat, dense, products, factor, least, solution = quick(everything)(*map(jnp.asarray, (full, v)))
    used, _, _ = band.index()
    np.testing.assert_allclose(mat[used], stored[used], **CLOSE)
    for symmetric in (True, False):
        k = 0 if symmetric else 1
        expected = filled((n, n), mujoco.mju_band2Dense, stored, *shape, symmetric)
        np.testing.assert_allclose(dense[k], expected, **CLOSE)
        np.testing.assert_allclose(products[k], v @ expected.T, **CLOSE)
    assert [band_diag(i, band) for i in range(n)] == [
        mujoco.mju_bandDiag(i, *shape) for i in range(n)
    ]
    theirs = mujoco.mju_cholFactorBand(stored, *shape, 0.1, 0.2)
    np.testing.assert_allclose(least, theirs, **CLOSE)
    np.testing.assert_allclose(factor[used], stored[used], **CLOSE)
    expected = np.linalg.solve(inside + np.diag(0.1 + 0.2 * np.diag(inside)), v[0])
    np.testing.assert_allclose(solution, expected, **CLOSE)


@pytest.mark.feature("A188")
def test_band_matrix_that_has_no_factor() -> None:
    """An indefinite matrix gives 0, as in MuJoCo."""
    band = Band(2, 2, 0)
    assert chol_factor_band(jnp.array([0.0, 1, 2, 1]), band)[1] == 0
    assert mujoco.mju_cholFactorBand(np.array([0.0, 1, 2, 1]), 2, 2, 0, 0, 0) == 0


@pytest.mark.feature("A189")
def test_eigenvalues() -> None:
    """Decreasing eigenvalues, with their frame as matrix and as quaternion."""
    solve = quick(eig3)
    for k in range(4):
        mat = positive(3, k)
        values, vectors, q = solve(jnp.asarray(mat))
        mujoco.mju_eig3(theirs := np.zeros(3), np.zeros(9), np.zeros(4), mat.ravel())
        np.testing.assert_allclose(values, theirs, **CLOSE)
        np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, mat, atol=1e-10)
        np.testing.assert_allclose(quat.to_mat(q), vectors, atol=1e-10)
        assert np.linalg.det(vectors) > 0


@pytest.mark.feature("A190")
def test_box_qp() -> None:
    """Minimisers between bounds, which coordinates are free, and the factor over those."""
    solve = quick(box_qp)
    ranks = set()
    for k in range(8):
        rng = np.random.default_rng(k)
        n = 6
        H, g = positive(n, k), 20 * rng.normal(size=n)
        lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
        start = rng.normal(size=n)
        mine = solve(*map(jnp.asarray, (H, g, lower, upper, start)))
        theirs, factor, index = start.copy(), np.zeros((n, n + 7)), np.zeros(n, np.int32)
        rank = mujoco.mju_boxQP(theirs, factor, index, H, g, lower, upper)
        np.testing.assert_allclose(mine.x, theirs, atol=1e-9)
        assert int(mine.rank) == rank
        np.testing.assert_array_equal(np.flatnonzero(mine.free), index[:rank])
        own = factor.ravel()[: rank * rank].reshape(rank, rank)
        free = np.flatnonzero(mine.free)
        np.testing.assert_allclose(
            np.asarray(mine.factor)[np.ix_(free, free)], np.tril(own), atol=1e-9
        )
        ranks.add(rank)
    assert len(ranks) > 2
    without = box_qp(jnp.asarray(positive(3)), jnp.ones(3))
    np.testing.assert_allclose(without.x, -np.linalg.solve(positive(3), np.ones(3)), atol=1e-9)
    assert int(box_qp(-jnp.eye(2), jnp.ones(2)).rank) == -1
