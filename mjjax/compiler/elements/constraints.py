"""Contact pairs, excluded pairs of bodies, and equality constraints."""

from collections.abc import Callable

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import bools, ints, reals
from mjjax.core.constants import NEQDATA, NIMP, NREF
from mjjax.core.enums import EqType, JointType, ObjType
from mjjax.math.tracked import real_array
from mjjax.mjcf.element import Element

_CONDIMS = (1, 3, 4, 6)


def sort_contacts(ctx: Context) -> None:
    """Orders pairs and excludes by body signature (body1 << 16) + body2 and names them."""
    f = ctx.fields
    for kind, target in (("pair", "geom"), ("exclude", "body")):
        elements = ctx.spec.elements[kind]
        ids = np.array(
            [[_find(ctx, target, e, f"{target}{i}") for i in (1, 2)] for e in elements], np.int64
        ).reshape(-1, 2)
        body = f["geom_bodyid"][ids] if target == "geom" else ids
        swap = body[:, 0] > body[:, 1]
        ids[swap], body[swap] = ids[swap, ::-1], body[swap, ::-1]
        signature = (body[:, 0].astype(np.int64) << 16) + body[:, 1]
        order = np.argsort(signature, kind="stable")
        f[f"{kind}_signature"] = signature[order].astype(np.int32)
        ordered = [elements[i] for i in order]
        ctx.names.add(kind, ordered)
        ctx.contacts[kind] = ordered
        ctx.sizes[f"n{kind}"] = len(ordered)
        if kind == "pair":
            _pairs(ctx, ordered, ids[order].astype(np.int32))


def _find(ctx: Context, kind: str, element: Element, attribute: str) -> int:
    name = element.values[attribute]
    if not name:
        raise element.origin.error(f"attribute {attribute!r} is required")
    return ctx.names.find(kind, name, element)


def _pairs(ctx: Context, elements: list[Element], geoms: np.ndarray) -> None:
    f = ctx.fields
    for element in elements:
        if element.values["condim"] not in _CONDIMS:
            condim = element.values["condim"]
            raise element.origin.error(f"condim is {condim}", "it must be 1, 3, 4 or 6")
    f["pair_geom1"], f["pair_geom2"] = geoms[:, 0], geoms[:, 1]
    f["pair_dim"] = ints(elements, "condim")
    f["pair_margin"], f["pair_gap"] = reals(elements, "margin"), reals(elements, "gap")
    for name, width in (("solref", 2), ("solreffriction", 2), ("solimp", 5), ("friction", 5)):
        f[f"pair_{name}"] = reals(elements, name, width)


Relation = tuple[int, int, int, list[float]]  # object type, two ids, data


def compile_equalities(ctx: Context) -> None:
    """Adds the fields `eq_*`; the offsets that follow from qpos0 are left zero."""
    elements, f = ctx.spec.elements["equality"], ctx.fields
    found = [_RELATIONS[e.values["type"]](ctx, e) for e in elements]
    n = len(elements)
    f["eq_type"] = np.array([EqType[e.values["type"].upper()] for e in elements], np.int32)
    f["eq_objtype"] = np.array([relation[0] for relation in found], np.int32)
    f["eq_obj1id"] = np.array([relation[1] for relation in found], np.int32)
    f["eq_obj2id"] = np.array([relation[2] for relation in found], np.int32)
    f["eq_data"] = real_array([relation[3] for relation in found]).reshape(n, NEQDATA)
    f["eq_active0"] = bools(elements, "active")
    f["eq_solref"] = reals(elements, "solref", NREF)
    f["eq_solimp"] = reals(elements, "solimp", NIMP)
    for element, one, two in zip(elements, f["eq_obj1id"], f["eq_obj2id"], strict=True):
        if one == two:
            raise element.origin.error("the constraint relates an object to itself")
    ctx.sizes["neq"] = n


def _data(*entries: tuple[int, tuple[float, ...] | None], scale: float = 1.0) -> list[float]:
    """Data with blocks of values from given entries on; a block that is None stays zero."""
    data = [0.0] * (NEQDATA - 1) + [scale]
    for start, block in entries:
        if block is not None:
            data[start : start + len(block)] = block
    return data


def _bodies_or_sites(
    ctx: Context, element: Element, given: tuple[str, ...], needed: tuple[str, ...]
) -> tuple[int, int, int]:
    """Object type and ids of a constraint between two bodies (or one and the world) or sites.

    Args:
        ctx: the model.
        element: the constraint.
        given: attributes that only go with bodies.
        needed: given attributes that bodies must have.
    """
    v, origin = element.values, element.origin
    sites = [v[f"site{i}"] for i in (1, 2)]
    others = [name for name in ("body1", "body2", *given) if v[name] is not None]
    if any(site is not None for site in sites):
        if others:
            raise origin.error("bodies and sites cannot be mixed", f"remove {others[0]!r}")
        if None in sites:
            raise origin.error("the constraint needs both site1 and site2")
        one, two = (ctx.names.find("site", site, element) for site in sites)
        return ObjType.SITE, one, two
    for name in ("body1", *needed):
        if v[name] is None:
            raise origin.error(f"attribute {name!r} is required", "or give site1 and site2")
    one = ctx.names.find("body", v["body1"], element)
    return ObjType.BODY, one, ctx.names.find("body", v["body2"], element) if v["body2"] else 0


def _connect(ctx: Context, element: Element) -> Relation:
    kind, one, two = _bodies_or_sites(ctx, element, ("anchor",), ("anchor",))
    data = [0.0] * NEQDATA if kind == ObjType.SITE else _data((0, element.values["anchor"]))
    return kind, one, two, data


def _weld(ctx: Context, element: Element) -> Relation:
    v = element.values
    kind, one, two = _bodies_or_sites(ctx, element, ("anchor", "relpose"), ())
    # MuJoCo keeps the general default of the second entry for sites, which do not use it.
    first = (1, (1.0,)) if kind == ObjType.SITE else (0, v["anchor"])
    return kind, one, two, _data(first, (3, v["relpose"]), scale=v["torquescale"])


def _coupling(kind: str) -> Callable[[Context, Element], Relation]:
    """One or two scalar objects of a kind, related by a polynomial."""

    def relation(ctx: Context, element: Element) -> Relation:
        v = element.values
        one = ctx.names.find(kind, v[f"{kind}1"], element)
        two = ctx.names.find(kind, v[f"{kind}2"], element) if v[f"{kind}2"] else -1
        if kind == "joint":
            for joint in (one, two):
                if joint >= 0 and ctx.fields["jnt_type"][joint] <= JointType.BALL:
                    raise element.origin.error("only slide and hinge joints can be coupled")
        return ObjType.UNKNOWN, one, two, _data((0, v["polycoef"]))

    return relation


_RELATIONS: dict[str, Callable[[Context, Element], Relation]] = {
    "connect": _connect,
    "weld": _weld,
    "joint": _coupling("joint"),
    "tendon": _coupling("tendon"),
}
