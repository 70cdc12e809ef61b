"""Access by name has MuJoCo's kinds, fields and values; mistakes are told."""

import copy
import pickle

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.core.representation import LIMIT
from mjjax.core.struct import specs
from mjjax.model.view import ABSENT, KINDS, NamedInModel, methods, view_fields
from tests.oracle_tools import Both, load

XML = """
<mujoco model="all kinds">
  <size nuser_body="1" nuser_jnt="2" nuser_geom="1" nuser_site="3" nuser_cam="1" nuser_tendon="1"
    nuser_actuator="2" nuser_sensor="1"/>
  <asset>
    <texture name="chess" type="2d" builtin="checker" width="4" height="2"/>
    <texture name="sky" type="cube" builtin="gradient" width="2" height="12"/>
    <material name="board" texture="chess" rgba=".1 .2 .3 1" shininess=".3"/>
    <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <mesh name="stick" vertex="0 0 0 .1 0 0 0 .1 0 0 0 2 .1 .1 .1" texcoord="0 0 1 0 0 1 1 1 0 0"/>
    <hfield name="hills" nrow="2" ncol="3" size="1 1 .1 .1" elevation="0 1 2 3 4 5"/>
    <hfield name="flat" nrow="3" ncol="2" size="2 1 .1 .1"/>
  </asset>
  <custom>
    <numeric name="three" data="1 2 3"/><numeric name="one" data="7"/>
    <text name="words" data="two words"/>
    <tuple name="first"><element objtype="body" objname="free" prm="2"/></tuple>
    <tuple name="second"><element objtype="geom" objname="ball"/>
      <element objtype="site" objname="s1"/></tuple>
  </custom>
  <deformable>
    <skin name="cloth" vertex="0 0 0 1 0 0 0 1 0" texcoord="0 0 1 0 0 1" face="0 1 2">
      <bone body="free" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1" vertweight="1 1"/>
      <bone body="arm" bindpos="1 0 0" bindquat="1 0 0 0" vertid="2" vertweight="1"/></skin>
    <skin name="patch" vertex="0 0 0 1 0 0 0 1 0 1 1 1" face="0 1 2 1 2 3" inflate=".1">
      <bone body="arm" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2 3"
        vertweight="1 1 1 1"/></skin>
  </deformable>
  <worldbody>
    <light name="lamp" pos="0 0 3" dir="0 1 -1" diffuse=".5 .6 .7"/>
    <camera name="far" pos="0 -3 1" fovy="30" user="5"/>
    <geom name="ground" type="plane" size="3 3 .1" material="board"/>
    <geom name="land" type="hfield" hfield="hills" pos="9 0 0"/>
    <body name="puppet" mocap="true" pos="0 0 5"><geom name="mark" size=".1"/></body>
    <body name="free" pos="0 0 1" user="4"><freejoint name="root"/>
      <geom name="ball" size=".1" user="8"/><site name="s0"/><light name="torch"/>
      <body name="arm" pos=".3 0 0"><joint name="round" type="ball" damping=".2"/>
        <geom name="lump" type="mesh" mesh="wedge"/><site name="s1" pos=".1 .2 .3" user="1 2 3"/>
        <body name="hand" pos=".3 0 0"><camera name="near" pos="0 0 1"/>
          <joint name="wrist" axis="0 1 0" range="-1 1" armature=".1" user="3 4"/>
          <joint name="slide" type="slide" stiffness="2" springref=".1"/>
          <geom name="tip" type="box" size=".1 .1 .2"/></body></body></body>
  </worldbody>
  <tendon>
    <fixed name="both" user="6"><joint joint="wrist" coef="1"/>
      <joint joint="slide" coef="-2"/></fixed>
    <spatial name="string" width=".01"><site site="s0"/><site site="s1"/></spatial>
  </tendon>
  <equality>
    <joint name="same" joint1="wrist" joint2="slide"/>
    <weld name="held" body1="puppet" body2="hand" active="false"/>
  </equality>
  <contact><pair name="meet" geom1="ball" geom2="tip" margin=".1"/>
    <exclude name="apart" body1="free" body2="arm"/></contact>
  <actuator>
    <motor name="pull" joint="wrist" gear="3" user="1 2"/>
    <general name="slow" tendon="string" dyntype="filter" dynprm=".1"/>
    <position name="hold" joint="slide" kp="5"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="wrist" user="9"/>
    <framepos name="place" objtype="site" objname="s1"/>
    <framequat name="turn" objtype="body" objname="hand"/><gyro name="spin" site="s0" noise=".1"/>
  </sensor>
  <keyframe><key name="up" time="2" ctrl="1 2 3"/><key name="down" mpos="1 2 3"/></keyframe>
</mujoco>
"""
# MuJoCo has what is cut from other rows (`cdof`), and one body for each dof (`bodyid`).
OTHERWISE = {("joint", "cdof"), ("joint", "cdof_dot"), ("joint", "bodyid")}


def moving(both: Both) -> tuple[mujoco.MjData, mjjax.Data]:
    """A state with everything computed, and ours with the same numbers in all fields."""
    d = mujoco.MjData(both.reference)
    d.qpos[:] += np.linspace(0.1, 0.3, both.reference.nq)
    d.qvel[:], d.ctrl[:] = np.linspace(1, 2, both.reference.nv), 0.5
    mujoco.mj_forward(both.reference, d)
    mujoco.mj_rnePostConstraint(both.reference, d)
    mujoco.mj_subtreeVel(both.reference, d)
    data = mjjax.make_data(both.ours)
    same = {}
    for name, spec in specs(mjjax.Data).items():
        theirs = getattr(d, name, None)
        if isinstance(theirs, np.ndarray) and len(spec.shape) == theirs.ndim and name[:4] != "efc_":
            if "nv" not in spec.shape[1:]:
                same[name] = jnp.asarray(theirs, getattr(data, name).dtype)
    return d, data.replace(**same)


def differences(theirs: object, ours: mjjax.Model | mjjax.Data) -> list[str]:
    """Views of MuJoCo's model or data that ours does not give in the same way."""
    bad: list[str] = []
    for kind, (names, _) in methods(type(ours)).items():
        for name in names:
            count = len(ours.structure.names[kind]) if hasattr(theirs, name) else 0
            for index in range(count):
                bad += _of_view(kind, getattr(theirs, name)(index), getattr(ours, name)(index))
    return bad


def _of_view(kind: str, theirs: object, ours: object) -> list[str]:
    bad = []
    for field in dir(theirs):
        if field.startswith("_") or field in ABSENT or (kind, field) in OTHERWISE:
            continue
        if field == "crb" and theirs.name == "world":  # type: ignore[attr-defined]
            continue  # MuJoCo leaves it empty
        want = np.asarray(getattr(theirs, field))
        try:
            got = np.asarray(getattr(ours, field))
        except AttributeError as error:
            bad.append(f"{kind}.{field}: {error}")
            continue
        equal = np.array_equal if want.dtype.kind == "U" else np.allclose
        same_shape = got.shape == want.shape or (got.shape == () and want.shape == (1,))
        if not same_shape or not equal(got, want):
            bad.append(f"{kind}.{field} of {theirs.id}: {got}, not {want}")  # type: ignore[attr-defined]
    return bad


@pytest.fixture(scope="module")
def both() -> Both:
    return load(XML)


@pytest.fixture(scope="module")
def state(both: Both) -> tuple[mujoco.MjData, mjjax.Data]:
    return moving(both)


@pytest.mark.feature("D24", "A168")
def test_views_are_mujocos(both: Both, state: tuple[mujoco.MjData, mjjax.Data]) -> None:
    """All kinds, their aliases, all elements, all fields, of the model and of the data."""
    d, data = state
    assert all(both.ours.structure.names[kind] for kind in KINDS)
    assert not differences(both.reference, both.ours)
    assert not differences(d, data)
    address = both.reference.joint("round").dofadr[0]
    np.testing.assert_array_equal(data.joint("round").cdof, d.cdof[address : address + 3])
    for theirs, ours in ((mujoco.MjModel, mjjax.Model), (mujoco.MjData, mjjax.Data)):
        names = {n for n, x in vars(theirs).items() if "Views" in (getattr(x, "__doc__", "") or "")}
        assert len(names) > 9
        assert names - {"bind", "bind_scalar"} <= {
            name for found, _ in methods(ours).values() for name in found
        }


def test_what_mujoco_has_no_view_of(both: Both, state: tuple[mujoco.MjData, mjjax.Data]) -> None:
    """Views have rows of other tables, too: texts, vertices, activations, paths of tendons."""
    m, model, data = both.reference, both.ours, state[1]
    assert bytes(np.asarray(model.text("words").data, np.uint8)) == b"two words\0"
    first, count = m.mesh("stick").vertadr[0], m.mesh("stick").vertnum[0]
    np.testing.assert_allclose(model.mesh("stick").vert, m.mesh_vert[first : first + count])
    np.testing.assert_array_equal(model.mesh("wedge").face, m.mesh_face[:4])
    assert (
        model.skin("cloth").bonebindpos.shape == (2, 3) and model.skin("patch").vert.shape[0] == 4
    )
    assert data.actuator("slow").act.shape == (1,) and data.actuator("pull").act.shape == (0,)
    np.testing.assert_array_equal(model.tendon("both").wrap_prm, [1, -2])
    assert not data.equality("held").active


@pytest.mark.feature("D24")
def test_views_of_worlds_and_inside_programs(state: tuple[mujoco.MjData, mjjax.Data]) -> None:
    """Worlds stay in front; in a program a view is a slice of its field, and has its derivative."""
    data = state[1]

    def look(d: mjjax.Data) -> list[jax.Array]:
        return [d.sensor("turn").data, d.body("arm").xmat, d.geom("tip").xpos]

    worlds = jax.tree.map(lambda x: np.stack([x, x]), data)
    shapes = [x.shape for x in jax.eval_shape(look, worlds)]
    assert shapes == [(2, 4), (2, 9), (2, 3)]
    assert worlds.joint("round").qpos.shape == (2, 4)
    slope = jax.grad(lambda q: data.replace(qpos=q).joint("round").qpos.sum())(data.qpos)
    assert slope.sum() == 4
    program = jax.make_jaxpr(lambda d: d.sensor("turn").data)(data)
    sliced = jax.make_jaxpr(lambda d: d.sensordata[..., 4:8])(data)
    assert [e.primitive for e in program.eqns] == [e.primitive for e in sliced.eqns]


@pytest.mark.feature("D24")
@pytest.mark.parametrize(
    ("look", "error", "words"),
    [
        (lambda m, d: m.body("fre"), KeyError, ("no body 'fre'", "valid names: free")),
        (lambda m, d: m.sensor(""), KeyError, ("no sensor ''",)),
        (lambda m, d: d.joint(99), IndexError, ("no joint 99", "0 to 3")),
        (lambda m, d: m.geom(-1), IndexError, ("no geom -1",)),
        (lambda m, d: m.site(1.5), TypeError, ("a name or an id", "1.5")),
        (lambda m, d: jax.jit(lambda i: m.site(i).id)(1), TypeError, ("known while tracing",)),
        (lambda m, d: m.geom(0).sise, AttributeError, ("'sise'", "did you mean 'size'?")),
        (lambda m, d: d.geom(0).size, AttributeError, ("a geom of a Data has no 'size'",)),
        (lambda m, d: m.body(0).sameframe, AttributeError, ("'sameframe'", "shortcut", "pos")),
        (lambda m, d: d.tendon(0).wrapadr, AttributeError, ("not kept", "length, J, velocity")),
        (lambda m, d: setattr(m.body(1), "mass", 2), AttributeError, ("replace(body_mass=",)),
    ],
)
def test_what_is_wrong_is_said(both: Both, state, look, error, words: tuple[str, ...]) -> None:
    """Mistakes are told in a short sentence; negative ids never count from the end."""
    with pytest.raises(error) as raised:
        look(both.ours, state[1])
    text = str(raised.value)
    assert len(text) < 200 and all(word in text for word in words), text


def test_a_thousand_names_are_not_listed() -> None:
    """Errors list only the nearest names, however many and long names are."""
    bodies = "".join(f"<body name='limb_{i}_{'x' * (i % 90)}'/>" for i in range(1000))
    model = mjjax.Model.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    with pytest.raises(KeyError) as raised:
        model.body("limb_7_xxxxxx" + "y" * 300)
    assert len(str(raised.value)) < 200 and "more" in str(raised.value)
    with pytest.raises(KeyError, match="valid names: limb_7_xxxxxxx"):
        model.body("limb_7_xxxxxx")


def test_every_field_is_found(both: Both, state: tuple[mujoco.MjData, mjjax.Data]) -> None:
    """Each array that the table of a kind counts is in its views, in their `dir` and `repr`."""
    for owner in (both.ours, state[1]):
        for kind in methods(type(owner)):
            view = getattr(owner, kind)(0)
            fields = view_fields(type(owner), kind)
            assert set(fields) <= set(dir(view))
            assert len(repr(view)) <= LIMIT + 20 and repr(view).startswith(f"{kind} 0 ")
            assert all(hasattr(view, name) for name in fields), kind
    named = {f.name for kind in KINDS for f in view_fields(mjjax.Model, kind).values()}
    owned = {n for n, s in specs(mjjax.Model).items() if s.shape and s.shape[0] in SIZES}
    assert owned <= named | {"dof_solref", "dof_solimp"}  # a joint's own are `solref`, `solimp`


SIZES = {kind.size for kind in KINDS.values()} | {"nq", "nv"}


def test_views_are_values(both: Both) -> None:
    """Views are copied and pickled together with their model or data."""
    view = both.ours.body("arm")
    for twin in (copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
        assert twin.id == view.id and repr(twin) == repr(view)
    assert issubclass(mjjax.Model, NamedInModel) and not hasattr(mjjax.Data, "mesh")
