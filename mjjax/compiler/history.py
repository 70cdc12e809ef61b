"""Buffers of past controls and sensor readings."""

import numpy as np

from mjjax.compiler.context import Context
from mjjax.compiler.fields import reals
from mjjax.mjcf.budget import NUMBERS, bound
from mjjax.mjcf.spec import Element

_HEADER = 2  # the user's slot and the cursor


def compile_history(ctx: Context, kind: str, elements: list[Element], dim: np.ndarray) -> None:
    """Adds `{kind}_history` (samples, interpolation), `{kind}_historyadr` and `{kind}_delay`.

    A buffer of n samples holds two numbers, n times and n values of the element's dimension.
    Elements without these attributes have none.

    Args:
        ctx: the model.
        kind: prefix of the fields.
        elements: actuators or sensors.
        dim: (n,) numbers per sample of each element.
    """
    f = ctx.fields
    plain = {"nsample": 0, "interp": 0, "delay": 0.0}
    buffered = [Element(e.kind, plain | e.values, e.origin) for e in elements]
    rows = [(e.values["nsample"], e.values["interp"]) for e in buffered]
    history = np.array(rows, np.int32).reshape(-1, 2)
    delay, count = reals(buffered, "delay"), history[:, 0]
    for i in np.flatnonzero((delay > 0) & (count <= 0)):
        raise elements[i].origin.error("a delay needs samples", "set nsample")
    if (count > 0).any() and ctx.spec.option["timestep"] <= 0:
        raise ctx.spec.origin("option").error("samples and delays need a positive timestep")
    start = ctx.sizes.get("nhistory", 0)
    size = np.where(count > 0, _HEADER + count.astype(np.int64) * (1 + dim), 0)
    for element, total in zip(elements, np.cumsum(size), strict=True):
        bound(element.origin, "numbers of past samples", int(total), NUMBERS)
    end = start + np.cumsum(size)
    f[f"{kind}_history"], f[f"{kind}_delay"] = history, delay
    f[f"{kind}_historyadr"] = np.where(count > 0, end - size, -1).astype(np.int32)
    ctx.sizes["nhistory"] = start + int(size.sum())
