"""Worlds spread over devices."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import pytest

import mjjax
from mjjax.cli import embedded
from mjjax.cli.worlds import disturbed
from mjjax.xla.compiling import as_flags, known_options

ROOT = Path(__file__).parents[2]

# In a process of its own: the number of devices is fixed once JAX is in use.
PROGRAM = """
import jax
import mjjax
from mjjax import cli
from mjjax.cli.worlds import advance, start
assert mjjax.use_all_cores(2)
import numpy as np
import jax.numpy as jnp
model = mjjax.Model.from_xml_string(cli.embedded()["cartpole"])
batch = start(model, 6, 0)
one, seen = jax.jit(advance)(model, batch, jnp.int32(7))
two, also = mjjax.jit_worlds(advance)(*mjjax.shard_worlds(model, batch), jnp.int32(7))
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
    mjjax.shard_worlds(model, start(model, 5, 0))
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


# One model with contacts, one with sleeping trees and a queue of pairs.
EIGHT = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
import mjjax
from mjjax.cli.models import load
from mjjax.cli.worlds import start
from tests.pipeline.scenes_of_steps import SLEEPING
assert len(jax.devices()) == 8

def close(x, y):
    if np.issubdtype(x.dtype, np.floating):
        np.testing.assert_allclose(x, y, atol=1e-7 * (1 + np.abs(y).max(initial=0)))
    else:
        np.testing.assert_array_equal(x, y)

roll = functools.partial(mjjax.rollout, nstep=40, keep=("qpos", "ncon"), derived=("xpos",))
step = functools.partial(mjjax.step, derived=("sensordata", "contact"))
for model, function in (
    (load("ant"), roll),
    (mjjax.Model.from_xml_string(SLEEPING), step),
):
    run = jax.vmap(function, (None, 0))
    batch = start(model, 128, 0)
    spread = mjjax.jit_worlds(run)
    found = spread(model, batch)
    assert len(jax.tree.leaves(found)[0].sharding.device_set) == 8
    jax.tree.map(close, found, mjjax.jit_worlds(run, 1)(model, batch))
    # other neighbours, another place, another device
    turned = spread(model, jax.tree.map(lambda x: jnp.roll(x, 19, axis=0), batch))
    back = jax.tree.map(lambda x: np.roll(x, -19, axis=0), turned)
    jax.tree.map(np.testing.assert_array_equal, found, back)
    part = jax.tree.map(lambda x: x[:32], batch)
    two = mjjax.jit_worlds(run, 2)(model, part)
    jax.tree.map(np.testing.assert_array_equal, two, jax.tree.map(lambda x: x[:32], found))
"""


@pytest.mark.slow
@pytest.mark.feature("D14")
def test_eight_devices_are_one() -> None:
    """On eight devices worlds move as on one, up to rounding, whatever their device."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS")}
    environment["JAX_ENABLE_X64"] = "1"
    # Where worlds run does not depend on how well their code is compiled.
    cheap = as_flags(known_options())
    environment["XLA_FLAGS"] = f"{cheap} --xla_force_host_platform_device_count=8"
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, *sys.path)))
    subprocess.run([sys.executable, "-c", EIGHT], check=True, timeout=900, env=environment)


# Each process has two devices and worlds of its own.
PROCESS = """
import sys
import jax
import jax.numpy as jnp
import numpy as np
rank, address = int(sys.argv[1]), sys.argv[2]
import mjjax
from mjjax import cli
from mjjax.cli.models import load
from mjjax.cli.worlds import advance, start
mjjax.use_all_cores(2)
jax.distributed.initialize(address, num_processes=2, process_id=rank)
assert jax.device_count() == 4 and jax.local_device_count() == 2

model = load("cartpole")
batch = jax.jit(jax.vmap(lambda x: mjjax.make_data(model).replace(qpos=x)))(
    0.1 * np.random.default_rng(rank).normal(size=(4, model.nq)).astype(np.float32)
)
alone, seen = jax.jit(advance)(model, batch, jnp.int32(20))
spread = mjjax.shard_worlds(model, batch)
after, also = mjjax.jit_worlds(advance)(*spread, np.int32(20))
assert after.qpos.shape == (8, model.nq)
own = np.concatenate([np.asarray(part.data) for part in after.qpos.addressable_shards])
np.testing.assert_array_equal(own, alone.qpos)
# what all worlds decide together
mean = jax.jit(lambda q: q.mean(0))(after.qpos)
assert np.isfinite(np.asarray(mean)).all() and not np.allclose(mean, own.mean(0))
jax.distributed.shutdown()
"""


@pytest.mark.slow
@pytest.mark.feature("D14")
def test_two_processes_share_a_batch() -> None:
    """Each process steps its own worlds, as if it were alone, and all see one batch."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    both = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(rank), address]) for rank in range(2)
    ]
    try:
        assert [process.wait(timeout=300) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()


def test_impossible_spreads_are_refused() -> None:
    """Too many devices, and batches whose arrays do not agree, are errors that say so."""
    model = mjjax.Model.from_xml_string(embedded()["double_pendulum"])
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


@pytest.mark.newest
@pytest.mark.feature("A076")
def test_a_step_is_lowered_for_a_gpu() -> None:
    """A step can be lowered for a GPU: it uses NVIDIA's library, not LAPACK."""
    model = mjjax.Model.from_xml_string(embedded()["ant"])
    keys = jax.random.split(jax.random.key(0), 4096)
    worlds = jax.eval_shape(disturbed, model, keys)
    step = jax.jit(jax.vmap(lambda data: mjjax.step(model, data)))
    program = jax.export.export(step, platforms=["cuda"])(worlds).mlir_module()
    assert "cusolver" in program and "lapack" not in program
