"""`Model`: every real number of a model, as one immutable pytree."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import jax
import numpy as np

from mjjax.core.below import work
from mjjax.core.limits import Limits
from mjjax.core.struct import PyTree, array, static
from mjjax.model.option import Option, Statistic
from mjjax.model.refusals import NOT_NEGATIVE, require_no_negative, unknown_field
from mjjax.model.static_fields import StaticFields
from mjjax.model.structure import Structure, with_structure_of_leaves
from mjjax.model.summary import model_text
from mjjax.model.terms import TERMS, switched
from mjjax.model.view import NamedInModel
from mjjax.model.visual import Visual


class Model(PyTree, NamedInModel, StaticFields):
    """A compiled model (`mjModel`): real numbers are leaves, all else is static, in `structure`.

    Attributes have MuJoCo's names. Real numbers are JAX arrays with MuJoCo's shapes; you can trace,
    batch and differentiate them. Integers, booleans and sizes (`model.nv`, `model.jnt_type`, ...)
    are NumPy values and belong to the structure. Models with the same structure share compiled
    code, whatever their numbers.
    """

    _made_by: ClassVar[str] = "mjjax.Model.from_xml_path or from_xml_string"
    _filled: ClassVar[bool] = True

    structure: Structure = static(doc="everything static")
    opt: Option = array(doc="physics options")
    stat: Statistic = array(doc="statistics")
    vis: Visual = array(doc="visual settings")
    qpos0: jax.Array = array("nq", doc="joint positions of the reference configuration")
    qpos_spring: jax.Array = array("nq", doc="joint positions at which springs are at rest")
    body_pos: jax.Array = array("nbody", 3, unit="m", doc="position in the parent body")
    body_quat: jax.Array = array("nbody", 4, doc="orientation in the parent body")
    body_ipos: jax.Array = array("nbody", 3, unit="m", doc="centre of mass in the body frame")
    body_iquat: jax.Array = array(
        "nbody", 4, doc="orientation of the principal axes in the body frame"
    )
    body_mass: jax.Array = array("nbody", unit="kg", doc="mass")
    body_subtreemass: jax.Array = array("nbody", unit="kg", doc="mass of the subtree")
    body_inertia: jax.Array = array("nbody", 3, unit="kg m^2", doc="principal moments of inertia")
    body_invweight0: jax.Array = array(
        "nbody",
        2,
        unit="1/kg, 1/(kg m^2)",
        doc="mean inverse weight at qpos0: translation, rotation",
    )
    body_gravcomp: jax.Array = array("nbody", doc="antigravity force in units of body weight")
    body_margin: jax.Array = array("nbody", unit="m", doc="largest contact margin of its geoms")
    body_user: jax.Array = array("nbody", "nuser_body", doc="user data")
    jnt_solref: jax.Array = array("njnt", 2, doc="limit reference")
    jnt_solimp: jax.Array = array("njnt", 5, doc="limit impedance")
    jnt_pos: jax.Array = array("njnt", 3, unit="m", doc="anchor in the body frame")
    jnt_axis: jax.Array = array("njnt", 3, doc="axis in the body frame")
    jnt_stiffness: jax.Array = array("njnt", unit="N/m or N m/rad", doc="spring stiffness")
    jnt_range: jax.Array = array("njnt", 2, unit="m or rad", doc="limits")
    jnt_actfrcrange: jax.Array = array(
        "njnt", 2, unit="N or N m", doc="range of the total actuator force"
    )
    jnt_margin: jax.Array = array(
        "njnt", unit="m or rad", doc="distance at which a limit becomes active"
    )
    jnt_user: jax.Array = array("njnt", "nuser_jnt", doc="user data")
    dof_solref: jax.Array = array("nv", 2, doc="friction-loss reference")
    dof_solimp: jax.Array = array("nv", 5, doc="friction-loss impedance")
    dof_frictionloss: jax.Array = array("nv", unit="N or N m", doc="dry friction")
    dof_armature: jax.Array = array("nv", unit="kg or kg m^2", doc="reflected inertia")
    dof_damping: jax.Array = array("nv", unit="N s/m or N m s/rad", doc="damping")
    dof_invweight0: jax.Array = array(
        "nv", unit="1/kg or 1/(kg m^2)", doc="diagonal of the inverse inertia at qpos0"
    )
    dof_M0: jax.Array = array("nv", unit="kg or kg m^2", doc="diagonal of the inertia at qpos0")
    dof_length: jax.Array = array("nv", unit="m", doc="length scale of the dof: 1 for translations")
    geom_solmix: jax.Array = array("ngeom", doc="mixing weight of contact parameters")
    geom_solref: jax.Array = array("ngeom", 2, doc="contact reference")
    geom_solimp: jax.Array = array("ngeom", 5, doc="contact impedance")
    geom_size: jax.Array = array("ngeom", 3, unit="m", doc="sizes by type")
    geom_aabb: jax.Array = array(
        "ngeom", 6, unit="m", doc="bounding box in the geom frame: centre, half sizes"
    )
    geom_rbound: jax.Array = array(
        "ngeom", unit="m", doc="radius of the bounding sphere; 0 for planes"
    )
    geom_pos: jax.Array = array("ngeom", 3, unit="m", doc="position in the body frame")
    geom_quat: jax.Array = array("ngeom", 4, doc="orientation in the body frame")
    geom_friction: jax.Array = array("ngeom", 3, doc="sliding, torsional, rolling friction")
    geom_margin: jax.Array = array("ngeom", unit="m", doc="distance at which contacts are detected")
    geom_gap: jax.Array = array(
        "ngeom", unit="m", doc="part of the margin in which contacts exert no force"
    )
    geom_fluid: jax.Array = array("ngeom", 12, doc="ellipsoid fluid model parameters")
    geom_user: jax.Array = array("ngeom", "nuser_geom", doc="user data")
    geom_rgba: jax.Array = array("ngeom", 4, doc="colour")
    site_size: jax.Array = array("nsite", 3, unit="m", doc="sizes by type")
    site_pos: jax.Array = array("nsite", 3, unit="m", doc="position in the body frame")
    site_quat: jax.Array = array("nsite", 4, doc="orientation in the body frame")
    site_user: jax.Array = array("nsite", "nuser_site", doc="user data")
    site_rgba: jax.Array = array("nsite", 4, doc="colour")
    cam_pos: jax.Array = array("ncam", 3, unit="m", doc="position in the body frame")
    cam_quat: jax.Array = array("ncam", 4, doc="orientation in the body frame")
    cam_poscom0: jax.Array = array(
        "ncam", 3, unit="m", doc="position relative to the subtree centre of mass at qpos0"
    )
    cam_pos0: jax.Array = array(
        "ncam", 3, unit="m", doc="position relative to the body at qpos0, world axes"
    )
    cam_mat0: jax.Array = array("ncam", 9, doc="orientation at qpos0; MJX has (n, 3, 3)")
    cam_fovy: jax.Array = array("ncam", unit="deg", doc="vertical field of view")
    cam_ipd: jax.Array = array("ncam", unit="m", doc="inter-pupillary distance")
    cam_sensorsize: jax.Array = array("ncam", 2, unit="m", doc="sensor size")
    cam_intrinsic: jax.Array = array("ncam", 4, unit="m", doc="focal length and principal point")
    cam_user: jax.Array = array("ncam", "nuser_cam", doc="user data")
    light_pos: jax.Array = array("nlight", 3, unit="m", doc="position in the body frame")
    light_dir: jax.Array = array("nlight", 3, doc="direction in the body frame")
    light_poscom0: jax.Array = array(
        "nlight", 3, unit="m", doc="position relative to the subtree centre of mass at qpos0"
    )
    light_pos0: jax.Array = array(
        "nlight", 3, unit="m", doc="position relative to the body at qpos0, world axes"
    )
    light_dir0: jax.Array = array("nlight", 3, doc="direction at qpos0")
    light_bulbradius: jax.Array = array("nlight", unit="m", doc="bulb radius for soft shadows")
    light_intensity: jax.Array = array("nlight", unit="cd", doc="intensity")
    light_range: jax.Array = array("nlight", unit="m", doc="range of the light")
    light_attenuation: jax.Array = array("nlight", 3, doc="attenuation")
    light_cutoff: jax.Array = array("nlight", unit="deg", doc="cutoff angle")
    light_exponent: jax.Array = array("nlight", doc="exponent")
    light_ambient: jax.Array = array("nlight", 3, doc="ambient colour")
    light_diffuse: jax.Array = array("nlight", 3, doc="diffuse colour")
    light_specular: jax.Array = array("nlight", 3, doc="specular colour")
    mat_texrepeat: jax.Array = array("nmat", 2, doc="texture repetition")
    mat_emission: jax.Array = array("nmat", doc="emission")
    mat_specular: jax.Array = array("nmat", doc="specularity")
    mat_shininess: jax.Array = array("nmat", doc="shininess")
    mat_reflectance: jax.Array = array("nmat", doc="reflectance")
    mat_metallic: jax.Array = array("nmat", doc="metallic coefficient")
    mat_roughness: jax.Array = array("nmat", doc="roughness coefficient")
    mat_rgba: jax.Array = array("nmat", 4, doc="colour")
    mesh_vert: jax.Array = array("nmeshvert", 3, unit="m", doc="vertices in the mesh frame")
    mesh_normal: jax.Array = array("nmeshnormal", 3, doc="normals in the mesh frame")
    mesh_texcoord: jax.Array = array("nmeshtexcoord", 2, doc="texture coordinates")
    mesh_box: jax.Array = array(
        "nmeshbox", 6, unit="m", doc="bounding boxes of triangles: least and greatest coordinates"
    )
    mesh_nodeball: jax.Array = array(
        "nmeshnode", 4, unit="m", doc="spheres around boxes of triangles: centre and radius"
    )
    oct_aabb: jax.Array = array("noct", 6, unit="m", doc="cell of an octree: centre, half sizes")
    oct_coeff: jax.Array = array(
        "noct", 8, unit="m", doc="signed distances at the corners of a cell, x fastest"
    )
    mesh_polynormal: jax.Array = array("nmeshpoly", 3, doc="unit normals of the hulls' polygons")
    mesh_scale: jax.Array = array("nmesh", 3, doc="scale that was applied to the vertices")
    mesh_pos: jax.Array = array(
        "nmesh", 3, unit="m", doc="where the mesh frame was in the asset, after scaling"
    )
    mesh_quat: jax.Array = array("nmesh", 4, doc="how the mesh frame was turned in the asset")
    hfield_size: jax.Array = array(
        "nhfield", 4, unit="m", doc="half sizes in x and y, height of the highest point, base"
    )
    hfield_data: jax.Array = array("nhfielddata", doc="elevations from 0 to 1, rows along x")
    skin_rgba: jax.Array = array("nskin", 4, doc="colour without a material")
    skin_inflate: jax.Array = array("nskin", unit="m", doc="how far vertices move outward")
    skin_vert: jax.Array = array("nskinvert", 3, unit="m", doc="vertices")
    skin_texcoord: jax.Array = array("nskintexvert", 2, doc="texture coordinates")
    skin_bonebindpos: jax.Array = array("nskinbone", 3, unit="m", doc="position when bound")
    skin_bonebindquat: jax.Array = array("nskinbone", 4, doc="orientation when bound")
    skin_bonevertweight: jax.Array = array(
        "nskinbonevert", doc="share of a bone in the motion of its vertices"
    )
    pair_solref: jax.Array = array("npair", 2, doc="contact reference")
    pair_solreffriction: jax.Array = array(
        "npair", 2, doc="contact reference of the friction dimensions"
    )
    pair_solimp: jax.Array = array("npair", 5, doc="contact impedance")
    pair_margin: jax.Array = array("npair", unit="m", doc="distance at which contacts are detected")
    pair_gap: jax.Array = array(
        "npair", unit="m", doc="part of the margin in which contacts exert no force"
    )
    pair_friction: jax.Array = array(
        "npair", 5, doc="two sliding, torsional, two rolling coefficients"
    )
    actuator_dynprm: jax.Array = array("nu", 10, doc="dynamics parameters")
    actuator_gainprm: jax.Array = array("nu", 10, doc="gain parameters")
    actuator_biasprm: jax.Array = array("nu", 10, doc="bias parameters")
    actuator_ctrlrange: jax.Array = array("nu", 2, doc="range of controls")
    actuator_forcerange: jax.Array = array("nu", 2, unit="N or N m", doc="range of forces")
    actuator_actrange: jax.Array = array("nu", 2, doc="range of activations")
    actuator_gear: jax.Array = array("nu", 6, doc="scale of length and transmitted force")
    actuator_cranklength: jax.Array = array("nu", unit="m", doc="crank length of a slider-crank")
    actuator_acc0: jax.Array = array("nu", doc="acceleration from unit force at qpos0")
    actuator_length0: jax.Array = array("nu", doc="length at qpos0")
    actuator_lengthrange: jax.Array = array("nu", 2, doc="feasible range of lengths")
    actuator_delay: jax.Array = array("nu", unit="s", doc="delay of the control")
    actuator_user: jax.Array = array("nu", "nuser_actuator", doc="user data")
    eq_solref: jax.Array = array("neq", 2, doc="reference")
    eq_solimp: jax.Array = array("neq", 5, doc="impedance")
    eq_data: jax.Array = array("neq", 11, doc="anchors, relative pose, or polynomial, by type")
    tendon_solref_lim: jax.Array = array("ntendon", 2, doc="limit reference")
    tendon_solimp_lim: jax.Array = array("ntendon", 5, doc="limit impedance")
    tendon_solref_fri: jax.Array = array("ntendon", 2, doc="friction-loss reference")
    tendon_solimp_fri: jax.Array = array("ntendon", 5, doc="friction-loss impedance")
    tendon_range: jax.Array = array("ntendon", 2, unit="m", doc="limits of the length")
    tendon_actfrcrange: jax.Array = array(
        "ntendon", 2, unit="N", doc="range of the total actuator force"
    )
    tendon_margin: jax.Array = array(
        "ntendon", unit="m", doc="distance at which a limit becomes active"
    )
    tendon_stiffness: jax.Array = array("ntendon", unit="N/m", doc="spring stiffness")
    tendon_damping: jax.Array = array("ntendon", unit="N s/m", doc="damping")
    tendon_armature: jax.Array = array("ntendon", unit="kg", doc="inertia of the tendon")
    tendon_frictionloss: jax.Array = array("ntendon", unit="N", doc="dry friction")
    tendon_lengthspring: jax.Array = array(
        "ntendon", 2, unit="m", doc="lengths between which the spring is slack"
    )
    tendon_length0: jax.Array = array("ntendon", unit="m", doc="length at qpos0")
    tendon_invweight0: jax.Array = array("ntendon", unit="1/kg", doc="inverse weight at qpos0")
    tendon_user: jax.Array = array("ntendon", "nuser_tendon", doc="user data")
    tendon_width: jax.Array = array("ntendon", unit="m", doc="width in pictures")
    tendon_rgba: jax.Array = array("ntendon", 4, doc="colour")
    wrap_prm: jax.Array = array("nwrap", doc="coefficient, divisor or side site, by type")
    sensor_cutoff: jax.Array = array("nsensor", doc="largest reading; 0 for no limit")
    sensor_noise: jax.Array = array("nsensor", doc="noise level; never applied, as in MuJoCo")
    sensor_delay: jax.Array = array("nsensor", unit="s", doc="delay of the reading")
    sensor_interval: jax.Array = array("nsensor", 2, unit="s", doc="period and phase")
    sensor_user: jax.Array = array("nsensor", "nuser_sensor", doc="user data")
    numeric_data: jax.Array = array("nnumericdata", doc="custom numeric data")
    tuple_objprm: jax.Array = array("ntupledata", doc="custom tuple parameters")
    key_time: jax.Array = array("nkey", unit="s", doc="keyframe time")
    key_qpos: jax.Array = array("nkey", "nq", doc="keyframe positions")
    key_qvel: jax.Array = array("nkey", "nv", doc="keyframe velocities")
    key_act: jax.Array = array("nkey", "na", doc="keyframe activations")
    key_mpos: jax.Array = array("nkey", "nmocap*3", unit="m", doc="keyframe mocap positions")
    key_mquat: jax.Array = array("nkey", "nmocap*4", doc="keyframe mocap orientations")
    key_ctrl: jax.Array = array("nkey", "nu", doc="keyframe controls")

    @classmethod
    def from_xml_path(
        cls,
        path: str | os.PathLike[str],
        *,
        directories: Iterable[str | os.PathLike[str]] = (),
        limits: Limits | None = None,
    ) -> "Model":
        """Loads an MJCF or URDF file.

        Files are not trusted. A file may refer only to files in its own folder, in the folders that
        enclose it (except the root, the home and the temporary folder), and in `directories`, and
        it may ask for no more than `limits` allows. Textures are read when they are drawn.

        Raises:
            MjcfError: the file is missing, is not XML, or is not a valid model.
            UnsupportedFeature: the file uses something that mjjax cannot compile. `make_data`
                refuses features that are compiled but not simulated.
        """
        return work("Model of a Spec")(work("Spec.from_file")(path, directories, limits))

    @classmethod
    def from_xml_string(
        cls,
        xml: str | bytes,
        assets: Mapping[str, bytes] | None = None,
        *,
        directories: Iterable[str | os.PathLike[str]] = (),
        limits: Limits | None = None,
    ) -> "Model":
        """Loads MJCF from a string, like `from_xml_path`; `assets` maps file names to contents."""
        spec = work("Spec.from_string")(xml, assets, directories=directories, limits=limits)
        return work("Model of a Spec")(spec)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the compiled model to a file, in the model's own precision.

        If writing fails, an existing file is left unchanged. `Model.load` is faster than reading
        the XML, and does not need the files that the XML refers to.
        """
        work("Model.save")(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Model":
        """Reads a model that `save` wrote, in JAX's default precision.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is truncated or damaged, is not a model, or was written by another
                version of mjjax.
        """
        return work("Model.load")(path)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes."""
        return work("Model.to_bytes")(self)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Model":
        """The model from the bytes that `to_bytes` returned; raises what `load` raises."""
        return work("Model.from_bytes")(content)

    def replace(self, **changes: Any) -> "Model":
        """This model with some fields changed.

        A value is converted to the type of its field, and a single number fills the whole field. A
        term is left out of the program while its coefficients are zero (see `terms`), and comes in
        when a coefficient becomes nonzero or is traced. Only then do new numbers need a new
        compilation. Derived constants (`dof_M0`, `body_invweight0`, ...) are not updated.

        Raises:
            TypeError: there is no such field, it is static, or the value is not an array of
                numbers.
            ValueError: a mass or a moment of inertia is negative.
        """
        new = self._replaced(changes)
        abstract = isinstance(vars(self).get("body_mass"), jax.ShapeDtypeStruct)
        if "structure" in changes or abstract or not self._of_arrays():
            return new
        for name in NOT_NEGATIVE:
            if name in changes:
                require_no_negative(new, name)
        return new._widened(switched(new, self))

    def __repr__(self) -> str:
        return model_text(self)

    @property
    def terms(self) -> Mapping[str, np.ndarray]:
        """For each optional term, by name, which of its entries are in the program.

        The optional terms cost constraint rows or passes: `dof_frictionloss`,
        `tendon_frictionloss`, `tendon_armature`, `negative_damping`, `body_gravcomp`, `fluid`,
        `geom_fluid` and `sensor_delay`. If a term is off, its coefficients must be zero, or not
        negative for `negative_damping`; otherwise `AbsentTerm` is raised. In a traced model they
        are not checked. First derivatives with respect to these coefficients exist even so.
        """
        return self.structure.terms

    def with_terms(self, *names: str) -> "Model":
        """This model with all entries of some terms in the program; `"all"` means every term.

        Ask for a term if you change its coefficients other than by `replace`, for instance by
        `jax.tree.map` or an optimizer's update, or if you need second derivatives that mix a zero
        coefficient with the state. The results are the same, but the program does more work.

        Raises:
            ValueError: there is no such term.
        """
        unknown = set(names) - set(TERMS) - {"all"}
        if unknown:
            raise ValueError(f"no term {sorted(unknown)}; there are {', '.join(TERMS)}, and all")
        chosen = TERMS if "all" in names else names
        return self._widened({name: np.ones_like(self.terms[name]) for name in chosen})

    def _widened(self, terms: Mapping[str, np.ndarray]) -> "Model":
        structure = self.structure.widened(terms)
        if structure is self.structure:
            return self
        return self._replaced({"structure": structure})

    def _of_arrays(self) -> bool:
        return hasattr(vars(self).get("body_mass"), "dtype")

    def _sizes(self) -> Mapping[str, int]:
        return self.structure.sizes

    def _rebuilt(self) -> "Model":
        were_marks = self.structure._is_for_marks
        new = with_structure_of_leaves(self, "body_mass")
        # A tree of marks does not know the terms of the arrays that take the places of the marks.
        return new._widened(switched(new, None)) if were_marks and new._of_arrays() else new

    def _hint(self, name: str) -> str:
        return super()._hint(name) or unknown_field(self, name)
