"""What `import mjjax` does to a fresh process: nothing but define names."""

import json
import resource
import subprocess
import sys

import pytest

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


def test_changes_no_setting(probe: dict) -> None:
    """Protects the user's configuration of JAX, NumPy and logging."""
    assert probe["changed"] == []


def test_loads_no_mujoco(probe: dict) -> None:
    """Protects users without MuJoCo, and the start-up time of those with it."""
    heavy = {"mujoco", "matplotlib", "tqdm", "trimesh", "PIL"}
    assert heavy.isdisjoint(probe["modules"])


def test_starts_no_device(probe: dict) -> None:
    """Lets the user choose devices after the import; nothing is computed at import."""
    assert not probe["backends"]


WITHOUT = """
import sys
sys.modules["mujoco"] = None
import jax
import mjjax
from mjjax import cli
model = mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])
assert jax.jit(mjjax.step)(model, mjjax.make_data(model)).time > 0
"""


@pytest.mark.feature("D01")
def test_runs_without_mujoco() -> None:
    """Protects users who do not have MuJoCo: loading and stepping need nothing of it."""
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)


def test_is_quick() -> None:
    """Keeps the import at the cost of the dependencies, plus a little."""

    def seconds(code: str) -> float:
        """Processor time of a fresh process, which does not depend on what else runs."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    theirs = "import jax, jax.numpy, flax.struct, lxml.etree, jax.scipy.linalg"
    base = min(seconds(theirs) for _ in range(3))
    ours = min(seconds(f"{theirs}, mjjax") for _ in range(3))
    assert ours < base + 0.7, f"import mjjax takes {ours - base:.2f} s beyond its dependencies"
    assert ours < 4
