"""The tests before the narrow phase against MuJoCo: types, bounding spheres, order of pairs."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.plan.broad import spheres_near
from mjjax.pipeline.support import findings
from tests.oracle_tools import contact_differences, load, quick, random_state, to_ours

STATIC = """
<mujoco>
  <asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="1 0 0 1"/></asset>
  <worldbody>
    <geom name="plane" type="plane" size="1 1 1"/>
    <geom name="field" type="hfield" hfield="h"/>
    <body mocap="true"><geom name="other plane" type="plane" size="1 1 1"/></body>
    <body mocap="true"><geom name="other field" type="hfield" hfield="h"/></body>
    <body><joint type="slide"/><geom size=".1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact>
    <pair geom1="plane" geom2="other plane"/><pair geom1="plane" geom2="other field"/>
    <pair geom1="field" geom2="other plane"/><pair geom1="field" geom2="other field"/>
  </contact>
</mujoco>
"""
ORDERED = """
<mujoco>
  <option><flag midphase="{}"/></option>
  <default><geom size=".2 .1"/></default>
  <worldbody>
    <geom type="capsule"/>
    <geom type="plane" size="1 1 1"/>
    <body><freejoint/><geom type="capsule"/><geom name="a"/><geom type="capsule"/></body>
    <body><freejoint/><geom/><geom type="capsule" name="b"/><geom/></body>
  </worldbody>
  <contact><pair geom1="b" geom2="a"/></contact>
</mujoco>
"""
COVERED = """
<mujoco>
  <worldbody>
    <body mocap="true"><geom type="{}" size="20 20 1"/></body>
    <body><freejoint/><geom size="20"/></body>
  </worldbody>
  <contact><pair geom1="geom0" geom2="geom1"/></contact>
</mujoco>
"""


@pytest.mark.feature("C74")
def test_planes_and_height_fields_pass_through_each_other() -> None:
    """Pairs that MuJoCo lets pass through each other have no contacts and are not refused."""
    both = load(STATIC)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    assert d.ncon == 0 and not findings(both.ours)
    data = mjjax.collision(both.ours, to_ours(both.ours, d))
    assert int(data.ncon) == 0 and data.contact.dist.size == 0


@pytest.mark.feature("C82", "A132")
@pytest.mark.parametrize("midphase", ["enable", "disable"])
def test_order_of_contacts_follows_the_flag(midphase: str) -> None:
    """Contacts of two bodies are ordered by geom, with the lower type or the lower body first."""
    both = load(ORDERED.format(midphase))
    d = random_state(both.reference, 0, spread=0.03)
    mujoco.mj_forward(both.reference, d)
    assert d.ncon > 15 and len(np.unique(d.contact.geom, axis=0)) > 12
    run = quick(lambda data: mjjax.collision(both.ours, mjjax.kinematics(both.ours, data)))
    # the rows are made later
    bad = set(contact_differences(run(to_ours(both.ours, d)), d)) - {"excluded"}
    assert not bad


@pytest.mark.feature("C81")
@pytest.mark.parametrize("kind", ["sphere", "plane"])
def test_bounding_spheres_decide_as_in_mujoco(kind: str) -> None:
    """Spheres must be within the margin, or their height over a plane; no bounds pass always."""
    xml = COVERED.format(kind).replace("<geom ", '<geom name="geom0" ', 1)
    m = mujoco.MjModel.from_xml_string(xml.replace("<geom size", '<geom name="geom1" size'))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    count = 300
    pos, bound = rng.normal(size=(2, 3, count)), rng.uniform(0, 0.9, (2, count))
    mat = np.stack([np.linalg.qr(rng.normal(size=(3, 3)))[0].ravel() for _ in range(2 * count)])
    mat, margin = mat.reshape(2, count, 9), rng.uniform(0, 0.5, (1, count))
    bound[rng.random((2, count)) < 0.1] = 0
    bound[0] *= kind == "sphere"
    contacts = []
    for i in range(count):
        # geoms so large that they touch everywhere: whether they do is the filter's decision
        m.geom_rbound[:], m.pair_margin[:] = bound[:, i], margin[0, i]
        d.geom_xpos[:], d.geom_xmat[:] = pos[:, :, i], mat[:, i]
        mujoco.mj_collision(m, d)
        contacts.append(d.ncon > 0)
    pair = np.array([[0, 1]])
    pos, mat, bound, margin = map(jnp.asarray, (pos, mat.transpose(0, 2, 1), bound, margin))
    near = spheres_near(pos, mat, bound, margin, pair, np.full(len(pair), kind == "plane"))
    assert 0.2 < np.mean(contacts) < 0.9
    np.testing.assert_array_equal(near[0], contacts)
