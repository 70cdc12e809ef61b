"""A process that loads inputs and reports the outcome of each in lines of JSON.

It writes ``{"index": i}`` before it loads an input, and then the same line with the outcome. So the
last line of a process that was killed tells which input it was loading.
"""

import json
import random
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from mjjax import mjcf
from mjjax.compiler import compile_model
from mjjax.core.errors import MjcfError, UnsupportedFeature
from tests.fuzz.mutate import Input, mutated

GIB = 2**30
SECONDS, BYTES = 5.0, GIB  # largest time and memory of one input
_ADDRESS_SPACE = 3 * GIB  # largest growth of the process after its start
_MAX_ASSETS = 2 * 2**20
_CLEAR_PEAK = "5"


def read_input(path: Path) -> Input:
    """A model file with those files to which it refers and which are small."""
    spec = mjcf.read_path(path)
    origins = {element.origin.file for element in spec.everything()} - {str(path), ""}
    origins |= {
        str(value)
        for kind in ("mesh", "hfield", "texture")
        for element in spec.elements[kind]
        for name, value in element.values.items()
        if name.startswith("path")
    }
    assets = {}
    for name in sorted(origins):
        file = Path(name)
        if file.is_file() and file.stat().st_size < _MAX_ASSETS:
            assets[file.name] = file.read_bytes()
    return Input(path.read_bytes(), assets, str(path.parent))


def case(inputs: list[Input], seed: int, index: int) -> Input:
    """Input number `index` of a run."""
    rng = random.Random(f"{seed}:{index}")
    return mutated(inputs[index % len(inputs)], rng)


def load(given: Input) -> dict[str, Any]:
    """The outcome of loading the input: its kind, with details."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers may overflow
            compile_model(mjcf.read_string(given.xml, given.assets, file="m.xml", base=given.base))
        found: dict[str, Any] = {"kind": "Model"}
    except MjcfError as error:
        found = {"kind": "MjcfError", "what": error.what}
    except UnsupportedFeature as error:
        found = {"kind": "UnsupportedFeature", "what": error.what}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-6:]
        trace = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in where]
        found = {"kind": type(error).__name__, "what": str(error)[:300], "trace": trace}
    return found | {"seconds": time.process_time() - start}


def _peak() -> int:
    """Largest resident memory of this process since the last reset [bytes]."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(files: list[str], seed: int, indices: range) -> None:
    """Loads inputs; see the module."""
    inputs = [read_input(Path(file)) for file in files]
    for given in inputs:
        load(given)  # The first load is slow.
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _ADDRESS_SPACE, resource.RLIM_INFINITY))
    for index in indices:
        print(json.dumps({"index": index}), flush=True)
        given = case(inputs, seed, index)
        Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
        found = load(given)
        print(json.dumps({"index": index, "peak": _peak(), **found}), flush=True)


if __name__ == "__main__":
    seed, start, stop, *files = sys.argv[1:]
    main(files, int(seed), range(int(start), int(stop)))
