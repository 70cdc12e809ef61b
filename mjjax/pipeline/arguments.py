"""Arguments of public functions beside models and data: this module declares and converts them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from mjjax.core.convert import is_of_other_library, whole_number
from mjjax.core.representation import short
from mjjax.core.struct import Size
from mjjax.model.callbacks import Callbacks
from mjjax.model.model import Model
from mjjax.model.view import View, element_id
from mjjax.pipeline.substeps import Adaptive


class RealArray(NamedTuple):
    """Real numbers of a shape; a size name that no model has stands for any size."""

    shape: tuple[Size, ...]


class ElementId(NamedTuple):
    """An element of a kind: its name, its id or a view of it.

    Attributes:
        kind: name of its kind in a `Structure`.
        traced: whether it may be an id that is traced.
        optional: whether it may be -1 for none, or several of them.
    """

    kind: str
    traced: bool = False
    optional: bool = False


class WholeNumber(NamedTuple):
    """A whole number that decides the program.

    Attributes:
        least: the smallest allowed number.
        instead: another kind of value that is allowed.
    """

    least: int
    instead: type = type(None)


class FieldNames(NamedTuple):
    """Names of fields."""


Argument = RealArray | ElementId | WholeNumber | FieldNames

_POINT, _NUMBER = RealArray((3,)), RealArray(())
_DOFS, _COORDINATES = RealArray(("nv",)), RealArray(("nq",))
_BODY, _GEOM = ElementId("body"), ElementId("geom")
_ANY_BODY = ElementId("body", traced=True)
_EXCLUDED = ElementId("body", traced=True, optional=True)
_RAYS: dict[str, Argument] = {"pnt": _POINT, "bodyexclude": _EXCLUDED}
_READING: dict[str, Argument] = {"time": _NUMBER, "interp": WholeNumber(-1)}

ARGUMENTS: dict[str, dict[str, Argument]] = {
    **{f: {"v": _DOFS} for f in ("mul_m", "mul_m2", "solve_m", "solve_m2", "mul_jac_vec")},
    "add_m": {"matrix": RealArray(("nv", "nv"))},
    "rne": {"qacc": _DOFS},
    "ray": _RAYS | {"vec": _POINT},
    "multi_ray": _RAYS | {"vec": RealArray(("nray", 3)), "cutoff": _NUMBER},
    "geom_distance": {"geom1": _GEOM, "geom2": _GEOM, "distmax": _NUMBER},
    "apply_ft": {"force": _POINT, "torque": _POINT, "point": _POINT, "body": _ANY_BODY},
    **{f: {"point": _POINT, "body": _ANY_BODY} for f in ("jac", "jac_dot")},
    "jac_point_axis": {"point": _POINT, "axis": _POINT, "body": _BODY},
    **{f: {"body": _BODY} for f in ("jac_body", "jac_body_com", "jac_subtree_com", "angmom_mat")},
    "jac_geom": {"geom": _GEOM},
    "jac_site": {"site": ElementId("site")},
    "local_to_global": {"pos": _POINT, "q": RealArray((4,)), "body": _BODY},
    "integrate_pos": {"qpos": _COORDINATES, "qvel": _DOFS, "dt": _NUMBER},
    "differentiate_pos": {"dt": _NUMBER, "qpos1": _COORDINATES, "qpos2": _COORDINATES},
    "normalize_quat": {"qpos": _COORDINATES},
    "set_total_mass": {"mass": _NUMBER},
    "read_ctrl": _READING | {"actuator": ElementId("actuator")},
    "read_sensor": _READING | {"sensor": ElementId("sensor")},
    "init_ctrl_history": {"actuator": ElementId("actuator")},
    "init_sensor_history": {"sensor": ElementId("sensor"), "phase": _NUMBER},
    "make_data": {"nconmax": WholeNumber(0), "njmax": WholeNumber(0)},
    "rollout": {
        "nstep": WholeNumber(0),
        "substeps": WholeNumber(1, Adaptive),
        "keep": FieldNames(),
        "derived": FieldNames(),
    },
    "step": {"derived": FieldNames()},
}


def converted_arguments(function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The declared arguments of a public function, converted to the form that it takes.

    Real numbers become arrays of the type of the model or data. Elements become ids.

    Args:
        function: name of the function.
        arguments: all arguments, by the names of its parameters.

    Raises:
        ValueError: an argument is not an array of real numbers, has a wrong shape, or is too small.
        TypeError: an argument that decides the program is traced, or has a wrong kind.
        LookupError: the model has no such element.
    """
    owner = arguments.get("model", arguments.get("data"))
    found: dict[str, Any] = {}
    for name, declared in ARGUMENTS.get(function, {}).items():
        value, what = arguments.get(name), f"{function}: {name}"
        if value is None:
            continue
        if isinstance(declared, RealArray):
            found[name] = _real(function, what, value, declared.shape, owner)
        elif isinstance(declared, WholeNumber):
            found[name] = _whole(value, what, declared)
        elif isinstance(declared, FieldNames):
            found[name] = _names(value, what)
        else:
            found[name] = _element(owner, what, value, declared)
    callbacks = arguments.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, Callbacks):
        raise TypeError(_no_callbacks(function, callbacks))
    return found


def _real(function: str, what: str, value: Any, shape: tuple[Size, ...], owner: Any) -> jax.Array:
    """An argument as an array of the type of a model or of data."""
    real = (owner.body_mass if isinstance(owner, Model) else owner.time).dtype
    found = real_array(value, what, real)
    wanted = tuple(owner.structure.sizes.get(n, n) if isinstance(n, str) else n for n in shape)
    check_shape(found, wanted, what, f"for many: jax.vmap(mjjax.{function}, ...)")
    return found


def _whole(value: Any, what: str, declared: WholeNumber) -> Any:
    if isinstance(value, declared.instead):
        return value
    other = f" or a mjjax.{declared.instead.__name__}" * (declared.instead is not type(None))
    number = whole_number(value, f"{what} is a whole number{other}")
    if number < declared.least:
        raise ValueError(f"{what} is {number}; it must be at least {declared.least}")
    return number


def _names(value: Any, what: str) -> tuple[str, ...]:
    """Names of fields; a single text is refused, because its letters would count as names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        one = value if isinstance(value, str) else "qpos"
        raise TypeError(f"{what} is a list of names, such as [{one!r}], not {short(value)}")
    return tuple(value)


def _element(owner: Any, what: str, value: Any, declared: ElementId) -> Any:
    """The id of an element, or the traced value in its place; an array of ids for several."""
    if declared.traced and isinstance(value, Tracer):
        return value
    if declared.optional and not isinstance(value, str | View):
        if np.ndim(value) or isinstance(value, list | tuple):
            return np.array([_element(owner, what, x, declared) for x in value], np.int32)
        if value == -1:
            return -1
    return element_id(owner.structure, declared.kind, value, what)


def real_array(x: Any, what: str, dtype: Any = None) -> jax.Array:
    """Numbers as a JAX array.

    Arrays of other libraries are read by DLPack, so that arrays on the same device are not copied.

    Args:
        x: a JAX or NumPy array, an array of a library that supports DLPack, a list or a number.
        what: name of the argument, for the message.
        dtype: type of the result; None takes the default precision.

    Raises:
        ValueError: `x` does not consist of real numbers.
    """
    if is_of_other_library(x):
        found = jnp.from_dlpack(x)
    else:
        try:
            found = jnp.asarray(x)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must be real numbers, not {x!r:.60}") from None
    if not any(jnp.issubdtype(found.dtype, kind) for kind in (jnp.floating, jnp.integer, bool)):
        raise ValueError(f"{what} must be real numbers, not of type {found.dtype}")
    return found.astype(jnp.zeros(()).dtype if dtype is None else dtype)


def check_shape(x: jax.Array, shape: tuple[Size, ...], what: str, of_batch: str = "") -> None:
    """Refuses an array of another shape.

    Args:
        x: array.
        shape: required shape; a name stands for any size.
        what: name of the array, for the message.
        of_batch: for the message, what to do with a batch of such arrays.

    Raises:
        ValueError: the shape is wrong; the message gives both shapes.
    """
    last = x.shape[max(0, x.ndim - len(shape)) :]
    fits = len(last) == len(shape)
    fits &= all(n == m or isinstance(m, str) for n, m in zip(last, shape, strict=False))
    if fits and x.ndim == len(shape):
        return
    hint = f": {of_batch}" if fits and of_batch else ""
    wanted = str(shape).replace("'", "")
    raise ValueError(f"{what} must have shape {wanted}, got {x.shape}{hint}")


def _no_callbacks(function: str, given: Any) -> str:
    """The message about an argument that should be `Callbacks`."""
    if isinstance(given, jax.Array | np.ndarray | list | tuple | float | int):
        hint = "data.replace(ctrl=...) sets controls"
    else:
        hint = "mjjax.Callbacks(control=f) calls f in each step"
    return f"{function}: callbacks must be a mjjax.Callbacks, not {short(given)}; {hint}"
