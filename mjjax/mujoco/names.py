"""MuJoCo's enumerations and constants, made of mjjax's."""

import enum
from typing import Any

from mjjax.core import enums

# MuJoCo's types, the prefixes of their members, and our enumerations with the same members.
_TYPES = {
    "mjtObj": ("mjOBJ", enums.ObjType),
    "mjtGeom": ("mjGEOM", enums.GeomType),
    "mjtJoint": ("mjJNT", enums.JointType),
    "mjtIntegrator": ("mjINT", enums.IntegratorType),
    "mjtSolver": ("mjSOL", enums.SolverType),
    "mjtCone": ("mjCONE", enums.ConeType),
    "mjtJacobian": ("mjJAC", enums.JacobianType),
    "mjtDisableBit": ("mjDSBL", enums.DisableBit),
    "mjtEnableBit": ("mjENBL", enums.EnableBit),
    "mjtState": ("mjSTATE", enums.State),
    "mjtCamLight": ("mjCAMLIGHT", enums.CamLightType),
    "mjtLightType": ("mjLIGHT", enums.LightType),
    "mjtTexture": ("mjTEXTURE", enums.TextureType),
    "mjtProjection": ("mjPROJ", enums.ProjectionType),
    "mjtDyn": ("mjDYN", enums.DynType),
    "mjtGain": ("mjGAIN", enums.GainType),
    "mjtBias": ("mjBIAS", enums.BiasType),
    "mjtTrn": ("mjTRN", enums.TrnType),
    "mjtSleepPolicy": ("mjSLEEP", enums.SleepPolicy),
    "mjtEq": ("mjEQ", enums.EqType),
    "mjtWrap": ("mjWRAP", enums.WrapType),
    "mjtSensor": ("mjSENS", enums.SensorType),
    "mjtDataType": ("mjDATATYPE", enums.DataType),
    "mjtStage": ("mjSTAGE", enums.Stage),
    "mjtConDataField": ("mjCONDATA", enums.ConDataField),
    "mjtRayDataField": ("mjRAYDATA", enums.RayDataField),
    "mjtConstraint": ("mjCNSTR", enums.ConstraintType),
    "mjtConstraintState": ("mjCNSTRSTATE", enums.ConstraintState),
    "mjtWarning": ("mjWARN", enums.WarningType),
}


# Members that ours do not have: numbers of members, and what only MuJoCo's pictures draw.
_MORE = {
    "mjtObj": {"mjNOBJECT": 26, "mjOBJ_FRAME": 100, "mjOBJ_DEFAULT": 101, "mjOBJ_MODEL": 102},
    "mjtGeom": {
        "mjNGEOMTYPES": 9,
        "mjGEOM_ARROW": 100,
        "mjGEOM_ARROW1": 101,
        "mjGEOM_ARROW2": 102,
        "mjGEOM_LINE": 103,
        "mjGEOM_LINEBOX": 104,
        "mjGEOM_FLEX": 105,
        "mjGEOM_SKIN": 106,
        "mjGEOM_LABEL": 107,
        "mjGEOM_TRIANGLE": 108,
        "mjGEOM_NONE": 1001,
    },
    "mjtConDataField": {"mjNCONDATA": 7},
    "mjtDisableBit": {"mjNDISABLE": 19},
    "mjtEnableBit": {"mjNENABLE": 6},
    "mjtRayDataField": {"mjNRAYDATA": 6},
    "mjtState": {"mjNSTATE": 14},
    "mjtWarning": {"mjNWARNING": 8},
}
_OTHER_NAMES = {"mjTEXTURE_FLAT": "mjTEXTURE_2D"}
_OURS = ("mjWARN_SUBSTEPFULL",)


def _of_mujoco(name: str, prefix: str, ours: Any) -> Any:
    members = {f"{prefix}_{key}": int(value) for key, value in ours.__members__.items()}
    members = {_OTHER_NAMES.get(n, n): x for n, x in members.items() if n not in _OURS}
    members |= _MORE.get(name, {})
    return enum.IntEnum(name, members, module="mjjax.mujoco")


# What MuJoCo's pictures show, in the order of their values.
_SHOWN = {
    "mjtVisFlag": (
        "mjVIS",
        "CONVEXHULL TEXTURE JOINT CAMERA ACTUATOR ACTIVATION LIGHT TENDON RANGEFINDER CONSTRAINT "
        "INERTIA SCLINERTIA PERTFORCE PERTOBJ CONTACTPOINT ISLAND CONTACTFORCE CONTACTSPLIT "
        "TRANSPARENT AUTOCONNECT COM SELECT STATIC SKIN FLEXVERT FLEXEDGE FLEXFACE FLEXSKIN "
        "BODYBVH MESHBVH SDFITER",
        "mjNVISFLAG",
    ),
    "mjtRndFlag": (
        "mjRND",
        "SHADOW WIREFRAME REFLECTION ADDITIVE SKYBOX FOG HAZE DEPTH SEGMENT IDCOLOR CULL_FACE",
        "mjNRNDFLAG",
    ),
    "mjtFrame": ("mjFRAME", "NONE BODY GEOM SITE CAMERA LIGHT CONTACT WORLD", "mjNFRAME"),
    "mjtLabel": (
        "mjLABEL",
        "NONE BODY JOINT GEOM SITE CAMERA LIGHT TENDON ACTUATOR CONSTRAINT FLEX SKIN SELECTION "
        "SELPNT CONTACTPOINT CONTACTFORCE ISLAND",
        "mjNLABEL",
    ),
}


def _of_pictures(name: str, prefix: str, words: str, number: str) -> Any:
    members = [f"{prefix}_{word}" for word in words.split()] + [number]
    return enum.IntEnum(name, members, start=0, module="mjjax.mujoco")


TYPES = {name: _of_mujoco(name, prefix, ours) for name, (prefix, ours) in _TYPES.items()}
TYPES |= {name: _of_pictures(name, *what) for name, what in _SHOWN.items()}
