"""The elliptic friction cone: cost, force and curvature of a contact as a whole.

With U = (mu r_0, mu_1 r_1, ...), N = U_0 and T = |(U_1, ...)|, the cost is zero where
N >= mu T, D r^2 / 2 where mu N + T <= 0 (per row), and D_0 (N - mu T)^2 / (2 mu^2 (1 + mu^2))
between the two.
"""

import jax.numpy as jnp

from mjjax.core.constants import MINVAL
from mjjax.core.enums import ConstraintState
from mjjax.math import safe
from mjjax.solver.problem import Problem
from mjjax.xla.namespace import Array, where


def _zones(problem: Problem, r: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Cone coordinates U (n, width), N, T (n,), and the masks of the bottom and middle zones."""
    u = r * problem.friction
    normal, tangent = u[:, 0], safe.norm(u[:, 1:])
    mu = problem.mu
    flat = tangent < MINVAL
    top = (normal >= mu * tangent) | (flat & (normal >= 0))
    bottom = ~top & ((mu * normal + tangent <= 0) | flat)
    return u, normal, tangent, bottom, ~top & ~bottom


def _middle_mass(problem: Problem, d: Array) -> Array:
    mu2 = problem.mu * problem.mu
    return d[:, 0] / jnp.maximum(MINVAL, mu2 * (1 + mu2))


def cost(problem: Problem, d: Array, r: Array) -> Array:
    """Cost (n,) of contacts with constraint masses `d` (n, width) at residuals `r` (n, width)."""
    _, normal, tangent, bottom, middle = _zones(problem, r)
    gap = normal - problem.mu * tangent
    quadratic = 0.5 * jnp.sum(d * r * r, axis=-1)
    cone = 0.5 * _middle_mass(problem, d) * gap * gap
    return where(bottom, quadratic, where(middle, cone, 0))


def force(problem: Problem, d: Array, r: Array) -> Array:
    """Force (n, width), minus the gradient of the cost."""
    u, normal, tangent, bottom, middle = _zones(problem, r)
    mu = problem.mu
    pull = -_middle_mass(problem, d) * (normal - mu * tangent) * mu
    slope = safe.divide(-pull, tangent)[:, None] * u[:, 1:] * problem.friction[:, 1:]
    cone = jnp.concatenate([pull[:, None], slope], axis=-1)
    return where(bottom[:, None], -d * r, where(middle[:, None], cone, 0))


def state(problem: Problem, r: Array) -> Array:
    """Zone (n,) of contacts at residuals `r` (n, width), as `ConstraintState`."""
    *_, bottom, middle = _zones(problem, r)
    inside = where(middle, ConstraintState.CONE, ConstraintState.SATISFIED)
    return where(bottom, ConstraintState.QUADRATIC, inside)


def hessian(problem: Problem, d: Array, r: Array) -> Array:
    """Curvature (n, width, width) of the cost."""
    u, normal, tangent, bottom, middle = _zones(problem, r)
    mu, width = problem.mu, r.shape[-1]
    unit = u[:, 1:] * safe.divide(jnp.ones_like(tangent), tangent)[:, None]
    # This is the gradient of N - mu T in cone coordinates; the curvature of T follows.
    lead = jnp.concatenate([jnp.ones_like(mu)[:, None], -mu[:, None] * unit], axis=-1)
    bend = (jnp.eye(width - 1, dtype=r.dtype)[None] - unit[:, :, None] * unit[:, None, :]) * (
        safe.divide(mu * (normal - mu * tangent), tangent)[:, None, None]
    )
    bend = jnp.pad(bend, [(0, 0), (1, 0), (1, 0)])
    scale = problem.friction
    mass = _middle_mass(problem, d)[:, None, None]
    cone = mass * (lead[:, :, None] * lead[:, None, :] - bend) * scale[:, :, None] * scale[:, None]
    diagonal = jnp.eye(width, dtype=r.dtype)[None] * d[:, :, None]
    pick = (bottom[:, None, None], middle[:, None, None])
    return where(pick[0], diagonal, where(pick[1], cone, 0))


def along(problem: Problem, d: Array, r: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Cost, slope and curvature (m, n) at the residuals r + a v for `a` (m, n) or (m, 1)."""
    u, w = r * problem.friction, v * problem.friction
    normal, rate = u[:, 0][None] + a * w[:, 0][None], w[:, 0][None]
    uu = jnp.sum(u[:, 1:] * u[:, 1:], axis=-1)[None]
    uw = jnp.sum(u[:, 1:] * w[:, 1:], axis=-1)[None]
    ww = jnp.sum(w[:, 1:] * w[:, 1:], axis=-1)[None]
    tangent = safe.sqrt(uu + a * (2 * uw + a * ww))
    mu = problem.mu[None]
    flat = tangent < MINVAL
    top = (normal >= mu * tangent) | (flat & (normal >= 0))
    bottom = ~top & ((mu * normal + tangent <= 0) | flat)
    t1 = safe.divide(uw + a * ww, tangent)
    t2 = safe.divide(ww - t1 * t1, tangent)
    mass, gap, gap1 = _middle_mass(problem, d)[None], normal - mu * tangent, rate - mu * t1
    x = r[None] + a[:, :, None] * v[None]
    dx = d[None] * x
    quadratic = (
        0.5 * jnp.sum(dx * x, axis=-1),
        jnp.sum(dx * v[None], axis=-1),
        jnp.broadcast_to(jnp.sum(d * v * v, axis=-1)[None], normal.shape),
    )
    middle = (
        0.5 * mass * gap * gap,
        mass * gap * gap1,
        mass * (gap1 * gap1 - gap * mu * t2),
    )
    cost, slope, curvature = (
        where(bottom, q, where(top, 0, c)) for q, c in zip(quadratic, middle, strict=True)
    )
    return cost, slope, curvature
