"""`python -m benchmarks.mjx_tests`: runs the tests of the installed MJX on `mjjax.mjx`.

The files are those of the package `mujoco-mjx` as it is installed. Only `mujoco.mjx` is replaced. A
test that fails is listed with its reason. `INTERNAL` has the tests of MJX's internals, which say
nothing about what a user of MJX sees.
"""

import argparse
import importlib.util
import sys
import time
import types
import unittest
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

FILES = "forward smooth constraint solver sensor support ray io passive inverse math".split()
# Tests of pieces that only MJX's own implementation has, and why.
INTERNAL = {
    "test_muscle_gain_length": "a factor of `muscle_gain`, which is tested",
    "test_smooth_muscle_dynamics": "a factor of `muscle_dynamics`, which is tested",
    "test_wrap_inside": "a piece of the path of a tendon; `tendon` is tested",
    "SmoothTest.test_smooth": "reads `qM` in MuJoCo's sparse format; here it is dense",
    "test_site_transmission": "reads `_impl.actuator_moment`, which is not kept",
    "TendonTest.test_tendon": "reads the points of paths, or writes `_impl.qM`, which is computed",
    "test_rnepostconstraint7": "writes `_impl.efc_force` in another order and length",
    "test_rnepostconstraint8": "writes `_impl.efc_force` in another order and length",
    "ConstraintTest.test_constraints": "reads `_impl.ne` and the order of MJX's rows",
    "ConstraintTest.test_margin": "reads `_impl.ne` and the order of MJX's rows",
    "ConstraintTest.test_disable": "calls `constraint.counts` or `_kbi`",
    "SolverTest.test_solver": "builds `solver.Context`",
    "SolverTest.test_no_warmstart": "reads `_impl.efc_J`, which is computed on demand",
    "SolverTest.test_quad_frictionloss": "reads `_impl.efc_J`, which is computed on demand",
    "SolverTest.test_sparse": "reads `_impl.efc_J`, which is computed on demand",
    "test_unsupported_sensor": "expects that a sensor is refused, which mjjax has",
    "_not_implemented": "expects a refusal of what mjjax simulates",
    "test_contact_sensor_jax": "expects a refusal of what mjjax simulates",
    "test_contact_elliptic_condim1": "expects a refusal of what mjjax simulates",
    "test_unsupported_contact_types": "expects a refusal of what mjjax simulates",
    "test_put_model": "expects that fields that only MuJoCo has are missing",
    "test_fluid_params": "reads `opt._impl.has_fluid_params`",
    "test_make_data": "reads `_impl.ne`, `nf`, `nl`; here rows are counted when they are computed",
    "test_put_data": "wants the inertia to the last bit, and MJX's order of rows and contacts",
    **{
        f"test_get_data{into}{i}": "wants the inertia to the last bit; it is computed on demand"
        for into in ("", "_into")
        for i in range(4)
    },
    "ResolveImplAndDeviceTest": "calls `io._resolve_impl_and_device`; here is one implementation",
    "test_get_set_state": "reads `io._STATE_MAP`",
    "test_bind": "expects MJX's kinds and words of errors; what is bound agrees",
}


class Report(unittest.TestResult):
    """Prints each test as soon as it has ended, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()

    def startTest(self, test: unittest.TestCase) -> None:
        self._start = time.perf_counter()
        super().startTest(test)

    def _say(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        name = test.id().partition(".")[2]
        inner = next((why for key, why in INTERNAL.items() if key in name), "")
        if inner and outcome != "passed":
            outcome, reason = "internal", inner
        self.count[outcome] += 1
        seconds = time.perf_counter() - self._start
        print(f"{outcome:9} {name:70} {seconds:6.1f} s  {reason}", flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._say(test, "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._say(test, "failed", _reason(err))

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._say(test, "failed", _reason(err))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._say(test, "skipped", reason)


def _reason(error: Any) -> str:
    lines = [line.strip() for line in str(error[1]).splitlines() if line.strip()]
    return f"{error[0].__name__}: {' '.join(lines)[:160]}"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the files that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mjx_tests", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES, help=f"some of {', '.join(FILES)}")
    args = parser.parse_args(argv)

    import mjjax.mujoco

    mjjax.mujoco.install()
    import mujoco
    from absl import flags

    folder = Path(str(mujoco.__file__)).parent / "mjx"
    inner: Any = sys.modules["mujoco.mjx._src"]
    tools = inner.test_util = _loaded(folder / "_src" / "test_util.py", "mujoco.mjx._src.test_util")
    data: Any = folder / "test_data"
    load = mujoco.MjModel.from_xml_path  # type: ignore[attr-defined]
    # The tests of `io` import MJX's part of MuJoCo Warp. Those that use it are of its internals.
    warp = mock.MagicMock(WARP_INSTALLED=False)
    sys.modules["mujoco.mjx"].warp = warp  # type: ignore[attr-defined]
    sys.modules |= dict.fromkeys((f"mujoco.mjx.warp{x}" for x in ("", ".types", ".warp")), warp)
    tools.load_test_file = lambda name: load(str(data / name))
    flags.FLAGS(["mjx"])
    report = Report()
    for name in args.files:
        print(f"== {name}", flush=True)
        module = _loaded(folder / "_src" / f"{name}_test.py", f"mjx_{name}_test")
        unittest.defaultTestLoader.loadTestsFromModule(module).run(report)
    count = report.count
    print(", ".join(f"{n} {outcome}" for outcome, n in count.most_common()))
    behaviour = count["passed"] + count["failed"]
    print(f"of the tests of behaviour {100 * count['passed'] / max(1, behaviour):.0f} % pass")
    return 0


def _loaded(path: Path, name: str) -> Any:
    """The module in a file, under a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module: types.ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
