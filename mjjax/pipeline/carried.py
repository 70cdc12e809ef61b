"""Which fields of `Data` a step needs from the step before: read off the traced program.

A written list would be wrong for someone: a policy may read the accelerometers of the last step,
sleeping trees keep their forces, a callback may keep what it likes in any field.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
from jax.extend import core

from mjjax.core.struct import sources, specs
from mjjax.model.callbacks import Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.state_fields import STATE_FIELDS

# What a simulation goes on from, and what it counts.
ALWAYS = frozenset({*STATE_FIELDS, "sleep", "warning", "maxuse_con", "maxuse_efc"})


def carried(
    function: Callable[[Model, Data], tuple[Data, Any]],
    model: Model,
    data: Data,
    wanted: Iterable[str],
) -> frozenset[str]:
    """The fields to hand from step to step, so that the wanted ones come out right.

    The least set with the state, the counts and the wanted fields that holds every field which one
    of its own is computed from.

    Args:
        function: a step of one world: (model, data) to data and a tree of records.
        model: model.
        data: data; shapes and types matter only.
        wanted: names of fields, and of what is made of them.

    Raises:
        ValueError: `Data` has no field of that name.
    """
    names, made = leaf_fields(data), sources(data)
    wanted = {field for name in wanted for field in made.get(name, (name,))}
    if unknown := wanted - {*names, *specs(Data)}:
        raise ValueError(f"Data has no fields {', '.join(sorted(unknown))}")
    found = (ALWAYS | wanted) & set(names)
    if data.sleep is not None:
        found |= {"sensordata"}  # trees keep their readings while they sleep
    jaxpr = jax.make_jaxpr(function)(model, data).jaxpr
    records = len(jaxpr.outvars) - len(names)
    while True:
        outs = [name in found for name in names] + [True] * records
        ins = reads(jaxpr, outs)[-len(names) :]
        more = found | {name for name, read in zip(names, ins, strict=True) if read}
        if more == found:
            return frozenset(found)
        found = more


def with_some_fields(
    step: Callable[..., Data],
    model: Model,
    data: Data,
    callbacks: Callbacks | None,
    derived: tuple[str, ...],
) -> Data:
    """The data after a step with some derived fields; the others are as they were in `data`.

    Args:
        step: function of model, data and callbacks.
        model: model.
        data: data.
        callbacks: functions of the user's.
        derived: names of the derived fields that are wanted.
    """
    # callbacks may use traced values of their surroundings: not for a program that is remembered
    run = _remembered if callbacks is None else _with_some_fields
    return run(step, model, data, callbacks, derived)


def _with_some_fields(
    step: Callable[..., Data],
    model: Model,
    data: Data,
    callbacks: Callbacks | None,
    derived: tuple[str, ...],
) -> Data:
    # traced once, for the fields that it reads and for itself
    @jax.jit
    def run(model: Model, data: Data) -> tuple[Data, None]:
        return step(model, data, callbacks), None

    names = carried(run, model, data, derived)
    return data.replace(**take(names, run(model, data)[0]))


_remembered = functools.partial(jax.jit, static_argnums=(0, 3, 4))(_with_some_fields)


def take(names: Iterable[str], data: Data) -> dict[str, Any]:
    """Some fields of `data`, by name."""
    return {name: getattr(data, name) for name in names}


def leaf_fields(data: Data) -> list[str]:
    """The field that each leaf of `data` belongs to."""
    return [path[0].name for path, _ in jax.tree_util.tree_leaves_with_path(data)]


def reads(jaxpr: core.Jaxpr, wanted: Sequence[bool]) -> list[bool]:
    """Which inputs of a program some of its outputs depend on."""
    live = {v for v, want in zip(jaxpr.outvars, wanted, strict=True) if want and _variable(v)}
    for eqn in reversed(jaxpr.eqns):
        outs = [v in live for v in eqn.outvars]
        if any(outs):
            ins = RULES.get(eqn.primitive.name, _call)(eqn, outs)
            live |= {v for v, read in zip(eqn.invars, ins, strict=True) if read and _variable(v)}
    return [v in live for v in jaxpr.invars]


def _variable(v: Any) -> bool:
    return not isinstance(v, core.Literal)


def _call(eqn: core.JaxprEqn, outs: list[bool]) -> list[bool]:
    """A program within the program; else every result depends on every operand."""
    inner = list(core.jaxprs_in_params(eqn.params))
    if len(inner) == 1 and len(inner[0].invars) == len(eqn.invars):
        return reads(inner[0], outs)
    return [True] * len(eqn.invars)


def _branches(eqn: core.JaxprEqn, outs: list[bool]) -> list[bool]:
    """A choice of programs: what any of them reads, and the choice itself."""
    each = [reads(branch.jaxpr, outs) for branch in eqn.params["branches"]]
    return [True, *map(any, zip(*each, strict=True))]


def _scan(eqn: core.JaxprEqn, outs: list[bool]) -> list[bool]:
    """A loop: what is carried from round to round is read if a later round reads it.

    Operands are constants, what is carried, and arrays of which each round gets a row; results are
    what is carried, and arrays of rows. Parameters that count them differ between versions of JAX.
    """
    inner = eqn.params["jaxpr"].jaxpr
    count = len(outs) - _rows(eqn.outvars, inner.outvars)
    first = len(eqn.invars) - count - _rows(eqn.invars, inner.invars)
    carry, rest = outs[:count], outs[count:]
    while True:
        ins = reads(inner, carry + rest)
        more = [a or b for a, b in zip(carry, ins[first : first + count], strict=True)]
        if more == carry:
            return ins[:first] + carry + ins[first + count :]
        carry = more


def _rows(outer: Sequence[Any], inner: Sequence[Any]) -> int:
    """How many variables of a loop hold a row for each round."""
    return sum(a.aval.ndim > b.aval.ndim for a, b in zip(outer, inner, strict=True))


RULES: dict[str, Callable[[core.JaxprEqn, list[bool]], list[bool]]] = {
    "cond": _branches,
    "scan": _scan,
}
