"""`Compiled`: the result of compiling a `Spec`, and how columns of element values become arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mjjax.mjcf.spec import Element, Origin


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
        warnings: messages for the user.
        modelname: name of the model.
        origins: where elements were written, by (kind, id); sections have id 0.
    """

    fields: dict[str, np.ndarray]
    sizes: dict[str, int]
    names: dict[str, tuple[str, ...]]
    option: dict[str, Any]
    statistic: dict[str, Any]
    warnings: tuple[str, ...] = ()
    modelname: str = ""
    origins: dict[tuple[str, int], Origin] = field(default_factory=dict)


def reals(elements: Sequence[Element], name: str, width: int = 0) -> np.ndarray:
    """Attribute `name` of the elements, (n,) or (n, width); undefined is nan."""
    shape = (len(elements), width) if width else len(elements)
    values = [e.values[name] for e in elements]
    if None in values:
        missing = (np.nan,) * width if width else np.nan
        values = [missing if v is None else v for v in values]
    return np.array(values, np.float64).reshape(shape)


def ints(elements: Sequence[Element], name: str, width: int = 0) -> np.ndarray:
    """Attribute `name` of the elements as int32, (n,) or (n, width)."""
    shape = (len(elements), width) if width else len(elements)
    return np.array([e.values[name] for e in elements], np.int32).reshape(shape)


def bools(elements: Sequence[Element], name: str) -> np.ndarray:
    """Attribute `name` of the elements as bool, (n,)."""
    return np.array([bool(e.values[name]) for e in elements], bool)


def limited(elements: Sequence[Element], flag: str, range_: np.ndarray) -> np.ndarray:
    """Whether a range limits: as the flag says, or for ``auto`` if it is not empty."""
    given = ints(elements, flag)
    return (given == 1) | ((given == 2) & (range_[:, 0] < range_[:, 1]))


def check_autolimits(
    elements: Sequence[Element], what: str, range_: np.ndarray, autolimits: bool
) -> None:
    """Without autolimits a range needs its flag.

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
