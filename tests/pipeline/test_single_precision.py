"""The engine in float32, JAX's default, in a process of its own."""

import json
import subprocess
import sys

import mujoco
import pytest

from tests.oracle_tools import error
from tests.pipeline.test_batches import XML

pytestmark = pytest.mark.newest

STEPS = 20
SCRIPT = f"""
import json, jax, jax.numpy as jnp, mjjax
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
model = mjjax.Model.from_xml_string({XML!r})
data = mjjax.make_data(model)
ctrl = jnp.full(model.nu, 0.3, data.ctrl.dtype)
data = data.replace(qvel=jnp.linspace(-1, 1, model.nv), ctrl=ctrl)
start = jax.tree.map(jax.typeof, data)
step = jax.jit(mjjax.step)
for _ in range({STEPS}):
    data = step(model, data)
print(json.dumps({{
    "same": start == jax.tree.map(jax.typeof, data),
    "programs": step._cache_size(),
    "weak": any(x.weak_type for x in jax.tree.leaves(start)),
    "types": sorted({{str(x.dtype) for x in jax.tree.leaves(data)}}),
    "qpos": data.qpos.tolist(), "qvel": data.qvel.tolist(), "time": float(data.time),
}}))
"""


@pytest.mark.slow
@pytest.mark.feature("D13", "D16")
def test_single_precision() -> None:
    """In float32 nothing is promoted, results fit back in, and the motion is that of float64."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["types"] == ["float32", "int32"]
    assert found["same"] and found["programs"] == 1 and not found["weak"]
    model = mujoco.MjModel.from_xml_string(XML)
    d = mujoco.MjData(model)
    d.qvel[:] = [-1 + 2 * i / (model.nv - 1) for i in range(model.nv)]
    d.ctrl[:] = 0.3
    for _ in range(STEPS):
        mujoco.mj_step(model, d)
    assert error(found["qpos"], d.qpos) < 1e-4 and error(found["qvel"], d.qvel) < 1e-2
    assert error(found["time"], d.time) < 1e-6
