"""`Visual`: those settings of `mjVisual` that decide what a picture shows."""

from typing import Any, ClassVar

import jax

from mjjax.core.struct import PyTree, array, static


class VisualGlobal(PyTree):
    """The free camera (`mjVisual.global`)."""

    _filled: ClassVar[bool] = True

    fovy: jax.Array = array(unit="deg", doc="vertical field of view; orthographic: height [m]")
    azimuth: jax.Array = array(unit="deg", doc="initial direction of the free camera, around z")
    elevation: jax.Array = array(unit="deg", doc="its initial direction, above the horizon")
    orthographic: int = static(0, doc="whether it is orthographic")


class Headlight(PyTree):
    """The light at the camera (`mjVisual.headlight`), which shines where the camera looks."""

    _filled: ClassVar[bool] = True

    ambient: jax.Array = array(3, doc="ambient colour")
    diffuse: jax.Array = array(3, doc="diffuse colour")
    specular: jax.Array = array(3, doc="specular colour")
    active: int = static(1, doc="whether it is on")


class VisualMap(PyTree):
    """Scales (`mjVisual.map`)."""

    _filled: ClassVar[bool] = True

    stiffness: jax.Array = array(unit="1/s^2", doc="of the hand that pulls, per mass of the body")
    force: jax.Array = array(unit="m/N", doc="length of forces, times the mean mass in kg")
    alpha: jax.Array = array(doc="of bodies that move, where they are shown transparent")
    zfar: jax.Array = array(doc="depth beyond which nothing is seen, in extents of the model")
    haze: jax.Array = array(doc="part of the way to the sky at which the haze ends")
    shadowclip: jax.Array = array(
        doc="half width of the shadows of a directional light, in extents of the model"
    )
    shadowscale: jax.Array = array(doc="half angle of the shadows of a spotlight, by its cutoff")


class VisualRgba(PyTree):
    """Colours (`mjVisual.rgba`)."""

    _filled: ClassVar[bool] = True

    haze: jax.Array = array(4, doc="colour of the haze over an endless plane, before the sky")


class Visual(PyTree):
    """Visual settings (`mjVisual`)."""

    _filled: ClassVar[bool] = True

    global_: VisualGlobal = array(doc="the free camera")
    headlight: Headlight = array(doc="the light at the camera")
    map: VisualMap = array(doc="scales")
    rgba: VisualRgba = array(doc="colours")


VISUAL_PARTS: dict[str, Any] = {
    "global_": VisualGlobal,
    "headlight": Headlight,
    "map": VisualMap,
    "rgba": VisualRgba,
}
