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


def _of_mujoco(name: str, prefix: str, ours: Any) -> Any:
    members = {f"{prefix}_{key}": int(value) for key, value in ours.__members__.items()}
    return enum.IntEnum(name, members, module="mjjax.mujoco")


TYPES = {name: _of_mujoco(name, prefix, ours) for name, (prefix, ours) in _TYPES.items()}
