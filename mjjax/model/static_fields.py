"""Sizes, integers and booleans of a model: one table, for `Structure` and the type checker."""

from typing import Any

import numpy as np

from mjjax.core.struct import FieldSpec, Size


class _Static:
    """Declaration of one static field.

    A structure has an attribute of that name, which Python finds first. A `Model` has none, so this
    looks it up in the model's structure.
    """

    def __init__(self, shape: tuple[Size, ...], dtype: type, doc: str):
        self.shape, self.dtype, self.doc = shape, dtype, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.__doc__ = self.doc

    def __get__(self, owner: Any, cls: type) -> Any:
        if owner is None:
            return self
        if "structure" not in vars(owner):
            if self.name in vars(owner).get("arrays", ()):  # pixels, which are not kept
                pixels = np.asarray(owner.arrays[self.name])
                pixels.setflags(write=False)
                return pixels
            raise AttributeError(f"this structure was made without {self.name}")
        return getattr(owner.structure, self.name)


def size(doc: str) -> Any:
    """Declares an int that counts things."""
    return _Static((), int, doc)


def table(*shape: Size, dtype: type = int, doc: str) -> Any:
    """Declares an array of integers or booleans."""
    return _Static(shape, dtype, doc)


class StaticFields:
    """The static fields of a model (`mjModel`), read-only numpy arrays and ints.

    Dimensions that are not sizes of the model (`ntextdata`, `ntupledata`) may have any length.
    """

    nq: int = size("joint positions, `qpos`")
    nv: int = size("degrees of freedom (dofs), `qvel`")
    nu: int = size("actuators, `ctrl`")
    na: int = size("activation states, `act`")
    nbody: int = size("bodies, the world included")
    njnt: int = size("joints")
    ntree: int = size("kinematic trees")
    ngeom: int = size("geoms")
    nsite: int = size("sites")
    ncam: int = size("cameras")
    nlight: int = size("lights")
    nmat: int = size("materials")
    ntex: int = size("textures")
    ntexdata: int = size("bytes of the pixels of all textures")
    nmesh: int = size("meshes")
    nmeshvert: int = size("vertices of all meshes")
    nmeshnormal: int = size("normals of all meshes")
    nmeshtexcoord: int = size("texture coordinates of all meshes")
    nmeshface: int = size("triangles of all meshes")
    nmeshhull: int = size("integers in `mesh_hull`")
    nmeshbox: int = size("bounding boxes over the triangles of all meshes")
    nmeshnode: int = size("boxes of all trees that signed distance fields are tried against")
    noct: int = size("cells of all octrees")
    nmeshpoly: int = size("polygons of all hulls")
    nmeshpolyvert: int = size("vertices of all polygons")
    nmeshpolymap: int = size("integers in `mesh_polymap`")
    nskin: int = size("skins")
    nskinvert: int = size("vertices of all skins")
    nskintexvert: int = size("texture coordinates of all skins")
    nskinface: int = size("triangles of all skins")
    nskinbone: int = size("bones of all skins")
    nskinbonevert: int = size("vertices of all bones")
    nhfield: int = size("height fields")
    nhfielddata: int = size("elevations of all height fields")
    npair: int = size("explicit pairs of geoms")
    nexclude: int = size("excluded pairs of bodies")
    neq: int = size("equality constraints")
    ntendon: int = size("tendons")
    nwrap: int = size("objects on the paths of all tendons")
    nsensor: int = size("sensors")
    nsensordata: int = size("numbers in `sensordata`")
    nnumeric: int = size("custom numeric fields")
    ntext: int = size("custom text fields")
    ntuple: int = size("custom tuples")
    nkey: int = size("keyframes")
    nmocap: int = size("mocap bodies")
    nuser_body: int = size("numbers of user data per body")
    nuser_jnt: int = size("numbers of user data per joint")
    nuser_geom: int = size("numbers of user data per geom")
    nuser_site: int = size("numbers of user data per site")
    nuser_cam: int = size("numbers of user data per camera")
    nuser_tendon: int = size("numbers of user data per tendon")
    nuser_actuator: int = size("numbers of user data per actuator")
    nuser_sensor: int = size("numbers of user data per sensor")
    nuserdata: int = size("numbers in `userdata`")
    nhistory: int = size("numbers in `history`")
    # body
    body_parentid: np.ndarray = table("nbody", doc="parent; the world is its own")
    body_rootid: np.ndarray = table("nbody", doc="ancestor that is a child of the world")
    body_weldid: np.ndarray = table("nbody", doc="topmost ancestor to which no dof leads")
    body_mocapid: np.ndarray = table("nbody", doc="mocap slot, -1: none")
    body_jntnum: np.ndarray = table("nbody", doc="number of joints")
    body_jntadr: np.ndarray = table("nbody", doc="first joint, -1: none")
    body_dofnum: np.ndarray = table("nbody", doc="number of dofs")
    body_dofadr: np.ndarray = table("nbody", doc="first dof, -1: none")
    body_treeid: np.ndarray = table("nbody", doc="kinematic tree, -1: static")
    body_geomnum: np.ndarray = table("nbody", doc="number of geoms")
    body_geomadr: np.ndarray = table("nbody", doc="first geom, -1: none")
    body_simple: np.ndarray = table("nbody", doc="1: diagonal inertia, 2: slides only, 0: neither")
    body_contype: np.ndarray = table("nbody", doc="union of its geoms' bits")
    body_conaffinity: np.ndarray = table("nbody", doc="union of its geoms' bits")
    # jnt
    jnt_type: np.ndarray = table("njnt", doc="`JointType`")
    jnt_qposadr: np.ndarray = table("njnt", doc="first entry in `qpos`")
    jnt_dofadr: np.ndarray = table("njnt", doc="first dof")
    jnt_bodyid: np.ndarray = table("njnt", doc="body")
    jnt_group: np.ndarray = table("njnt", doc="group in pictures")
    jnt_limited: np.ndarray = table("njnt", dtype=bool, doc="has limits")
    jnt_actfrclimited: np.ndarray = table(
        "njnt", dtype=bool, doc="its total actuator force has limits"
    )
    jnt_actgravcomp: np.ndarray = table(
        "njnt", dtype=bool, doc="gravity compensation counts as actuator force"
    )
    # dof
    dof_bodyid: np.ndarray = table("nv", doc="body")
    dof_jntid: np.ndarray = table("nv", doc="joint")
    dof_parentid: np.ndarray = table("nv", doc="dof before it on the way from the root, -1: none")
    dof_treeid: np.ndarray = table("nv", doc="kinematic tree")
    # tree
    tree_bodyadr: np.ndarray = table("ntree", doc="first body")
    tree_bodynum: np.ndarray = table("ntree", doc="number of bodies")
    tree_dofadr: np.ndarray = table("ntree", doc="first dof")
    tree_dofnum: np.ndarray = table("ntree", doc="number of dofs")
    tree_sleep_policy: np.ndarray = table("ntree", doc="`SleepPolicy`")
    # geom
    geom_type: np.ndarray = table("ngeom", doc="`GeomType`")
    geom_contype: np.ndarray = table("ngeom", doc="bits that must meet the other's `conaffinity`")
    geom_conaffinity: np.ndarray = table("ngeom", doc="bits that must meet the other's `contype`")
    geom_condim: np.ndarray = table("ngeom", doc="contact dimensions: 1, 3, 4 or 6")
    geom_bodyid: np.ndarray = table("ngeom", doc="body")
    geom_dataid: np.ndarray = table("ngeom", doc="mesh or height field, -1: none")
    geom_matid: np.ndarray = table("ngeom", doc="material, -1: none")
    geom_group: np.ndarray = table("ngeom", doc="group in pictures")
    geom_priority: np.ndarray = table("ngeom", doc="the higher one decides contact parameters")
    # site
    site_type: np.ndarray = table("nsite", doc="`GeomType`")
    site_bodyid: np.ndarray = table("nsite", doc="body")
    site_matid: np.ndarray = table("nsite", doc="material, -1: none")
    site_group: np.ndarray = table("nsite", doc="group in pictures")
    # cam
    cam_mode: np.ndarray = table("ncam", doc="`CamLightType`")
    cam_bodyid: np.ndarray = table("ncam", doc="body")
    cam_targetbodyid: np.ndarray = table("ncam", doc="body to look at, -1: none")
    cam_projection: np.ndarray = table("ncam", doc="0: perspective, 1: orthographic")
    cam_resolution: np.ndarray = table("ncam", 2, doc="width, height in pixels")
    cam_output: np.ndarray = table("ncam", doc="bits of the kinds of pictures")
    # light
    light_mode: np.ndarray = table("nlight", doc="`CamLightType`")
    light_bodyid: np.ndarray = table("nlight", doc="body")
    light_targetbodyid: np.ndarray = table("nlight", doc="body to shine on, -1: none")
    light_type: np.ndarray = table("nlight", doc="spot, directional, point or image")
    light_texid: np.ndarray = table("nlight", doc="texture of image lights, -1: none")
    light_castshadow: np.ndarray = table("nlight", dtype=bool, doc="casts shadows")
    light_active: np.ndarray = table("nlight", dtype=bool, doc="is on")
    # tex
    tex_type: np.ndarray = table("ntex", doc="`TextureType`")
    tex_height: np.ndarray = table("ntex", doc="rows of pixels, of cubes all faces; 0: not read")
    tex_width: np.ndarray = table("ntex", doc="columns of pixels")
    tex_nchannel: np.ndarray = table("ntex", doc="bytes per pixel")
    tex_adr: np.ndarray = table("ntex", doc="first byte in `tex_data`")
    tex_data: np.ndarray = table("ntexdata", doc="pixels, uint8, rows from the top")
    # mat
    mat_texid: np.ndarray = table("nmat", 10, doc="texture by role, -1: none")
    mat_texuniform: np.ndarray = table(
        "nmat", dtype=bool, doc="cube textures keep their proportions"
    )
    # mesh
    mesh_vertadr: np.ndarray = table("nmesh", doc="first vertex")
    mesh_vertnum: np.ndarray = table("nmesh", doc="number of vertices")
    mesh_normaladr: np.ndarray = table("nmesh", doc="first normal")
    mesh_normalnum: np.ndarray = table("nmesh", doc="number of normals")
    mesh_texcoordadr: np.ndarray = table("nmesh", doc="first texture coordinate, -1: none")
    mesh_texcoordnum: np.ndarray = table("nmesh", doc="number of texture coordinates")
    mesh_faceadr: np.ndarray = table("nmesh", doc="first triangle")
    mesh_facenum: np.ndarray = table("nmesh", doc="number of triangles")
    mesh_hulladr: np.ndarray = table("nmesh", doc="first integer in `mesh_hull`, -1: none")
    mesh_face: np.ndarray = table("nmeshface", 3, doc="vertices of a triangle")
    mesh_facenormal: np.ndarray = table("nmeshface", 3, doc="normals of a triangle")
    mesh_facetexcoord: np.ndarray = table("nmeshface", 3, doc="texture coordinates of a triangle")
    mesh_hull: np.ndarray = table(
        "nmeshhull", doc="convex hulls, in the layout of MuJoCo's `mesh_graph`"
    )
    mesh_boxadr: np.ndarray = table("nmesh", doc="first bounding box, the root's")
    mesh_boxnum: np.ndarray = table("nmesh", doc="number of bounding boxes")
    mesh_boxskip: np.ndarray = table("nmeshbox", doc="next box if a search leaves this box out")
    mesh_boxface: np.ndarray = table("nmeshbox", 4, doc="triangles of a leaf, -1 in inner boxes")
    mesh_nodeadr: np.ndarray = table("nmesh", doc="first box to try against a distance field")
    mesh_nodenum: np.ndarray = table("nmesh", doc="number of these boxes, in MuJoCo's order")
    mesh_nodeskip: np.ndarray = table("nmeshnode", doc="next box if a search leaves this box out")
    mesh_nodeface: np.ndarray = table("nmeshnode", doc="triangle of a leaf, -1 in inner boxes")
    mesh_octadr: np.ndarray = table("nmesh", doc="first cell of the octree, the root; -1: none")
    mesh_octnum: np.ndarray = table("nmesh", doc="number of cells")
    oct_depth: np.ndarray = table("noct", doc="depth of a cell, 0 for the root")
    oct_child: np.ndarray = table("noct", 8, doc="cells in the octants, by mesh; -1 in leaves")
    mesh_polynum: np.ndarray = table("nmesh", doc="number of polygons of the hull")
    mesh_polyadr: np.ndarray = table("nmesh", doc="first polygon")
    mesh_polyvertadr: np.ndarray = table("nmeshpoly", doc="first vertex of a polygon")
    mesh_polyvertnum: np.ndarray = table("nmeshpoly", doc="number of vertices of a polygon")
    mesh_polyvert: np.ndarray = table("nmeshpolyvert", doc="vertices of the polygons, by mesh")
    mesh_polymapadr: np.ndarray = table(
        "nmeshvert", doc="first entry of a vertex in `mesh_polymap`"
    )
    mesh_polymapnum: np.ndarray = table("nmeshvert", doc="number of polygons around a vertex")
    mesh_polymap: np.ndarray = table("nmeshpolymap", doc="polygons around the vertices, by mesh")
    # skin
    skin_matid: np.ndarray = table("nskin", doc="material, -1: none")
    skin_group: np.ndarray = table("nskin", doc="group for visibility")
    skin_vertadr: np.ndarray = table("nskin", doc="first vertex")
    skin_vertnum: np.ndarray = table("nskin", doc="number of vertices")
    skin_texcoordadr: np.ndarray = table("nskin", doc="first texture coordinate, -1: none")
    skin_faceadr: np.ndarray = table("nskin", doc="first triangle")
    skin_facenum: np.ndarray = table("nskin", doc="number of triangles")
    skin_boneadr: np.ndarray = table("nskin", doc="first bone")
    skin_bonenum: np.ndarray = table("nskin", doc="number of bones")
    skin_face: np.ndarray = table("nskinface", 3, doc="vertices of a triangle")
    skin_bonebodyid: np.ndarray = table("nskinbone", doc="body that a bone moves with")
    skin_bonevertadr: np.ndarray = table("nskinbone", doc="first vertex of a bone")
    skin_bonevertnum: np.ndarray = table("nskinbone", doc="number of vertices of a bone")
    skin_bonevertid: np.ndarray = table("nskinbonevert", doc="vertex that a bone moves")
    # hfield
    hfield_nrow: np.ndarray = table("nhfield", doc="rows, each along x")
    hfield_ncol: np.ndarray = table("nhfield", doc="columns, each along y")
    hfield_adr: np.ndarray = table("nhfield", doc="first entry in `hfield_data`")
    # pair
    pair_signature: np.ndarray = table("npair", doc="(body1 << 16) + body2")
    pair_geom1: np.ndarray = table("npair", doc="first geom")
    pair_geom2: np.ndarray = table("npair", doc="second geom")
    pair_dim: np.ndarray = table("npair", doc="contact dimensions")
    # exclude
    exclude_signature: np.ndarray = table("nexclude", doc="(body1 << 16) + body2")
    # eq
    eq_type: np.ndarray = table("neq", doc="`EqType`")
    eq_objtype: np.ndarray = table("neq", doc="`ObjType` of both objects")
    eq_obj1id: np.ndarray = table("neq", doc="first object")
    eq_obj2id: np.ndarray = table("neq", doc="second object, -1: none")
    eq_active0: np.ndarray = table("neq", dtype=bool, doc="is on at the start")
    # tendon
    tendon_adr: np.ndarray = table("ntendon", doc="first object of the path")
    tendon_num: np.ndarray = table("ntendon", doc="number of objects on the path")
    tendon_matid: np.ndarray = table("ntendon", doc="material, -1: none")
    tendon_group: np.ndarray = table("ntendon", doc="group in pictures")
    tendon_limited: np.ndarray = table("ntendon", dtype=bool, doc="has limits")
    tendon_actfrclimited: np.ndarray = table(
        "ntendon", dtype=bool, doc="its total actuator force has limits"
    )
    tendon_treenum: np.ndarray = table("ntendon", doc="number of trees that it connects")
    tendon_treeid: np.ndarray = table("ntendon", 2, doc="the first two of them, -1: none")
    # wrap
    wrap_type: np.ndarray = table("nwrap", doc="`WrapType`")
    wrap_objid: np.ndarray = table("nwrap", doc="joint, site or geom, by type; -1: none")
    wrap_sideid: np.ndarray = table("nwrap", doc="side site, -1: none; the integer in `wrap_prm`")
    # actuator
    actuator_trntype: np.ndarray = table("nu", doc="`TrnType`")
    actuator_trnid: np.ndarray = table(
        "nu", 2, doc="joint, tendon, site or body, by type; -1: none"
    )
    actuator_dyntype: np.ndarray = table("nu", doc="`DynType`")
    actuator_gaintype: np.ndarray = table("nu", doc="`GainType`")
    actuator_biastype: np.ndarray = table("nu", doc="`BiasType`")
    actuator_actadr: np.ndarray = table("nu", doc="first entry in `act`, -1: stateless")
    actuator_actnum: np.ndarray = table("nu", doc="number of activation states")
    actuator_group: np.ndarray = table("nu", doc="group that `disableactuator` switches off")
    actuator_history: np.ndarray = table("nu", 2, doc="samples, interpolation")
    actuator_historyadr: np.ndarray = table("nu", doc="first entry in `history`, -1: none")
    actuator_plugin: np.ndarray = table("nu", doc="always -1")
    actuator_ctrllimited: np.ndarray = table("nu", dtype=bool, doc="the control has limits")
    actuator_forcelimited: np.ndarray = table("nu", dtype=bool, doc="the force has limits")
    actuator_actlimited: np.ndarray = table("nu", dtype=bool, doc="the activation has limits")
    actuator_actearly: np.ndarray = table(
        "nu", dtype=bool, doc="the force uses the next activation"
    )
    # sensor
    sensor_type: np.ndarray = table("nsensor", doc="`SensorType`")
    sensor_datatype: np.ndarray = table("nsensor", doc="`DataType`")
    sensor_needstage: np.ndarray = table("nsensor", doc="`Stage`")
    sensor_objtype: np.ndarray = table("nsensor", doc="`ObjType` of the measured object")
    sensor_objid: np.ndarray = table("nsensor", doc="the measured object")
    sensor_reftype: np.ndarray = table("nsensor", doc="`ObjType` of the reference frame")
    sensor_refid: np.ndarray = table("nsensor", doc="reference frame, -1: world")
    sensor_intprm: np.ndarray = table("nsensor", 3, doc="parameters by type")
    sensor_dim: np.ndarray = table("nsensor", doc="number of readings")
    sensor_adr: np.ndarray = table("nsensor", doc="first entry in `sensordata`")
    sensor_history: np.ndarray = table("nsensor", 2, doc="samples, interpolation")
    sensor_historyadr: np.ndarray = table("nsensor", doc="first entry in `history`, -1: none")
    sensor_plugin: np.ndarray = table("nsensor", doc="always -1")
    # numeric
    numeric_adr: np.ndarray = table("nnumeric", doc="first entry in `numeric_data`")
    numeric_size: np.ndarray = table("nnumeric", doc="number of entries")
    # text
    text_data: np.ndarray = table("ntextdata", doc="zero-terminated texts, UTF-8")
    text_adr: np.ndarray = table("ntext", doc="first entry in `text_data`")
    text_size: np.ndarray = table("ntext", doc="number of entries")
    # tuple
    tuple_adr: np.ndarray = table("ntuple", doc="first entry in `tuple_objid`")
    tuple_size: np.ndarray = table("ntuple", doc="number of entries")
    tuple_objtype: np.ndarray = table("ntupledata", doc="`ObjType` of a member")
    tuple_objid: np.ndarray = table("ntupledata", doc="member")


_DECLARED = {n: d for n, d in vars(StaticFields).items() if isinstance(d, _Static)}
SIZES = tuple(n for n, d in _DECLARED.items() if not d.shape)
TABLES = {n: FieldSpec(n, d.shape, d.dtype, "", d.doc) for n, d in _DECLARED.items() if d.shape}
