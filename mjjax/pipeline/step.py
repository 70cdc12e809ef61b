"""One time step."""

from collections.abc import Iterable

from mjjax.core.enums import EnableBit
from mjjax.dynamics.actuation import fwd_actuation
from mjjax.model.callbacks import NONE, Callbacks
from mjjax.model.data import Data
from mjjax.model.model import Model
from mjjax.model.terms import require_terms
from mjjax.pipeline.carried import with_some_fields
from mjjax.pipeline.divergence import check_state, no_derivative_where_reset, reset_diverged
from mjjax.pipeline.forward import constraint, forward, fwd_acceleration, position, velocity
from mjjax.pipeline.integrate import Integrator, integrate
from mjjax.pipeline.inverse import compare_fwd_inv


def step(
    model: Model,
    data: Data,
    callbacks: Callbacks | None = None,
    *,
    derived: Iterable[str] | None = None,
) -> Data:
    """Advances one world by one time step (`mj_step`).

    The function is pure: jit it, vmap it over worlds (`in_axes=(None, 0)`) or over models and
    worlds, and differentiate it in either mode. In the result, the state fields hold the new state,
    but the derived fields still belong to the state before the step.

    A world diverges if its state or acceleration is not finite or exceeds 1e10. It is then reset to
    `qpos0` and counted in `data.warning`, unless `autoreset` is disabled. If `data` has diverged
    already, the world is reset and makes its first step, as in MuJoCo. If only the step makes it
    diverge, the world is returned just reset, at time 0, where MuJoCo also makes the first step. In
    both cases the derivative is zero.

    Args:
        model: model.
        data: data.
        callbacks: your own functions, in place of MuJoCo's `mjcb_control` and others.
        derived: static; names of the derived fields to compute, all by default. The others stay as
            they are in `data`, and nothing is computed for them alone. `()` updates only the state,
            the warning counts and what the next step reads. Donate `data` to `jax.jit` so that
            unchanged fields are not copied.

    Raises:
        AbsentTerm: a coefficient of the model is set, but its term is off (`Model.terms`).
        ValueError: `derived` names a field that does not exist.
    """
    require_terms(model)
    if derived is None:
        return whole_step(model, data, callbacks)
    return with_some_fields(whole_step, model, data, callbacks, tuple(derived))


@no_derivative_where_reset
def whole_step(
    model: Model,
    data: Data,
    callbacks: Callbacks | None = None,
    integrator: Integrator = integrate,
) -> Data:
    """`step` with all derived fields, by an integrator."""
    data = check_state(model, data)
    data = forward(model, data, callbacks)
    if model.opt.enabled(EnableBit.FWDINV):
        data = compare_fwd_inv(model, data, callbacks)
    data = integrator(model, data, callbacks)
    return reset_diverged(model, data)


def step1(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """The first half of a step (`mj_step1`): everything before controls are needed.

    It runs the checks, the position and velocity stages and the control callback. Afterwards, set
    controls or forces in `data` and call `step2` for the rest. A world whose state has diverged is
    reset first.
    """
    calls = callbacks or NONE
    data = check_state(model, data)
    data = position(model, data, calls, skipsensor=False)
    data = velocity(model, data, calls, skipsensor=False)
    return calls.control(model, data) if calls.control else data


@no_derivative_where_reset
def step2(model: Model, data: Data, callbacks: Callbacks | None = None) -> Data:
    """The second half of a step (`mj_step2`): forces, acceleration and integration.

    Euler's method replaces `RK4`, as in MuJoCo. A world that diverges is reset as in `step`.
    """
    calls = callbacks or NONE
    data = fwd_actuation(model, data, calls)
    data = fwd_acceleration(model, data)
    data = constraint(model, data, calls, skipsensor=False)
    if model.opt.enabled(EnableBit.FWDINV):
        data = compare_fwd_inv(model, data, callbacks)
    # The dynamics are not evaluated again, so Euler's method takes the place of RK4.
    data = integrate(model, data, callbacks, again=False)
    return reset_diverged(model, data)
