"""Narrow-phase kernels against MuJoCo: number, order, distance, point and normal of contacts."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjjax.collision.plan.table import COLLIDERS, NEVER_COLLIDE
from mjjax.collision.shape.contact_set import NO_CONTACT, ContactSet, first
from mjjax.core.enums import GeomType
from tests.collision.placements import (
    BOX,
    CAPSULE,
    DEGENERATE,
    KINDS,
    PILL,
    PLANE,
    SLANT,
    SPHERE,
    Placement,
    contacts,
    differ,
    name,
    oracle,
    placed,
    placements,
    stack,
)

COUNT = 600
every_kind = pytest.mark.parametrize("kind", KINDS, ids=name)


@pytest.mark.feature("C63", "C64", "C67", "C68", "C69", "C83")
@every_kind
@pytest.mark.parametrize("sort", ["general", "square"])
def test_agrees_with_mujoco(kind: tuple[GeomType, GeomType], sort: str) -> None:
    """Protects MuJoCo's contacts, and which of them exist within a margin."""
    p = placements(kind, sort, COUNT)
    theirs, ours = oracle(kind, p), contacts(kind, p)
    assert sum(len(t.dist) for t in theirs) > COUNT / 4
    assert [i for i in range(COUNT) if differ(theirs[i], ours[i])] == []


@pytest.mark.feature("C63", "C64", "C67", "C68", "C69")
@every_kind
def test_ties_are_decided_as_mujoco_might(kind: tuple[GeomType, GeomType]) -> None:
    """If rounding decides between equal features, MuJoCo has our result for a rounded pose."""
    p = placements(kind, "diagonal", COUNT)
    theirs, ours = oracle(kind, p), contacts(kind, p)
    different = [i for i in range(COUNT) if differ(theirs[i], ours[i])]
    assert len(different) <= COUNT / (8 if kind == (BOX, BOX) else 50)
    rng = np.random.default_rng(0)
    for i in different:
        pose = Placement(*(x[i] for x in p))
        # the rarest takes one rounding in two hundred: which one is rare depends on the processor
        tries = (stack([_rounded(pose, rng) for _ in range(400)]) for _ in range(10))
        assert not all(differ(t, ours[i]) for some in tries for t in oracle(kind, some)), i


def _rounded(p: Placement, rng: np.random.Generator) -> Placement:
    """A pose in which some numbers are rounded differently."""

    def noise(x: np.ndarray) -> np.ndarray:
        scale = rng.choice([0, 1e-16, 1e-15])
        x = x + scale * rng.integers(0, 2, x.shape) * rng.normal(size=x.shape)
        return np.round(x, 15) if rng.random() < 0.25 else x

    return p._replace(mat1=noise(p.mat1), pos2=noise(p.pos2), mat2=noise(p.mat2))


@pytest.mark.feature("C63", "C67", "C68")
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_placements_agree_with_mujoco(case: str) -> None:
    """Protects the normals and contacts that MuJoCo chooses where geometry alone does not."""
    kind, p = DEGENERATE[case]
    theirs, ours = oracle(kind, stack([p]))[0], contacts(kind, stack([p] * COUNT))[0]
    assert not differ(theirs, ours), (theirs, ours)


@pytest.mark.feature("C63")
def test_capsule_on_plane_gives_its_axis_as_tangent() -> None:
    """Keeps rolling friction of capsules on a plane aligned with their axis, as in MuJoCo."""
    p = placements((PLANE, CAPSULE), "general", COUNT)
    for i, (theirs, ours) in enumerate(
        zip(oracle((PLANE, CAPSULE), p), contacts((PLANE, CAPSULE), p), strict=True)
    ):
        hint = np.broadcast_to(p.mat2[i][:, 2], ours.normal.shape)
        np.testing.assert_array_equal(ours.tangent, hint)
        hint = hint - np.sum(hint * ours.normal, axis=1, keepdims=True) * ours.normal
        hint = hint / np.linalg.norm(hint, axis=1, keepdims=True)
        np.testing.assert_allclose(theirs.tangent, hint, atol=1e-9)


@pytest.mark.feature("C83")
@every_kind
def test_margin_adds_contacts_and_changes_none(kind: tuple[GeomType, GeomType]) -> None:
    """Protects the meaning of a margin: it adds contacts and does not change the others."""
    if kind == (CAPSULE, CAPSULE):
        pytest.skip("of four candidates the first two within the margin are kept")
    if kind == (BOX, BOX):
        pytest.skip("points outside a box are dropped, and a margin makes the boxes larger")
    p = placements(kind, "general", COUNT)
    if kind == (PLANE, BOX):
        p = p._replace(size2=0.1 * p.size2)  # never more than four corners
    wide = contacts(kind, p._replace(margin=np.full(COUNT, 0.3)))
    for margin in (0.0, 0.1):
        narrow = contacts(kind, p._replace(margin=np.full(COUNT, margin)))
        for a, b in zip(wide, narrow, strict=True):
            assert not differ(ContactSet(*(x[a.dist <= margin] for x in a)), b)


@pytest.mark.feature("C67")
def test_exchanging_equal_kinds_mirrors_contacts() -> None:
    """Protects the symmetry of spheres and of capsules that are not parallel."""
    for kind in ((SPHERE, SPHERE), (CAPSULE, CAPSULE)):
        p = placements(kind, "general", COUNT)
        mirrored = Placement(p.pos2, p.mat2, p.size2, p.pos1, p.mat1, p.size1, p.margin)
        for a, b in zip(contacts(kind, p), contacts(kind, mirrored), strict=True):
            assert not differ(a, b._replace(normal=-b.normal))


@pytest.mark.feature("C63", "C67", "C68")
@every_kind
def test_moves_with_the_world(kind: tuple[GeomType, GeomType]) -> None:
    """Protects the frames: a motion of both geoms moves points and normals, not distances."""
    p, shift = placements(kind, "general", COUNT), np.array([1.0, -2, 3])
    moved = p._replace(
        pos1=p.pos1 @ SLANT.T + shift, mat1=SLANT @ p.mat1,
        pos2=p.pos2 @ SLANT.T + shift, mat2=SLANT @ p.mat2,
    )  # fmt: skip
    for a, b in zip(contacts(kind, p), contacts(kind, moved), strict=True):
        a = a._replace(pos=a.pos @ SLANT.T + shift, normal=a.normal @ SLANT.T)
        assert not differ(a, b)


@pytest.mark.feature("C63", "C67", "C68")
@every_kind
def test_float32_agrees(kind: tuple[GeomType, GeomType]) -> None:
    """Protects float32: results have its dtype and are those of float64 up to rounding."""
    p = placements(kind, "general", COUNT)
    single = Placement(*(x.astype(np.float32) for x in p))
    many = 0
    for a, b in zip(contacts(kind, p), contacts(kind, single), strict=True):
        assert all(x.dtype == np.float32 for x in b)
        many += differ(a, b, 1e-3)
    assert many <= COUNT / 100


@pytest.mark.feature("C67")
def test_parallel_capsules_are_found_in_float32() -> None:
    """Keeps two contacts between parallel capsules when float32 rounds their axes."""
    kind = (CAPSULE, CAPSULE)
    p = stack([placed(PILL, SLANT, PILL, SLANT, 0.2 * SLANT[:, 0])] * COUNT)
    noise = 1e-7 * np.random.default_rng(0).normal(size=p.mat2.shape)
    p = Placement(*(x.astype(np.float32) for x in p._replace(mat2=p.mat2 + noise)))
    assert all(len(t.dist) == 2 for t in contacts(kind, p))


@pytest.mark.feature("C67")
def test_capsules_that_are_nearly_parallel_touch_once_in_float32() -> None:
    """Capsules at an angle of 1e-5 have one contact, as in MuJoCo, in spite of rounding."""
    kind, angle = (CAPSULE, CAPSULE), 1e-5
    tilt = np.array([[1, 0, angle], [0, 1, 0], [-angle, 0, 1]])
    p = stack([placed(PILL, SLANT, PILL, SLANT @ tilt, 0.2 * SLANT[:, 1])] * COUNT)
    single = Placement(*(x.astype(np.float32) for x in p))
    theirs, ours = oracle(kind, p)[0], contacts(kind, single)
    assert len(theirs.dist) == 1 and all(len(t.dist) == 1 for t in ours)


@pytest.mark.feature("C68")
def test_zero_length_capsule_is_harmless() -> None:
    """Sizes that MuJoCo's compiler refuses, but that a user may set, give no NaN."""
    for kind in ((SPHERE, CAPSULE), (CAPSULE, CAPSULE), (CAPSULE, BOX)):
        p = placements(kind, "general", COUNT)
        for field in ("size1", "size2"):
            if kind[field == "size2"] == CAPSULE:
                p = p._replace(**{field: getattr(p, field) * np.array([1.0, 0, 1])})
        chex.assert_tree_all_finite(contacts(kind, p))


def test_first_keeps_order_and_capacity() -> None:
    """Protects the choice of slots: they get the first valid candidates, each once."""
    for valid in np.random.default_rng(0).random((20, 6)) < 0.5:
        pick = np.asarray(first(jnp.asarray(valid), 3))
        chosen = np.flatnonzero(valid)[:3]
        np.testing.assert_array_equal(np.argwhere(pick)[:, 1], chosen)
        np.testing.assert_array_equal(np.argwhere(pick)[:, 0], np.arange(len(chosen)))


@every_kind
def test_table_states_the_number_of_slots(kind: tuple[GeomType, GeomType]) -> None:
    """Protects the layout of contact slots, and the order of types in the table's keys."""
    arguments = [jnp.zeros(s) for s in ((3,), (3, 3), (3,), (3,), (3, 3), (3,), ())]
    touch = jax.eval_shape(COLLIDERS[kind].function, *arguments)
    slots = COLLIDERS[kind].ncon
    assert [x.shape for x in touch] == [(slots,), (slots, 3), (slots, 3), (slots, 3)]
    assert kind[0] <= kind[1] and kind not in NEVER_COLLIDE
    assert not any(x.weak_type for x in touch)
    assert np.isfinite(np.float32(NO_CONTACT))
