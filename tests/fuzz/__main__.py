"""Loads many mutated models; each must load or be refused: ``python -m tests.fuzz --help``."""

import argparse
import collections
import json
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz import worker

_EXPECTED = ("Model", "MjcfError", "UnsupportedFeature")
_BATCH = 400  # inputs per process
_HANGS = 300.0  # wall time of one input after which its process is killed [s]
_MAX_XML = 60_000
_MAX_SECONDS = 0.25  # files that take longer to load are not mutated


def chosen(folders: list[Path], limit: int, seed: int) -> list[str]:
    """Model files from the folders that load quickly."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.xml"))]
    random.Random(seed).shuffle(files)
    found: list[str] = []
    for file in files:
        if len(found) == limit:
            break
        if file.stat().st_size > _MAX_XML:
            continue
        try:
            given = worker.read_input(file)
        except worker.mjcf.MjcfError:
            continue
        except worker.UnsupportedFeature:
            continue
        worker.load(given)
        outcome = worker.load(given)
        if outcome["kind"] == "Model" and outcome["seconds"] < _MAX_SECONDS:
            found.append(str(file))
    return found


def outcomes(files: list[str], seed: int, indices: range) -> Iterator[dict[str, Any]]:
    """The outcome of each input, in order; a process that dies is replaced by another one."""
    start = indices.start
    while start < indices.stop:
        stop = min(start + _BATCH, indices.stop)
        for found in _process(files, seed, range(start, stop)):
            yield found
            start = found["index"] + 1


def _process(files: list[str], seed: int, indices: range) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.fuzz.worker", str(seed)]
    command += [str(indices.start), str(indices.stop), *files]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        if process.stdout is not None:
            with process.stdout as stream:
                for line in stream:
                    lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    index = indices.start
    while True:
        try:
            line = lines.get(timeout=_HANGS)
        except queue.Empty:
            process.kill()
            yield {"index": index, "kind": "hang", "seconds": _HANGS, "peak": 0}
            return
        if not line:
            break
        found = json.loads(line)
        index = found["index"]
        if "kind" in found:
            yield found
            index += 1
    process.wait()
    if index < indices.stop:
        yield {"index": index, "kind": f"exit {process.returncode}", "seconds": 0.0, "peak": 0}


def wrong(found: dict[str, Any]) -> str:
    """The promise that an outcome breaks, or an empty string."""
    if found["kind"] not in _EXPECTED:
        return found["kind"]
    if found["seconds"] > worker.SECONDS:
        return "slow"
    return "large" if found["peak"] > worker.BYTES else ""


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--models", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--files", type=int, default=50, help="how many files are mutated")
    parser.add_argument("--count", type=int, default=20_000, help="how many inputs are loaded")
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="folder for the inputs that went wrong")
    args = parser.parse_args()
    files = chosen(args.models, args.files, args.seed)
    print(f"{len(files)} files")
    inputs = [worker.read_input(Path(file)) for file in files]
    kinds: collections.Counter[str] = collections.Counter()
    worst = {"seconds": 0.0, "peak": 0.0}
    begin = time.time()
    for found in outcomes(files, args.seed, range(args.start, args.start + args.count)):
        kinds[found["kind"]] += 1
        worst = {name: max(value, found[name]) for name, value in worst.items()}
        problem = wrong(found)
        if problem:
            kinds[f"wrong: {problem}"] += 1
            print(json.dumps(found), files[found["index"] % len(files)], flush=True)
            if args.save:
                _save(args.save / str(found["index"]), inputs, args.seed, found["index"])
    print(f"{dict(kinds)}; at most {worst['seconds']:.2f} s and {worst['peak'] / 2**20:.0f} MiB")
    print(f"{time.time() - begin:.0f} s in all")
    sys.exit(any(name.startswith("wrong") for name in kinds))


def _save(folder: Path, inputs: list[worker.Input], seed: int, index: int) -> None:
    """Writes an input to a folder of its own."""
    given = worker.case(inputs, seed, index)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.xml").write_bytes(given.xml)
    for name, content in given.assets.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
