"""A model as a differentiable function of attributes of its description."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, Var

from mjjax.compiler.assemble import host_model
from mjjax.compiler.common.fields import Compiled
from mjjax.compiler.compile import INERTIA, compile_spec, run
from mjjax.compiler.equal_moments import check_axes
from mjjax.compiler.load import compile_model, derived
from mjjax.compiler.parameters import Parameter, Reference, assign, find_all
from mjjax.core.errors import UnsupportedFeature
from mjjax.math.tracked import NotTracked, Tracked, is_live, numbers, value_of
from mjjax.mjcf import assets
from mjjax.mjcf.spec import Spec
from mjjax.model.model import Model
from mjjax.model.structure import Structure
from mjjax.model.terms import TERMS, leaf
from mjjax.xla.compiling import quick
from mjjax.xla.namespace import Array, where

Values = dict[str, jax.Array]
# Leaves that simulated length ranges of actuators do not depend on.
_NO_LENGTHS = (
    *("sensor_", "key_", "cam_", "light_", "mat_", "numeric_", "tuple_", "pair_"),
    *("geom_friction", "geom_sol", "geom_margin", "geom_gap", "geom_rgba"),
    *("actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_ctrlrange"),
    *("actuator_forcerange", "actuator_actrange"),
)


class _CompilePlan(NamedTuple):
    """Everything that does not depend on the values of the attributes.

    Attributes:
        spec: the description.
        parameters: the attributes by name.
        nominal: the model at the values of the description.
        structure: structure of the models for all values.
        whole: whether derived constants follow the attributes.
    """

    spec: Spec
    parameters: dict[str, Parameter]
    nominal: Model
    structure: Structure
    whole: bool


def parametrize(
    spec: Spec, attributes: Sequence[Reference] | Mapping[str, Reference]
) -> tuple[Values, Callable[[Values], Model]]:
    """The model as a function of some real attributes of its description.

    `build(values)` makes the model that `spec.compile()` would make with these values, including
    its derived constants. It is pure: you can jit it, vmap it and differentiate it in both modes.
    All values give the same structure, so functions of the model need no new compilation.

    The derivative is exact. The values in the description decide which terms are used and what is
    clipped, limited or merged. Other values keep these decisions and are not checked. Terms
    (`Model.terms`) that an attribute can switch on are in the program. If `fromto` makes a capsule
    point along -z, other values turn its frame from there by the smallest rotation.

    Args:
        spec: the description; later changes to it have no effect on `build`.
        attributes: which attributes, each as `"kind:name:attribute"` (`"geom:torso:size"`,
            `"inertial:torso:mass"` for the body `torso`, `"option:gravity"`,
            `"compiler:settotalmass"`) or as a pair of an element and an attribute,
            `(spec.geom("torso"), "size")`. A mapping gives them names of your own.

    Returns:
        values: the values in the description, by the names of the attributes: float arrays, scalars
            or vectors as in MJCF, in its units and frames (angles as in `spec.compiler.angle`).
        build: the function from such values to a `Model`. It raises ValueError if their names or
            shapes differ.

    Raises:
        ValueError: an element or attribute does not exist, or the attribute is not a real number,
            has no value or no effect; or the compiler fuses or discards elements.
        UnsupportedFeature: the compiler needs the number itself, as for the shape of a mesh; or
            simulated length ranges of actuators depend on the attribute; or it turns principal axes
            that are not unique, so that `body_inertia` and `body_iquat` cannot follow.
    """
    assets.find_files(spec)
    copies: dict[Any, Any] = {}
    given = find_all(spec, attributes)
    spec = spec.copy(copies)
    parameters = {name: p.moved(spec, copies) for name, p in given.items()}
    if spec.compiler["fusestatic"] or spec.compiler["discardvisual"]:
        raise ValueError("turn off fusestatic and discardvisual: they merge or drop elements")
    values = {name: jnp.asarray(p.nominal, float) for name, p in parameters.items()}
    plan = _plan(spec, parameters, values)
    build = jax.jit(functools.partial(_build, plan))
    return values, functools.partial(_checked, build, jax.tree.map(jnp.shape, values))


def _checked(build: Callable[[Values], Model], shapes: Any, values: Values) -> Model:
    """`build`, after checks of the names and shapes of the values."""
    given = {name: jnp.shape(value) for name, value in values.items()}
    if given != shapes:
        raise ValueError(f"values must have the shapes {shapes}, not {given}")
    return build({name: jnp.asarray(value, float) for name, value in values.items()})


def _build(plan: _CompilePlan, values: Values) -> Model:
    """The model of some values."""
    host, compiled = _compiled(plan.spec, plan.parameters, values)
    live = [is_live(x) for x in jax.tree.leaves(host)]
    model = _on_device(host).replace(structure=plan.structure)
    nominal, tree = jax.tree.flatten(plan.nominal.replace(structure=plan.structure))
    if not plan.whole:
        pairs = zip(live, jax.tree.leaves(model), nominal, strict=True)
        return jax.tree.unflatten(tree, [new if own else old for own, new, old in pairs])
    built = derived(model, compiled.fields["jnt_springdamper"])
    stat = {name: jnp.asarray(value_of(x), float) for name, x in compiled.statistic.items()}
    lengths = where(
        _simulated(host, plan.nominal),
        plan.nominal.actuator_lengthrange,
        built.actuator_lengthrange,
    )
    return built.replace(stat=built.stat.replace(**stat), actuator_lengthrange=lengths)


def _compiled(
    spec: Spec, parameters: Mapping[str, Parameter], values: Values
) -> tuple[Model, Compiled]:
    """Compiled fields, tracked, at some values: a model without derived constants."""
    with _like_numpy():
        compiled = compile_spec(_moved(spec, parameters, values), tracked=True)
        return host_model(compiled), compiled


def _matrices(spec: Spec, parameters: Mapping[str, Parameter], values: Values) -> Array:
    """`body_matrix` at some values."""
    with _like_numpy():
        ctx = run(_moved(spec, parameters, values), INERTIA, tracked=True)
        return value_of(ctx.fields["body_matrix"])


def _moved(spec: Spec, parameters: Mapping[str, Parameter], values: Values) -> Spec:
    """A copy of the description with tracked numbers in the place of attributes."""
    copies: dict[Any, Any] = {}
    spec = spec.copy(copies)
    for name, parameter in parameters.items():
        assign(parameter.moved(spec, copies), Tracked(parameter.nominal, values[name]))
    return spec


@contextlib.contextmanager
def _like_numpy() -> Iterator[None]:
    """Makes JAX combine types and shapes as numpy does, whatever the user's settings are."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def _on_device(host: Model) -> Model:
    return jax.tree.map(lambda x: jnp.asarray(value_of(x), float), host)


def _simulated(host: Model, nominal: Model) -> np.ndarray:
    """(nu, 1) whether the length range of an actuator was found by simulation."""
    if not host.nu:
        return np.zeros((0, 1), bool)
    written = np.asarray(numbers(host.actuator_lengthrange), nominal.actuator_lengthrange.dtype)
    return np.any(written != np.asarray(nominal.actuator_lengthrange), axis=1, keepdims=True)


# ---- what is decided once -----------------------------------------------------------------------


def _plan(spec: Spec, parameters: dict[str, Parameter], values: Values) -> _CompilePlan:
    nominal = compile_model(spec)
    host, compiled = _host(spec, parameters, values)
    live = _live(host)
    if "body_iquat" in live:
        matrices = functools.partial(_matrices, spec, parameters)
        check_axes(run(spec, INERTIA), matrices, values)
    simulated = np.flatnonzero(_simulated(host, nominal))
    for name in parameters if len(simulated) else ():
        alone = {name: parameters[name]}
        if [x for x in _live(_host(spec, alone, values)[0]) if not x.startswith(_NO_LENGTHS)]:
            raise spec.elements["actuator"][simulated[0]].origin.unsupported(
                f"its length range is found by simulation, and depends on {name}",
                "give it a lengthrange",
            )
    structure = nominal.structure.widened(
        _switched(spec, parameters, values, live, nominal.structure.terms)
    )
    whole = any(map(is_live, _apart(compiled))) or bool(live & _used(nominal))
    return _CompilePlan(spec, parameters, nominal, structure, whole)


def _host(
    spec: Spec, parameters: Mapping[str, Parameter], values: Values
) -> tuple[Model, Compiled]:
    """`_compiled` at abstract values, for the fields that depend on the attributes.

    Raises:
        ValueError: an attribute has no effect.
        UnsupportedFeature: the compiler needs the number of an attribute.
    """
    found: list[tuple[Model, Compiled]] = []

    def trace(values: Values) -> list[Array]:
        found.append(_compiled(spec, parameters, values))
        host, compiled = found[0]
        given = [*jax.tree.leaves(host), *_apart(compiled)]
        return [value_of(x) for x in given if is_live(x)]

    try:
        program = jax.make_jaxpr(trace)(values).jaxpr
    except NotTracked as error:
        for name, parameter in parameters.items() if len(parameters) > 1 else ():
            _host(spec, {name: parameter}, values)  # raises for the attribute that is to be named
        names = ", ".join(parameters)
        raise UnsupportedFeature(
            f"{names}: the compiler does not follow it smoothly: {error}",
            hint="change the description and compile it again",
        ) from None
    reached = _read(program) | {v for v in program.outvars if isinstance(v, Var)}
    for name, var in zip(sorted(values), program.invars, strict=True):
        if name in parameters and var not in reached:
            raise ValueError(f"{name} has no effect on this model")
    return found[0]


def _apart(compiled: Compiled) -> list[Any]:
    """Fields that a model gets only with its derived constants."""
    return [compiled.fields["jnt_springdamper"], *compiled.statistic.values()]


def _read(program: Jaxpr) -> set[Var]:
    """The variables from which a program computes results, without those it only hands on."""
    read = {v for v in program.outvars if isinstance(v, Var) and v not in program.invars}
    for equation in reversed(program.eqns):
        if read.intersection(equation.outvars):
            read |= {v for v in equation.invars if isinstance(v, Var)}
    return read


def _live(host: Model) -> set[str]:
    """Names of the leaves that depend on the attributes."""
    leaves = jax.tree_util.tree_leaves_with_path(host)
    return {_path(path) for path, x in leaves if is_live(x)}


def _path(path: Any) -> str:
    return ".".join(key.name for key in path)


def _used(model: Model) -> set[str]:
    """Names of the leaves from which derived constants are computed."""
    springs = np.zeros((model.structure.njnt, 2))
    program = jax.make_jaxpr(lambda m: derived(m, springs))(model).jaxpr
    read, leaves = _read(program), jax.tree_util.tree_leaves_with_path(model)
    pairs = zip(leaves, program.invars, strict=True)
    return {_path(path) for (path, _), var in pairs if var in read}


def _switched(
    spec: Spec,
    parameters: Mapping[str, Parameter],
    values: Values,
    live: set[str],
    sizes: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Entries of terms that the attributes can switch on: those that change with them."""
    terms = {n: t for n, t in TERMS.items() if live.intersection(t.fields)}
    if not terms:
        return {}
    fields = live.intersection(f for t in terms.values() for f in t.fields)

    @quick
    def coefficients(values: Values) -> dict[str, Array]:
        host, _ = _compiled(spec, parameters, values)
        return {field: value_of(leaf(host, field)) for field in fields}

    other = {name: 1.01 * x + 0.01 for name, x in values.items()}
    one, two = (jax.device_get(coefficients(v)) for v in (values, other))
    changed = {field: np.where(one[field] != two[field], 1.0, one[field]) for field in fields}
    return {
        name: term.mask({f: changed[f] for f in term.fields if f in fields}, sizes[name].size)
        for name, term in terms.items()
    }
