"""Compares compiled models with MuJoCo's."""

import re

import mujoco
import numpy as np

from mjjax import mjcf
from mjjax.compiler import Compiled, compile_spec
from mjjax.core.errors import MjcfError, MjjaxError
from mjjax.model.model import Model

# Fields computed later from the kinematics at qpos0, or used only by the C program.
LATER = re.compile(
    r"^(_.*|names|paths|text_data|dof_M0|.*invweight0|body_subtreemass|eq_data|tendon_length(0|spring)"
    r"|actuator_(acc0|length0|lengthrange)|dof_length"
    r"|(cam|light)_(pos0|poscom0|mat0|dir0)|bvh_.*|oct_.*|B_.*|D_.*|M_.*|map.*|.*_J_.*|names_map"
    r"|name_.*|body_(simple|sameframe|bvh\w*|plugin)|geom_(sameframe|plugin)|site_sameframe"
    r"|dof_(simplenum|Madr)|flex.*|mesh_(bvh|oct|poly|graph|path).*|(hfield|skin|tex)_pathadr|tex_colorspace)$"
)
# Fields whose meaning MuJoCo changes after compilation, and float32 fields.
REPLACED = ("dof_damping", "jnt_stiffness")
SIZES = (
    "nq nv nu na nbody njnt ngeom nsite ncam nlight npair nexclude nkey nmocap nuserdata nnumeric "
    "ntext ntuple ntree nmesh nmeshvert nmeshface nmeshnormal nmeshtexcoord nhfield nhfielddata "
    "nuser_body nuser_jnt nuser_geom nuser_site nuser_cam nuser_actuator "
    "ntex ntexdata nskin nskinvert nskintexvert nskinface nskinbone nskinbonevert "
    "neq ntendon nwrap nsensor nsensordata nhistory nuser_tendon nuser_sensor"
).split()
OBJECTS = (
    "body joint geom site camera light pair exclude actuator numeric text tuple key material "
    "mesh hfield skin equality tendon sensor"
).split()


def compiled(xml: str, **kwargs) -> Compiled:
    """Our compilation of an XML string."""
    return compile_spec(mjcf.read_string(xml, **kwargs))


def assert_same(
    xml: str,
    *,
    tolerance: float = 1e-12,
    ignore: tuple[str, ...] = (),
    assets: dict[str, bytes] | None = None,
) -> Compiled:
    """Asserts that all fields, sizes, options and names are MuJoCo's; returns our compilation."""
    reference = mujoco.MjModel.from_xml_string(xml, assets)
    ours = compiled(xml, assets=assets)
    compare(reference, ours, tolerance=tolerance, ignore=ignore)
    return ours


def assert_close(mine: np.ndarray, theirs: np.ndarray, tolerance: float, name: str) -> None:
    """Asserts that entries agree, relative to each or to a hundredth of max(1, largest entry).

    Smaller entries are differences of larger terms and have their rounding errors: the tightest
    tolerance, 1e-12, is then some fifty rounding errors. All components of a unit vector have the
    error of the angle, which counts relative to one.
    """
    floor = 1 if re.search("quat|normal", name) else 0.01
    scale = max(1.0, np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0))
    np.testing.assert_allclose(
        mine, theirs, rtol=tolerance, atol=tolerance * floor * scale, err_msg=name
    )


def compare(
    reference: mujoco.MjModel,
    ours: Compiled,
    *,
    tolerance: float = 1e-12,
    ignore: tuple[str, ...] = (),
) -> None:
    """Asserts what `assert_same` does, for two compiled models."""
    for name in SIZES:
        assert ours.sizes[name] == getattr(reference, name), name
    for name, value in ours.option.items():
        np.testing.assert_allclose(value, getattr(reference.opt, name), rtol=1e-15, err_msg=name)
    for kind in OBJECTS:
        type_ = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        names = (mujoco.mj_id2name(reference, type_, i) for i in range(len(ours.names[kind])))
        assert ours.names[kind] == tuple(name or "" for name in names), kind
    for name in dir(reference):
        theirs = getattr(reference, name)
        if not isinstance(theirs, np.ndarray) or LATER.match(name) or name in ignore:
            continue
        if not theirs.size and name not in ours.fields:
            continue
        assert name in ours.fields, name
        mine = np.asarray(ours.fields[name])
        assert mine.shape == theirs.shape, name
        if theirs.dtype.kind == "f":
            assert mine.dtype == np.float64, name
            assert_close(mine, theirs, tolerance if theirs.dtype == np.float64 else 1e-6, name)
        else:
            expected = mine.astype(np.uint8) if theirs.dtype == np.uint8 else mine
            np.testing.assert_array_equal(expected, theirs, err_msg=name)


# Fields that follow from the kinematics at qpos0 and are in every complete model.
DERIVED = (
    "dof_M0 dof_invweight0 body_invweight0 eq_data tendon_length0 tendon_invweight0 "
    "tendon_lengthspring actuator_acc0 actuator_length0 actuator_lengthrange actuator_biasprm"
).split()


def assert_same_constants(
    xml: str, *, tolerance: float = 1e-9, ours: Model | None = None
) -> mujoco.MjModel:
    """Asserts that derived constants of the model, or of `ours`, agree; returns MuJoCo's model."""
    reference = mujoco.MjModel.from_xml_string(xml)
    model = Model.from_xml_string(xml) if ours is None else ours
    for name in DERIVED:
        mine, theirs = np.asarray(getattr(model, name)), getattr(reference, name)
        assert_close(mine, theirs, tolerance, name)
    return reference


def assert_same_model(xml: str, *, ignore: tuple[str, ...] = ()) -> None:
    """Asserts that compiled fields and derived constants are MuJoCo's."""
    assert_same(xml, ignore=ignore)
    assert_same_constants(xml)


def refused(xml: str, assets: dict[str, bytes] | None = None) -> MjcfError:
    """The error with which ``m.xml`` is refused; asserts that MuJoCo refuses it, too."""
    assert not accepted_by_mujoco(xml, assets), f"accepted by MuJoCo: {xml}"
    error = refusal(xml, file="m.xml", assets=assets)
    assert isinstance(error, MjcfError) and error.what, error
    assert error.file == "m.xml" and error.line and error.element, error
    return error


def refusal(xml: str, **kwargs) -> MjjaxError:
    """The error that compiling the XML raises."""
    try:
        compiled(xml, **kwargs)
    except MjjaxError as error:
        return error
    raise AssertionError(f"accepted: {xml}")


def accepted_by_mujoco(xml: str, assets: dict[str, bytes] | None = None) -> bool:
    """Whether MuJoCo compiles the XML."""
    try:
        mujoco.MjModel.from_xml_string(xml, assets)
    except ValueError:
        return False
    return True
