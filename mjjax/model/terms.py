"""Terms of the dynamics that cost constraint rows or passes, and are in the program on demand.

`Structure.terms` says for each term which entries of its real fields are on. The compiler turns on
the entries to which a file gives a value, `Model.replace` those that it sets, and
`Model.with_terms` those that its caller names. Entries that are off are left out of the program,
but have their derivative all the same (`with_slope`). A value in such an entry raises `AbsentTerm`
if mjjax can see it. It cannot see traced values, for instance in a model that is an argument of a
jitted function, with a leaf made nonzero by `jax.tree.map`. Such a leaf is ignored, as
`Model.terms` says.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_derivatives import SymbolicZero

from mjjax.core.errors import AbsentTerm
from mjjax.math.tangents import of_moved
from mjjax.xla.namespace import Array

Change = Callable[..., Array]


class Term(NamedTuple):
    """The switches of one term.

    Attributes:
        fields: leaves of the model that the term reads.
        size: number of switches: a size of the model for one per entry, or 1 for all entries.
        present: function from the values of a field to the entries that take part.
        doc: what the term costs.
        derived: whether coefficients of entries that are off have their full derivative anyway.
    """

    fields: tuple[str, ...]
    size: str | int
    present: Callable[[Any], Any]
    doc: str
    derived: bool = False

    def mask(self, values: Mapping[str, Any], size: int) -> np.ndarray:
        """Which switches (size,) are on in any world; a traced field switches all on.

        Args:
            values: some of the fields by name.
            size: number of switches.
        """
        mask = np.zeros(size, bool)
        for value in values.values():
            if not getattr(value, "size", 1):
                continue
            if isinstance(value, Tracer):
                return np.ones(size, bool)
            found = np.asarray(self.present(np.asarray(value)))
            if not size or found.size % size:
                continue  # the shape is wrong; the code that reads the field refuses it
            mask |= np.any(found.reshape(-1, size), axis=0)
        return mask


def _positive(x: Any) -> Any:
    return x > 0


TERMS: dict[str, Term] = {
    "dof_frictionloss": Term(("dof_frictionloss",), "nv", _positive, "a constraint row per dof"),
    "tendon_frictionloss": Term(
        ("tendon_frictionloss",), "ntendon", _positive, "a constraint row per tendon"
    ),
    "tendon_armature": Term(
        ("tendon_armature",), 1, lambda x: x != 0, "a product of moment arms, a bias force"
    ),
    "negative_damping": Term(
        ("dof_damping",), 1, lambda x: x < 0, "LU factors where Euler's matrix is indefinite", True
    ),
    "body_gravcomp": Term(("body_gravcomp",), 1, _positive, "a pass over the bodies"),
    "fluid": Term(("opt.density", "opt.viscosity"), 1, _positive, "a pass over the bodies"),
    "geom_fluid": Term(
        ("geom_fluid",), "ngeom", lambda x: x[..., 0] > 0, "ellipsoid forces per geom, with `fluid`"
    ),
    "sensor_delay": Term(
        ("sensor_delay",), 1, _positive, "reading buffered sensors twice, now and then"
    ),
}


def leaf(model: Any, field: str) -> Any:
    """A real field of a model by its name, `opt.` in front for options."""
    return functools.reduce(getattr, field.split("."), model)


def switched(new: Any, old: Any) -> dict[str, np.ndarray]:
    """Entries of terms that a model's fields switch on, for fields that `old` does not share."""
    return {
        name: term.mask(
            {
                f: leaf(new, f)
                for f in term.fields
                if old is None or leaf(new, f) is not leaf(old, f)
            },
            new.terms[name].size,
        )
        for name, term in TERMS.items()
    }


def size_of(term: Term, sizes: Mapping[str, int]) -> int:
    """Number of entries of a term in a model with the given sizes."""
    return term.size if isinstance(term.size, int) else sizes[term.size]


def require_terms(model: Any) -> None:
    """Refuses concrete values in fields whose term is off.

    Raises:
        AbsentTerm: there is such a value; the message names the field.
    """
    try:
        if model._checked:
            return  # a model does not change
    except AttributeError:
        pass
    for name, term in TERMS.items():
        for field in term.fields:
            _require_zero(model.structure.terms[name], name, field, leaf(model, field))
    object.__setattr__(model, "_checked", True)


def with_slope(
    model: Any, name: str, value: Array, change: Change, operands: tuple[Any, ...]
) -> Array:
    """`value`, computed with the entries of a term that are on, with the derivative by the others.

    Coefficients of entries that are off are zero, so `value` is right as it is. If a derivative by
    them is needed, it is that of `value + change(coefficients, *operands)`. It is exact at zero,
    and from the right for coefficients that must not be negative. Without such a derivative,
    nothing of `change` is traced.

    Args:
        model: model.
        name: the term.
        value: result without the entries that are off.
        change: function from the term's coefficients by field to what the term adds to the value,
            zero where they are zero. There its derivative by anything else is zero, and is taken as
            zero. So second derivatives by a state and such a coefficient need the term to be on.
        operands: trees that `change` reads.

    Raises:
        AbsentTerm: a field of the term has a value in an entry that is off, and it can be seen.
    """
    on = model.structure.terms[name]
    fields = {f: leaf(model, f) for f in TERMS[name].fields}
    if on.all() or not isinstance(value, jax.Array):
        return value
    for field, x in fields.items():
        _require_zero(on, name, field, x)
    coefficients = {f: jnp.asarray(x) for f, x in fields.items() if x.size}
    return slope_at_zero(change, value, coefficients, operands) if coefficients else value


def _require_zero(on: np.ndarray, name: str, field: str, value: Any) -> None:
    if isinstance(value, Tracer) or not hasattr(value, "dtype") or on.all():
        return
    if (TERMS[name].mask({field: value}, on.size) & ~on).any():
        raise AbsentTerm(
            f"{field} has values where the term '{name}' is not in the program; make the change "
            f"by model.replace, or ask for the term: model.with_terms('{name}')"
        )


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def slope_at_zero(
    change: Change, value: Array, coefficients: Any, operands: tuple[Any, ...]
) -> Array:
    """`value`, differentiated as `value + change(coefficients, *operands)`; see `with_slope`."""
    return value


@functools.partial(slope_at_zero.defjvp, symbolic_zeros=True)
def _slope_at_zero_jvp(change: Change, primals: Any, tangents: Any) -> tuple[Array, Array]:
    value, coefficients, operands = primals
    slope, moves, _ = tangents
    if isinstance(slope, SymbolicZero):
        slope = jnp.zeros_like(value)
    moved = of_moved(lambda x: change(x, *operands), (coefficients,), (moves,))
    if moved.values:
        slope = slope + jax.jvp(moved.f, moved.values, moved.slopes)[1]
    return value, slope
