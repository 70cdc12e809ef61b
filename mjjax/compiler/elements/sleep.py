"""Which kinematic trees may sleep."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.core.enums import SleepPolicy, TrnType

_EXPLICIT = (SleepPolicy.NEVER, SleepPolicy.ALLOWED, SleepPolicy.INIT)
_TARGETS = {
    TrnType.JOINT: "joint",
    TrnType.JOINTINPARENT: "joint",
    TrnType.SLIDERCRANK: "site",
    TrnType.SITE: "site",
    TrnType.BODY: "body",
}


def sleep_policies(ctx: Context) -> None:
    """Adds `tree_sleep_policy`: the policy of the root body, or the one that suits its tree.

    A tree never sleeps by itself if an actuator drives it, if a tendon ties it to another tree by a
    spring or damper, or if a tendon ties it to more than one other tree.
    """
    f = ctx.fields
    roots = f["tree_bodyadr"]
    asked = np.full(len(roots), SleepPolicy.AUTO, np.int32)
    for body, element in enumerate(ctx.tree.bodies.elements):
        policy = element.values["sleep"]
        if policy not in _EXPLICIT:
            continue
        tree = f["body_treeid"][body]
        if tree < 0 or roots[tree] != body:
            raise element.origin.error(
                "only the root of a moving tree has a sleep policy", "remove 'sleep'"
            )
        asked[tree] = policy
    tied = _tied(ctx)
    for tree in np.flatnonzero(tied & np.isin(asked, (SleepPolicy.ALLOWED, SleepPolicy.INIT))):
        raise ctx.tree.bodies.elements[roots[tree]].origin.error(
            "the body cannot sleep: a tendon ties it to another tree", "set sleep to 'auto'"
        )
    busy = tied | _driven(ctx)
    auto = np.where(busy, SleepPolicy.AUTO_NEVER, SleepPolicy.AUTO_ALLOWED)
    f["tree_sleep_policy"] = np.where(asked == SleepPolicy.AUTO, auto, asked).astype(np.int32)


def _tied(ctx: Context) -> np.ndarray:
    """(ntree,) trees that a tendon ties to others."""
    f = ctx.fields
    tied = np.zeros(ctx.sizes["ntree"], bool)
    for i, trees in enumerate(ctx.tendon_trees):
        forced = f["tendon_stiffness"][i] or f["tendon_damping"][i]
        if len(trees) > 2 or (len(trees) == 2 and forced):
            tied[trees] = True
    return tied


def _driven(ctx: Context) -> np.ndarray:
    """(ntree,) trees that an actuator drives."""
    f = ctx.fields
    driven = np.zeros(ctx.sizes["ntree"] + 1, bool)  # the last one stands for no tree
    for kind, (target, _) in zip(f["actuator_trntype"], f["actuator_trnid"], strict=True):
        if kind == TrnType.TENDON:
            driven[ctx.tendon_trees[target]] = True
        else:
            driven[ctx.tree_of(_TARGETS[kind], target)] = True
    return driven[:-1]
