"""Which kernel serves which pair of geom types.

To add a pair: a kernel of the form described in `contact_set.py`, and a line here.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from mjjax.collision.box_box import box_box
from mjjax.collision.capsule import capsule_capsule
from mjjax.collision.capsule_box import capsule_box
from mjjax.collision.contact_set import ContactSet
from mjjax.collision.cylinder import plane_cylinder, sphere_cylinder
from mjjax.collision.plane import plane_box, plane_capsule, plane_ellipsoid, plane_sphere
from mjjax.collision.sphere import sphere_box, sphere_capsule, sphere_sphere
from mjjax.core.enums import GeomType
from mjjax.model.data import CollisionRules


class Collider(NamedTuple):
    """Kernel of a kind of pairs.

    Attributes:
        function: kernel for one pair.
        ncon: slots of its result, the most contacts that a pair can have.
    """

    function: Callable[..., ContactSet]
    ncon: int


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
    (GeomType.BOX, GeomType.BOX): Collider(box_box, 9),
}

# Pairs of static geoms: MuJoCo, too, lets them pass through each other.
NEVER_COLLIDE = frozenset(
    {
        (GeomType.PLANE, GeomType.PLANE),
        (GeomType.PLANE, GeomType.HFIELD),
        (GeomType.HFIELD, GeomType.HFIELD),
    }
)


@functools.lru_cache(maxsize=64)
def colliders(rules: CollisionRules) -> dict[tuple[GeomType, GeomType], Collider]:
    """The table with what callbacks put in its place."""
    table = dict(COLLIDERS)
    for (first, second), function in rules.colliders:
        types = (GeomType(first), GeomType(second))
        table.pop(types, None)
        if function:
            table[types] = Collider(_joined(function), _slots(function))
    return table


def never_collide(rules: CollisionRules) -> frozenset[tuple[GeomType, GeomType]]:
    """Pairs of types that pass through each other."""
    custom = dict(rules.colliders)
    return frozenset(t for t in NEVER_COLLIDE | custom.keys() if not custom.get(t))


def _joined(function: Callable[..., Any]) -> Callable[..., ContactSet]:
    return lambda *pair: ContactSet(*function(*pair))


def _slots(function: Callable[..., Any]) -> int:
    """Number of contact slots of the result of a narrow phase."""
    pose = [jax.ShapeDtypeStruct(shape, float) for shape in ((3,), (3, 3), (3,))]
    touch = jax.eval_shape(function, *pose, *pose, jax.ShapeDtypeStruct((), float))
    return ContactSet(*touch).dist.shape[0]
