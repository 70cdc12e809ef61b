"""The list of contacts: frames, and contacts that exert no force."""

import functools

import mujoco
import numpy as np
import pytest

import mjjax
from tests.oracle_tools import load, quick

XML = """
<mujoco><option cone="elliptic"/><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body pos="0 0 .13"><freejoint/><geom size=".1" margin=".1" gap=".08"/></body>
  <body pos="1 0 .11"><freejoint/><geom size=".1" margin=".1" gap=".08"/></body>
  <body pos="2 0 .21"><freejoint/><geom size=".1" margin=".1" gap=".08"/></body>
  <body pos="3 0 .09" mocap="true"><geom size=".1"/></body>
  <body pos="4 0 .2"><freejoint/><geom type="capsule" size=".1 .1" euler="10 20 30"/></body>
  <body pos="4.1 .1 .4"><freejoint/><geom size=".15"/></body>
</worldbody></mujoco>
"""


@functools.cache
def contacts() -> tuple[mujoco.MjData, mjjax.Data, np.ndarray, np.ndarray]:
    """Both engines after the forward pass; our contacts in use, and the force of each slot."""
    both = load(XML)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    data = quick(mjjax.forward)(both.ours, mjjax.make_data(both.ours))
    slots = range(len(data.contact.dist))
    force = [mjjax.contact_force(both.ours, data, slot) for slot in slots]
    return d, data, np.asarray(data.contact.geom)[:, 0] >= 0, np.asarray(force)


@pytest.mark.feature("A109")
def test_axes_of_frames_are_rows() -> None:
    """The first row is the normal and points from the first geom to the second."""
    d, data, on, force = contacts()
    frame = np.asarray(data.contact.frame)[on].reshape(-1, 3, 3)
    np.testing.assert_allclose(frame, d.contact.frame.reshape(-1, 3, 3), atol=1e-9)
    np.testing.assert_allclose(frame @ frame.swapaxes(1, 2), [np.eye(3)] * len(frame), atol=1e-9)
    geom = np.asarray(data.contact.geom)[on]
    spheres = data.geom_xpos[geom[:, 1]] - data.geom_xpos[geom[:, 0]]
    assert (np.sum(frame[:, 0] * spheres, axis=1) > 0).all()
    flat = geom[:, 0] == 0
    np.testing.assert_allclose(frame[flat, 0], [[0, 0, 1]] * flat.sum(), atol=1e-12)
    world = np.einsum("nki,nk->ni", frame, force[on, :3])
    assert (world[flat, 2] >= 0).all() and world[flat, 2].max() > 0


@pytest.mark.feature("A133")
def test_contacts_without_force_have_no_row() -> None:
    """In the gap a contact is listed without a row; without dofs or out of reach it is not."""
    d, data, on, force = contacts()
    assert int(data.ncon) == d.ncon == on.sum()
    assert int(data.nefc) == d.nefc
    address = np.asarray(data.contact.efc_address)
    excluded = address[on] < 0
    np.testing.assert_array_equal(excluded, d.contact.exclude != 0)
    assert set(d.contact.exclude) == {0, 1} and not force[on][excluded].any()
    for i, slot in enumerate(np.flatnonzero(on)):
        mujoco.mj_contactForce(load(XML).reference, d, i, expected := np.zeros(6))
        np.testing.assert_allclose(force[slot], expected, atol=1e-7)
    rows = np.asarray(data.efc_D)[address[on][~excluded]]
    assert (rows > 0).all() and not force[~on].any() and (address[~on] < 0).all()
