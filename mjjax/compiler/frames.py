"""Frames that coincide: within a millionth, MuJoCo takes one for the other."""

from collections.abc import Mapping

import numpy as np

EPS = 1e-6


def merged_frames(fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields with frames that coincide with their body's or its inertia's exactly at these.

    MuJoCo keeps the numbers and marks the frames (`body_sameframe`, `geom_sameframe`,
    `site_sameframe`); what it then computes with are the numbers here.
    """
    f = dict(fields)
    for kind in ("body_i", "geom_", "site_"):
        for part in ("pos", "quat"):
            f[kind + part] = f[kind + part].copy()
    zero, unit = np.zeros(3), np.array([1.0, 0, 0, 0])
    _snap(f["body_ipos"], f["body_iquat"], zero, unit)
    for kind in ("geom", "site"):
        pos, quat, body = f[f"{kind}_pos"], f[f"{kind}_quat"], f[f"{kind}_bodyid"]
        turned = ~_snap(pos, quat, zero, unit)
        _snap(pos, quat, f["body_ipos"][body], f["body_iquat"][body], turned)
    return f


def _snap(
    pos: np.ndarray,
    quat: np.ndarray,
    to: np.ndarray,
    turn: np.ndarray,
    asked: np.ndarray | None = None,
) -> np.ndarray:
    """Moves poses that are asked about to the poses (to, turn); which had that orientation."""
    to, turn = np.broadcast_to(to, pos.shape), np.broadcast_to(turn, quat.shape)
    turn = np.where(np.sum(quat * turn, axis=-1, keepdims=True) < 0, -turn, turn)
    parallel = np.all(np.abs(quat - turn) < EPS, axis=1)
    if asked is not None:
        parallel &= asked
    quat[parallel] = turn[parallel]
    same = parallel & np.all(np.abs(pos - to) < EPS, axis=1)
    pos[same] = to[same]
    return parallel
