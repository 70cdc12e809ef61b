"""`Callbacks`: functions of the user that take part in a simulation."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from mjjax.core.enums import GeomType, Stage
from mjjax.core.representation import represent
from mjjax.model.data import CollisionRules, Data
from mjjax.model.model import Model

Array = Any
Collider = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Callbacks:
    """Functions that a step calls where MuJoCo calls its `mjcb_*`; pass the object as `callbacks=`.

    Each function must be pure and is traced with the step. If you use `contact_filter` or
    `collision`, pass the object to `make_data` too, which makes room for their contacts. Objects
    that hold the same functions are equal, so making a new one for every call compiles only once.

    Attributes:
        control: `(model, data) -> data` sets new controls or applied forces. It is called after the
            velocity stage, in every stage of `RK4`, but not if actuation is disabled.
        passive: `(model, data) -> data` adds to `qfrc_passive`. It is not called if springs and
            dampers are both disabled.
        contact_filter: `(model, data, geom1, geom2) -> bool` returns true to discard the pair. It
            replaces the geoms' contact bitmasks, and is not called for explicit pairs. The geom ids
            are traced.
        sensor: `(model, data, stage) -> data` writes the readings of the user sensors of a `Stage`.
        act_dyn: `(model, data, id) -> rate` returns the rate of the activation of an actuator with
            user dynamics, or an array of `actdim` rates. The id is traced, here and below.
        act_gain: `(model, data, id) -> gain` of an actuator with user gain; without it, 1.
        act_bias: `(model, data, id) -> bias` of an actuator with user bias; without it, 0.
        collision: maps a pair of geom types (the lower first) to the narrow phase of one pair, or
            to None if such pairs never collide. The narrow phase is a function
            `(pos1, mat1, size1, pos2, mat2, size2, margin)`. For m contact slots it returns the
            arrays `dist` (m,), `pos` (m, 3), `normal` (m, 3) and `tangent` (m, 3), in world
            coordinates: distances (1e10 in an empty slot), midpoints, unit vectors from geom 1 to
            geom 2, and hints for the second axis of the frame (or zero). Pairs whose bounding
            spheres are further apart than the margin may be skipped.
    """

    control: Callable[[Model, Data], Data] | None = None
    passive: Callable[[Model, Data], Data] | None = None
    contact_filter: Callable[[Model, Data, Array, Array], Array] | None = None
    sensor: Callable[[Model, Data, Stage], Data] | None = None
    act_dyn: Callable[[Model, Data, Array], Array] | None = None
    act_gain: Callable[[Model, Data, Array], Array] | None = None
    act_bias: Callable[[Model, Data, Array], Array] | None = None
    collision: Mapping[tuple[GeomType, GeomType], Collider | None] = dataclasses.field(
        default_factory=dict
    )

    __repr__ = represent

    def __post_init__(self) -> None:
        for first, second in self.collision:
            if first > second:
                raise ValueError(
                    f"collision pair ({first!r}, {second!r}): the lower geom type comes first"
                )

    def __hash__(self) -> int:
        values = (getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "collision")
        return hash((*values, frozenset(self.collision.items())))

    @property
    def rules(self) -> CollisionRules:
        """The changes that these callbacks make to collision detection, which `make_data` keeps."""
        return CollisionRules(self.contact_filter is not None, frozenset(self.collision.items()))


NONE = Callbacks()
