"""Skins compared with MuJoCo."""

import numpy as np
import pytest

from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.model.model import Model
from tests.compiler.oracle import accepted_by_mujoco, assert_same, refusal, refused

SURFACE = (
    'vertex="0 0 .1 1 0 .2 0 1 .3 1 1 .7" face="0 1 2 1 3 2" texcoord="0 0 1 0 0 .3 1 1" '
    'rgba="1 .1 0 .5" inflate=".1" group="3" material="m"'
)
BONE = '<bone body="a" bindpos=".1 0 0" bindquat="2 0 0 1" vertid="0 1 3" vertweight=".1 .2 .7"/>'
BONES = (
    f'{BONE}<bone body="world" bindpos="1 2 3" bindquat="0 0 0 0" vertid="3 2 2" '
    'vertweight=".3 1 2"/>'
)
WHOLE = BONE.replace("0 1 3", "0 1 3 2").replace(".7", ".7 1")
MODEL = """<mujoco>{settings}
  <asset><material name="m"/>{asset}</asset>
  <worldbody><body name="a"><joint/><geom size=".1"/><body name="b"><geom size=".1"/></body></body>
  </worldbody>
{more}</mujoco>"""


def model(asset: str, settings: str = "", more: str = "") -> str:
    """A model with skins."""
    return MODEL.format(asset=asset, settings=settings, more=more)


def skin(bones: str = BONES, surface: str = SURFACE) -> str:
    """A skin in the model."""
    return f'<skin name="s" {surface}>{bones}</skin>'


def skn(
    sizes: tuple[int, int, int, int] = (4, 4, 2, 2), ids: tuple[int, ...] = (0, 1, 2, 3)
) -> bytes:
    """A skin file."""
    rng = np.random.default_rng(0)
    parts = [np.array(sizes, "<i4"), rng.uniform(size=20).astype("<f4")]
    parts.append(np.array([0, 1, 2, 1, 3, 2], "<i4"))
    for name in (b"a", b"b"):
        weight = rng.uniform(size=len(ids)).astype("<f4")
        bind = rng.normal(size=7).astype("<f4")
        parts += [np.frombuffer(name.ljust(40, b"\0"), np.uint8), bind]
        parts += [np.array([len(ids)], "<i4"), np.array(ids, "<i4"), weight]
    return b"".join(part.tobytes() for part in parts)


@pytest.mark.feature("B34")
def test_skins_are_mujocos() -> None:
    """Every field of skins in the model, in files and in both sections, and their order."""
    more = skin(WHOLE).replace(' name="s"', "").replace(' material="m"', "")
    file = '<skin file="x.skn"/>'
    xml = model(skin() + file, more=f"<deformable>{more}</deformable>")
    ours = assert_same(xml, assets={"x.skn": skn()})
    assert ours.names["skin"] == ("s", "x", "") and ours.sizes["nskinbonevert"] == 18


@pytest.mark.feature("B34")
@pytest.mark.parametrize(
    ("settings", "file"),
    [
        ('meshdir="d"', "q/x.skn"),
        ('strippath="true"', "q/x.skn"),
        ('fusestatic="true"', ""),
        ('discardvisual="true"', ""),
    ],
)
def test_settings_hold_for_skins(settings: str, file: str) -> None:
    """Folders of files; bodies that a skin needs are not fused away."""
    bones = BONES.replace("world", "b")
    asset = f'<skin file="{file}"/>' if file else skin(bones, SURFACE.replace('material="m"', ""))
    assert_same(model(asset, f"<compiler {settings}/>"), assets={"d/q/x.skn": skn()})


@pytest.mark.feature("B34")
@pytest.mark.parametrize(
    "change",
    [
        ('vertid="0 1 3"', 'vertid="0 1"'),
        ('vertid="0 1 3"', 'vertid="0 1 9"'),
        ('vertid="0 1 3"', 'vertid="0 2 3"'),
        ('body="a"', 'body="none"'),
        ('bindpos=".1 0 0"', ""),
        ('face="0 1 2 1 3 2"', 'face="0 1 2 1"'),
        ('face="0 1 2 1 3 2"', ""),
        ('texcoord="0 0 1 0 0 .3 1 1"', 'texcoord="0 0"'),
        ('group="3"', 'group="6"'),
        ('material="m"', 'material="n"'),
        ('name="s"', 'file="x.skn"'),
        ("<mujoco>", '<mujoco><compiler discardvisual="true"/>'),
        (BONES, ""),
    ],
    ids=str,
)
def test_wrong_skins_are_refused(change: tuple[str, str]) -> None:
    """Skins that MuJoCo refuses are errors that name the element."""
    assert change[0] in model(skin())
    refused(model(skin()).replace(*change), assets={"x.skn": skn()})


@pytest.mark.feature("B34")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        skn()[:-4],
        skn() + b"1234",
        skn((4, 4, -2, 2)),
        skn((4, 3, 2, 2)),
        skn((9999, 4, 2, 2)),
        skn((4, 4, 2, 0))[:128],
        skn(ids=(0, 1, 2, 4)),
        skn(ids=()),
        skn().replace(b"b" + 39 * b"\0", b"c" + 39 * b"\0"),
    ],
)
def test_broken_skin_files_are_refused(content: bytes) -> None:
    """A file that is no skin is an error, whatever its header says."""
    refused(model('<skin name="s" file="x.skn"/>'), assets={"x.skn": content})
    refused(model('<skin name="s" file="x.obj"/>'), assets={"x.obj": skn()})


@pytest.mark.feature("B34")
def test_attached_skins_come_with_their_bones() -> None:
    """A skin follows its bodies into another model, and keeps its name as in MuJoCo."""
    child = model(skin(WHOLE, SURFACE.replace('material="m"', ""))).encode()
    for body, count in (("b", 0), ("a", 1)):
        attach = f'<attach model="c" body="{body}" prefix="p_"/>'
        xml = f'<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody>{attach}'
        ours = assert_same(f"{xml}</worldbody></mujoco>", assets={"c.xml": child})
        assert ours.sizes["nskin"] == count
    assets = {"c.xml": model(skin(WHOLE)).encode()}
    assert not accepted_by_mujoco(f"{xml}</worldbody></mujoco>", assets)
    assert "unknown material" in refusal(f"{xml}</worldbody></mujoco>", assets=assets).what


@pytest.mark.feature("B34")
def test_skins_are_saved_and_in_the_model() -> None:
    """A skin survives being written as MJCF; its fields are in the model without effect."""
    spec = mjcf.read_string(model(skin() + '<skin file="x.skn"/>'), {"x.skn": skn()})
    again = mjcf.read_string(spec.to_xml(), {"x.skn": skn()})
    one, two = compile_spec(spec), compile_spec(again)
    for name in (name for name in one.fields if name.startswith("skin_")):
        np.testing.assert_array_equal(one.fields[name], two.fields[name], err_msg=name)
    ours = Model.from_xml_string(spec.to_xml(), {"x.skn": skn()})
    assert ours.nskin == 2 and ours.skin_vert.shape == (8, 3) and ours.skin_face.shape == (4, 3)
    np.testing.assert_allclose(ours.skin_inflate, [0.1, 0], rtol=1e-6)
