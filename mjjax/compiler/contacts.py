"""Explicit contact pairs and excluded body pairs, in the order of their signatures."""

import numpy as np

from mjjax.compiler.context import Context
from mjjax.compiler.fields import ints, reals
from mjjax.mjcf.spec import Element

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
