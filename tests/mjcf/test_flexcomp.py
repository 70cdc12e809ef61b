"""Soft bodies that MuJoCo refuses are errors; all others are not simulated yet."""

import pytest

import mjjax
from tests.compiler.oracle import accepted_by_mujoco, refusal, refused

SCENE = "<mujoco><worldbody>{}</worldbody></mujoco>"
DIRECT = 'name="t" type="direct" point="0 0 0 1 0 0 0 1 0" element="0 1 2"'
WRONG = [
    "<flexcomp/>",
    '<flexcomp name="t" type="unknown"/>',
    '<flexcomp name="t" dof="unknown"/>',
    '<flexcomp name="t"/>',
    '<body><geom size="1"/><flexcomp name="t" count="3 3 1"/></body>',
    '<flexcomp name="t" count="0 5 5"/>',
    '<flexcomp name="t" count="5 5 2"/>',
    '<flexcomp name="t" count="5 5 1" dim="3"/>',
    '<flexcomp name="t" count="5 5 5" dim="4"/>',
    '<flexcomp name="t" count="5 5 1" spacing=".5 .5 .5" radius="1"/>',
    '<flexcomp name="t" count="5 5 1" mass="0"/>',
    '<flexcomp name="t" count="5 5 1" scale="1 0 1"/>',
    '<flexcomp name="t" type="mesh"/>',
    '<flexcomp name="t" type="gmsh" file="missing.msh"/>',
    '<flexcomp name="t" type="direct"/>',
    '<flexcomp name="t" type="direct" point="0 0 0 1 0 0 0 1" element="0 1 2"/>',
    '<flexcomp name="t" type="direct" point="0 0 0 1 0 0 0 1 0" element="0 1"/>',
    '<flexcomp name="t" type="direct" point="0 0 0 1 0 0 0 1 0" element="0 1 3"/>',
    *(
        f"<flexcomp {DIRECT}><pin {pin}/></flexcomp>"
        for pin in ('id="3"', 'id="-1"', 'range="0"', 'range="0 5"', 'grid="0 0"', 'grid="0"')
    ),
    '<flexcomp name="t" count="5 5 1"><pin grid="5 0"/></flexcomp>',
    '<flexcomp name="t" count="5 5 1"><pin id="25"/></flexcomp>',
]


@pytest.mark.feature("B79", "B80")
@pytest.mark.parametrize("xml", WRONG)
def test_wrong_flexcomps_are_refused(xml: str) -> None:
    """The error names the element and its line before anything is said about support."""
    refused(SCENE.format(xml))


@pytest.mark.feature("B79")
@pytest.mark.parametrize(
    "xml",
    [
        '<flexcomp name="t" count="5 5 1"><pin grid="4 0"/></flexcomp>',
        '<flexcomp name="t" count="5 1 1" dim="1"/>',
        f'<flexcomp {DIRECT}><pin id="2"/></flexcomp>',
        '<body name="b"><geom size="1"/><flexcomp name="t" count="3 3 1"/></body>',
    ],
)
def test_right_flexcomps_are_not_supported(xml: str) -> None:
    """A soft body that MuJoCo takes is not simulated yet, and that is what the error says."""
    assert accepted_by_mujoco(SCENE.format(xml))
    assert isinstance(refusal(SCENE.format(xml)), mjjax.UnsupportedFeature)


OLD = b"""$MeshFormat
2.2 0 8
$EndMeshFormat
$Nodes
4
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
$EndNodes
$Elements
2
1 2 2 0 1 1 2 3
2 2 2 0 1 1 2 4
$EndElements
"""
NEW = b"""$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 0 1 0
1 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
1 4 1 4
2 1 0 4
1
2
3
4
0 0 0
1 0 0
0 1 0
0 0 1
$EndNodes
$Elements
1 2 1 2
2 1 2 2
1 1 2 3
2 1 2 4
$EndElements
"""
GMSH = SCENE.format('<flexcomp name="t" type="gmsh" file="t.msh"/>')


@pytest.mark.feature("B79")
@pytest.mark.parametrize("content", [OLD, NEW])
def test_gmsh_files(content: bytes) -> None:
    """Both versions of gmsh files are read; a missing line is an error whenever it is in MuJoCo."""
    assets = {"t.msh": content}
    assert accepted_by_mujoco(GMSH, assets)
    assert isinstance(refusal(GMSH, assets=assets), mjjax.UnsupportedFeature)
    lines = content.splitlines(keepends=True)
    for k in range(len(lines)):
        assets = {"t.msh": b"".join(lines[:k] + lines[k + 1 :])}
        if not accepted_by_mujoco(GMSH, assets):
            assert isinstance(refusal(GMSH, assets=assets), mjjax.MjcfError), lines[k]
