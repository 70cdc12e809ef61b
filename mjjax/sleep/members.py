"""The kinematic trees that the elements of a model belong to; all of this is static."""

import dataclasses
import functools

import numpy as np

from mjjax.core.enums import EqType, ObjType, SleepPolicy, TrnType, WrapType
from mjjax.model.structure import Structure

_MAY_SLEEP = (SleepPolicy.AUTO_ALLOWED, SleepPolicy.ALLOWED, SleepPolicy.INIT)
_JOINTS = (TrnType.JOINT, TrnType.JOINTINPARENT)
_SITES = (TrnType.SITE, TrnType.SLIDERCRANK)


@dataclasses.dataclass(frozen=True, eq=False)
class TreeMembers:
    """Trees by element; a mask has a column for each tree.

    Attributes:
        may_sleep: (ntree,) whether the policy lets the tree fall asleep.
        geom: (ngeom,) tree of each geom, -1 if it is static.
        tendon: (ntendon, ntree) trees on the path of each tendon.
        equality: (neq, 2) trees that each equality ties, -1 for none; without those of tendons.
        mocap: (neq,) whether the equality ties a tree to a body that the user moves.
        actuator: (nu, ntree) trees of which one must be awake for the actuator to act.
    """

    may_sleep: np.ndarray
    geom: np.ndarray
    tendon: np.ndarray
    equality: np.ndarray
    mocap: np.ndarray
    actuator: np.ndarray


@functools.lru_cache(maxsize=64)
def members(s: Structure) -> TreeMembers:
    """Trees by element of a structure."""
    tendon = _tendons(s)
    sides = [_sides(s, i) for i in range(s.neq)]
    tree = np.append(s.body_treeid, -1)  # the last one stands for no body
    moved = np.append((s.body_mocapid[s.body_rootid] >= 0) & (s.body_treeid < 0), False)
    bodies = np.array(sides, int).reshape(-1, 2)
    return TreeMembers(
        may_sleep=np.isin(s.tree_sleep_policy, _MAY_SLEEP),
        geom=s.body_treeid[s.geom_bodyid],
        tendon=tendon,
        equality=tree[bodies],
        mocap=np.any(moved[bodies], axis=1).reshape(s.neq),
        actuator=_actuators(s, tendon),
    )


def mask_of(trees: np.ndarray, ntree: int) -> np.ndarray:
    """Mask (n, ntree) of trees (n, k), where -1 stands for none."""
    return (trees[..., None] == np.arange(ntree)).any(axis=-2)


def _tendons(s: Structure) -> np.ndarray:
    body = {
        WrapType.JOINT: s.jnt_bodyid,
        WrapType.SITE: s.site_bodyid,
        WrapType.SPHERE: s.geom_bodyid,
        WrapType.CYLINDER: s.geom_bodyid,
    }
    found = np.zeros((s.ntendon, s.ntree + 1), bool)  # the last column stands for no tree
    for tendon, (start, count) in enumerate(zip(s.tendon_adr, s.tendon_num, strict=True)):
        for k in range(start, start + count):
            if (kind := WrapType(s.wrap_type[k])) in body:
                found[tendon, s.body_treeid[body[kind][s.wrap_objid[k]]]] = True
    return found[:, :-1]


def _sides(s: Structure, i: int) -> tuple[int, int]:
    """The two bodies of an equality, -1 for none."""
    objects = (s.eq_obj1id[i], s.eq_obj2id[i])
    if s.eq_type[i] == EqType.JOINT:
        of = s.jnt_bodyid
    elif s.eq_type[i] in (EqType.CONNECT, EqType.WELD):
        of = s.site_bodyid if s.eq_objtype[i] == ObjType.SITE else np.arange(s.nbody)
    else:
        return -1, -1
    one, two = (int(of[k]) if k >= 0 else -1 for k in objects)
    return one, two


def _actuators(s: Structure, tendon: np.ndarray) -> np.ndarray:
    target = s.actuator_trnid[:, 0]
    found = np.zeros((s.nu, s.ntree), bool)
    for i, kind in enumerate(s.actuator_trntype):
        if kind == TrnType.TENDON:
            found[i] = tendon[target[i]]
            continue
        of = s.jnt_bodyid if kind in _JOINTS else s.site_bodyid
        body = of[target[i]] if kind in (*_JOINTS, *_SITES) else target[i]
        found[i] = np.arange(s.ntree) == s.body_treeid[body]
    return found
