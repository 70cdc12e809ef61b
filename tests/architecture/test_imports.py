"""`import mjjax` in a fresh process only defines names and prepares XLA's threads."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from mjjax.xla.compiling import known_options
from mjjax.xla.threads import FEWEST, LAST_BLOCKING, PER_DEVICE

PROBE = """
import json, logging, sys
import jax, numpy
from jax._src import xla_bridge

def settings():
    return {
        "jax": {k: repr(v) for k, v in jax.config.values.items()},
        "numpy": repr(numpy.get_printoptions()),
        "errors": numpy.geterr(),
        "level": logging.getLogger().level,
        "handlers": len(logging.getLogger().handlers),
    }

before = settings()
import mjjax
mjjax.step  # the first name that is used loads the engine
after = settings()
print(json.dumps({
    "changed": [k for k in before if before[k] != after[k]],
    "modules": sorted(m for m in sys.modules if "." not in m),
    "backends": xla_bridge.backends_are_initialized(),
}))
"""


@pytest.fixture(scope="module")
def probe() -> dict:
    result = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


@pytest.mark.newest
def test_changes_no_setting(probe: dict) -> None:
    """Protects the user's configuration of JAX, NumPy and logging."""
    assert probe["changed"] == []


@pytest.mark.newest
def test_loads_no_mujoco(probe: dict) -> None:
    """Protects users without MuJoCo, and the start-up time of those with it."""
    heavy = {"mujoco", "matplotlib", "tqdm", "trimesh", "viser", "PIL"}
    heavy |= {"gymnasium", "gymnax", "rejax", "optax", "brax"}
    assert heavy.isdisjoint(probe["modules"])


@pytest.mark.newest
def test_starts_no_device(probe: dict) -> None:
    """Lets the user choose devices after the import; nothing is computed at import."""
    assert not probe["backends"]


LAZY = """
import sys
import mjjax.cli
assert "jax" not in sys.modules
from mjjax.collision.driver import collision
from mjjax.render.picture import render
assert callable(mjjax.collision) and callable(mjjax.render) and not hasattr(mjjax, "no_such_name")
assert {"step", "Model"} <= set(dir(mjjax)) & set(mjjax.__all__)
"""


@pytest.mark.newest
def test_engine_is_loaded_when_it_is_used() -> None:
    """Lets a command speak before JAX is there; functions named like a folder stay functions."""
    subprocess.run([sys.executable, "-c", LAZY], check=True)


HUMANOIDS = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import jax
import jax.numpy as jnp
import mjjax
from mjjax import cli

model = mjjax.Model.from_xml_string(cli.embedded()["humanoid"])
data = mjjax.make_data(model)
batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (1024, *x.shape)), data)
"""
STEPS = """
step = jax.jit(jax.vmap(mjjax.step, (None, 0)))
for _ in range(50):
    batch = step(model, batch)
assert jnp.isfinite(batch.qpos).all() and (batch.time > 0).all()
"""
GRADIENTS = """
def loss(qvel, data):
    return jnp.sum(mjjax.step(model, data.replace(qvel=qvel)).qvel)

slope = jax.jit(jax.vmap(jax.grad(loss)))
for _ in range(5):
    assert jnp.isfinite(slope(batch.qvel, batch)).all()
"""


# Eight kinds of trees, factors of which are large enough to be shared among threads, and fewer
# threads than mjjax gives.
KINDS = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
import jax
import jax.numpy as jnp
import mjjax
os.environ["NPROC"] = "5"

def chain(n):
    link = '<body pos="0 0 -0.1"><joint axis="1 0 0" damping="0.1"/><geom size="0.04"/>'
    return link * n + "</body>" * n

trees = "".join(map(chain, range(12, 20)))
flag = '<option><flag contact="disable"/></option>'
model = mjjax.Model.from_xml_string(f"<mujoco>{flag}<worldbody>{trees}</worldbody></mujoco>")
data = mjjax.make_data(model)
batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (1024, *x.shape)), data)
"""
SPREAD = STEPS.replace("jax.jit", "mjjax.jit_worlds")
# Threads do not depend on how well code is compiled; as users have it, it is in the first program.
CHEAP = " ".join(f"--{name}={str(value).lower()}" for name, value in known_options().items())
EIGHT = f"{CHEAP} --xla_force_host_platform_device_count=8"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "variables"),
    [
        pytest.param(HUMANOIDS + STEPS, {}, marks=pytest.mark.newest),
        (HUMANOIDS + STEPS, {"NPROC": "1", "XLA_FLAGS": CHEAP}),
        (HUMANOIDS + SPREAD, {"NPROC": "2", "XLA_FLAGS": EIGHT}),
        pytest.param(HUMANOIDS + GRADIENTS, {"XLA_FLAGS": CHEAP}, marks=pytest.mark.newest),
        (KINDS + STEPS.replace("50", "300"), {}),
    ],
    ids=["steps", "one thread", "eight devices", "gradients", "kinds of trees"],
)
def test_plain_program_ends(program: str, variables: dict[str, str]) -> None:
    """Protects users with two cores, whatever NPROC is: LAPACK kernels must not wait for ever."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS")}
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=400,
        env=environment | variables,
    )


LATE = """
import warnings
import jax.numpy as jnp
jnp.zeros(1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import mjjax
print([str(w.message) for w in caught if w.category is RuntimeWarning])
"""


@pytest.mark.newest
@pytest.mark.parametrize("threads", [None, "2", str(FEWEST)])
def test_late_import_says_what_to_do(threads: str | None) -> None:
    """Protects users whose JAX runs already: they get a message if there are too few threads."""
    environment = {k: v for k, v in os.environ.items() if k != "NPROC"}
    environment |= {"NPROC": threads} if threads else {}
    result = subprocess.run(
        [sys.executable, "-c", LATE], check=True, capture_output=True, text=True, env=environment
    )
    expected = int(threads or os.cpu_count() or 1) < FEWEST
    if jax.__version_info__[:2] > LAST_BLOCKING:
        expected = False
    assert (f"NPROC={FEWEST}" in result.stdout) == expected


EARLY = """
import os
import mjjax
print(os.environ.get("NPROC"))
mjjax.use_all_cores(40)
print(os.environ.get("NPROC"))
"""


@pytest.mark.newest
@pytest.mark.parametrize(("threads", "flags"), [("1", 1), ("1000", 1), (None, 100)])
def test_there_are_threads_for_all_devices(threads: str | None, flags: int) -> None:
    """Protects against too few threads, even if the user has set them; larger numbers are kept."""
    environment = {k: v for k, v in os.environ.items() if k != "NPROC"}
    environment |= {"NPROC": threads} if threads else {}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={flags}"
    done = subprocess.run(
        [sys.executable, "-c", EARLY], check=True, capture_output=True, text=True, env=environment
    )
    if jax.__version_info__[:2] <= LAST_BLOCKING:
        first = max(FEWEST, int(threads or 0), PER_DEVICE * max(flags, os.cpu_count() or 1))
        expected = [first, max(first, PER_DEVICE * 40)]
        assert [int(word) for word in done.stdout.split()] == expected


WITHOUT = """
import sys
from pathlib import Path
sys.modules["mujoco"] = None
import jax
import mjjax
from mjjax import cli
model = mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])
assert jax.jit(mjjax.step)(model, mjjax.make_data(model)).time > 0
"""


@pytest.mark.newest
@pytest.mark.feature("D01")
def test_runs_without_mujoco() -> None:
    """Protects users who do not have MuJoCo: loading and stepping need nothing of it."""
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)


def test_a_part_alone_can_be_imported() -> None:
    """Protects programs whose first import is a part: methods find the rest of the package."""
    alone = "import mjjax.envs; mjjax.envs.make('pendulum')"
    subprocess.run([sys.executable, "-c", alone], check=True)


@pytest.mark.newest
@pytest.mark.slow
def test_is_quick(tmp_path: Path) -> None:
    """Keeps the import at the cost of the dependencies, plus a little."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)  # an installed package has its byte code

    def seconds(code: str) -> float:
        """Processor time of a fresh process, which does not depend on what else runs."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    theirs = "import jax, jax.numpy, flax.struct, lxml.etree, jax.scipy.linalg"
    seconds(f"{theirs}, mjjax")
    # In turns: the speed of a shared machine changes between one block of runs and the next.
    turns = [(seconds(theirs), seconds(f"{theirs}, mjjax")) for _ in range(5)]
    base, ours = (min(times) for times in zip(*turns, strict=True))
    assert ours < 1.5 * base, f"import mjjax takes {ours - base:.2f} s beyond its dependencies"
    assert ours < 4
