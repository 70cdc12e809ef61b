"""Which kernel serves which pair of geom types.

To add a pair: a kernel of the form described in `touch.py`, and a line here.
"""

from collections.abc import Callable
from typing import NamedTuple

from mjjax.collision.capsule import capsule_capsule
from mjjax.collision.capsule_box import capsule_box
from mjjax.collision.plane import plane_box, plane_capsule, plane_sphere
from mjjax.collision.sphere import sphere_box, sphere_capsule, sphere_sphere
from mjjax.collision.touch import Touch
from mjjax.core.enums import GeomType


class Collider(NamedTuple):
    """Kernel of a kind of pairs.

    Attributes:
        function: kernel for one pair.
        ncon: slots of its result, the most contacts that a pair can have.
    """

    function: Callable[..., Touch]
    ncon: int


# The lower type first, as in the kernels' arguments.
COLLIDERS: dict[tuple[GeomType, GeomType], Collider] = {
    (GeomType.PLANE, GeomType.SPHERE): Collider(plane_sphere, 1),
    (GeomType.PLANE, GeomType.CAPSULE): Collider(plane_capsule, 2),
    (GeomType.PLANE, GeomType.BOX): Collider(plane_box, 4),
    (GeomType.SPHERE, GeomType.SPHERE): Collider(sphere_sphere, 1),
    (GeomType.SPHERE, GeomType.CAPSULE): Collider(sphere_capsule, 1),
    (GeomType.SPHERE, GeomType.BOX): Collider(sphere_box, 1),
    (GeomType.CAPSULE, GeomType.CAPSULE): Collider(capsule_capsule, 2),
    (GeomType.CAPSULE, GeomType.BOX): Collider(capsule_box, 2),
}

# Pairs of static geoms: MuJoCo, too, lets them pass through each other.
NEVER_COLLIDE = frozenset(
    {
        (GeomType.PLANE, GeomType.PLANE),
        (GeomType.PLANE, GeomType.HFIELD),
        (GeomType.HFIELD, GeomType.HFIELD),
    }
)
