"""Meshes written in the model: compared with MuJoCo field by field."""

import mujoco
import numpy as np
import pytest

from mjjax.core.errors import MjcfError
from tests.compiler.oracle import accepted_by_mujoco, assert_same, compiled, refusal, refused

VERTEX = 'vertex="0 0 0 1 0 0 0 2 0 0 0 3"'
FACE = 'face="0 2 1 0 1 3 1 2 3 0 3 2"'
SOLID = f"{VERTEX} {FACE}"
# two tetrahedra that touch in an edge: not convex, and legacy differs from exact
ARROW = (
    'vertex="0 0 0 2 0 0 0 2 0 0 0 2 .2 .2 .2 3 3 .1" '
    'face="0 2 1 0 1 3 0 3 2 1 2 4 2 3 4 3 1 4 1 5 2 1 4 5 2 5 4"'
)
GEOM = '<geom type="mesh" mesh="m"/>'
VISUAL = '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'


def model(attributes: str, geom: str = GEOM, rest: str = "") -> str:
    """A free body with geoms of the mesh ``m``."""
    return (
        f'<mujoco>{rest}<asset><mesh name="m" {attributes}/></asset>'
        f"<worldbody><body><freejoint/>{geom}</body></worldbody></mujoco>"
    )


@pytest.mark.feature("B28")
@pytest.mark.parametrize("kind", ["legacy", "exact", "convex", "shell"])
@pytest.mark.parametrize("mesh", [SOLID, VERTEX, ARROW], ids=["solid", "hull", "arrow"])
def test_inertia(kind: str, mesh: str) -> None:
    """Mass, centre and principal axes by each rule; without faces, of the convex hull."""
    xml = model(f'{mesh} inertia="{kind}"')
    if accepted_by_mujoco(xml):
        assert_same(xml)
    else:
        assert isinstance(refusal(xml), MjcfError)


@pytest.mark.feature("B27")
@pytest.mark.parametrize(
    "frame",
    [
        'scale="2 .5 1"',
        'scale="-1 1 1"',
        'refpos=".1 .2 .3"',
        'refquat="1 2 0 1"',
        'refpos=".1 .2 .3" refquat="1 2 0 1" scale="1 -2 3"',
    ],
)
def test_reference_frame(frame: str) -> None:
    """The mesh is moved, turned and scaled, then put at its centre in principal axes."""
    assert_same(model(f"{SOLID} {frame}", '<geom type="mesh" mesh="m" pos="1 2 3" euler="9 8 7"/>'))


@pytest.mark.feature("B26")
@pytest.mark.parametrize(
    "surface",
    [
        "",
        'smoothnormal="true"',
        'normal="0 0 2 1 0 0 1 1 1 0 0 0" scale="1 2 3"',
        'normal="0 1 1"',
        'texcoord="0 0 .1 .2 .3 .4 .5 .6"',
    ],
)
def test_normals_and_texture_coordinates(surface: str) -> None:
    """Normals and texture coordinates, which pictures need, are there, too."""
    assert_same(model(f"{SOLID} {surface}"))


@pytest.mark.feature("B25")
def test_default_class() -> None:
    """Scale, hull size and inertia can come from a default class."""
    assert_same(
        """
        <mujoco>
          <default>
            <mesh scale="2 2 2"/>
            <default class="s">
              <mesh inertia="shell" maxhullvert="5"/>
            </default>
          </default>
          <asset>
            <mesh name="a" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
            <mesh name="b" class="s" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/>
          </asset>
          <worldbody>
            <geom type="mesh" mesh="a"/>
            <body>
              <freejoint/>
              <geom type="mesh" mesh="b"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )


@pytest.mark.feature("B30")
@pytest.mark.parametrize(
    "builtin",
    [
        'builtin="sphere" params="0"',
        'builtin="sphere" params="3"',
        'builtin="hemisphere" params="4"',
        'builtin="cone" params="5 0"',
        'builtin="cone" params="3 .5"',
        'builtin="supersphere" params="7 .4 2"',
        'builtin="supertorus" params="6 .5 .4 2"',
        'builtin="wedge" params="4 4 45 20 0"',
        'builtin="wedge" params="5 4 90 45 .5" scale="1 2 1"',
        'builtin="plate" params="2 3"',
    ],
)
def test_builtin(builtin: str) -> None:
    """Meshes that are made from parameters, with the tangents that tactile sensors use."""
    visual = '<geom type="sphere" size=".1"/>' + VISUAL
    assert_same(model(builtin, visual), ignore=("mesh_face", "mesh_facenormal"), tolerance=1e-7)


@pytest.mark.feature("B29")
def test_hull_only_where_it_is_needed() -> None:
    """Geoms that may collide have a convex hull, whose neighbours are in the graph."""
    for geom, needed in ((GEOM, True), (VISUAL, False), ('<geom type="box" mesh="m"/>', False)):
        ours = compiled(model(SOLID, geom))
        assert (ours.fields["mesh_hulladr"][0] >= 0) == needed
        assert ours.sizes["nmeshhull"] == (38 if needed else 0)
    pair = VISUAL.replace("<geom", '<geom name="a"') + '<geom name="b" size=".1"/>'
    xml = model(SOLID, pair).replace(
        "<worldbody>", '<contact><pair geom1="a" geom2="b"/></contact><worldbody>'
    )
    assert compiled(xml).fields["mesh_hulladr"][0] == 0


@pytest.mark.feature("B29")
@pytest.mark.parametrize("limit", [-1, 8, 12])
def test_hull_of_many_points(limit: int) -> None:
    """The hull has MuJoCo's vertices and faces, and `maxhullvert` ends it at the same ones."""
    points = np.random.default_rng(0).normal(size=(60, 3)).round(4)
    text = " ".join(map(str, points.ravel()))
    xml = model(f'vertex="{text}" maxhullvert="{limit}"')
    theirs, ours = mujoco.MjModel.from_xml_string(xml), compiled(xml)
    assert_same(xml)
    n, m = theirs.mesh_graph[:2]
    graph = ours.fields["mesh_hull"]
    assert tuple(graph[:2]) == (n, m)
    assert sorted(theirs.mesh_graph[2 + n : 2 + 2 * n]) == sorted(graph[2 + n : 2 + 2 * n])
    start, vertex, lists = graph[2 : 2 + n], graph[2 + n : 2 + 2 * n], graph[2 + 2 * n :]
    for i in range(n):
        neighbours = lists[start[i] : start[i] + list(lists[start[i] :]).index(-1)]
        their_i = list(theirs.mesh_graph[2 + n : 2 + 2 * n]).index(vertex[i])
        their_lists = list(theirs.mesh_graph[2 + 2 * n :])
        at = theirs.mesh_graph[2 + their_i]
        expected = their_lists[at : at + their_lists[at:].index(-1)]
        their_ids = [int(theirs.mesh_graph[2 + n + k]) for k in expected]
        assert sorted(int(vertex[k]) for k in neighbours) == sorted(their_ids)


INVALID = [
    'vertex="0 0 0 1 0 0 0 1 0"',
    'vertex="0 0 0 1 0 0 0 1 0 0 0 1 2"',
    'vertex="0 0 0 1 0 0 0 1 0 nan 0 1"',
    'vertex="0 0 0 1 0 0 0 1 0 1 1 0"',
    f'{VERTEX} face="0 1"',
    f'{VERTEX} face="0 1 7"',
    f'{VERTEX} face="0 1 -1"',
    f'{VERTEX} face="0 1 2"',
    f'{SOLID} normal="0 1"',
    f'{SOLID} texcoord="0 1 2"',
    f'{SOLID} texcoord="0 1"',
    f'{SOLID} refquat="0 0 0 0"',
    f'{SOLID} scale="0 1 1"',
    f'{SOLID} maxhullvert="3"',
    f'{SOLID} builtin="sphere" params="1"',
    f'{VERTEX} face="0 1 2 0 3 1 1 3 2 0 2 3" inertia="exact"',
    f'{VERTEX} face="0 2 1 0 1 3 1 2 3 0 2 3" inertia="exact"',
    'file="none.obj"',
    'builtin="sphere"',
    'builtin="sphere" params="1" file="a.obj"',
    'builtin="sphere" params="1 2"',
    'builtin="sphere" params="5"',
    'builtin="hemisphere" params="11"',
    'builtin="cone" params="2 0"',
    'builtin="supersphere" params="2 1 1"',
    'builtin="supersphere" params="3 -1 1"',
    'builtin="supertorus" params="3 2 1 1"',
    'builtin="supertorus" params="3 .5 0 1"',
    'builtin="wedge" params="3 3 200 40 0"',
    'builtin="wedge" params="3 3 90 100 0"',
    'builtin="wedge" params="3 3 90 40 2"',
    'builtin="plate" params="-1 2"',
]


@pytest.mark.feature("B89")
@pytest.mark.parametrize("attributes", INVALID)
def test_invalid_mesh_is_refused(attributes: str) -> None:
    """A wrong mesh never runs; the message names the mesh and its line."""
    error = refused(model(attributes).replace("<asset>", "<asset>\n"))
    assert (error.line, error.element) == (2, "mesh")


def test_unnamed_mesh_is_refused() -> None:
    """A mesh without a name is refused, because nothing could refer to it."""
    xml = f"<mujoco><asset><mesh {SOLID}/></asset></mujoco>"
    refused(xml)
