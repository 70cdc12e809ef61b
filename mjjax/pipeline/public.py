"""The public functions of `mjjax`: they check their arguments, and plain calls are compiled.

The engine calls its own functions as they are. `import mjjax` gives users the same functions with a
shell around them. The shell checks arguments while a program is traced (`boundary`). It brings data
that are older than their model to the model's layout (`refit`). For a call outside of any trace, it
runs a program that is compiled once for each structure. Inside a trace the shell leaves nothing
behind.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import get_opaque_trace_state

from mjjax.model.terms import require_terms
from mjjax.pipeline.arguments import converted_arguments
from mjjax.pipeline.boundary import check_shapes, require_kinds
from mjjax.pipeline.refit import refitted


class Public(NamedTuple):
    """How the shell of a public function treats a call.

    Attributes:
        static: arguments that decide its program.
        compiled: whether a plain call is compiled. It is not if the function is small and its
            program would depend on the id of an element.
        refits: whether data may be older than the model, because the function computes everything
            anew.
    """

    static: tuple[str, ...] = ()
    compiled: bool = True
    refits: bool = False


_FUNCTIONS = ("residual", "final")
_STAGE = Public()
_CALLED = Public(("callbacks",))
_WHOLE = Public(("callbacks",), refits=True)
_SMALL = Public(compiled=False)

PUBLIC: dict[str, Public] = {
    "step": Public(("callbacks", "derived"), refits=True),
    **dict.fromkeys(("step1", "forward", "inverse", "fwd_position", "transition_jacobian"), _WHOLE),
    "inverse_jacobian": Public(("callbacks", "actuation"), refits=True),
    **dict.fromkeys(
        ("forward_skip", "inverse_skip"), Public(("callbacks", "skipstage", "skipsensor"))
    ),
    **dict.fromkeys(
        "step2 fwd_velocity fwd_actuation euler implicit rungekutta4 compare_fwd_inv sensor_pos "
        "sensor_vel sensor_acc".split(),
        _CALLED,
    ),
    "collision": Public(("contact_filter",)),
    **dict.fromkeys(
        "add_m camlight com_pos com_vel constraint_jacobian constraint_state crb energy_pos "
        "energy_vel factor_m full_m fwd_acceleration fwd_constraint inv_constraint island "
        "kinematics make_constraint mul_jac_t_vec mul_jac_vec mul_m mul_m2 passive "
        "project_constraint reference_constraint rne rne_postconstraint set_const solve_m solve_m2 "
        "solver_statistics subtree_vel tendon transmission xfrc_accumulate".split(),
        _STAGE,
    ),
    "geom_distance": Public(("geom1", "geom2")),
    **dict.fromkeys(("ray", "multi_ray"), Public(("geomgroup", "flg_static"))),
    "rollout": Public(compiled=False, refits=True),
    "improve_plan": Public(_FUNCTIONS),
    **dict.fromkeys(
        "angmom_mat apply_ft contact_force copy_state differentiate_pos get_state get_total_mass "
        "init_ctrl_history init_sensor_history integrate_pos jac jac_body jac_body_com jac_dot "
        "jac_geom jac_point_axis jac_site jac_subtree_com local_to_global make_data normalize_quat "
        "object_acceleration object_velocity read_ctrl read_sensor reset_data set_keyframe "
        "set_state set_total_mass".split(),
        _SMALL,
    ),
}
_PLAIN = get_opaque_trace_state()
_CHECKED = ("model", "data", "src", "dst")
_OWN = ("callbacks", *_FUNCTIONS)  # functions of the user


def public(function: Callable[..., Any], how: Public) -> Callable[..., Any]:
    """The function with its shell, as users call it."""
    parameters = inspect.signature(function).parameters
    checked = tuple(name for name in _CHECKED if name in parameters)
    name = function.__name__

    def whole(*args: Any, **options: Any) -> Any:
        given = dict(zip(parameters, args, strict=False)) | options
        trees = {n: given[n] for n in checked if n in given}
        check_shapes(name, trees)
        if how.refits:
            given["data"] = refitted(trees["model"], trees["data"])
            args, options = (), given
        return function(*args, **options)

    program = jax.jit(functools.wraps(function)(whole), static_argnames=how.static)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if len(args) > len(parameters) or not options.keys() <= parameters.keys():
            return function(*args, **options)  # Python says what is wrong
        given = dict(zip(parameters, args, strict=False)) | options
        require_kinds(name, {n: given[n] for n in checked if n in given})
        given |= converted_arguments(name, given)
        given |= {n: _hashable(name, n, given[n]) for n in how.static if n in given}
        if not how.compiled or _is_inlined([given.get(name) for name in _OWN]):
            return whole(**given)
        if "model" in given:
            require_terms(given["model"])
        return program(**given)

    call.__module__ = "mjjax"
    return call


def _hashable(function: str, parameter: str, value: Any) -> Any:
    """An argument that decides the program, as a value that can be compared."""
    if isinstance(value, list | set | frozenset):
        return tuple(value)
    if not isinstance(value, jax.Array | np.ndarray):
        return value
    if isinstance(value, Tracer) or value.dtype.kind not in "iub":
        kind = "traced" if isinstance(value, Tracer) else f"an array of {value.dtype}"
        raise TypeError(f"{function}: {parameter} decides the program and cannot be {kind}")
    return tuple(value.tolist()) if value.ndim else value.item()


def _is_inlined(functions: Sequence[Any]) -> bool:
    """Whether a call becomes part of the program that is being traced.

    It does if operations give traced results. A `vmap` or a derivative of a plain call runs
    programs as a plain call does, but functions of the user may close over values that it traces.
    """
    if get_opaque_trace_state() == _PLAIN:
        return False
    return any(f is not None for f in functions) or isinstance(jax.lax.stop_gradient(0.0), Tracer)
