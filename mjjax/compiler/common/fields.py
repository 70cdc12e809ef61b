"""`Compiled`, the result of compiling a `Spec`, and functions from element values to arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.core.errors import Origin
from mjjax.math.tracked import real_array
from mjjax.mjcf.element import Element
from mjjax.model.visual import Visual

_HEADER = 2  # the user's slot and the cursor


@dataclass(frozen=True)
class Compiled:
    """A compiled model: every field of mjModel that does not depend on kinematics at qpos0.

    Attributes:
        fields: arrays by MuJoCo's name, in its shape; int32, bool or float64. `jnt_springdamper`
            (njnt, 2) is not a field of mjModel: it holds the attribute of that name.
        sizes: ``nq``, ``nv``, ``nbody``, ... by MuJoCo's name.
        names: for each kind the names by id, ``""`` where there is none.
        option: mjOption by member.
        statistic: members of mjStatistic that the user gave.
        visual: settings of pictures.
        warnings: messages for the user.
        modelname: name of the model.
        origins: where elements were written, by (kind, id); sections have id 0.
    """

    fields: dict[str, np.ndarray]
    sizes: dict[str, int]
    names: dict[str, tuple[str, ...]]
    option: dict[str, Any]
    statistic: dict[str, Any]
    visual: Visual
    warnings: tuple[str, ...] = ()
    modelname: str = ""
    origins: dict[tuple[str, int], Origin] = field(default_factory=dict)


def reals(elements: Sequence[Element], name: str, width: int = 0) -> np.ndarray:
    """Attribute `name` of the elements, (n,) or (n, width); nan where it is undefined."""
    shape = (len(elements), width) if width else len(elements)
    values = [e.values[name] for e in elements]
    if any(v is None for v in values):
        missing = (np.nan,) * width if width else np.nan
        values = [missing if v is None else v for v in values]
    return real_array(values).reshape(shape).copy()


def ints(elements: Sequence[Element], name: str, width: int = 0) -> np.ndarray:
    """Attribute `name` of the elements as int32, (n,) or (n, width)."""
    shape = (len(elements), width) if width else len(elements)
    return np.array([e.values[name] for e in elements], np.int32).reshape(shape)


def bools(elements: Sequence[Element], name: str) -> np.ndarray:
    """Attribute `name` of the elements as bool, (n,)."""
    return np.array([bool(e.values[name]) for e in elements], bool)


def limited(elements: Sequence[Element], flag: str, range_: np.ndarray) -> np.ndarray:
    """Whether a range limits: the flag decides; with ``auto`` a range that is not empty limits."""
    given = ints(elements, flag)
    return (given == 1) | ((given == 2) & (range_[:, 0] < range_[:, 1]))


def check_autolimits(
    elements: Sequence[Element], what: str, range_: np.ndarray, autolimits: bool
) -> None:
    """Checks that without autolimits every range has its flag.

    Raises:
        MjcfError: an element has a range, but ``{what}limited`` is not given.
    """
    if autolimits:
        return
    for element, bounds in zip(elements, range_, strict=True):
        if element.values[f"{what}limited"] == 2 and bounds.any():
            raise element.origin.error(
                f"'{what}range' is given but '{what}limited' is not",
                "set it, or set autolimits in <compiler>",
            )


def user(elements: Sequence[Element], size: int) -> np.ndarray:
    """User data padded with zeros, (n, nuser)."""
    table = np.zeros((len(elements), size))
    for row, element in zip(table, elements, strict=True):
        data = element.values["user"]
        if data:
            if len(data) > size:
                raise element.origin.error(
                    f"{len(data)} values of user data, but nuser is {size} in <size>"
                )
            row[: len(data)] = data
    return table


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
        ctx.spec.limits.bound(element.origin, "numbers of past samples", int(total), "numbers")
    end = start + np.cumsum(size)
    f[f"{kind}_history"], f[f"{kind}_delay"] = history, delay
    f[f"{kind}_historyadr"] = np.where(count > 0, end - size, -1).astype(np.int32)
    ctx.sizes["nhistory"] = start + int(size.sum())
