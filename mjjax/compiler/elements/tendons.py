"""Tendons: their paths and parameters."""

from collections.abc import Callable

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import check_autolimits, ints, limited, reals, user
from mjjax.core.enums import GeomType, WrapType
from mjjax.math.tracked import real_array
from mjjax.mjcf.element import Element

_WRAPPED = {GeomType.SPHERE: WrapType.SPHERE, GeomType.CYLINDER: WrapType.CYLINDER}
_OBJECTS = {
    WrapType.JOINT: "joint",
    WrapType.SITE: "site",
    WrapType.SPHERE: "geom",
    WrapType.CYLINDER: "geom",
}
_REALS = ("margin", "stiffness", "damping", "armature", "frictionloss")
_SOLVER = (("lim", "limit"), ("fri", "friction"))
# Kind of the object, its id, the parameter, the id of the side site.
Wrap = tuple[WrapType, int, float, int]


def compile_tendons(ctx: Context) -> None:
    """Adds the fields `tendon_*` and `wrap_*`.

    `wrap_sideid` (nwrap,) is not a field of mjModel: it is the integer side of `wrap_prm`.
    """
    elements, f = ctx.spec.elements["tendon"], ctx.fields
    count = np.array([len(e.children) for e in elements], np.int32)
    for element in elements:
        _check_path(element)
    wraps = [_WRAPS[part.values["type"]](ctx, part) for e in elements for part in e.children]
    for i, name in enumerate(("type", "objid", "prm", "sideid")):
        column = [wrap[i] for wrap in wraps]
        f[f"wrap_{name}"] = real_array(column) if name == "prm" else np.array(column, np.int32)
    f["tendon_num"], f["tendon_adr"] = count, (np.cumsum(count) - count).astype(np.int32)
    for element in elements:
        if element.values["width"] <= 0:
            raise element.origin.error("the width must be positive")
    f["tendon_width"], f["tendon_rgba"] = reals(elements, "width"), reals(elements, "rgba", 4)
    f["tendon_matid"] = np.array(ctx.names.find_all("material", elements, "material"), np.int32)
    f["tendon_group"] = ints(elements, "group")
    for name in _REALS:
        f[f"tendon_{name}"] = reals(elements, name)
    for short, name in _SOLVER:
        f[f"tendon_solref_{short}"] = reals(elements, f"solref{name}", 2)
        f[f"tendon_solimp_{short}"] = reals(elements, f"solimp{name}", 5)
    f["tendon_user"] = user(elements, ctx.nuser("tendon", elements))
    rest = [_springlength(e) for e in elements]
    f["tendon_lengthspring"] = real_array(rest).reshape(-1, 2)
    _limits(ctx, elements)
    _armature(ctx, elements)
    _trees(ctx)
    ctx.sizes.update(ntendon=len(elements), nwrap=len(wraps))


# ---- the path -----------------------------------------------------------------------------------


def _check_path(element: Element) -> None:
    """Checks the order of a path: geoms must be between sites, pulleys between branches."""
    kinds = ["pulley", *(part.values["type"] for part in element.children), "pulley"]
    if len(kinds) == 2:
        raise element.origin.error("the path is empty")
    if element.values["type"] == "fixed":
        return
    if len(kinds) == 3:
        raise element.origin.error("a spatial path needs two objects")
    for i, part in enumerate(element.children, 1):
        before, kind, after = kinds[i - 1 : i + 2]
        if kind == "pulley" and i > 1 and before == "pulley":
            raise part.origin.error("two pulleys follow each other")
        if kind == "pulley" and i == len(element.children):
            raise part.origin.error("the path ends with a pulley")
        if kind == "site" and before == after == "pulley":
            raise part.origin.error("the site has no neighbour on its branch")
        if kind == "geom" and not before == after == "site":
            raise part.origin.error("a geom must stand between two sites")
        last = element.children[i - 2].values if i > 1 else {}
        if kind == before == "site" and last["site"] == part.values["site"]:
            raise part.origin.error(f"the site {last['site']!r} is repeated")


def _joint(ctx: Context, part: Element) -> Wrap:
    joint = ctx.names.find("joint", part.values["joint"], part)
    return WrapType.JOINT, joint, part.values["coef"], -1


def _site(ctx: Context, part: Element) -> Wrap:
    return WrapType.SITE, ctx.names.find("site", part.values["site"], part), 0.0, -1


def _geom(ctx: Context, part: Element) -> Wrap:
    geom = ctx.names.find("geom", part.values["geom"], part)
    kind = _WRAPPED.get(ctx.fields["geom_type"][geom])
    if kind is None:
        raise part.origin.error("a tendon wraps around spheres and cylinders only")
    name = part.values["sidesite"]
    side = ctx.names.find("site", name, part) if name else -1
    return kind, geom, float(side), side


def _pulley(ctx: Context, part: Element) -> Wrap:
    if part.values["divisor"] < 0:
        raise part.origin.error("the divisor of a pulley cannot be negative")
    return WrapType.PULLEY, -1, part.values["divisor"], -1


_WRAPS: dict[str, Callable[[Context, Element], Wrap]] = {
    "joint": _joint,
    "site": _site,
    "geom": _geom,
    "pulley": _pulley,
}


# ---- parameters ---------------------------------------------------------------------------------


def _springlength(element: Element) -> tuple[float, float]:
    """Slack range of the spring; a single number gives both ends, -1 means the resting length."""
    given = element.values["springlength"] or (-1.0,)
    if given[0] > given[-1]:
        raise element.origin.error("springlength[0] must not exceed springlength[1]")
    return given[0], given[-1]


def _limits(ctx: Context, elements: list[Element]) -> None:
    f = ctx.fields
    for field, name in (("", ""), ("actfrc", "actuatorfrc")):
        range_ = reals(elements, f"{name}range", 2)
        if not name:
            check_autolimits(elements, "", range_, bool(ctx.spec.compiler["autolimits"]))
        limits = limited(elements, f"{name}limited", range_)
        wrong = range_[:, 0] >= range_[:, 1]
        if name:  # the range of forces must hold zero
            wrong |= (range_[:, 0] > 0) | (range_[:, 1] < 0)
        for i in np.flatnonzero(limits & wrong):
            raise elements[i].origin.error(
                f"{name}range must be increasing{' and contain zero' * bool(name)}"
            )
        f[f"tendon_{field}range"], f[f"tendon_{field}limited"] = range_, limits


def _armature(ctx: Context, elements: list[Element]) -> None:
    """Adds the inertia of tendons, which must not be negative and not wrap around geoms."""
    for element, armature in zip(elements, ctx.fields["tendon_armature"], strict=True):
        if not armature or element.values["type"] == "fixed":
            continue
        if armature < 0:
            raise element.origin.error("the armature cannot be negative")
        if any(part.values["type"] == "geom" for part in element.children):
            raise element.origin.error("a tendon that wraps around a geom has no armature")


def _trees(ctx: Context) -> None:
    """Number of kinematic trees that each tendon moves, and the first two of them."""
    f = ctx.fields
    tree = [
        ctx.tree_of(_OBJECTS[kind], index) if kind in _OBJECTS else -1
        for kind, index in zip(f["wrap_type"], f["wrap_objid"], strict=True)
    ]
    n = len(f["tendon_num"])
    f["tendon_treenum"] = np.zeros(n, np.int32)
    f["tendon_treeid"] = np.full((n, 2), -1, np.int32)
    for i, (start, count) in enumerate(zip(f["tendon_adr"], f["tendon_num"], strict=True)):
        moving = [t for t in tree[start : start + count] if t >= 0]
        moved = np.array(list(dict.fromkeys(moving)), np.int64)  # in the order they are met
        ctx.tendon_trees.append(moved)
        f["tendon_treenum"][i] = len(moved)
        f["tendon_treeid"][i, : min(len(moved), 2)] = moved[:2]
