"""Keywords of MJCF attributes and the integers they stand for (MuJoCo 3.6.0)."""

_AUTO = {"false": 0, "true": 1, "auto": 2}
_ENABLE = {"disable": 0, "enable": 1}


def _numbered(words: str) -> dict[str, int]:
    return {word: i for i, word in enumerate(words.split())}


def _bits(words: str) -> dict[str, int]:
    return {word: 1 << i for i, word in enumerate(words.split())}


KEYWORDS: dict[str, dict[str, int]] = {
    "bool": {"false": 0, "true": 1},
    "flextype": _numbered("grid box cylinder ellipsoid square disc circle mesh gmsh direct"),
    "flexdof": _numbered("full radial trilinear quadratic"),
    "tristate": _AUTO,
    "enable": _ENABLE,
    "angle": {"radian": 0, "degree": 1},
    "coordinate": _numbered("local global"),
    "lrmode": _numbered("none muscle muscleuser all"),
    "integrator": _numbered("Euler RK4 implicit implicitfast"),
    "cone": _numbered("pyramidal elliptic"),
    "jacobian": _numbered("dense sparse auto"),
    "solver": _numbered("PGS CG Newton"),
    "sleep": {"auto": 0, "never": 3, "allowed": 4, "init": 5},
    "jointtype": _numbered("free ball slide hinge"),
    "geomtype": _numbered("plane hfield sphere capsule ellipsoid cylinder box mesh sdf"),
    "fluidshape": _numbered("none ellipsoid"),
    "camlight": _numbered("fixed track trackcom targetbody targetbodycom"),
    "projection": _numbered("perspective orthographic"),
    "lighttype": _numbered("spot directional point image"),
    "dyntype": _numbered("none integrator filter filterexact muscle user"),
    "gaintype": _numbered("fixed affine muscle user"),
    "biastype": _numbered("none affine muscle user"),
    "interp": _numbered("zoh linear cubic"),
    "stage": _numbered("none pos vel acc"),
    "datatype": _numbered("real positive axis quaternion"),
    "reduce": _numbered("none mindist maxforce netforce"),
    "meshinertia": _numbered("convex legacy exact shell"),
    "meshbuiltin": _numbered("none sphere hemisphere cone supertorus supersphere wedge plate"),
    "texturetype": _numbered("2d cube skybox"),
    "colorspace": _numbered("auto linear sRGB"),
    "texbuiltin": _numbered("none gradient checker flat"),
    "texmark": _numbered("none edge cross random"),
    "texrole": {
        word: i + 1
        for i, word in enumerate(
            "rgb occlusion roughness metallic normal opacity emissive rgba orm".split()
        )
    },
    "camout": _bits("rgb depth distance normal segmentation"),
    "raydata": _bits("dist dir origin point normal depth"),
    "condata": _bits("found force torque dist pos normal tangent"),
}

# Objects that a tuple may refer to: MuJoCo's name of the object type and its number (mjtObj).
OBJECT_TYPES: dict[str, int] = _numbered(
    "unknown body xbody joint dof geom site camera light flex mesh skin hfield texture material "
    "pair exclude equality tendon actuator sensor numeric text tuple key plugin"
)
