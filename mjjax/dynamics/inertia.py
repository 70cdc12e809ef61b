"""Centres of mass, motion axes, composite inertia and the joint-space inertia matrix."""

import dataclasses
import functools

import numpy as np
from jax import lax

from mjjax.core.below import does
from mjjax.core.enums import JointType
from mjjax.core.profile import stage
from mjjax.dynamics.by_tree import (
    apply_by_tree,
    block_of,
    blocks_plus_diagonal,
    mul_by_tree,
    plus_diagonal,
)
from mjjax.dynamics.tree import dof_sum, subtree_sum, tree_plan
from mjjax.math.components import split, to_mat
from mjjax.math.quat import cross, join
from mjjax.math.spatial import inertia_about, inertia_mul, mat3
from mjjax.math.tangents import derivative_of
from mjjax.model.data import Data
from mjjax.model.dofs import dofs_of
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.trees import block_entries, join_blocks
from mjjax.xla.definite import solve_definite
from mjjax.xla.indexing import gather
from mjjax.xla.layout import components_first, components_last, matrix_last
from mjjax.xla.linalg import (
    by_entry,
    cholesky,
    matmul,
    slabs,
    total,
    triangular_solve,
    unstack,
)
from mjjax.xla.namespace import Array, namespace, where


@dataclasses.dataclass(frozen=True)
class DofPlan:
    """The origin of each dof's direction, and the coupling of dofs.

    Attributes:
        turning: ids of the bodies with a free or a ball joint.
        scalar: ids of the slides and hinges.
        source: (nv,) row of the table [world axes, axes of `turning`, joint axes of `scalar`].
        rotates: (nv,) whether the dof is a rotation.
        moved_by: (nv, nv) entry i, j says whether dof j moves the body of dof i, from an ancestor
            or from the same body.
        kept: (nv, nv) entries of the inertia that MuJoCo stores: pairs of dofs of which one is
            above the other; only the diagonal for a body that was compiled as simple. Additions
            of tendons and implicit integration to other entries are lost.
    """

    turning: np.ndarray
    scalar: np.ndarray
    source: np.ndarray
    rotates: np.ndarray
    moved_by: np.ndarray
    kept: np.ndarray


@functools.lru_cache(maxsize=64)
def dof_plan(s: Structure) -> DofPlan:
    """Directions and coupling of the dofs of a structure."""
    body, dofs = s.dof_bodyid, dofs_of(s)
    is_scalar = s.jnt_type >= JointType.SLIDE
    turning, scalar = s.jnt_bodyid[~is_scalar], np.flatnonzero(is_scalar)
    rows = 3 + 3 * np.searchsorted(turning, body) + dofs.place % 3
    source = np.where(dofs.turns, rows, dofs.place)
    source[dofs.kind >= JointType.SLIDE] = 3 + 3 * len(turning) + np.arange(len(scalar))
    moved_by = tree_plan(s).moves[body]
    lost = (s.body_simple[body] > 0)[:, None] & ~np.eye(s.nv, dtype=bool)
    return DofPlan(turning, scalar, source, dofs.rotates, moved_by, (moved_by | moved_by.T) & ~lost)


def subtree_com(model: Model, xipos: Array) -> Array:
    """Centre of mass (nbody, 3) [m] of each body's subtree; `xipos` if the subtree has no mass."""
    s, mass = model.structure, model.body_mass
    weighted = unstack(subtree_sum(s, components_first(xipos) * mass[None]))
    (whole,) = subtree_sum(s, mass[None])
    empty = whole < 1e-15
    scale = 1 / where(empty, 1, whole)
    return where(empty[:, None], xipos, join(tuple(x * scale for x in weighted)))


@stage
def com_pos(model: Model, data: Data) -> Data:
    """Subtree centres of mass, motion axes `cdof` and inertias `cinert` (`mj_comPos`).

    A rotation about axis u through point c is (u, u x (r - c)), where r is the centre of mass of
    the kinematic root. A translation along u is (0, u). The results are differentiable everywhere.
    """
    s, plan = model.structure, dof_plan(model.structure)
    xp = namespace(data.xipos)
    com = subtree_com(model, data.xipos)
    root = gather(com, s.body_rootid)
    cinert = inertia_about(model.body_mass, model.body_inertia, mat3(data.ximat), data.xipos - root)
    # The rows of the table are three world axes for translations of free joints, then three axes of
    # each body that turns (the columns of its matrix), then the axes of slides and hinges.
    turned = to_mat(split(gather(data.xquat, plan.turning)))
    columns = matrix_last(tuple(turned[k] for k in (0, 3, 6, 1, 4, 7, 2, 5, 8))).reshape(-1, 3)
    world = np.eye(3, dtype=data.xaxis.dtype)
    table = xp.concatenate([world, columns, gather(data.xaxis, plan.scalar)])
    axis = gather(table, plan.source)
    lever = gather(root, s.dof_bodyid) - gather(data.xanchor, s.dof_jntid)
    turn = plan.rotates[:, None]
    cdof = xp.concatenate([where(turn, axis, 0), where(turn, cross(axis, lever), axis)], axis=-1)
    return data.replace(subtree_com=com, cinert=cinert, cdof=cdof)


@stage
def crb(model: Model, data: Data) -> Data:
    """Stores the armature, which `qM` needs besides `cinert` and `cdof` (`mj_crb`).

    `Data.qM` and `Data.crb` are computed when they are read, by `joint_inertia` and
    `subtree_inertia`. `armature` is (nv,). If tendons have armature, it holds all entries of the
    trees' blocks, and `tendon_inertia` adds the tendons' armature to them.

    M_ij = cdof_i . I_j cdof_j, where I_j is the inertia of everything that dof j moves, and dof i
    is on the way from j to the root. The armature is added to the diagonal. The inertia is
    differentiable everywhere.
    """
    s, armature = model.structure, model.dof_armature
    if s.terms["tendon_armature"].any():
        none = namespace(armature).zeros(block_entries(s), armature.dtype)
        armature = plus_diagonal(s, none, armature)
    return data.replace(armature=armature)


@does("Data.crb")
def subtree_inertia(s: Structure, cinert: Array) -> Array:
    """Inertias of the subtrees (nbody, 10) from those of the bodies."""
    return components_last(subtree_sum(s, components_first(cinert)))


def inertia_blocks(s: Structure, cinert: Array, cdof: Array, armature: Array) -> list[Array]:
    """The joint-space inertia (T, d, d) of each block of trees; see `crb`.

    Args:
        s: structure.
        cinert: (nbody, 10) inertias of the bodies.
        cdof: (nv, 6) motion axes.
        armature: (nv,) numbers that are added on the diagonal.
    """
    return blocks_plus_diagonal(s, _moved(s, cinert, cdof), armature)


def blocks_and_upper(
    s: Structure, cinert: Array, cdof: Array, armature: Array
) -> tuple[list[Array], list[Array]]:
    """`inertia_blocks`, and a copy with entries i, j only where dof i moves the body of dof j.

    Factors read only these entries; two dofs of one body keep both of their entries. The copy has
    no derivative.
    """
    momentum = _momenta(s, cinert, cdof)
    whole = blocks_plus_diagonal(s, coupled_by_tree(s, momentum, cdof), armature)
    momentum, cdof, armature = lax.stop_gradient((momentum, cdof, armature))
    moves_body_of, upper = dof_plan(s).moved_by.T, []
    for b in tree_plan(s).blocks:
        product = _products(gather(cdof, b.dofs), gather(momentum, b.dofs))
        mask = np.broadcast_to(np.asarray(block_of(moves_body_of, b.dofs)), product.shape)
        upper.append(by_entry(lambda x, mask: where(mask, x, 0), product, mask))
    return whole, blocks_plus_diagonal(s, upper, armature)


def _momenta(s: Structure, cinert: Array, cdof: Array) -> Array:
    """Momentum (nv, 6) of all bodies that a dof moves, per unit of its velocity."""
    moved = unstack(dof_sum(s, components_first(cinert)))
    return join(inertia_mul(moved, split(cdof)))


def _moved(s: Structure, cinert: Array, cdof: Array) -> list[Array]:
    """The inertia of the bodies, without armature."""
    return coupled_by_tree(s, _momenta(s, cinert, cdof), cdof)


@does("Data.qM")
def joint_inertia(s: Structure, cinert: Array, cdof: Array, armature: Array) -> Array:
    """The entries of `inertia_blocks` in one array, which `Data.qM` makes dense.

    See `mjjax.model.trees` for the order of the entries. `armature` is (nv,), or it has all entries
    that are added, in that order. If each tree has one dof, the two forms are the same.
    """
    if len(armature) == s.nv:
        return join_blocks(inertia_blocks(s, cinert, cdof, armature), cdof)
    return join_blocks(_moved(s, cinert, cdof), cdof) + armature


def inertia_by_tree(data: Data) -> Array:
    """The joint-space inertia by trees, from the fields of `data`."""
    return joint_inertia(data.structure, data.cinert, data.cdof, data.armature)


def coupled_by_tree(s: Structure, momentum: Array, cdof: Array) -> list[Array]:
    """`coupled` for the trees of each block: (T, d, d)."""
    moved_by = dof_plan(s).moved_by
    return [
        coupled(
            gather(momentum, b.dofs), gather(cdof, b.dofs), np.asarray(block_of(moved_by, b.dofs))
        )
        for b in tree_plan(s).blocks
    ]


# From so many entries on, a batch of small products is faster as six outer products (measured).
ENTRIES_WRITTEN_OUT = 512


def coupled(momentum: Array, cdof: Array, moved_by: np.ndarray) -> Array:
    """Symmetric products (..., n, n) of momenta and motion axes (..., n, 6) where dofs are coupled.

    Args:
        momentum: momentum of the bodies that each dof moves, per unit of its velocity.
        cdof: motion axes.
        moved_by: (..., n, n) whether the second dof moves the body of the first.
    """
    both = functools.partial(_both_triangles, moved_by)
    if namespace(momentum, cdof) is not np:
        both = derivative_of(functools.partial(_one_triangle, moved_by))(both)
    return both(momentum, cdof)


def _both_triangles(moved_by: np.ndarray, momentum: Array, cdof: Array) -> Array:
    """Both triangles, each by its own product, since readers would transpose a mirrored one."""
    return _joined(moved_by, _products(momentum, cdof), _products(cdof, momentum))


def _one_triangle(moved_by: np.ndarray, momentum: Array, cdof: Array) -> Array:
    """`_both_triangles` with half of the products, for derivatives, which read each result once."""
    product = _product(momentum, cdof)
    return _joined(moved_by, product, namespace(product).swapaxes(product, -1, -2))


def _joined(moved_by: np.ndarray, below: Array, above: Array) -> Array:
    """Joins entries of two matrices on the two sides of the diagonal, where dofs are coupled."""
    moved_by = np.broadcast_to(moved_by, below.shape)  # one mask may serve a batch

    def joined(below: Array, moved_by: Array, above: Array, upper: Array) -> Array:
        return where(moved_by, below, where(upper, above, 0))

    return by_entry(joined, below, moved_by, above, np.swapaxes(moved_by, -1, -2))


def _products(a: Array, b: Array) -> Array:
    """Inner products (..., n, n) of the rows of two arrays (..., n, 6), in the faster form."""
    trees, n = a.shape[0], a.shape[-2]
    many = a.ndim == 3 and trees > 1 and trees * n * n > ENTRIES_WRITTEN_OUT
    return _outer(a, b) if many else _product(a, b)


def _product(a: Array, b: Array) -> Array:
    """`_products` as a product of matrices."""
    return matmul(a, namespace(b).swapaxes(b, -1, -2))


def _outer(a: Array, b: Array) -> Array:
    """`_products` of (T, n, 6), written out."""
    columns = zip(slabs(a, -1), slabs(b, -1), strict=True)
    return total(x[:, :, None, 0] * y[:, None, :, 0] for x, y in columns)


def mul_m(model: Model, data: Data, v: Array) -> Array:
    """Product of the joint-space inertia with a vector (nv,) (`mj_mulM`)."""
    return mul_by_tree(model.structure, inertia_by_tree(data), v)


def full_m(model: Model, data: Data) -> Array:
    """Dense joint-space inertia (nv, nv) (`mj_fullM`)."""
    return data.qM


def factor_m(model: Model, data: Data) -> Array:
    """Lower Cholesky factor of the joint-space inertia (nv, nv)."""
    return cholesky(data.qM)


def solve_m(model: Model, data: Data, v: Array) -> Array:
    """Solution x of M x = v (nv,) (`mj_solveM`)."""
    return apply_by_tree(model.structure, solve_definite, inertia_by_tree(data), v)


def add_m(model: Model, data: Data, matrix: Array) -> Array:
    """A matrix (nv, nv) plus the joint-space inertia (`mj_addM`)."""
    return matrix + data.qM


def mul_m2(model: Model, data: Data, v: Array) -> Array:
    """Product of a square root of the joint-space inertia with a vector (`mj_mulM2`).

    As in MuJoCo, the root is U', where U U' = M is the factorization that starts from the leaves of
    the kinematic tree. The length of the result is sqrt(v' M v).
    """
    return matmul(_upper_factor(data.qM).T, v)


def solve_m2(model: Model, data: Data, v: Array) -> Array:
    """Half of a solution with the joint-space inertia: U^-1 v (`mj_solveM2`); see `mul_m2`."""
    return triangular_solve(_upper_factor(data.qM), v)


def _upper_factor(inertia: Array) -> Array:
    return cholesky(inertia[::-1, ::-1])[::-1, ::-1]
