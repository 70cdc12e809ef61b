"""Solves trees that touch only themselves and the static world, each as a world of its own.

Otherwise the islands of a world iterate side by side until the last one is done, and each product
handles the whole scene. Most islands consist of one tree, which is a small problem with matrices of
its own. These problems, from all worlds, go through one queue, each to its own end. Islands of
several trees are not treated here.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.constraint.contact_rows import BodyRows, DofRows, MatrixRows
from mjjax.constraint.jacobian import RowJacobian
from mjjax.constraint.layout import MANY_TREES, RowLayout
from mjjax.constraint.trees import row_trees
from mjjax.dynamics.jacobian import row_wrenches
from mjjax.dynamics.joint_inertia import Inertia
from mjjax.dynamics.tree import tree_plan
from mjjax.math.components import split
from mjjax.model.structure import Structure
from mjjax.model.trees import split_blocks, tree_groups
from mjjax.solver.islands import Islands, OneProblem
from mjjax.solver.method import Iterates, Rules
from mjjax.solver.primal import PrimalState
from mjjax.solver.problem import Problem
from mjjax.xla.grouped_loop import queued_loop
from mjjax.xla.indexing import gather
from mjjax.xla.namespace import Array, where

MOST_CONTACTS = 32  # a tree with more contacts is not solved alone
SMALL_TREE = 6  # trees with at most so many dofs are as fast side by side (measured)


class TreeKind(NamedTuple):
    """Trees of one shape with rows of one shape; static.

    Attributes:
        layout: row layout of one such tree in a world of its own.
        group: index of their group in `tree_groups`.
        member: (T,) their places in this group.
        tree: (T,) tree ids.
        dof: (T, d) dofs.
        row: (T, n) scalar rows.
        body: (nbody,) place of each body in its tree.
        moves: (T, b + 1, d) which dofs move the tree's bodies; the last body is any other one.
    """

    layout: RowLayout
    group: int
    member: np.ndarray
    tree: np.ndarray
    dof: np.ndarray
    row: np.ndarray
    body: np.ndarray
    moves: np.ndarray


@functools.lru_cache(maxsize=64)
def kind_of(layout: RowLayout) -> TreeKind | None:
    """The trees that are solved as problems of their own, if there are enough trees of one kind.

    Trees of a kind have the same shape and the same rows of single dofs. Trees with a row that has
    a matrix (an equality, a tendon) are left out, and so are trees that can have no row. Each kind
    would need a program of its own, so only one is chosen: the kind with most dofs in all. The
    result is None in scenes of few dofs, in which contact rows have a column for each dof.
    """
    if not layout.by_body:
        return None
    has_matrix_row = np.any(row_trees(layout)[layout.general], axis=0)
    found: dict[Any, list[tuple[int, int]]] = {}
    for group, (_, dofs) in enumerate(tree_groups(layout.structure)):
        for member, dof in enumerate(dofs if dofs.shape[1] > SMALL_TREE else ()):
            tree = int(layout.structure.dof_treeid[dof[0]])
            mine = np.isin(layout.dof, dof)
            # The kind of a row does not matter, because its bounds are numbers of the problem.
            shape = np.searchsorted(dof, layout.dof[mine]), layout.sign[mine]
            if not has_matrix_row[tree] and (mine.any() or layout.own[tree]):
                key = (group, *(tuple(x.tolist()) for x in shape))
                found.setdefault(key, []).append((member, tree))
    many = [(key[0], np.array(its)) for key, its in found.items() if len(its) >= MANY_TREES]
    sizes = [len(its) * tree_groups(layout.structure)[group][1].shape[1] for group, its in many]
    return _kind(layout, *many[int(np.argmax(sizes))]) if many else None


def _kind(layout: RowLayout, group: int, its: np.ndarray) -> TreeKind:
    """The `TreeKind` of trees, given by their places in a group and their ids (T, 2)."""
    s, (member, tree) = layout.structure, its.T
    bodies, dofs = (x[member] for x in tree_groups(s)[group])
    rows = np.stack([np.flatnonzero(np.isin(layout.dof, dof)) for dof in dofs])
    row, first = layout.single[rows], rows[0]
    local_body = np.zeros(s.nbody, np.int32)
    local_body[bodies] = np.arange(bodies.shape[1])
    moves = np.stack([tree_plan(s).moves[np.ix_(*x)] for x in zip(bodies, dofs, strict=True)])
    one = RowLayout(
        structure=_of_one_tree(s, dofs.shape[1]),
        kind=layout.kind[row[0]],
        owner=layout.owner[row[0]],
        side=layout.side[row[0]],
        single=np.arange(len(first)),
        dof=np.searchsorted(dofs[0], layout.dof[first]),
        sign=layout.sign[first],
        general=np.zeros(0, int),
        slots=layout.slots,
        ncontact=min(layout.ncontact, MOST_CONTACTS, max(layout.own[k] for k in tree)),
        own=(),
    )
    padded = np.pad(moves.astype(np.int8), ((0, 0), (0, 1), (0, 0)))
    return TreeKind(one, group, member, tree, dofs, row, local_body, padded)


def _of_one_tree(s: Structure, nv: int) -> Structure:
    """The structure of a world with one tree, as far as a problem reads it."""
    sizes = {**s.sizes, "nbody": 1, "ntree": 1, "nv": nv}
    arrays = {"body_treeid": np.zeros(1, np.int32), "dof_treeid": np.zeros(nv, np.int32)}
    return Structure(sizes, arrays, {}, {}, partial=True)


def finish_alone(
    method: Iterates[tuple[()], PrimalState], problem: Problem, rules: Rules, state: PrimalState
) -> PrimalState:
    """The iterate after the islands of one tree were solved alone, as far as the iterations go.

    Trees with more contacts than there is room for stay with the others. `queued_loop` puts the
    trees of all worlds into one queue.

    Args:
        method: a solver that prepares nothing and remembers nothing between iterations.
        problem: the problem.
        rules: when to stop.
        state: first iterate.
    """
    layout, parts, contact = problem.layout, problem.parts, problem.jac.contact
    kind = kind_of(layout)
    if not isinstance(parts, Islands) or not isinstance(contact, BodyRows) or kind is None:
        return state

    def running(state: PrimalState) -> Array:
        return (state.niter < rules.iterations) & ~state.done

    def body(constants: tuple[Problem, Rules], state: PrimalState) -> PrimalState:
        return method.iterate(constants[0], (), constants[1], state)[0]

    trees_per_island = jnp.zeros_like(parts.tree).at[parts.tree].add(1)
    single = (trees_per_island == 1)[parts.tree] & parts.used[parts.tree]
    own, few = _own_contacts(problem, kind, contact)
    taken = single[kind.tree] & few
    own = where(taken[:, None], own, layout.ncontact)
    # Trees that are not taken get an index beyond the last island, which is dropped.
    island = where(taken, parts.tree[kind.tree], len(parts.used))
    each = jax.tree.map(lambda x: _at(jnp.broadcast_to(x, parts.used.shape), island), rules)
    loop = queued_loop(body, running, len(kind.tree))
    items = _problems(problem, kind, own, contact), each
    finished = loop(items, _states(layout, kind, own, island, state))
    return _with(layout, kind, own, island, taken, state, finished)


def _at(x: Array, index: Array, empty: float | bool = 0) -> Array:
    """Rows of `x` by index; an index beyond the last row gives `empty`."""
    return jnp.asarray(x).at[index].get(mode="fill", fill_value=empty)


def _own_contacts(problem: Problem, kind: TreeKind, rows: BodyRows) -> tuple[Array, Array]:
    """Contacts (T, k) of each tree with itself and the static world, and whether all have room.

    Empty places hold the number of contacts. A contact between two trees is counted for one of
    them. This does no harm, because the two trees share an island, so that neither is taken.
    """
    layout = problem.layout
    n, most = layout.ncontact, kind.layout.ncontact
    if not n:
        return jnp.zeros((len(kind.tree), 0), jnp.int32), jnp.ones(len(kind.tree), bool)
    active = jnp.any(problem.D[layout.nscalar :].reshape(n, -1) > 0, axis=1)
    tree = jnp.asarray(layout.structure.body_treeid, jnp.int32)[rows.body]
    owner = where(active, jnp.max(tree, axis=1), -1)  # static bodies have tree -1
    mine = owner[None] == kind.tree[:, None].astype(np.int32)
    count = jnp.cumsum(mine, axis=1, dtype=jnp.int32)
    column = where(mine, count - 1, most)
    own = jnp.full((len(kind.tree), most), n, jnp.int32)
    slot = np.broadcast_to(np.arange(n, dtype=np.int32), mine.shape)
    own = own.at[np.arange(len(kind.tree))[:, None], column].set(slot, mode="drop")
    return own, count[:, -1] <= most


def _problems(problem: Problem, kind: TreeKind, own: Array, contact: BodyRows) -> Problem:
    """The problems (T, ...) of the trees of a kind; empty places have contacts of zeros."""
    layout = problem.layout
    jac, none = problem.jac, jnp.zeros((len(kind.tree), 0), problem.D.dtype)

    def contacts(x: Array) -> Array:
        return _at(x, own)

    def rows(x: Array) -> Array:
        return _rows(layout, kind, own, x)

    matrices = split_blocks(layout.structure, problem.inertia.M)[kind.group]
    matrix = gather(matrices, kind.member).reshape(len(kind.tree), -1)
    return Problem(
        inertia=Inertia(matrix, none, none, none, upper=matrix),
        qfrc_smooth=gather(problem.qfrc_smooth, kind.dof),
        jac=RowJacobian(
            jnp.zeros((*kind.dof.shape[:1], 0, kind.dof.shape[1]), none.dtype),
            _contact_rows(layout, kind, contacts, contact),
            contacts(jac.friction),
            kind.layout,
        ),
        aref=rows(problem.aref),
        D=rows(problem.D),
        low=rows(problem.low),
        high=rows(problem.high),
        friction=contacts(problem.friction),
        parts=OneProblem(),
        layout=kind.layout,
    )


def _contact_rows(
    layout: RowLayout, kind: TreeKind, contacts: Callable[[Array], Array], rows: BodyRows
) -> MatrixRows:
    """Contact rows (T, ...) with a column for each dof of the tree."""
    s, tree = layout.structure, kind.tree[:, None, None].astype(np.int32)
    body, push, turn, arms = map(contacts, (rows.body, rows.push, rows.turn, rows.arm))
    inside = jnp.asarray(s.body_treeid, jnp.int32)[body] == tree
    local = where(inside, jnp.asarray(kind.body)[body], kind.moves.shape[1] - 1)
    moves = jnp.asarray(kind.moves)[np.arange(len(tree))[:, None, None], local]
    side = (moves[:, :, 1] - moves[:, :, 0]).astype(push.dtype)
    # The bodies of a tree have one reference point, so both bodies of a contact have the same arm.
    arm = split(where(inside[..., :1], arms[:, :, 0], arms[:, :, 1])[:, :, None])
    wrench = row_wrenches(arm, split(push), split(turn) if turn.shape[2] else None)
    axis = gather(rows.cdof, kind.dof).swapaxes(1, 2)
    return jax.vmap(DofRows.as_matrix)(DofRows(wrench, axis, side))


def _rows(layout: RowLayout, kind: TreeKind, own: Array, x: Array) -> Array:
    """Row values (T, n) of the trees, from the values of all rows (nrow,)."""
    scalar, n = gather(x, kind.row), layout.nscalar
    contact = _at(x[n:].reshape(layout.ncontact, layout.per_contact), own)
    count = kind.layout.ncontact * layout.per_contact
    return jnp.concatenate([scalar, contact.reshape(len(scalar), count)], axis=1)


def _own_dofs(kind: TreeKind, x: Array) -> Array:
    """Numbers (T, d) of the dofs of each tree."""
    return gather(x, kind.dof)


def _states(
    layout: RowLayout, kind: TreeKind, own: Array, island: Array, state: PrimalState
) -> PrimalState:
    """Iterates (T, ...) of the trees; trees that are not taken count as done."""
    return PrimalState(
        qacc=_own_dofs(kind, state.qacc),
        gauss_grad=_own_dofs(kind, state.gauss_grad),
        grad=_own_dofs(kind, state.grad),
        Jaref=_rows(layout, kind, own, state.Jaref),
        niter=_at(state.niter, island),
        done=_at(state.done, island, empty=True),
        memory=state.memory,
    )


def _with(
    layout: RowLayout,
    kind: TreeKind,
    own: Array,
    island: Array,
    taken: Array,
    state: PrimalState,
    finished: PrimalState,
) -> PrimalState:
    """An iterate with the values of the trees (T, ...) that were taken."""
    n = layout.nscalar

    def dofs(new: Array, old: Array) -> Array:
        kept = where(taken[:, None], new, _own_dofs(kind, old))
        return jnp.asarray(old).at[kind.dof].set(kept)

    def rows(new: Array, old: Array) -> Array:
        count = kind.row.shape[1]
        first = where(taken[:, None], new[:, :count], gather(old, kind.row))
        contact = jnp.asarray(old[n:]).reshape(layout.ncontact, layout.per_contact)
        its = new[:, count:].reshape(*own.shape, layout.per_contact)
        contact = contact.at[own].set(its, mode="drop")
        scalar = jnp.asarray(old[:n]).at[kind.row].set(first)
        return jnp.concatenate([scalar, contact.reshape(-1)])

    def islands(new: Array, old: Array) -> Array:
        return jnp.asarray(old).at[island].set(new, mode="drop")

    return state._replace(
        qacc=dofs(finished.qacc, state.qacc),
        gauss_grad=dofs(finished.gauss_grad, state.gauss_grad),
        grad=dofs(finished.grad, state.grad),
        Jaref=rows(finished.Jaref, state.Jaref),
        niter=islands(finished.niter, state.niter),
        done=islands(finished.done, state.done),
    )
