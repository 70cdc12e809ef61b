"""Definite systems of many worlds, which a GPU treats differently."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

from mjjax.xla import cholesky_in_lanes as lanes
from mjjax.xla import definite

RNG = np.random.default_rng(0)
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def systems(*batch: int, n: int) -> tuple[jax.Array, jax.Array]:
    """Positive definite matrices (..., n, n) and right-hand sides (..., n)."""
    rows = RNG.normal(size=(*batch, 2 * n + 3, n))
    a = np.einsum("...ki,...kj->...ij", rows, rows)
    return jnp.asarray(a, jnp.float32), jnp.asarray(RNG.normal(size=(*batch, n)), jnp.float32)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the code for GPUs with interpreted kernels."""

    def on_gpu(*args: Any, cuda: Any, default: Any) -> Any:
        return cuda(*args)

    interpreted = {f.__name__: partial(f, interpret=True) for f in (lanes.factors, lanes.solutions)}
    monkeypatch.setattr(definite, "MANY", 3)
    monkeypatch.setattr(definite, "_lanes", lambda: SimpleNamespace(**interpreted))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(lax, "platform_dependent", on_gpu)


@pytest.mark.slow(but=5)
@pytest.mark.newest
@pytest.mark.feature("D16")
@pytest.mark.parametrize("n", [1, 2, 6, 27, 33])
@pytest.mark.parametrize("m", [1, 40])
def test_kernels_factor_and_solve(n: int, m: int) -> None:
    """Kernels agree with numpy, for sizes that fill a tile partly and that need several."""
    a, b = systems(m, n=n)
    exact = np.float64(a)
    factors = lanes.factors(jnp.triu(a), interpret=True)
    np.testing.assert_allclose(np.tril(factors), np.linalg.cholesky(exact), **CLOSE)
    found = lanes.solutions(factors, b[..., None], interpret=True)
    np.testing.assert_allclose(found, np.linalg.solve(exact, b[..., None]), **CLOSE)


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_factors_are_of_upper_triangles(array: Any) -> None:
    """Factors do not depend on entries below the diagonal, which callers need not compute."""
    (a,), _ = systems(1, n=7)
    half = array(np.where(np.tri(7, k=-1), np.nan, a))
    np.testing.assert_allclose(np.tril(definite.factor(half)), np.linalg.cholesky(a), **CLOSE)


def test_kernels_show_what_is_not_definite() -> None:
    """The last pivot, which `solve_symmetric` tests, is NaN for an indefinite matrix only."""
    a, _ = systems(3, n=4)
    last = lanes.factors(a.at[1, 0, 0].set(-1), interpret=True)[:, -1, -1]
    assert jnp.isfinite(last).tolist() == [True, False, True]


def batched(solve: Any, shared: str) -> Any:
    """Sum of squares of solutions (4, 2, n), where one of the two axes shares matrix or vector."""
    axes = {"nothing": (0, 0), "matrix": (None, 0), "vector": (0, None)}[shared]
    every = jax.vmap(jax.vmap(solve, in_axes=axes))
    return lambda a, b: jnp.sum(every(a, b) ** 2)


@pytest.mark.slow(but=1)
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("shared", ["nothing", "matrix", "vector"])
@pytest.mark.parametrize("name", ["solve_definite", "solve_symmetric"])
def test_systems_of_a_gpu(name: str, shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and derivatives in both modes, however they are batched, as on a CPU."""
    a, _ = systems(*((4,) if shared == "matrix" else (4, 2)), n=5)
    _, b = systems(*((4,) if shared == "vector" else (4, 2)), n=5)

    def everything(by_kernels: bool) -> list[Any]:
        f = batched(getattr(definite, name), shared)
        assert ("pallas_call" in str(jax.make_jaxpr(f)(a, b))) == by_kernels
        tangents = 0.1 * jnp.ones_like(a), jnp.cos(b)
        return [*jax.jvp(f, (a, b), tangents), *jax.grad(f, argnums=(0, 1))(a, b)]

    there = everything(by_kernels=True)
    monkeypatch.setattr(definite, "_lanes", lambda: None)
    jax.clear_caches()  # what was traced with kernels
    for x, y in zip(there, everything(by_kernels=False), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5)


@pytest.mark.usefixtures("gpu")
def test_one_indefinite_system_of_a_gpu() -> None:
    """One indefinite system of a batch is solved by LU, as on a CPU."""
    a, b = systems(4, n=5)
    a = a.at[2].add(-20 * jnp.eye(5, dtype=a.dtype))
    assert np.linalg.eigvalsh(a[2])[0] < -1
    found = jax.vmap(definite.solve_symmetric)(a, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b[..., None])[..., 0], **CLOSE)


@pytest.mark.newest
@pytest.mark.filterwarnings("ignore:The Pallas Triton backend")
@pytest.mark.parametrize("n", [2, 27, 64])
def test_kernels_are_compiled_for_a_gpu(n: int) -> None:
    """Triton accepts the kernels, as far as this can be tested without a GPU."""
    h100 = AbstractDevice("NVIDIA H100 80GB HBM3", 132, "gpu")
    a, b = systems(100, n=n)

    def solve(a: jax.Array, b: jax.Array) -> Any:
        return lanes.solutions(lanes.factors(a), b[..., None])

    with use_abstract_mesh(AbstractMesh((), (), abstract_device=h100)):
        lowered = jax.jit(solve).trace(a, b).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("triton") >= 2
