"""Materials compared with MuJoCo."""

import pytest

from tests.compiler.oracle import assert_same, refused

TEXTURES = "".join(
    f'<texture name="{name}" type="2d" builtin="flat" width="2" height="2"/>' for name in "ab"
)


def model(materials: str) -> str:
    """A geom, a site and a tendon in a material."""
    return (
        "<mujoco><default><material specular='.2'/></default><asset>"
        f'{TEXTURES}{materials}</asset><worldbody><geom size="1" material="m"/>'
        '<site name="s" material="m"/><site name="t"/></worldbody><tendon><spatial material="m">'
        '<site site="s"/><site site="t"/></spatial></tendon></mujoco>'
    )


@pytest.mark.feature("B36")
@pytest.mark.parametrize(
    "material",
    [
        '<material name="m"/>',
        '<material name="m" rgba="1 0 0 .5" emission=".1" shininess=".3" reflectance=".4" '
        'metallic=".5" roughness=".6" texture="b" texrepeat="2 3" texuniform="true"/>',
        '<material name="m"><layer role="normal" texture="a"/><layer role="orm" texture="b"/>'
        '<layer role="rgb" texture="b"/></material>',
    ],
)
def test_materials(material: str) -> None:
    """Colours, reflection and textures by role are there for any renderer."""
    assert_same(model(f'<material name="first"/>{material}'))


@pytest.mark.feature("B36")
@pytest.mark.parametrize(
    "material",
    [
        '<material name="m" texture="zz"/>',
        '<material name="m"><layer role="rgb" texture="zz"/></material>',
        '<material name="other"/>',
    ],
)
def test_unknown_names_are_refused(material: str) -> None:
    """A texture or material that does not exist is an error."""
    refused(model(material))
