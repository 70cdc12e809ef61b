"""`Callbacks`: functions of the user's that take part in a simulation."""

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
    """Functions called within a step where MuJoCo calls its `mjcb_*`; pass it as `callbacks=`.

    Each is pure and traced with the step. Those that change which geoms collide, or how
    (`contact_filter`, `collision`), are given to `make_data` too, which makes room for their
    contacts. Two objects that hold the same functions are equal, so
    that one made anew for every call compiles once.

    Attributes:
        control: `(model, data) -> data` with new controls or applied forces; called after the
            velocity stage, in every stage of `RK4`; not if actuation is disabled.
        passive: `(model, data) -> data` with more in `qfrc_passive`; not called if springs and
            dampers are both disabled.
        contact_filter: `(model, data, geom1, geom2) -> bool`, true to discard the pair. It takes
            the place of the geoms' contact bitmasks; explicit pairs are not asked about. The geom
            ids are traced.
        sensor: `(model, data, stage) -> data` with the readings of the user sensors of a `Stage`.
        act_dyn: `(model, data, id) -> rate` of the activation of an actuator with user dynamics;
            an array of `actdim` rates if it has several. The id is traced, here and below.
        act_gain: `(model, data, id) -> gain` of an actuator with user gain; 1 without it.
        act_bias: `(model, data, id) -> bias` of an actuator with user bias; 0 without it.
        collision: pair of geom types (the lower first) -> narrow phase of one pair, a function
            `(pos1, mat1, size1, pos2, mat2, size2, margin)` to the arrays `dist` (m,), `pos`
            (m, 3), `normal` (m, 3) and `tangent` (m, 3) of m contact slots, in world coordinates:
            distances (1e10 in an empty slot), midpoints, unit vectors from geom 1 to geom 2, and
            hints for the second axis of the frame (or zero). It may not be asked about pairs whose
            bounding spheres are further apart than the margin. None: the pair never collides.
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
        """What these callbacks change about collision detection, for `make_data` to keep."""
        return CollisionRules(self.contact_filter is not None, frozenset(self.collision.items()))


NONE = Callbacks()
