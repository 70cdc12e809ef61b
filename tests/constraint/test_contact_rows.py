"""Contact rows with a column per dof are differentiated by factors, without their matrix."""

import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.constraint.contact_rows import DofRows
from mjjax.dynamics.jacobian import wrench_rows
from mjjax.xla.item_by_item import one_kernel
from mjjax.xla.namespace import Array
from tests.derivatives import derivative_errors, directions
from tests.oracle_tools import load

COUNT, NV, POSES = 3, 5, 2
S = load("<mujoco/>").ours.structure  # these products do not look at it


def factors(width: int) -> Any:
    """Random wrenches, axes, velocities and forces, and sides of which some are zero."""
    rng = np.random.default_rng(width)
    shapes = {"axis": (6, NV), "v": (NV,), "f": (COUNT, width)}
    x: dict[str, Any] = {
        key: jnp.asarray(rng.normal(size=(POSES, *shape))) for key, shape in shapes.items()
    }
    x["wrench"] = tuple(jnp.asarray(rng.normal(size=(POSES, COUNT, width))) for _ in range(6))
    return x, jnp.asarray(rng.integers(-1, 2, (COUNT, NV)), float)


@pytest.mark.parametrize("width", [1, 3, 6])
def test_products_are_differentiated_by_their_factors(width: int) -> None:
    """Products are the matrix's, and so are their first and second derivatives in both modes."""
    x, side = factors(width)

    def matrix(x: Any) -> Array:
        return wrench_rows(x["wrench"], x["axis"], side)

    def products(x: Any) -> Any:
        rows = DofRows(x["wrench"], x["axis"], side)
        return rows.velocity(S, x["v"]), rows.force(S, x["f"])

    def plain(x: Any) -> Any:
        return jnp.einsum("cwd,d->cw", matrix(x), x["v"]), jnp.einsum(
            "cwd,cw->d", matrix(x), x["f"]
        )

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12),
        *(jax.vmap(f)(x) for f in (products, plain)),
    )
    assert not derivative_errors(products, x, directions(x, 0), 1e-8)

    def slope(x: Any) -> Any:
        return jax.grad(lambda x: sum(jnp.sum(jnp.sin(y)) for y in products(x)))(x)

    assert not derivative_errors(slope, x, directions(x, 1), 1e-7)


def test_rows_without_dofs() -> None:
    """In a model that cannot move, contact slots have no columns."""
    wrench = tuple(jnp.ones((COUNT, 3)) for _ in range(6))
    rows = DofRows(wrench, jnp.zeros((6, 0)), jnp.zeros((COUNT, 0)))
    assert rows.dense(S).shape == (COUNT, 3, 0)
    np.testing.assert_array_equal(rows.velocity(S, jnp.zeros(0)), np.zeros((COUNT, 3)))
    assert rows.force(S, jnp.ones((COUNT, 3))).shape == (0,)


@pytest.mark.parametrize("width", [1, 3, 6])
def test_rows_and_what_they_add_to_a_hessian(width: int) -> None:
    """In spite of padding, the rows, and F' W F with blocks W, are those of the plain matrix."""
    x, side = factors(width)
    w = np.random.default_rng(0).normal(size=(POSES, COUNT, width, width))
    w = jnp.asarray(w + w.swapaxes(2, 3))

    def found(x: Any, w: Array) -> Any:
        rows = DofRows(x["wrench"], x["axis"], side)
        # the last two are what a GPU and one kernel run
        matrix = rows.as_matrix()
        others = matrix._curved_columns(w), matrix._curved_contacts(w)
        return rows.dense(S), rows.mul_jt_b_j(S, w), *(y[:, :NV] for y in others)

    def plain(x: Any, w: Array) -> Any:
        rows = wrench_rows(x["wrench"], x["axis"], side)
        return rows, *[jnp.einsum("cwi,cwu,cuj->ij", rows, w, rows)] * 3

    for a, b in zip(jax.vmap(found)(x, w), jax.vmap(plain)(x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_matrix_without_the_empty_slots() -> None:
    """In one kernel the matrix is made contact by contact, and empty slots stay zero."""
    x, side = factors(4)
    real = jnp.asarray([True, False, True])[:, None]
    wrench = tuple(jnp.where(real, y[0], 0) for y in x["wrench"])
    rows = DofRows(wrench, x["axis"][0], side)
    found = one_kernel(DofRows.as_matrix)(rows)
    for a, b in zip(found, rows.as_matrix(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.feature("A194")
def test_no_derivative_of_the_matrix_in_many_directions() -> None:
    """A and B hold no array of rows times dofs times directions, which would be most of their time.

    Protects the rule of `DofRows`: without it this chain on a floor has one of 81,000 numbers.
    """
    links = 30
    chain = "".join(
        f'<body pos=".1 0 0"><joint axis="0 {k % 2} {1 - k % 2}"/><geom size=".04"/>'
        for k in range(links)
    )
    model = mjjax.Model.from_xml_string(
        f"""<mujoco><default><geom contype="1" conaffinity="2"/></default>
        <worldbody><geom type="plane" size="1 1 1" contype="2" conaffinity="1"/>
        <body pos="0 0 .03">{chain}{"</body>" * links}</body></worldbody></mujoco>"""
    )
    program = jax.jit(mjjax.transition_jacobian).lower(model, mjjax.make_data(model)).compile()
    shapes = re.findall(r"f64\[([\d,]+)\]", program.as_text() or "")
    largest = max(math.prod(map(int, shape.split(","))) for shape in shapes)
    rows = 3 * links
    assert rows * links < largest < rows * links * links
