"""Finds the fields of `Data` that a step needs from the step before, in the traced program.

A written list would be wrong for some users: a policy may read the accelerometers of the last step,
sleeping trees keep their forces, and a callback may keep values of its own in any field.
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

# Fields from which a simulation goes on, and fields that count.
ALWAYS = frozenset({*STATE_FIELDS, "sleep", "warning", "maxuse_con", "maxuse_efc"})


def carried(
    function: Callable[[Model, Data], tuple[Data, Any]],
    model: Model,
    data: Data,
    wanted: Iterable[str],
) -> frozenset[str]:
    """The fields to pass from step to step, so that the wanted fields come out right.

    This is the smallest set that has the state, the counts and the wanted fields, and with every
    field all fields from which a step computes it.

    Args:
        function: a step of one world: a function of (model, data) that returns data and a tree of
            records.
        model: model.
        data: data, of which only shapes and types matter.
        wanted: names of fields and of `made_of` properties.

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
    """The data after a step, with only some derived fields updated; the others are as in `data`.

    Args:
        step: function of model, data and callbacks.
        model: model.
        data: data.
        callbacks: functions of the user.
        derived: names of the derived fields that are wanted.
    """
    # Callbacks may use traced values from where they were defined, so their program is not cached.
    run = _remembered if callbacks is None else _with_some_fields
    return run(step, model, data, callbacks, derived)


def _with_some_fields(
    step: Callable[..., Data],
    model: Model,
    data: Data,
    callbacks: Callbacks | None,
    derived: tuple[str, ...],
) -> Data:
    # `jit` makes JAX trace it once, although it is used twice.
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
    """Which inputs of a program the wanted outputs depend on."""
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
    """A program within the program; for any other operation all results read all operands."""
    inner = list(core.jaxprs_in_params(eqn.params))
    if len(inner) == 1 and len(inner[0].invars) == len(eqn.invars):
        return reads(inner[0], outs)
    return [True] * len(eqn.invars)


def _branches(eqn: core.JaxprEqn, outs: list[bool]) -> list[bool]:
    """A choice between programs reads what any of them reads, and the choice itself."""
    each = [reads(branch.jaxpr, outs) for branch in eqn.params["branches"]]
    return [True, *map(any, zip(*each, strict=True))]


def _scan(eqn: core.JaxprEqn, outs: list[bool]) -> list[bool]:
    """A loop reads a value that it carries from round to round if a later round reads it.

    The operands are constants, carried values, and arrays of which each round gets a row. The
    results are carried values and arrays of rows. Versions of JAX differ in the parameters that
    count these, so the counts are taken from the dimensions of the variables.
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
