"""Finds attributes that turn principal axes that are not unique; no model can hold this change."""

from collections.abc import Callable

import jax
import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.mjcf.orientation import matrix
from mjjax.xla.compiling import quick
from mjjax.xla.linalg import einsum
from mjjax.xla.namespace import Array

_EQUAL = 1e-7  # relative difference of moments that count as equal
_ROUNDING = 1e-6  # share of a change that may couple equal axes


def check_axes(
    ctx: Context, matrices: Callable[[dict[str, jax.Array]], Array], values: dict[str, jax.Array]
) -> None:
    """Refuses attributes whose effect on an inertia R diag(I) R' is not an effect on R and I.

    Let B be a change of the inertia, in its principal frame. To first order R and I follow B,
    except for entries B_ij of equal moments I_i = I_j. Such an entry turns the two axes, and the
    turn has no derivative.

    Args:
        ctx: the model as described, compiled up to the inertia of bodies.
        matrices: `body_matrix` at other values of the attributes.
        values: the attributes, as described.

    Raises:
        UnsupportedFeature: an attribute has such an effect; the message names it and the body.
    """
    moments, quats, found = (ctx.fields[f"body_{name}"] for name in ("inertia", "iquat", "matrix"))
    near = _EQUAL * np.max(moments, axis=1)[:, None, None]
    equal = (np.abs(moments[:, :, None] - moments[:, None, :]) <= near) & ~np.eye(3, dtype=bool)
    equal &= np.any(found, axis=(1, 2), keepdims=True)
    if not equal.any():
        return
    frame, change = matrix(quats), quick(jax.jacfwd(matrices))
    for name, slope in jax.device_get(change(values)).items():
        slope = slope.reshape(*found.shape, -1)
        coupled = np.abs(einsum("nki,nklp,nlj->pnij", frame, slope, frame))
        size = coupled.max(axis=(2, 3), keepdims=True)
        lost = np.any((coupled > _ROUNDING * size) & equal, axis=(0, 2, 3))
        for body in np.flatnonzero(lost):
            raise ctx.tree.bodies.elements[body].origin.unsupported(
                f"two principal moments are equal, and {name} turns their axes, which has no "
                "derivative",
                "let the moments differ a little: change a mass or a size",
            )
