"""URDF compared with MuJoCo, and what it refuses."""

import itertools
import struct

import numpy as np
import pytest

from mjjax import mjcf
from tests.compiler.oracle import assert_same, compiled, refusal, refused

KEEP = '<compiler fusestatic="false" discardvisual="false"/>'
BALL = '<geometry><sphere radius=".1"/></geometry>'
MASS = '<mass value="1.5"/><inertia ixx="1" iyy="1.1" izz="1.2" ixy=".1" ixz=".2" iyz=".3"/>'
NO_INERTIA = MASS.replace('"1"', '"0"').replace("1.1", "0").replace("1.2", "0").replace(".1", "0")
NO_INERTIA = NO_INERTIA.replace('".2"', '"0"').replace('".3"', '"0"')
POSE = '<origin xyz=".1 .2 .3" rpy=".4 .5 .6"/>'


def robot(content: str, extension: str = KEEP) -> str:
    """A robot."""
    return f'<robot name="r">\n<mujoco>{extension}</mujoco>\n{content}</robot>'


def link(name: str, content: str = f"<collision>{BALL}</collision>") -> str:
    """A link, with a ball if nothing else is asked for."""
    return f'<link name="{name}">{content}</link>\n'


def joint(kind: str, content: str = "", parent: str = "a", child: str = "b") -> str:
    """A joint between two links."""
    return (
        f'<joint name="{parent}{child}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{content}</joint>\n'
    )


PAIR = link("a") + link("b")
FULL = (
    f'{POSE}<axis xyz="1 2 3"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'
    '<dynamics damping=".5" friction=".7"/><mimic joint="q"/><safety_controller/>'
)


@pytest.mark.feature("B82")
@pytest.mark.parametrize("kind", "revolute continuous prismatic fixed planar".split())
@pytest.mark.parametrize("content", ["", FULL], ids=["plain", "full"])
def test_joints(kind: str, content: str) -> None:
    """Every type of joint, with and without axis, limits, friction and ignored elements."""
    xml = robot(PAIR + joint(kind, content) + "<transmission/><gazebo/>")
    assert_same(xml)


@pytest.mark.feature("B82")
def test_joints_of_three_dofs_and_more() -> None:
    """A spherical joint is a ball; a link floats on the world only."""
    assert_same(robot(PAIR + joint("spherical", '<axis xyz="1 2 3"/><limit upper="2"/>')))
    assert_same(robot(PAIR + joint("spherical", '<limit lower="0" upper="2" effort="1"/>')))
    content = PAIR + link("world") + joint("floating", FULL, "world") + joint("fixed")
    assert_same(
        robot(content.replace('"worldb"', '"f"')).replace('child link="b"', 'child link="a"', 1)
    )
    assert_same(robot(PAIR + joint("floating", FULL), ""))


@pytest.mark.feature("B82")
@pytest.mark.parametrize(
    "limit",
    [
        'lower="1"',
        'upper="1"',
        'lower="2" upper="1"',
        'lower="1" upper="1"',
        'effort="-2"',
        'effort="0"',
    ],
)
def test_limits(limit: str) -> None:
    """A range limits only if both of its ends are given, in order."""
    assert_same(robot(PAIR + joint("revolute", f"<limit {limit}/>")))


INERTIALS = {
    "plain": f"<inertial>{MASS}</inertial>",
    "posed": f"<inertial>{POSE}{MASS}</inertial>",
    "no inertia": f"<inertial>{POSE}{NO_INERTIA}</inertial>",
    "light": f"<inertial>{MASS}</inertial>".replace("1.5", "0"),
}


@pytest.mark.feature("B82")
@pytest.mark.parametrize("kind", INERTIALS)
def test_inertials(kind: str) -> None:
    """Principal axes come from the matrix; the rotation counts only where there is none."""
    assert_same(robot(link("a", INERTIALS[kind])))


@pytest.mark.feature("B82", "B48")
def test_shapes() -> None:
    """Every shape is in its place; visuals neither collide nor weigh anything."""
    shapes = (
        '<box size="1 2 3"/>',
        '<cylinder radius=".1" length="2"/>',
        '<capsule radius=".2" length="3"/>',
        '<sphere radius=".3"/>',
        '<sphere radius=".3"/><cylinder radius=".1" length="2"/><box size="1 2 3"/>',
    )
    geoms = [
        f"<{tag}>{POSE}<geometry>{shape}</geometry></{tag}>"
        for shape in shapes
        for tag in ("visual", "collision")
    ]
    assert_same(robot(link("a", "".join(geoms))))


@pytest.mark.feature("B82")
def test_colours() -> None:
    """Materials by name, wherever they are defined; a colour stays for the rest of the link."""

    def visual(material: str, tag: str = "visual") -> str:
        return f"<{tag}>{BALL}{material}</{tag}>"

    red = '<material name="m"><color rgba="1 0 0 1"/></material>'
    assert_same(
        robot(
            link("a", visual('<material name="m"/>') + visual("", "collision") + visual(""))
            + link("b", visual('<material name="m"><color rgba="0 1 0 .5"/></material>'))
            + link("c", visual("") + visual(red.replace("m", "n"), "collision"))
            + link("d", visual('<material name="n"/>') + visual('<material name="z"/>'))
            + red
            + red.replace("1 0 0", "0 0 1")
            + '<material name="z"><texture filename="none.png"/></material>'
        )
    )


@pytest.mark.feature("B82", "B84")
def test_names() -> None:
    """Names of geoms are kept if they differ; the user is warned of others."""
    named = f'<visual name="n">{BALL}</visual><collision name="n">{BALL}</collision>'
    ours = assert_same(robot(link("a", named) + link("", named.replace('"n"', '"o"'))))
    assert ours.names["geom"] == ("n", "", "o", "")
    assert len(ours.warnings) == 2 and "'n'" in ours.warnings[0]


@pytest.mark.feature("B82", "B85")
def test_tree() -> None:
    """Several roots, the order of the joints, and the link that is the world."""
    content = "".join(link(name) for name in ("a", "b", "c", "d", "world", "e", "f"))
    content += joint("revolute", POSE, "a", "d") + joint("prismatic", POSE, "a", "c")
    content += joint("planar", POSE, "d", "b") + joint("continuous", POSE, "world", "f")
    assert_same(robot(content))
    assert_same(robot(content + joint("fixed", "", "c", "world")))


@pytest.mark.feature("B82", "B08", "B09")
def test_static_links_are_fused() -> None:
    """Unless the extension says otherwise, links without joints and visuals disappear."""
    drawn = f"<visual>{POSE}{BALL}</visual><collision>{BALL}</collision>"
    content = link("a", drawn) + link("b", drawn + INERTIALS["posed"]) + link("c", drawn)
    content += joint("fixed", POSE) + joint("revolute", POSE, "b", "c")
    content += link("d", drawn + INERTIALS["posed"]) + joint("fixed", POSE, "c", "d")
    assert_same(robot(content, ""), tolerance=1e-9)
    assert_same(f"<ROBOT>{content}</ROBOT>", tolerance=1e-9)


@pytest.mark.feature("B82", "B09")
@pytest.mark.parametrize("file", ["x.dae", "package://robot/x.stl", "nowhere.obj", "broken.stl"])
def test_discarded_visuals_are_not_read(file: str) -> None:
    """Discarded visuals need no readable file; their colours still count for later ones."""
    red = '<material name="q"><color rgba="1 0 0 1"/></material>'
    mesh = f'<geometry><mesh filename="{file}"/></geometry>'
    content = f'<visual name="n">{red}{mesh}</visual><collision name="n">{BALL}</collision>'
    content = link("a", content + "<visual/>")
    ours = assert_same(robot(content, ""), assets={"broken.stl": b"solid"})
    assert ours.names["geom"] == ("n",) and ours.sizes["nmesh"] == 0
    refused(robot(content, KEEP))
    refused(robot(content.replace("<visual/>", f"<collision>{mesh}</collision>"), ""))
    refused(robot(content.replace(red, "<material/>"), ""))


@pytest.mark.feature("B83")
def test_extension() -> None:
    """The sections compiler, option and size of MJCF; angles are radians all the same."""
    extension = (
        '<compiler fusestatic="false" angle="degree" eulerseq="zyx" boundmass="9" unknown="1"/>'
        '<option timestep=".1" integrator="RK4"><flag contact="disable"/></option>'
        '<size nuser_geom="2" nuserdata="3"/><default/><unknown/>'
    )
    assert_same(robot(PAIR + joint("revolute", FULL), extension))


def stl() -> bytes:
    """A tetrahedron."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    body = b"".join(bytes(12) + corners[face].tobytes() + bytes(2) for face in faces)
    return bytes(80) + struct.pack("<I", 4) + body


@pytest.mark.feature("B82", "B27")
@pytest.mark.parametrize(
    "files",
    [
        'filename="urdf.stl"',
        'filename="package://x/y/urdf.stl" scale="1 2 3"',
        'filename="urdf.stl" scale="1 2 3"|filename="urdf.stl"|filename="y/urdf.stl" scale="1 1 1"',
    ],
)
def test_meshes(files: str) -> None:
    """Files are looked up without their folder; each scale makes a mesh."""
    geoms = [
        f"<collision>{POSE}<geometry><mesh {file}/></geometry></collision>"
        for file in files.split("|")
    ]
    assert_same(robot(link("a", "".join(geoms))), assets={"urdf.stl": stl()})


def test_other_folder() -> None:
    """Without strippath a file keeps its folder."""
    geometry = '<collision><geometry><mesh filename="y/urdf2.stl"/></geometry></collision>'
    extension = '<compiler strippath="false" fusestatic="false" meshdir="x"/>'
    ours = mjcf.read_string(robot(link("a", geometry), extension))
    assert ours.elements["mesh"][0].values["path"] == "x/y/urdf2.stl"


INVALID = (
    link("a") + link("a"),
    "<link/>",
    PAIR + joint("fixed", child="z"),
    PAIR + joint("fixed", parent="z"),
    PAIR + joint("round"),
    PAIR + joint("Fixed"),
    PAIR + joint("fixed") + joint("fixed", parent="b", child="a"),
    PAIR + joint("fixed", child="a"),
    PAIR + link("c") + joint("fixed") + joint("fixed", parent="c"),
    PAIR + joint("fixed").replace('<parent link="a"/>', ""),
    PAIR + joint("fixed", "<origin/><origin/>"),
    PAIR + joint("fixed", '<axis xyz="1 2"/>'),
    PAIR + joint("revolute", '<axis xyz="0 0 0"/>'),
    PAIR + joint("planar", '<axis xyz="0 0 0"/>'),
    PAIR + joint("revolute", '<limit lower="1 2"/>'),
    PAIR + joint("revolute", '<limit lower="x"/>'),
    PAIR + joint("revolute", "<limit/><limit/>"),
    PAIR + joint("revolute", '<dynamics damping="x"/>'),
    PAIR + joint("spherical", '<limit lower="1" upper="2"/>'),
    PAIR + joint("floating"),
    PAIR + link("world") + joint("revolute", child="world"),
    link("a", "<inertial/>"),
    link("a", '<inertial><mass value="1"/></inertial>'),
    link("a", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'),
    link("a", INERTIALS["plain"] * 2),
    link("a", INERTIALS["plain"].replace('ixx="1"', 'ixx="-1"')),
    link("a", INERTIALS["plain"].replace('ixx="1"', 'ixx="9"')),
    link("a", "<visual/>"),
    link("a", "<visual><geometry/></visual>"),
    link("a", '<visual><geometry><ellipsoid radii="1 2 3"/></geometry></visual>'),
    link("a", "<collision><geometry><sphere/></geometry></collision>"),
    link("a", '<collision><geometry><sphere radius="-1"/></geometry></collision>'),
    link("a", '<collision><geometry><box size="1 2"/></geometry></collision>'),
    link("a", '<collision><geometry><mesh filename="none.stl"/></geometry></collision>'),
    link("a", '<collision><geometry><mesh filename=""/></geometry></collision>'),
    link("a") + '<material name="m"><color/></material>',
)


@pytest.mark.feature("B82")
@pytest.mark.parametrize("content", INVALID)
def test_invalid_robot_is_refused(content: str) -> None:
    """Robots that MuJoCo refuses are errors with the line of the element."""
    assert refused(robot(content)).line > 2


@pytest.mark.feature("B83")
@pytest.mark.parametrize(
    "extension", ['<compiler fusestatic="maybe"/>', "<compiler/><compiler/>", "</mujoco><mujoco>"]
)
def test_invalid_extension_is_refused(extension: str) -> None:
    """The extension is checked as far as MuJoCo does."""
    refused(robot(PAIR, extension))


def test_long_chain_ends_in_an_error() -> None:
    """A hostile file ends in an error, not in a crash of the interpreter."""
    names = [str(i) for i in range(2000)]
    chain = "".join(joint("revolute", "", a, b) for a, b in itertools.pairwise(names))
    error = refusal(robot("".join(map(link, names)) + chain))
    assert "links" in error.what
    shorter = robot("".join(map(link, names[:200])) + "".join(chain.splitlines(True)[:199]))
    assert compiled(shorter).sizes["nbody"] == 201
