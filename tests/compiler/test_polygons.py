"""Hulls in Qhull's order and their polygons against MuJoCo's, integer by integer."""

import mujoco
import numpy as np
import pytest

from mjjax.compiler.assets import polygons
from tests.compiler.oracle import compiled

CUBE = "-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"
POINTS = np.random.default_rng(0).normal(size=(60, 3)).round(4)
MESHES = {
    "cube": f'vertex="{CUBE}"',
    "points": f'vertex="{" ".join(map(str, POINTS.ravel()))}"',
    "tetrahedron": 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"',
    "ball": 'builtin="sphere" params="2"',
    "ring": 'builtin="supertorus" params="12 .4 1 1"',
    "seen": 'builtin="sphere" params="1"',
}
FIELDS = [
    f"mesh_poly{name}"
    for name in "num adr vertadr vertnum vert mapadr mapnum map normal".split()
]  # fmt: skip


def model() -> str:
    assets = "".join(f'<mesh name="{name}" {text}/>' for name, text in MESHES.items())
    geoms = [f'<geom type="mesh" mesh="{name}"/>' for name in MESHES]
    geoms[-1] = geoms[-1].replace("/>", ' contype="0" conaffinity="0"/>')
    return f"<mujoco><asset>{assets}</asset><worldbody>{''.join(geoms)}</worldbody></mujoco>"


@pytest.mark.feature("B29")
def test_polygons_are_mujocos() -> None:
    """Merged triangles, the order of polygons, of their vertices and of those around a vertex."""
    theirs, ours = mujoco.MjModel.from_xml_string(model()), compiled(model())
    for name in FIELDS:
        expected = getattr(theirs, name)
        assert ours.fields[name].shape == expected.shape, name
        np.testing.assert_allclose(ours.fields[name], expected, atol=1e-9, err_msg=name)
    assert ours.sizes["nmeshpoly"] == theirs.nmeshpoly > 100
    assert not ours.fields["mesh_polynum"][-1]


@pytest.mark.feature("B29")
def test_hulls_are_in_qhulls_order() -> None:
    """The hull's vertices and faces stand where MuJoCo has them; neighbours are the same sets."""
    theirs, ours = mujoco.MjModel.from_xml_string(model()), compiled(model())
    for mesh in range(len(MESHES) - 1):
        graph = theirs.mesh_graph[theirs.mesh_graphadr[mesh] :]
        mine = ours.fields["mesh_hull"][ours.fields["mesh_hulladr"][mesh] :]
        n, m = graph[:2]
        size = 2 + 3 * n + 6 * m
        lists = slice(2 + 2 * n, 2 + 3 * n + 3 * m)
        np.testing.assert_array_equal(mine[: lists.start], graph[: lists.start])
        np.testing.assert_array_equal(mine[lists.stop : size], graph[lists.stop : size])
        for start in graph[2 : 2 + n]:
            sets = [
                set(g[lists][start:][: list(g[lists][start:]).index(-1)]) for g in (mine, graph)
            ]
            assert sets[0] == sets[1]


def test_vertices_are_rounded_to_single_precision() -> None:
    """Supports are computed from the vertices that MuJoCo stores."""
    theirs, ours = mujoco.MjModel.from_xml_string(model()), compiled(model())
    np.testing.assert_array_equal(ours.fields["mesh_vert"], theirs.mesh_vert)


def test_outline_of_parts_that_meet_late() -> None:
    """Triangles that others join only later become one outline; separate ones stay apart."""
    strip = [np.array(t) for t in ((0, 1, 2), (4, 3, 5), (2, 1, 3), (2, 3, 4))]
    apart = [np.array(t) for t in ((0, 1, 2), (4, 3, 5))]
    assert polygons._outlines(strip) == [[0, 1, 3, 5, 4, 2]]
    assert polygons._outlines(apart) == [[0, 1, 2], [4, 3, 5]]
