"""Checks derivatives of every stage by every real field of a model and every input, in both modes.

The model moves to the state with most contacts on its way, and all terms are in the program. A line
of the result has the findings of `check_gradients` in this state: the number of fields compared,
the errors, and how many results have a kink or do not settle. Then the transition matrices are also
made in reverse mode, by one product with random weights, and compared relative to the largest
entry.

    python -m tests.pipeline.leaves MODELS --count 30 --json results.jsonl
"""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import mjjax
from mjjax.xla.namespace import Array
from tests import surveys
from tests.oracle_tools import quick, to_ours
from tests.solver.survey import touching


def compare(m: mujoco.MjModel, model: mjjax.Model) -> dict[str, Any] | None:
    """Findings by verdict and the distance of the modes; None if the model diverges on the way."""
    d = touching(m) or surveys.random_state(m, 0)
    d.ctrl[:] = surveys.random_state(m, 1).ctrl
    mujoco.mj_forward(m, d)
    if any(w.number for w in d.warning):
        return None
    model = model.with_terms("all")
    data = to_ours(model, d)
    found = mjjax.check_gradients(model, data)
    return {
        "nv": m.nv,
        "contacts": d.ncon,
        "checked": len(found.checked),
        "no_effect": len(found.no_effect),
        "errors": [str(finding) for finding in found.errors],
        "verdicts": Counter(finding.verdict for finding in found.findings),
        "modes": modes(model, data),
    }


def modes(model: mjjax.Model, data: mjjax.Data) -> float:
    """Distance between reverse and forward mode, in weighted sums of the rows of A and B."""

    def outcome(x: Array) -> Array:
        dq, qvel, ctrl = jnp.split(x, (len(data.qvel), 2 * len(data.qvel)))
        qpos = mjjax.integrate_pos(model, data.qpos, dq, 1)
        after = mjjax.step(model, data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
        return jnp.concatenate([after.qpos, after.qvel, after.act])

    @quick
    def both(x: Array) -> tuple[Array, ...]:
        forward = jax.jacfwd(outcome)(x)
        end, pull = jax.vjp(outcome, x)
        weights = jnp.asarray(np.random.default_rng(0).normal(size=end.shape))
        return forward, weights, pull(weights)[0]

    x = jnp.concatenate([jnp.zeros_like(data.qvel), data.qvel, data.ctrl])
    forward, weights, pulled = map(np.asarray, both(x))
    largest = np.abs(forward).max() * np.abs(weights).max()
    return float(np.abs(weights @ forward - pulled).max() / max(largest, 1e-12))


if __name__ == "__main__":
    surveys.run(compare, __doc__, max_nv=40)
