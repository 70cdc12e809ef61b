"""MuJoCo's enumerations, with its integer values (version 3.6.0) and without its prefixes."""

from enum import IntEnum, IntFlag


class JointType(IntEnum):
    """Kinds of joints (`mjtJoint`)."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

    def qpos_width(self) -> int:
        """Number of its coordinates in `qpos`."""
        return {JointType.FREE: 7, JointType.BALL: 4}.get(self, 1)

    def dof_width(self) -> int:
        """Number of its dofs in `qvel`."""
        return {JointType.FREE: 6, JointType.BALL: 3}.get(self, 1)


class GeomType(IntEnum):
    """Shapes of geoms (`mjtGeom`)."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


class IntegratorType(IntEnum):
    """Integrators of a step (`mjtIntegrator`)."""

    EULER = 0
    RK4 = 1
    IMPLICIT = 2
    IMPLICITFAST = 3


class SolverType(IntEnum):
    """Algorithms of the constraint solver (`mjtSolver`)."""

    PGS = 0
    CG = 1
    NEWTON = 2


class ConeType(IntEnum):
    """Friction cones of contacts (`mjtCone`)."""

    PYRAMIDAL = 0
    ELLIPTIC = 1


class JacobianType(IntEnum):
    """Storage of the constraint Jacobian in MuJoCo (`mjtJacobian`); it changes nothing here."""

    DENSE = 0
    SPARSE = 1
    AUTO = 2


class DisableBit(IntFlag):
    """Flags in `opt.disableflags` that switch a part of the physics off (`mjtDisableBit`)."""

    CONSTRAINT = 1 << 0
    EQUALITY = 1 << 1
    FRICTIONLOSS = 1 << 2
    LIMIT = 1 << 3
    CONTACT = 1 << 4
    SPRING = 1 << 5
    DAMPER = 1 << 6
    GRAVITY = 1 << 7
    CLAMPCTRL = 1 << 8
    WARMSTART = 1 << 9
    FILTERPARENT = 1 << 10
    ACTUATION = 1 << 11
    REFSAFE = 1 << 12
    SENSOR = 1 << 13
    MIDPHASE = 1 << 14
    EULERDAMP = 1 << 15
    AUTORESET = 1 << 16
    NATIVECCD = 1 << 17
    ISLAND = 1 << 18


class EnableBit(IntFlag):
    """Flags in `opt.enableflags` that switch a part of the physics on (`mjtEnableBit`)."""

    OVERRIDE = 1 << 0
    ENERGY = 1 << 1
    FWDINV = 1 << 2
    INVDISCRETE = 1 << 3
    MULTICCD = 1 << 4
    SLEEP = 1 << 5


class State(IntFlag):
    """Parts of the state, for `get_state` and `set_state` (`mjtState`)."""

    TIME = 1 << 0
    QPOS = 1 << 1
    QVEL = 1 << 2
    ACT = 1 << 3
    HISTORY = 1 << 4
    WARMSTART = 1 << 5
    CTRL = 1 << 6
    QFRC_APPLIED = 1 << 7
    XFRC_APPLIED = 1 << 8
    EQ_ACTIVE = 1 << 9
    MOCAP_POS = 1 << 10
    MOCAP_QUAT = 1 << 11
    USERDATA = 1 << 12
    PLUGIN = 1 << 13
    PHYSICS = QPOS | QVEL | ACT | HISTORY
    FULLPHYSICS = TIME | PHYSICS | PLUGIN
    USER = CTRL | QFRC_APPLIED | XFRC_APPLIED | EQ_ACTIVE | MOCAP_POS | MOCAP_QUAT | USERDATA
    INTEGRATION = FULLPHYSICS | USER | WARMSTART


class CamLightType(IntEnum):
    """How a camera or a light follows bodies (`mjtCamLight`)."""

    FIXED = 0
    TRACK = 1
    TRACKCOM = 2
    TARGETBODY = 3
    TARGETBODYCOM = 4


class LightType(IntEnum):
    SPOT = 0
    DIRECTIONAL = 1
    POINT = 2
    IMAGE = 3


class TextureType(IntEnum):
    FLAT = 0
    CUBE = 1
    SKYBOX = 2


class ProjectionType(IntEnum):
    PERSPECTIVE = 0
    ORTHOGRAPHIC = 1


class DynType(IntEnum):
    """Dynamics of an actuator's activation (`mjtDyn`)."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTEREXACT = 3
    MUSCLE = 4
    USER = 5


class GainType(IntEnum):
    """How an actuator's gain is computed (`mjtGain`)."""

    FIXED = 0
    AFFINE = 1
    MUSCLE = 2
    USER = 3


class BiasType(IntEnum):
    """How an actuator's bias is computed (`mjtBias`)."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2
    USER = 3


class TrnType(IntEnum):
    """What an actuator acts on (`mjtTrn`)."""

    JOINT = 0
    JOINTINPARENT = 1
    SLIDERCRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5
    UNDEFINED = 1000


class SleepPolicy(IntEnum):
    AUTO = 0
    AUTO_NEVER = 1
    AUTO_ALLOWED = 2
    NEVER = 3
    ALLOWED = 4
    INIT = 5


class SleepState(IntEnum):
    STATIC = -1
    ASLEEP = 0
    AWAKE = 1


class EqType(IntEnum):
    """Kinds of equality constraints (`mjtEq`)."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3
    FLEX = 4
    FLEXVERT = 5
    FLEXSTRAIN = 6
    DISTANCE = 7


class WrapType(IntEnum):
    """What a point of a tendon's path is (`mjtWrap`)."""

    NONE = 0
    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


class SensorType(IntEnum):
    """Kinds of sensors (`mjtSensor`)."""

    TOUCH = 0
    ACCELEROMETER = 1
    VELOCIMETER = 2
    GYRO = 3
    FORCE = 4
    TORQUE = 5
    MAGNETOMETER = 6
    RANGEFINDER = 7
    CAMPROJECTION = 8
    JOINTPOS = 9
    JOINTVEL = 10
    TENDONPOS = 11
    TENDONVEL = 12
    ACTUATORPOS = 13
    ACTUATORVEL = 14
    ACTUATORFRC = 15
    JOINTACTFRC = 16
    TENDONACTFRC = 17
    BALLQUAT = 18
    BALLANGVEL = 19
    JOINTLIMITPOS = 20
    JOINTLIMITVEL = 21
    JOINTLIMITFRC = 22
    TENDONLIMITPOS = 23
    TENDONLIMITVEL = 24
    TENDONLIMITFRC = 25
    FRAMEPOS = 26
    FRAMEQUAT = 27
    FRAMEXAXIS = 28
    FRAMEYAXIS = 29
    FRAMEZAXIS = 30
    FRAMELINVEL = 31
    FRAMEANGVEL = 32
    FRAMELINACC = 33
    FRAMEANGACC = 34
    SUBTREECOM = 35
    SUBTREELINVEL = 36
    SUBTREEANGMOM = 37
    INSIDESITE = 38
    GEOMDIST = 39
    GEOMNORMAL = 40
    GEOMFROMTO = 41
    CONTACT = 42
    E_POTENTIAL = 43
    E_KINETIC = 44
    CLOCK = 45
    TACTILE = 46
    PLUGIN = 47
    USER = 48


class DataType(IntEnum):
    """What a sensor's numbers are, which decides its cutoff (`mjtDataType`)."""

    REAL = 0
    POSITIVE = 1
    AXIS = 2
    QUATERNION = 3


class Stage(IntEnum):
    """Stages of a step, for `forward_skip` and `inverse_skip` (`mjtStage`)."""

    NONE = 0
    POS = 1
    VEL = 2
    ACC = 3


class ConDataField(IntEnum):
    FOUND = 0
    FORCE = 1
    TORQUE = 2
    DIST = 3
    POS = 4
    NORMAL = 5
    TANGENT = 6


class RayDataField(IntEnum):
    DIST = 0
    DIR = 1
    ORIGIN = 2
    POINT = 3
    NORMAL = 4
    DEPTH = 5


class ConstraintType(IntEnum):
    """What a constraint row is made of (`mjtConstraint`)."""

    EQUALITY = 0
    FRICTION_DOF = 1
    FRICTION_TENDON = 2
    LIMIT_JOINT = 3
    LIMIT_TENDON = 4
    CONTACT_FRICTIONLESS = 5
    CONTACT_PYRAMIDAL = 6
    CONTACT_ELLIPTIC = 7


class ConstraintState(IntEnum):
    """What a constraint row does at the solution (`mjtConstraintState`)."""

    SATISFIED = 0
    QUADRATIC = 1
    LINEARNEG = 2
    LINEARPOS = 3
    CONE = 4


class WarningType(IntEnum):
    """What `data.warning` counts (`mjtWarning`)."""

    INERTIA = 0
    CONTACTFULL = 1
    CNSTRFULL = 2
    VGEOMFULL = 3
    BADQPOS = 4
    BADQVEL = 5
    BADQACC = 6
    BADCTRL = 7
    SUBSTEPFULL = 8  # not in MuJoCo


class ObjType(IntEnum):
    """Kinds of elements of a model (`mjtObj`)."""

    UNKNOWN = 0
    BODY = 1
    XBODY = 2
    JOINT = 3
    DOF = 4
    GEOM = 5
    SITE = 6
    CAMERA = 7
    LIGHT = 8
    FLEX = 9
    MESH = 10
    SKIN = 11
    HFIELD = 12
    TEXTURE = 13
    MATERIAL = 14
    PAIR = 15
    EXCLUDE = 16
    EQUALITY = 17
    TENDON = 18
    ACTUATOR = 19
    SENSOR = 20
    NUMERIC = 21
    TEXT = 22
    TUPLE = 23
    KEY = 24
    PLUGIN = 25
