"""Which kernel serves which pair of geom types.

To add a pair: a kernel of the form described in `contact_set.py`, and a line here. A pair of convex
geoms without one is served by `convex`.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from mjjax.collision.convex.contacts import convex
from mjjax.collision.convex.hfield import hfield, hfield_motion
from mjjax.collision.convex.motion import further_motion, motion
from mjjax.collision.fields.field import FIELD_SOLIDS
from mjjax.collision.fields.sdf_mesh import mesh_sdf, mesh_sdf_motion
from mjjax.collision.fields.sdf_pair import sdf_motion, sdf_pair
from mjjax.collision.primitive.box_box import box_box
from mjjax.collision.primitive.capsule import capsule_capsule
from mjjax.collision.primitive.capsule_box import capsule_box
from mjjax.collision.primitive.cylinder import plane_cylinder, sphere_cylinder
from mjjax.collision.primitive.plane import plane_box, plane_capsule, plane_ellipsoid, plane_sphere
from mjjax.collision.primitive.plane_mesh import plane_mesh, plane_mesh_motion
from mjjax.collision.primitive.sphere import sphere_box, sphere_capsule, sphere_sphere
from mjjax.collision.shape.contact_set import ContactSet
from mjjax.core.constants import MAXCONPAIR
from mjjax.core.enums import GeomType
from mjjax.model.data import CollisionRules


class Collider(NamedTuple):
    """Kernel of a kind of pairs.

    Cheap kernels are those of `contact_set.py`, for one pair. Batched ones take many pairs of
    shapes of any types, `(pools, one, two, margin, settings)`, and return contacts and what the
    derivative needs to know about them (see `convex/contacts.py`); kinds that share one are tested
    together.

    Attributes:
        function: the kernel.
        ncon: the most contacts that a pair can have.
        multi: the same with flag `multiccd`; None if the flag makes no difference.
        motion: of a batched kernel: the function with the derivative of its contacts, of one
            contact (see `convex/motion.py`). None: the kernel is cheap, and its own derivative
            is exact.
        further: with flag `multiccd`, that of the contacts after a pair's first (see
            `convex/motion.py`), where these depend on it.
        long: whether a kernel that is not batched costs many times a comparison of boxes.
    """

    function: Callable[..., Any]
    ncon: int
    multi: int | None = None
    motion: Callable[..., ContactSet] | None = None
    further: Callable[..., ContactSet] | None = None
    long: bool = False

    def slots(self, multiccd: bool) -> int:
        """The most contacts of a pair, by the flag."""
        return self.multi if multiccd and self.multi is not None else self.ncon

    @property
    def batched(self) -> bool:
        """Whether the kernel takes many pairs of any shapes at once."""
        return self.motion is not None

    @property
    def costly(self) -> bool:
        """Whether boxes are compared before the kernel is run, in a loop of its own."""
        return self.batched or self.long


# The lower type first, as in the kernels' arguments.
COLLIDERS: dict[tuple[GeomType, GeomType], Collider] = {
    (GeomType.PLANE, GeomType.SPHERE): Collider(plane_sphere, 1),
    (GeomType.PLANE, GeomType.CAPSULE): Collider(plane_capsule, 2),
    (GeomType.PLANE, GeomType.ELLIPSOID): Collider(plane_ellipsoid, 1),
    (GeomType.PLANE, GeomType.CYLINDER): Collider(plane_cylinder, 4),
    (GeomType.PLANE, GeomType.BOX): Collider(plane_box, 4),
    (GeomType.SPHERE, GeomType.SPHERE): Collider(sphere_sphere, 1),
    (GeomType.SPHERE, GeomType.CAPSULE): Collider(sphere_capsule, 1),
    (GeomType.SPHERE, GeomType.CYLINDER): Collider(sphere_cylinder, 1),
    (GeomType.SPHERE, GeomType.BOX): Collider(sphere_box, 1),
    (GeomType.CAPSULE, GeomType.CAPSULE): Collider(capsule_capsule, 2),
    (GeomType.CAPSULE, GeomType.BOX): Collider(capsule_box, 2),
    (GeomType.BOX, GeomType.BOX): Collider(box_box, 9, long=True),
}

# Pairs without a kernel of their own, of geoms that are convex; with a smooth one there is never
# more than one contact.
_FLAT = {GeomType.CAPSULE, GeomType.CYLINDER, GeomType.BOX, GeomType.MESH}
_SMOOTH = {GeomType.SPHERE, GeomType.ELLIPSOID}
CONVEX: dict[tuple[GeomType, GeomType], Collider] = {
    types: Collider(convex, 1, 5 if _FLAT.issuperset(types) else None, motion, further_motion)
    for types in itertools.combinations_with_replacement(sorted(_FLAT | _SMOOTH), 2)
    if types not in COLLIDERS
}

HFIELD: dict[tuple[GeomType, GeomType], Collider] = {
    (GeomType.HFIELD, kind): Collider(hfield, MAXCONPAIR, None, hfield_motion)
    for kind in sorted(_FLAT | _SMOOTH)
}
PLANE_MESH = {
    (GeomType.PLANE, kind): Collider(plane_mesh, 3, None, plane_mesh_motion)
    for kind in (GeomType.MESH, GeomType.SDF)
}
SDF: dict[tuple[GeomType, GeomType], Collider] = {
    (kind, GeomType.SDF): Collider(sdf_pair, MAXCONPAIR, None, sdf_motion)
    for kind in (*FIELD_SOLIDS, GeomType.SDF)
} | {(GeomType.MESH, GeomType.SDF): Collider(mesh_sdf, MAXCONPAIR, None, mesh_sdf_motion)}

# All of them.
EVERY = COLLIDERS | CONVEX | HFIELD | PLANE_MESH | SDF

# Pairs that MuJoCo, too, lets pass through each other: of static geoms, and what it does not have.
NEVER_COLLIDE = frozenset(
    {
        (GeomType.PLANE, GeomType.PLANE),
        (GeomType.PLANE, GeomType.HFIELD),
        (GeomType.HFIELD, GeomType.HFIELD),
        (GeomType.HFIELD, GeomType.SDF),
    }
)


@functools.lru_cache(maxsize=64)
def colliders(rules: CollisionRules) -> dict[tuple[GeomType, GeomType], Collider]:
    """The table with what callbacks put in its place."""
    table = dict(EVERY)
    for (first, second), function in rules.colliders:
        types = (GeomType(first), GeomType(second))
        table.pop(types, None)
        if function:
            table[types] = Collider(_joined(function), _slots(function))
    return table


def _joined(function: Callable[..., Any]) -> Callable[..., ContactSet]:
    return lambda *pair: ContactSet(*function(*pair))


def _slots(function: Callable[..., Any]) -> int:
    """Number of contact slots of the result of a narrow phase."""
    pose = [jax.ShapeDtypeStruct(shape, float) for shape in ((3,), (3, 3), (3,))]
    touch = jax.eval_shape(function, *pose, *pose, jax.ShapeDtypeStruct((), float))
    return ContactSet(*touch).dist.shape[0]
