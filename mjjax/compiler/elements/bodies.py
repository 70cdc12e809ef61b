"""Bodies: topology, poses, inertia."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import ints, reals, user
from mjjax.compiler.common.principal_axes import principal_axes, product
from mjjax.core.constants import MINVAL
from mjjax.core.enums import JointType
from mjjax.core.limits import bound
from mjjax.math import quat as q
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.budget import GEOMS
from mjjax.xla.namespace import Array, namespace

DOFS = np.array([6, 3, 1, 1])  # by joint type
_COUNTED = (("jnt", "joint"), ("geom", "geom"))
_PARTS = ("mass", "pos", "quat", "inertia")


def compile_topology(ctx: Context) -> None:
    """Adds the integer fields of bodies and trees, and their poses."""
    bodies, f = ctx.tree.bodies, ctx.fields
    n = len(bodies.elements)
    ctx.sizes["nbody"] = n
    limits, last = ctx.spec.limits, bodies.elements[-1].origin
    limits.bound(last, "bodies", n, "bodies")
    parent = np.array(bodies.body, np.int32)
    joints = ctx.members("joint")
    dofs = DOFS[ints(joints.elements, "type")] if joints.elements else np.zeros(0, int)
    jnt_body = np.array(joints.body, np.int64)
    f["body_parentid"] = parent
    for short, kind in _COUNTED:
        count = np.bincount(ctx.members(kind).body or [], minlength=n).astype(np.int32)
        f[f"body_{short}num"], f[f"body_{short}adr"] = count, _addresses(count)
    bound(last, "geoms", int(f["body_geomnum"].sum()), GEOMS)
    limits.bound(last, "degrees of freedom", int(dofs.sum()), "nv")
    dofnum = np.bincount(jnt_body, weights=dofs, minlength=n).astype(np.int32)
    f["body_dofnum"], f["body_dofadr"] = dofnum, _addresses(dofnum)
    root, weld, tree = (np.zeros(n, np.int32) for _ in range(3))
    tree[0] = -1
    trees: list[int] = []
    for i in range(1, n):
        up = parent[i]
        root[i] = root[up] if up else i
        weld[i] = i if f["body_jntnum"][i] else weld[up]
        tree[i] = tree[up]
        if weld[i] and tree[up] < 0:
            tree[i] = len(trees)
            trees.append(i)
    f["body_rootid"], f["body_weldid"], f["body_treeid"] = root, weld, tree
    _trees(ctx, np.array(trees, np.int32), tree, dofnum)
    _mocap(ctx)
    pos = reals(bodies.elements, "pos", 3)
    quat = poses.orientations(bodies.elements, ctx.degree, ctx.eulerseq)
    # Unless something else determines it, MuJoCo's inertial frame is the pose as written, without
    # the frame around the body.
    f["body_ipos"], f["body_iquat"] = pos.copy(), quat.copy()
    f["body_pos"], f["body_quat"] = ctx.frames.to_body(bodies, pos, quat)
    f["body_gravcomp"] = reals(bodies.elements, "gravcomp")
    f["body_user"] = user(bodies.elements, ctx.nuser("body", bodies.elements))


def _addresses(count: np.ndarray) -> np.ndarray:
    """First index of each body's share; -1 where it has none."""
    return np.where(count > 0, np.cumsum(count) - count, -1).astype(np.int32)


def check_joints(ctx: Context) -> None:
    """Checks the rules about which joints a body may have."""
    ball_in, joints = -1, ctx.members("joint")
    for element, owner in zip(joints.elements, joints.body, strict=True):
        kind, origin = element.values["type"], element.origin
        if ctx.fields["body_dofnum"][owner] > 6:
            raise origin.error("the body has more than 6 degrees of freedom")
        if kind == JointType.FREE and ctx.tree.bodies.body[owner]:
            raise origin.error("a free joint is allowed only in a child of the world")
        if kind in (JointType.BALL, JointType.HINGE) and ball_in == owner:
            raise origin.error("no joint may rotate after a ball joint in the same body")
        if kind == JointType.BALL:
            ball_in = owner


def _trees(ctx: Context, roots: np.ndarray, tree: np.ndarray, dofnum: np.ndarray) -> None:
    f, n = ctx.fields, len(roots)
    moving = tree >= 0
    f["tree_bodyadr"] = roots
    f["tree_bodynum"] = np.bincount(tree[moving], minlength=n).astype(np.int32)
    f["tree_dofnum"] = np.bincount(tree[moving], dofnum[moving], minlength=n).astype(np.int32)
    f["tree_dofadr"] = (np.cumsum(f["tree_dofnum"]) - f["tree_dofnum"]).astype(np.int32)
    ctx.sizes["ntree"] = n


def _mocap(ctx: Context) -> None:
    bodies, count = ctx.tree.bodies, 0
    ids = np.full(len(bodies.elements), -1, np.int32)
    for i, element in enumerate(bodies.elements):
        if not element.values["mocap"]:
            continue
        if ctx.fields["body_jntnum"][i] or bodies.body[i]:
            raise element.origin.error(
                "a mocap body must be a child of the world without joints", "remove its joints"
            )
        ids[i], count = count, count + 1
    ctx.fields["body_mocapid"], ctx.sizes["nmocap"] = ids, count


def compile_inertia(ctx: Context) -> None:
    """Adds mass, inertia and inertial frame of the bodies, and values that they take from geoms."""
    f, n, compiler = ctx.fields, ctx.sizes["nbody"], ctx.spec.compiler
    f["body_mass"], f["body_inertia"] = np.zeros(n), np.zeros((n, 3))
    f["body_matrix"] = np.zeros((n, 3, 3))  # where the moments are those of a matrix
    _explicit(ctx)
    _from_geoms(ctx)
    mass, inertia = f["body_mass"], f["body_inertia"]
    for value, name in ((mass, "boundmass"), (inertia, "boundinertia")):
        low = value < compiler[name]  # NaN stays NaN
        low[0] = False
        value[low] = compiler[name]
    nowhere = np.isnan(f["body_ipos"][:, 0])  # to MuJoCo, NaN means that no centre is given
    f["body_ipos"][nowhere], f["body_iquat"][nowhere] = 0, poses.IDENTITY
    _check_inertia(ctx)
    _check_moving(ctx)
    for name in ("contype", "conaffinity"):
        f[f"body_{name}"] = np.zeros(n, np.int32)
        np.bitwise_or.at(f[f"body_{name}"], f["geom_bodyid"], f[f"geom_{name}"])
    f["body_margin"] = np.zeros(n)
    np.maximum.at(f["body_margin"], f["geom_bodyid"], f["geom_margin"])


def _explicit(ctx: Context) -> None:
    """Takes the inertia that the user wrote."""
    f, ids = ctx.fields, list(ctx.tree.inertials)
    if not ids:
        return
    elements = [ctx.tree.inertials[i] for i in ids]
    f["body_ipos"][ids] = reals(elements, "pos", 3)
    f["body_iquat"][ids] = poses.orientations(elements, ctx.degree, ctx.eulerseq)
    f["body_mass"][ids] = reals(elements, "mass")
    f["body_inertia"][ids] = reals(elements, "diaginertia", 3)
    matrix = {i: ctx.tree.inertials[i].values["fullinertia"] for i in ids}
    full = [i for i in ids if matrix[i] is not None and not np.isnan(matrix[i][0])]
    if full:
        xx, yy, zz, xy, xz, yz = reals([ctx.tree.inertials[i] for i in full], "fullinertia", 6).T
        matrices = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
        _set_principal(ctx, full, matrices)


def _set_principal(ctx: Context, ids: list[int], matrices: np.ndarray) -> None:
    inertia, quat = principal_axes(matrices)
    ctx.fields["body_matrix"][ids] = matrices
    for i in np.flatnonzero(inertia[:, 2] < poses.EPS):
        element = ctx.tree.inertials.get(ids[i], ctx.tree.bodies.elements[ids[i]])
        raise element.origin.error("the inertia matrix is not positive definite")
    ctx.fields["body_inertia"][ids], ctx.fields["body_iquat"][ids] = inertia, quat


def _from_geoms(ctx: Context) -> None:
    """Computes the inertia of the bodies that take it from their geoms."""
    f, mode = ctx.fields, ctx.spec.compiler["inertiafromgeom"]
    low, high = ctx.spec.compiler["inertiagrouprange"]
    if mode == 0:
        return
    use = (f["geom_group"] >= low) & (f["geom_group"] <= high) & (f["geom_mass"] > poses.EPS)
    by_body: dict[int, list[int]] = {}
    for geom in np.flatnonzero(use):
        body = int(f["geom_bodyid"][geom])
        if mode == 1 or body not in ctx.tree.inertials:
            by_body.setdefault(body, []).append(int(geom))
    alone = {body: geoms[0] for body, geoms in by_body.items() if len(geoms) == 1}
    bodies, geoms = list(alone), list(alone.values())
    for to, name in (("ipos", "pos"), ("iquat", "quat"), ("mass", "mass"), ("inertia", "inertia")):
        f[f"body_{to}"][bodies] = f[f"geom_{name}"][geoms]
    several = {body: geoms for body, geoms in by_body.items() if len(geoms) > 1}
    if several:
        _combined(ctx, several)


def _combined(ctx: Context, parts: dict[int, list[int]]) -> None:
    """Mass, centre and inertia of bodies made of several geoms."""
    f, bodies = ctx.fields, np.array(list(parts))
    most = max(map(len, parts.values()))
    table = np.array([geoms + geoms[:1] * (most - len(geoms)) for geoms in parts.values()])
    real = np.arange(most) < np.array([[len(geoms)] for geoms in parts.values()])
    mass, pos, quat, inertia = (f[f"geom_{name}"][table] for name in _PARTS)
    mass, inertia = np.where(real, mass, 0), np.where(real[..., None], inertia, 0)
    f["body_mass"][bodies], f["body_ipos"][bodies], matrices = combine(mass, pos, quat, inertia)
    known = ~np.isnan(matrices[:, 0, 0])  # as in MuJoCo, NaN means that there is no inertia
    _set_principal(ctx, list(bodies[known]), matrices[known])


def combine(
    mass: np.ndarray, pos: np.ndarray, quat: np.ndarray, inertia: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass (n,), centre (n, 3) and inertia (n, 3, 3) about it of bodies made of p parts.

    I = sum_p R_p diag(I_p) R_p' + m_p (|d|^2 - d d'), where d goes from the centre to part p. As in
    MuJoCo, the part above the diagonal counts, and the sums run from the first part to the last.
    Bodies with fewer parts are filled up with parts without mass and inertia.

    Args:
        mass: (n, p) masses of the parts.
        pos: (n, p, 3) positions in the frame of the body.
        quat: (n, p, 4) orientations in the frame of the body.
        inertia: (n, p, 3) principal moments.
    """
    total = np.cumsum(mass, axis=1)[:, -1]
    centre = np.cumsum(mass[..., None] * pos, axis=1)[:, -1] / total[:, None]
    frame = poses.matrix(quat.reshape(-1, 4))
    turned = np.swapaxes(frame, 1, 2) * inertia.reshape(-1, 3)[:, :, None]
    own = product(frame, turned).reshape(*pos.shape, 3)
    d = pos - centre[:, None]
    square = d * d
    mass = mass[..., None]
    shift = -mass[..., None] * d[..., :, None] * d[..., None, :]
    others = mass * (square[..., [1, 0, 0]] + square[..., [2, 2, 1]])
    shift = np.where(np.eye(3, dtype=bool), others[..., None], shift)
    terms = np.stack([own, shift], axis=2).reshape(len(own), -1, 3, 3)
    matrix = np.cumsum(terms, axis=1)[:, -1]
    return total, centre, np.triu(matrix) + np.swapaxes(np.triu(matrix, 1), 1, 2)


def _check_inertia(ctx: Context) -> None:
    """Checks A + B >= C for the principal moments, or takes their mean if the user asked for it."""
    inertia = ctx.fields["body_inertia"]
    excess = np.max(inertia - inertia[:, [1, 2, 0]] - inertia[:, [2, 0, 1]], axis=1)
    size = np.max(np.where(np.isfinite(inertia), np.abs(inertia), 0), axis=1)
    for i in np.flatnonzero(excess > 1e-12 * size):
        element = ctx.tree.inertials.get(int(i), ctx.tree.bodies.elements[i])
        if not ctx.spec.compiler["balanceinertia"]:
            raise element.origin.error(
                "the principal moments of inertia do not satisfy A + B >= C",
                "balanceinertia in <compiler> replaces them by their mean",
            )
        inertia[i] = np.mean(inertia[i])


def _check_moving(ctx: Context) -> None:
    """Checks that moving bodies have mass and inertia, of their own or of a body welded to them."""
    f = ctx.fields
    heavy = (f["body_mass"] >= MINVAL) & (f["body_inertia"] >= MINVAL).all(axis=1)
    for i in range(len(heavy) - 1, 0, -1):
        if heavy[i] and not f["body_jntnum"][i]:
            heavy[f["body_parentid"][i]] = True
    for i in np.flatnonzero(~heavy & (f["body_jntnum"] > 0)):
        raise ctx.tree.bodies.elements[i].origin.error(
            "the body moves, but has no mass or no inertia",
            "give it a geom with mass, or an <inertial>",
        )


def aligned(ctx: Context) -> list[int]:
    """The lone free bodies whose frame is to become their inertial frame."""
    f = ctx.fields
    ids = []
    for element, body in zip(ctx.members("joint").elements, ctx.members("joint").body, strict=True):
        align = element.values["align"]
        wanted = align == 1 or (align == 2 and ctx.spec.compiler["alignfree"])
        lone = f["body_jntnum"][body] == 1 and not ctx.tree.children[body]
        if element.values["type"] == JointType.FREE and wanted and lone:
            ids.append(body)
    return ids


def align_free(ctx: Context) -> None:
    """Moves the frame of lone free bodies to their inertial frame, if the user asked for it."""
    f, bodies = ctx.fields, aligned(ctx)
    ipos, iquat = f["body_ipos"][bodies], f["body_iquat"][bodies]
    f["body_pos"][bodies], f["body_quat"][bodies] = poses.compose(
        f["body_pos"][bodies], f["body_quat"][bodies], ipos, iquat
    )
    back, turn = poses.invert(f["body_ipos"], f["body_iquat"])
    for kind in ("geom", "site", "cam"):
        rows = np.flatnonzero(np.isin(f[f"{kind}_bodyid"], bodies))
        body = f[f"{kind}_bodyid"][rows]
        f[f"{kind}_pos"][rows], f[f"{kind}_quat"][rows] = poses.compose(
            back[body], turn[body], f[f"{kind}_pos"][rows], f[f"{kind}_quat"][rows]
        )
    rows = np.flatnonzero(np.isin(f["light_bodyid"], bodies))
    body = f["light_bodyid"][rows]
    f["light_pos"][rows] = back[body] + q.rotate(turn[body], f["light_pos"][rows])
    f["light_dir"][rows] = q.rotate(turn[body], f["light_dir"][rows])
    f["body_ipos"][bodies], f["body_iquat"][bodies] = 0, poses.IDENTITY


def mass_scale(body_mass: Array, total: Array | float) -> Array:
    """The factor that brings masses (nbody,), and the inertias with them, to a total mass [kg]."""
    xp = namespace(body_mass)
    return xp.maximum(MINVAL, total / xp.maximum(MINVAL, body_mass.sum()))


def compile_total_mass(ctx: Context) -> None:
    """Scales all masses and inertias to the total mass that `settotalmass` asks for."""
    wanted = ctx.spec.compiler["settotalmass"]
    if wanted > 0:
        scale = mass_scale(ctx.fields["body_mass"], wanted)
        ctx.fields["body_mass"] = ctx.fields["body_mass"] * scale
        ctx.fields["body_inertia"] = ctx.fields["body_inertia"] * scale
