"""The table of collision kernels by pairs of geom types.

To add a pair, write a kernel of the form described in `contact_set.py` and add a line here. Pairs
of convex geoms without a line are served by `convex`.
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

    A kernel that is not batched treats one pair, in the form described in `contact_set.py`. A
    batched kernel takes many pairs of shapes of any types, `(pools, one, two, margin, settings)`,
    and returns contacts and certificates, which say what their derivative depends on (see
    `convex/contacts.py`). Kinds of pairs that share a batched kernel are tested together.

    Attributes:
        function: the kernel.
        ncon: the most contacts that a pair can have.
        multi: `ncon` with flag `multiccd`; None if the flag makes no difference.
        motion: for a batched kernel, a function that has the derivative of one contact (see
            `convex/motion.py`). None if the kernel is not batched; its own derivative is exact.
        further: with flag `multiccd`, the function for the contacts after a pair's first one, if
            these depend on the first (see `convex/motion.py`).
        long: whether a kernel that is not batched costs many times a comparison of boxes.
        alone: whether the kernel treats its pairs one by one (see `item_by_item`), so that
            pairs that are not used cost nothing and kinds of pairs can share a loop. A kernel that
            is not batched then does not sort or call libraries.
    """

    function: Callable[..., Any]
    ncon: int
    multi: int | None = None
    motion: Callable[..., ContactSet] | None = None
    further: Callable[..., ContactSet] | None = None
    long: bool = False
    alone: bool = False

    def slots(self, multiccd: bool) -> int:
        """The most contacts of a pair, with or without the flag."""
        return self.multi if multiccd and self.multi is not None else self.ncon

    @property
    def batched(self) -> bool:
        """Whether the kernel takes many pairs of any shapes at once."""
        return self.motion is not None

    @property
    def costly(self) -> bool:
        """Whether the kernel has a loop of its own, and boxes are compared before it is run."""
        return self.batched or self.long


def _primitive(function: Callable[..., ContactSet], ncon: int, long: bool = False) -> Collider:
    return Collider(function, ncon, long=long, alone=True)


# The lower type comes first, as in the kernels' arguments.
COLLIDERS: dict[tuple[GeomType, GeomType], Collider] = {
    (GeomType.PLANE, GeomType.SPHERE): _primitive(plane_sphere, 1),
    (GeomType.PLANE, GeomType.CAPSULE): _primitive(plane_capsule, 2),
    (GeomType.PLANE, GeomType.ELLIPSOID): _primitive(plane_ellipsoid, 1),
    (GeomType.PLANE, GeomType.CYLINDER): _primitive(plane_cylinder, 4),
    (GeomType.PLANE, GeomType.BOX): _primitive(plane_box, 4),
    (GeomType.SPHERE, GeomType.SPHERE): _primitive(sphere_sphere, 1),
    (GeomType.SPHERE, GeomType.CAPSULE): _primitive(sphere_capsule, 1),
    (GeomType.SPHERE, GeomType.CYLINDER): _primitive(sphere_cylinder, 1),
    (GeomType.SPHERE, GeomType.BOX): _primitive(sphere_box, 1),
    (GeomType.CAPSULE, GeomType.CAPSULE): _primitive(capsule_capsule, 2),
    (GeomType.CAPSULE, GeomType.BOX): _primitive(capsule_box, 2),
    (GeomType.BOX, GeomType.BOX): _primitive(box_box, 9, long=True),
}

# Pairs of convex geoms without a kernel of their own. If one of the geoms is smooth, there is never
# more than one contact.
_FLAT = {GeomType.CAPSULE, GeomType.CYLINDER, GeomType.BOX, GeomType.MESH}
_SMOOTH = {GeomType.SPHERE, GeomType.ELLIPSOID}
CONVEX: dict[tuple[GeomType, GeomType], Collider] = {
    types: Collider(
        convex, 1, 5 if _FLAT.issuperset(types) else None, motion, further_motion, alone=True
    )
    for types in itertools.combinations_with_replacement(sorted(_FLAT | _SMOOTH), 2)
    if types not in COLLIDERS
}

HFIELD: dict[tuple[GeomType, GeomType], Collider] = {
    (GeomType.HFIELD, kind): Collider(hfield, MAXCONPAIR, None, hfield_motion)
    for kind in sorted(_FLAT | _SMOOTH)
}
PLANE_MESH = {
    (GeomType.PLANE, kind): Collider(plane_mesh, 3, None, plane_mesh_motion, alone=True)
    for kind in (GeomType.MESH, GeomType.SDF)
}
SDF: dict[tuple[GeomType, GeomType], Collider] = {
    (kind, GeomType.SDF): Collider(sdf_pair, MAXCONPAIR, None, sdf_motion)
    for kind in (*FIELD_SOLIDS, GeomType.SDF)
} | {(GeomType.MESH, GeomType.SDF): Collider(mesh_sdf, MAXCONPAIR, None, mesh_sdf_motion)}

# All colliders in one table.
EVERY = COLLIDERS | CONVEX | HFIELD | PLANE_MESH | SDF

# Pairs that pass through each other in MuJoCo as well: static geoms, and a pair without a kernel.
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
    """The table of all colliders with the changes by callbacks."""
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
    """Number of contact slots in the result of a kernel."""
    pose = [jax.ShapeDtypeStruct(shape, float) for shape in ((3,), (3, 3), (3,))]
    touch = jax.eval_shape(function, *pose, *pose, jax.ShapeDtypeStruct((), float))
    return ContactSet(*touch).dist.shape[0]
