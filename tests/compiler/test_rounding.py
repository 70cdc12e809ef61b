"""Inertia agrees to the last bit, because rounding decides the axes of equal moments."""

import mujoco
import numpy as np
import pytest

from tests.compiler.oracle import accepted_by_mujoco, compiled, refused

GOLDEN = (1 + 5**0.5) / 2
ICOSAHEDRON = np.array(
    [[0, a, b * GOLDEN] for a in (-1, 1) for b in (-1, 1)]
    + [[a, b * GOLDEN, 0] for a in (-1, 1) for b in (-1, 1)]
    + [[b * GOLDEN, 0, a] for a in (-1, 1) for b in (-1, 1)]
)
CUBE = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], float)
EXACT = "mesh_pos mesh_quat geom_pos geom_quat body_mass body_ipos body_iquat body_inertia".split()
PRIMITIVES = "sphere capsule cylinder ellipsoid box".split()


def prism(sides: int) -> np.ndarray:
    """Corners of a regular prism."""
    angle = 2 * np.pi / sides * np.arange(sides)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    return np.concatenate([ring, ring + np.array([0, 0, 1])])


def assert_exact(xml: str) -> None:
    """Poses and inertia are MuJoCo's, bit by bit."""
    theirs, ours = mujoco.MjModel.from_xml_string(xml), compiled(xml)
    for name in EXACT:
        np.testing.assert_array_equal(ours.fields[name], getattr(theirs, name), err_msg=name)


def numbers(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


@pytest.mark.feature("B28", "B07")
@pytest.mark.parametrize("kind", ["legacy", "exact", "shell"])
@pytest.mark.parametrize(
    "shape", [CUBE, CUBE * [1, 1, 0.3], ICOSAHEDRON, prism(3), prism(5), prism(8)], ids=str
)
def test_axes_of_symmetric_meshes(shape: np.ndarray, kind: str) -> None:
    """Bodies of one mesh and of several, whose principal moments coincide."""
    from scipy.spatial import ConvexHull

    rng, meshes, bodies = np.random.default_rng(0), [], []
    for i, setting in enumerate(
        ("", 'scale=".5 2 -.3"', 'refpos=".3 -.7 1.1"', 'scale=".01 .01 .01"')
    ):
        vertex = shape @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + np.round(rng.normal(size=3), 2)
        hull = ConvexHull(vertex)
        corner = vertex[hull.simplices]
        outward = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        inward = np.sum(outward * hull.equations[:, :3], axis=1) < 0
        face = np.where(inward[:, None] ^ ("-" in setting), hull.simplices[:, ::-1], hull.simplices)
        meshes.append(
            f'<mesh name="m{i}" vertex="{numbers(vertex)}" inertia="{kind}" {setting} '
            f'face="{" ".join(map(str, face.ravel()))}"/>'
        )
        bodies += [
            f'<geom type="mesh" mesh="m{i}"/>',
            f'<geom type="mesh" mesh="m{i}" pos="{i} 1 2"/>',
        ]
    bodies += ["".join(bodies[:4]), "".join(bodies[1:8:2])]
    world = "".join(f"<body><freejoint/>{geoms}</body>" for geoms in bodies)
    world = world.replace("<geom", '<geom contype="0" conaffinity="0"')
    xml = f"<mujoco><asset>{''.join(meshes)}</asset><worldbody>{world}</worldbody></mujoco>"
    if accepted_by_mujoco(xml):
        assert_exact(xml)
    else:
        refused(xml)


@pytest.mark.feature("B07")
@pytest.mark.parametrize("count", [1, 2, 9])
def test_axes_of_bodies_of_primitives(count: int) -> None:
    """Mass, centre and axes of bodies of several primitives, in the order of their geoms."""
    rng, bodies = np.random.default_rng(count), []
    for _ in range(40):
        geoms = [
            f'<geom type="{rng.choice(PRIMITIVES)}" density="{rng.choice([1000, 270])}" '
            f'size="{numbers(rng.choice([0.1, 0.2, 0.37], 3))}" '
            f'pos="{numbers(rng.choice([0, 0.3, -1], 3))}" '
            f'euler="{numbers(rng.choice([0, 90, 17], 3))}"/>'
            for _ in range(count)
        ]
        bodies.append(f"<body><freejoint/>{''.join(geoms)}</body>")
    assert_exact(f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>")


@pytest.mark.feature("B07")
def test_axes_of_full_inertia() -> None:
    """Matrices with moments that coincide, or nearly, far from and near the threshold."""
    rng, bodies = np.random.default_rng(0), []
    for moments in ([1, 1, 1.5], [1, 1 + 1e-7, 1.4], [2, 1.5, 1.5], [1, 2, 2.5]):
        for size in (1, 1e-3, 1e-6, 1e3):
            turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            m = size * (turn * moments) @ turn.T
            full = numbers(np.array([m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]))
            inertial = f'<inertial pos="0 0 0" mass="1" fullinertia="{full}"/>'
            bodies.append(f"<body><freejoint/>{inertial}</body>")
    assert_exact(f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>")


FLAT = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1 .5 .5 1e-6" face="0 1 4 1 2 4 2 0 4 0 3 1 1 3 2 2 3 0"'


@pytest.mark.feature("B28")
def test_tiny_faces_have_no_area() -> None:
    """Faces below MuJoCo's smallest area give a shell no mass."""
    mesh = '<mesh name="m" {} inertia="shell" scale="{}"/>'
    geom = '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
    for scale in ("1e-7 1e-7 1", "1e-6 1e-6 .01", "1e-9 1e-9 1e-9"):
        asset = mesh.format(FLAT, scale)
        xml = f"<mujoco>\n<asset>{asset}</asset><worldbody>{geom}</worldbody></mujoco>"
        if accepted_by_mujoco(xml):
            assert_exact(xml)
        else:
            refused(xml)


@pytest.mark.feature("B28")
def test_orientation_of_faces_counts_before_scaling() -> None:
    """A face that looks inward is found however small the mesh is scaled."""
    mesh = '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 1 2 3 0 2 3" {}/>'
    geom = '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
    asset = mesh.format('inertia="exact" scale="1e-4 1e-4 1e-4"')
    refused(f"<mujoco>\n<asset>{asset}</asset><worldbody>{geom}</worldbody></mujoco>")
