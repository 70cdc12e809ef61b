"""`install`: programs written for MuJoCo and MJX run unmodified."""

import subprocess
import sys

PROGRAM = """
import jax, mujoco
from mujoco import mjx
from mujoco.mjx._src import math
from mujoco.mjx._src.types import Contact
import mujoco.mjx as again
XML = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
m = mujoco.MjModel.from_xml_string(XML)
mx = mjx.put_model(m)
d = jax.vmap(lambda q: mjx.make_data(mx).replace(qpos=q[None]))(jax.numpy.arange(3.0))
assert jax.eval_shape(jax.vmap(mjx.step, (None, 0)), mx, d).qpos.shape == (3, 1)
assert again is mjx and hasattr(jax, "device_put_replicated")
print(mujoco.__name__, mjx.__name__)
"""


def run(first: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", first + PROGRAM], capture_output=True, text=True, check=False
    )


def test_with_mujoco_only_mjx_is_replaced() -> None:
    """Where MuJoCo is installed, programs keep it."""
    done = run("import mjjax.mujoco; mjjax.mujoco.install()")
    assert done.stdout.split() == ["mujoco", "mjjax.mjx"], done.stderr


def test_without_mujoco_both_are_replaced() -> None:
    """Without MuJoCo, `mjjax.mujoco` stands in for it."""
    done = run("import mjjax.mujoco; mjjax.mujoco.install(mujoco=True)")
    assert done.stdout.split() == ["mjjax.mujoco", "mjjax.mjx"], done.stderr


def test_what_is_imported_already_is_refused() -> None:
    """A program that holds the other modules would mix both: it is told to install first."""
    done = run("import mujoco, mjjax.mujoco; mjjax.mujoco.install(mujoco=True)")
    assert "at the start of the program" in done.stderr
