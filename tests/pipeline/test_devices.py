"""Worlds spread over devices."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import mjjax
from mjjax import cli

# In a process of its own: the number of devices is fixed once JAX is in use.
PROGRAM = """
import jax
from mjjax import cli
cli.use_all_cores()
jax.config.update("jax_num_cpu_devices", 2)
import mjjax
import numpy as np
import jax.numpy as jnp
model = mjjax.Model.from_xml_string(cli.embedded()["cartpole"])
batch = cli.start(model, 6, 0)
one, seen = jax.jit(cli.advance)(model, batch, jnp.int32(7))
two, also = mjjax.jit_worlds(cli.advance)(*mjjax.shard_worlds(model, batch), jnp.int32(7))
assert len(two.qpos.sharding.device_set) == 2
np.testing.assert_allclose(one.qpos, two.qpos, atol=1e-6)
np.testing.assert_array_equal(seen.nefc, also.nefc)

def height(model, batch, push):
    def one(data):
        return mjjax.step(model, data.replace(qvel=data.qvel + push)).qpos
    return jax.vmap(one)(batch)

push = jnp.full(model.nv, 0.1)
both = [
    jax.jit(jax.grad(lambda p: (run(*given, p) ** 2).sum()))(push)
    for run, given in (
        (height, (model, batch)),
        (mjjax.jit_worlds(height), mjjax.shard_worlds(model, batch)),
    )
]
np.testing.assert_allclose(*both, rtol=1e-4)
try:
    mjjax.shard_worlds(model, cli.start(model, 5, 0))
except ValueError as error:
    assert "2 devices cannot share" in str(error)
else:
    raise AssertionError("five worlds on two devices")
"""


@pytest.mark.slow
@pytest.mark.feature("A076", "D14")
def test_spreading_over_devices_changes_nothing() -> None:
    """Protects results and derivatives of worlds on several devices, and against hanging."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)


def test_impossible_spreads_are_refused() -> None:
    """Too many devices, and batches whose arrays do not agree, are errors that say so."""
    model = mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])
    for call in (
        lambda n: mjjax.jit_worlds(mjjax.step, n),
        lambda n: mjjax.shard_worlds(model, 0, n),
    ):
        with pytest.raises(ValueError, match="999 devices asked for"):
            call(999)
    with pytest.raises(ValueError, match="leading dimensions"):
        mjjax.shard_worlds(model, {"a": jnp.zeros((2, 1)), "b": jnp.zeros((4, 1))}, 1)
    _, batch = mjjax.shard_worlds(model, jnp.zeros((3, 1)), 1)
    assert batch.sharding.device_set == set(jax.devices()[:1])
