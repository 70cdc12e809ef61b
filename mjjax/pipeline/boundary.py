"""Checks the shapes and types of models and data that users pass, while a program is traced.

The checks read shapes only, so they leave nothing in a compiled program.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mjjax.core.struct import FieldSpec, PyTree, extents, specs
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.pipeline.make_data import sizes_of_data

_KINDS = {float: jnp.floating, int: jnp.integer, bool: jnp.bool_}
_TYPES = {float: "real", int: "integer", bool: "bool"}
# The allowed types. Half precision is not enough for the solver and its factors.
_PRECISIONS = (jnp.float32, jnp.float64)
_WORLDS = {
    Model: "for one model per world: jax.vmap with in_axes=(mjjax.envs.world_axes(model), 0)",
    Data: "for many worlds: jax.vmap({}, in_axes=(None, 0))",
}


def require_kinds(function: str, arguments: Mapping[str, Any]) -> None:
    """Refuses arguments that are not a model or data.

    Args:
        function: name of the public function that was called.
        arguments: arguments that must be a `Model` or a `Data`, by the names of its parameters.

    Raises:
        TypeError: an argument is of another kind; the message says how to get the right one.
    """
    for name, value in arguments.items():
        wanted = Model if name == "model" else Data
        if not isinstance(value, wanted):
            raise TypeError(f"{function}: {_other(name, value, wanted)}")


def _other(name: str, value: Any, wanted: type) -> str:
    """The part of the message that says what to do about an argument of another kind."""
    kind = type(value)
    if isinstance(value, Model | Data):
        return (
            f"{name} must be a mjjax.{wanted.__name__}, not a {kind.__name__}; "
            "the order of arguments is (model, data)"
        )
    if kind.__module__.startswith("mujoco"):
        made = f"mjjax.put_{name}" if kind.__name__ in ("MjModel", "MjData") else "mjjax's own"
        return f"{name} must be a mjjax.{wanted.__name__}, not mujoco's {kind.__name__}; {made}"
    if wanted is Model:
        got = f"{value!r:.40}" if isinstance(value, str) else f"a {kind.__name__}"
        return f"model must be a mjjax.Model, not {got}; mjjax.Model.from_xml_path reads a file"
    return f"{name} must be a mjjax.Data, not a {kind.__name__}; mjjax.make_data(model) makes one"


def check_shapes(function: str, arguments: Mapping[str, Any]) -> None:
    """Compares every field of models and data with the table that declares them.

    Args:
        function: name of the public function that was called.
        arguments: as for `require_kinds`.

    Raises:
        ValueError: a field has another shape or type than declared, or the data were made for
            another model. The message names the field, its shape or type, and the right one.
    """
    model = arguments.get("model")
    for name, value in arguments.items():
        for problem in _problems(function, name, value, model):
            raise ValueError(f"{function}: {problem}")


def _problems(function: str, name: str, tree: Any, model: Any) -> Iterator[str]:
    if not hasattr(vars(tree).get("body_mass" if name == "model" else "time"), "dtype"):
        yield f"{name} has marks, such as None, in place of arrays"
    if isinstance(tree, Data) and model is not None and not tree.structure.is_of(model.structure):
        made = tree.structure.model_name
        yield (
            f"{name} was made for another model ({made!r:.40}), or before this one was compiled "
            "again; mjjax.make_data(model) makes it for this one"
        )
    owner = tree if model is None else model
    sizes = _sizes(tree)
    real = owner.body_mass.dtype if isinstance(owner, Model) else owner.time.dtype
    if real not in _PRECISIONS:
        yield f"{name} is of {real}; mjjax computes in float32, or float64 with jax_enable_x64"
    hint = _WORLDS[type(tree)].format(f"mjjax.{function}")
    if isinstance(tree, Data) and np.ndim(tree.time):
        yield f"{name} is a batch, time has shape {np.shape(tree.time)}, not (); {hint}"
    for part, inner in _parts(tree):
        for spec in specs(inner).values():
            yield from _field(part, spec, vars(inner).get(spec.name), sizes, real, hint)


def _sizes(tree: Any) -> dict[str, int]:
    """Sizes of a tree's fields; a capacity is the one that most of the fields have."""
    s = tree.structure
    if isinstance(tree, Model):
        counts = {"nnumericdata": s.numeric_size, "ntupledata": s.tuple_size}
        return s.sizes | {name: int(np.sum(x)) for name, x in counts.items()}
    found: dict[Any, Counter[int]] = {"nconmax": Counter(), "njmax": Counter()}
    for _, inner in _parts(tree):
        for name, spec in specs(inner).items():
            shape: Any = getattr(vars(inner).get(name), "shape", None)
            if spec.shape and spec.shape[0] in found and shape and len(shape) == len(spec.shape):
                found[spec.shape[0]][shape[0]] += 1
    nconmax, njmax = (votes.most_common(1)[0][0] if votes else 0 for votes in found.values())
    return sizes_of_data(s, tree.slots, nconmax, njmax)


def _parts(tree: PyTree) -> Iterator[tuple[str, PyTree]]:
    """The tree and the trees within it, with the prefixes of the names of their fields."""
    yield "", tree
    for name, inner in vars(tree).items():
        if isinstance(inner, PyTree):
            for part, found in _parts(inner):
                yield f"{name}.{part}", found


def _field(
    part: str, spec: FieldSpec, value: Any, sizes: dict[str, int], real: Any, hint: str
) -> Iterator[str]:
    """What is wrong with a field, in words. The first field of an unknown size decides the size."""
    name, shape = part + spec.name, getattr(value, "shape", None)
    if isinstance(value, PyTree) or (value is None and not spec.shape):
        return
    if value is None:
        wanted = extents(spec.shape, sizes)
        if 0 not in wanted:
            yield f"{name} is missing, not of shape {wanted}"
        return
    if shape is None:
        yield f"{name} is {value!r:.40}, no array"
        return
    for size, n in zip(reversed(spec.shape), reversed(shape), strict=False):
        if isinstance(size, str) and "*" not in size:
            sizes.setdefault(size, n)
    wanted = extents(spec.shape, sizes)
    if shape != wanted:
        batch = len(shape) > len(wanted) and shape[len(shape) - len(wanted) :] == wanted
        more = f"; {hint}" if batch else ""
        yield f"{name} has shape {shape}, not {wanted}{more}"
    if not jnp.issubdtype(value.dtype, _KINDS[spec.dtype]):
        yield f"{name} is {value.dtype}, not {_TYPES[spec.dtype]}"
    canonical = jax.dtypes.canonicalize_dtype
    if spec.dtype is float and canonical(value.dtype) != canonical(real):
        yield (
            f"{name} is {value.dtype} and the model {real}; make both with the same "
            "jax_enable_x64, or convert with x.replace"
        )
