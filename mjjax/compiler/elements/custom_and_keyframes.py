"""Custom numbers, texts and tuples, and keyframes."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import reals
from mjjax.core.enums import JointType
from mjjax.math import quat
from mjjax.math.tracked import numbers, real_array
from mjjax.mjcf.element import Element
from mjjax.mjcf.orientation import normalize
from mjjax.xla.namespace import where

_MAX_NUMERIC = 500
_PADDED = ("qvel", "act", "ctrl")  # parts of a keyframe that may be short; the rest is zero


def _ragged(ctx: Context, kind: str, sizes: list[int]) -> None:
    """Sizes and addresses of elements of different length."""
    size = np.array(sizes, np.int32)
    ctx.fields[f"{kind}_size"] = size
    ctx.fields[f"{kind}_adr"] = (np.cumsum(size) - size).astype(np.int32)
    ctx.sizes[f"n{kind}"] = len(size)


def compile_custom(ctx: Context) -> None:
    """Adds the fields `numeric_*`, `text_*`, `tuple_*`."""
    f = ctx.fields
    rows = [_numeric(e) for e in ctx.spec.elements["numeric"]]
    f["numeric_data"] = real_array([x for row in rows for x in row])
    _ragged(ctx, "numeric", [len(row) for row in rows])
    texts = ctx.spec.elements["text"]
    for element in texts:
        if not element.values["data"]:
            raise element.origin.error("the text is empty")
    data = [e.values["data"].encode() + b"\0" for e in texts]
    f["text_data"] = np.frombuffer(b"".join(data), np.uint8)
    _ragged(ctx, "text", [len(row) for row in data])
    _tuples(ctx)


def _numeric(element: Element) -> tuple[float, ...]:
    data, size = element.values["data"] or (), element.values["size"]
    size = len(data) if size is None else size
    if not 1 <= size <= _MAX_NUMERIC:
        raise element.origin.error(f"the size must be between 1 and {_MAX_NUMERIC}")
    if len(data) > size:
        raise element.origin.error(f"{len(data)} values are given, but the size is {size}")
    return data + (0.0,) * (size - len(data))


def _tuples(ctx: Context) -> None:
    elements, f = ctx.spec.elements["tuple"], ctx.fields
    types: list[int] = []
    ids: list[int] = []
    for element in elements:
        if not element.children:
            raise element.origin.error("the tuple is empty")
        for member in element.children:
            type_, index = ctx.names.find_object(
                member.values["objtype"], member.values["objname"], member
            )
            types.append(type_)
            ids.append(index)
    f["tuple_objtype"], f["tuple_objid"] = np.array(types, np.int32), np.array(ids, np.int32)
    members = [member for element in elements for member in element.children]
    f["tuple_objprm"] = reals(members, "prm")
    _ragged(ctx, "tuple", [len(e.children) for e in elements])


def _of_joints(quats: np.ndarray) -> np.ndarray:
    """Unit quaternions of joints; a zero quaternion becomes the identity.

    This holds for joints only: a mocap body keeps a zero quaternion, as in MuJoCo.
    """
    found = normalize(quats)
    short = np.sum(numbers(found) ** 2, axis=-1, keepdims=True) < 0.5
    return where(short, quat.normalize(found), found)


def compile_keyframes(ctx: Context) -> None:
    """Adds the fields `key_*`; parts that a keyframe leaves out are as in the reference state."""
    keys, f = ctx.spec.elements["key"], ctx.fields
    n = max(len(keys), ctx.spec.size["nkey"])
    mocap = f["body_mocapid"] >= 0
    defaults = {
        "qpos": f["qpos0"],
        "qvel": np.zeros(ctx.sizes["nv"]),
        "act": np.zeros(ctx.sizes["na"]),
        "ctrl": np.zeros(ctx.sizes["nu"]),
        "mpos": f["body_pos"][mocap].ravel(),
        "mquat": f["body_quat"][mocap].ravel(),
    }
    origin = keys[0].origin if len(keys) == n > 0 else ctx.spec.origin("size")
    limits, total = ctx.spec.limits, n * sum(map(len, defaults.values()))
    limits.bound(origin, "keyframes", n, "keyframes")
    limits.bound(origin, "numbers of keyframes", total, "numbers")
    for name, default in defaults.items():
        f[f"key_{name}"] = np.tile(default, (n, 1)).copy()
        size = len(default)
        for i, key in enumerate(keys):
            data = key.values[name]
            if data is None:
                continue
            if len(data) > size or (len(data) < size and name not in _PADDED):
                raise key.origin.error(f"{name} has {len(data)} values, but the model has {size}")
            f[f"key_{name}"][i, : len(data)] = real_array(data)
    f["key_time"] = np.zeros(n)
    f["key_time"][: len(keys)] = reals(keys, "time")
    start = f["jnt_qposadr"] + 3 * (f["jnt_type"] == JointType.FREE)
    quats = start[f["jnt_type"] <= JointType.BALL][:, None] + np.arange(4)
    f["key_qpos"][:, quats] = _of_joints(f["key_qpos"][:, quats])
    quats = f["key_mquat"].reshape(n, -1, 4) if n else f["key_mquat"]
    f["key_mquat"] = normalize(quats).reshape(f["key_mquat"].shape)
    ctx.sizes["nkey"] = n
