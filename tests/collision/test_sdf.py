"""Signed distances of points; `tests/sensor/test_tactile.py` compares them with MuJoCo."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.collision.fields.sdf import DISTANCE
from mjjax.core.enums import GeomType
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors, directions

SIZE = jnp.array([0.3, 0.4, 0.5])


def distances(x: dict[str, jax.Array]) -> dict[str, Array]:
    """Signed distances of one point from all shapes."""
    return {kind.name: of(x["point"], x["size"]) for kind, of in DISTANCE.items()}


def points(point: np.ndarray) -> dict[str, jax.Array]:
    size = np.broadcast_to(SIZE, point.shape)
    return {"point": jnp.asarray(point), "size": jnp.asarray(size)}


@pytest.mark.feature("C108", "D05", "D08")
def test_derivatives() -> None:
    """Derivatives are exact in both modes; finite in centres, on axes, faces, edges and corners."""
    anywhere = np.random.default_rng(0).uniform(-0.6, 0.6, (40, 3))
    singular = np.stack(np.meshgrid(*[[0, s, -s] for s in SIZE]), -1).reshape(-1, 3)
    x = points(np.concatenate([anywhere, singular]))
    tolerance = np.repeat([1e-6, np.inf], [len(anywhere), len(singular)])
    bad = derivative_errors(distances, x, directions(x, 1), tolerance)
    assert not bad, bad


@pytest.mark.feature("C108")
@pytest.mark.parametrize("kind", [GeomType.BOX, GeomType.CYLINDER, GeomType.CAPSULE])
def test_sign(kind: GeomType) -> None:
    """Distances are negative inside, zero on the surface, and the gap outside near a face."""
    top = {GeomType.BOX: 0.5, GeomType.CYLINDER: 0.4, GeomType.CAPSULE: 0.7}[kind]
    height = top + np.array([-0.3, -1e-9, 0, 0.2])
    point = jnp.asarray(np.stack([0.01 + 0 * height, 0 * height, height], -1))
    found = DISTANCE[kind](point, SIZE[None])
    assert found[0] < -0.1
    np.testing.assert_allclose(found[1:], [-1e-9, 0, 0.2], atol=3e-4)
