"""The compiler settings fusestatic and discardvisual."""

import pytest

from tests.compiler.oracle import assert_same, refused


def box(name: str) -> str:
    return f'<geom name="{name}" size="1 .5 .3" type="box"/><site name="{name}"/>'


UNSEEN = 'contype="0" conaffinity="0"'
NESTED = (
    f'<body name="m"><joint/><body name="s" pos="1 2 3" euler="10 20 30">{box("s1")}'
    f'<body name="a" pos="1 0 1" euler="0 10 0"><joint/>{box("a")}</body>'
    f'<body name="s2" euler="0 0 5">{box("s2")}<body name="d"><joint/>{box("d")}</body>{box("t")}'
    f'</body><body name="e"><joint/>{box("e")}</body></body><body name="b"><joint/>{box("b")}'
    f"</body>{box('own')}</body>"
)
FRAMED = (
    '<frame pos="1 0 0" euler="0 0 40"><body pos="0 0 2"><frame name="f" pos="0 1 0" '
    f'euler="90 0 0">{box("x")}<light/><camera/><body><freejoint/>{box("u")}</body></frame></body>'
    f"{box('w')}</frame>"
)
FREE = f'<body name="m"><freejoint/><geom size="1"/>{{}}</body><geom {UNSEEN} size="1"/>'
SEEN = (
    f'<body><freejoint/><geom name="v" {UNSEEN} size="1"/><geom name="c" size="1"/>'
    f'<geom name="v2" {UNSEEN} size="1" user="1 2 3"/><site name="s"/><site name="t"/></body>'
)
MODELS = {
    "nested": NESTED,
    "world": f"<body><body>{box('z')}</body>{box('y')}</body>{box('w')}",
    "inertial": FREE.format(
        '<body pos="1 0 0"><inertial mass="2" pos="1 0 0" diaginertia="1 1 1"/></body>'
    ),
    "mocap": '<body mocap="true" pos="1 0 0"><geom size="1"/></body>',
    "excluded": FREE.format('<body name="s" pos="1 0 0"><geom size="1"/></body>')
    + '</worldbody><contact><exclude body1="s" body2="m"/></contact><worldbody>',
    "target": FREE.format('<body name="s"><geom size="1"/></body><camera target="s"/>'),
    "force": FREE.format('<body name="s"><geom size="1"/><site name="s"/></body>')
    + '</worldbody><sensor><force site="s"/></sensor><worldbody>',
    "paired": SEEN + '</worldbody><contact><pair geom1="v" geom2="c"/></contact><worldbody>',
    "wrapped": SEEN
    + '</worldbody><tendon><spatial><site site="s"/><geom geom="v"/><site site="t"/></spatial>'
    "</tendon><worldbody>",
    "material": '<geom size="1" material="m"/></worldbody><asset><material name="m"/></asset>'
    "<worldbody>",
    "group": f'<body><freejoint/><geom size=".3" group="6"/><geom {UNSEEN} size="1"/></body>',
}
SETTINGS = (
    'fusestatic="true"',
    'discardvisual="true"',
    'fusestatic="true" discardvisual="true" inertiafromgeom="true" settotalmass="5"',
)


@pytest.mark.feature("B08", "B09")
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_smaller_model_is_mujocos(name: str, settings: str) -> None:
    """The remaining elements and their order are MuJoCo's, and no mass or inertia is lost."""
    world = f"<worldbody>{MODELS[name]}</worldbody>"
    assert_same(f"<mujoco><compiler {settings}/>{world}</mujoco>")


@pytest.mark.feature("B08")
def test_joints_come_to_the_top() -> None:
    """A free joint below a static body is at the top once the body is fused."""
    assert_same(f'<mujoco><compiler fusestatic="true"/><worldbody>{FRAMED}</worldbody></mujoco>')


DRAWN = """<mujoco><compiler discardvisual="true"/>
  <asset><texture name="t" file="nowhere.png"/><material name="m" texture="unknown"/></asset>
  <worldbody><geom size="1" material="{}"/><site name="s"/></worldbody>
{}</mujoco>"""


@pytest.mark.feature("B09")
def test_discarded_paint_is_not_read() -> None:
    """Texture files and material names do not matter once visuals are discarded."""
    assert_same(DRAWN.format("unknown", ""))
    refused(DRAWN.format("m", "").replace('name="s"', 'material="m"'))
    refused(DRAWN.format("m", "").replace('name="m"', 'name=""'))
    member = '<element objtype="material" objname="m"/>'
    refused(DRAWN.format("m", f'<custom><tuple name="u">{member}</tuple></custom>'))
