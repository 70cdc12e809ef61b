"""Capacities of contacts and rows: chosen, given, and too small."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax import WarningType
from tests.oracle_tools import load, quick

BALLS = 10
XML = """
<mujoco><option {}/><worldbody><geom type="plane" size="0 0 1"/>{}</worldbody></mujoco>
"""
forward = quick(mjjax.forward)


@functools.cache
def pile(option: str = "") -> mjjax.Model:
    """Balls in the floor, each a little deeper than the last, and one with a limited arm."""
    balls = "".join(
        f'<body pos="{k} 0 {0.1 - 0.002 * (k + 1)}"><freejoint/><geom size="0.1"/></body>'
        for k in range(BALLS)
    )
    arm = '<body pos="0 3 2"><joint axis="0 1 0" range="10 20" frictionloss="1"/>'
    return load(XML.format(option, balls + arm + '<geom size="0.1" pos="0.3 0 0"/></body>')).ours


def kept(data: mjjax.Data) -> list[int]:
    """The balls that have a contact, in the order of the slots."""
    geom = np.asarray(data.contact.geom)
    return (geom[geom[:, 0] >= 0, 1] - 1).tolist()


@pytest.mark.feature("A017", "C86", "A116")
def test_too_few_contact_slots_keep_the_deepest() -> None:
    """The shallowest contacts are dropped, the rest stay in order, and a warning is counted."""
    model = pile()
    data = forward(model, mjjax.make_data(model, nconmax=4))
    assert kept(data) == [6, 7, 8, 9]
    assert int(data.ncon) == 4 and int(data.nefc) == 4 * 4 + 2
    assert np.flatnonzero(data.warning).tolist() == [mjjax.WarningType.CONTACTFULL]
    chex.assert_tree_all_finite(data)


@pytest.mark.feature("A116")
def test_too_few_row_slots_are_reported() -> None:
    """Contacts without rows exert no force and say so; friction and limits keep theirs."""
    model = pile()
    # slots: dry friction, two sides of the limit (one of them active), three contacts
    data = forward(model, mjjax.make_data(model, njmax=3 + 3 * 4))
    assert int(data.warning[WarningType.CNSTRFULL]) == 1 and not int(data.warning[1])
    assert int(data.nefc) == 2 + 12
    address = np.asarray(data.contact.efc_address)
    assert (address[:3] >= 0).all() and (address[3:] == -1).all()
    falling = np.asarray(data.qacc)[2 : 6 * BALLS : 6]
    assert (falling[:3] > 0).all()
    np.testing.assert_allclose(falling[3:], -9.81, atol=1e-9)


@pytest.mark.feature("A017")
def test_enough_slots_change_nothing() -> None:
    """Spare capacity has no influence: the same bits up to rounding, no warning."""
    model = pile()
    few, many = (forward(model, mjjax.make_data(model, nconmax=n)) for n in (BALLS, 60))
    assert not np.any(few.warning) and not np.any(many.warning)
    np.testing.assert_allclose(few.qacc, many.qacc, atol=1e-8)
    assert kept(few) == kept(many)
    assert int(few.ncon) == int(many.ncon) == BALLS
    spare = np.asarray(many.contact.geom)[:, 0] < 0
    assert (np.asarray(many.contact.dist)[spare] > 1e9).all()
    assert not np.any(np.asarray(many.efc_force)[np.asarray(many.efc_D) == 0])


@pytest.mark.feature("C86")
def test_capacity_chosen_for_the_user() -> None:
    """Few candidates all have slots; many geoms have far fewer slots than pairs, but enough."""
    assert mjjax.make_data(pile()).contact.dist.shape[0] <= 64
    n = 30
    balls = "".join(
        f'<body pos="{0.19 * k} 0 0.095"><freejoint/><geom size="0.1"/></body>' for k in range(n)
    )
    both = load(XML.format("", balls))
    data = mjjax.make_data(both.ours)
    assert data.contact.dist.shape[0] < n * (n + 1) // 2
    data = forward(both.ours, data)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    assert int(data.ncon) == d.ncon == 2 * n - 1 and int(data.nefc) == d.nefc
    assert not np.any(data.warning)
    np.testing.assert_array_equal(np.asarray(data.contact.geom)[: d.ncon], d.contact.geom)
    np.testing.assert_allclose(data.qacc, d.qacc, atol=1e-4 * np.abs(d.qacc).max())


@pytest.mark.feature("C86")
def test_capacity_follows_what_moves() -> None:
    """Arms of meshes get few slots, links all, objects more than one per geom, walls none."""
    mesh = '<geom type="mesh" mesh="m"/>'
    link = f'<body pos=".1 0 0"><joint axis="0 1 0"/>{mesh}'
    wall = '<geom type="box" size="1 1 1" pos="9 9 9"/>'
    box = '<body pos="{} 3 3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'

    def slots(bodies: str) -> int:
        text = (
            '<mujoco><asset><mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )
        return mjjax.make_data(mjjax.Model.from_xml_string(text)).contact.dist.shape[0]

    arm = 30 * link + 30 * "</body>"
    assert 45 <= slots(arm) == slots(arm + 40 * wall) <= 64
    boxes = "".join(box.format(k) for k in range(20))
    assert 60 < slots(boxes) <= 160
    capsule = '<geom type="capsule" size=".02" fromto="0 0 0 .1 0 0" contype="1" conaffinity="0"/>'
    floor = '<geom type="plane" size="1 1 1" contype="0"/>'
    links = 100 * f'<body pos=".1 0 0"><joint axis="0 1 0"/>{capsule}' + 100 * "</body>"
    assert slots(floor + links) == 200  # more than half of them are expected
    assert slots(boxes + arm) == slots(boxes) + 45


@pytest.mark.parametrize("size", [{"nconmax": -1}, {"njmax": 1}])
def test_impossible_capacities_are_refused(size: dict[str, Any]) -> None:
    """A capacity that cannot hold the model's own rows is an error when the data is made."""
    with pytest.raises(ValueError, match=next(iter(size))):
        mjjax.make_data(pile(), **size)


@pytest.mark.feature("D19")
def test_overflow_is_differentiable() -> None:
    """Dropping contacts leaves no NaN in the derivatives."""
    model = pile()
    data = mjjax.make_data(model, nconmax=4)
    slope = quick(jax.grad(lambda q: jnp.sum(mjjax.forward(model, data.replace(qpos=q)).qacc)))
    chex.assert_tree_all_finite(slope(data.qpos))
