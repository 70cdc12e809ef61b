"""The benchmarks run, so that they do not rot; their numbers are not judged here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_measures_everything_on_a_small_model(tmp_path: Path) -> None:
    """Protects the one command of the benchmarks, with what it saves and prints."""
    out = tmp_path / "out.json"
    command = (
        "-m benchmarks double_pendulum --batch 1 8 --steps 5 --warmup 5 --repeats 2 --peers c "
        f"--gradient --json {out} --stages kinematics rne"
    )
    done = subprocess.run(
        [sys.executable, *command.split()],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "JAX_ENABLE_X64": "0"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = json.loads(out.read_text())["results"]
    assert [(r["engine"], r["worlds"]) for r in results] == [
        ("ours", 1),
        ("c", 1),
        ("ours", 8),
        ("c", 8),
    ]
    for record in results:
        assert record["steps_per_s"] > 0
        assert len(record["block_s"]) == 2
        assert record["load_s"] > 0
    ours = results[2]
    assert ours["compile_s"] > 0
    assert ours["bytes_per_world"] > 4 * (2 + 2)
    assert ours["equations"] > 0
    assert ours["gradient"]["finite"]
    assert list(ours["stages_us"]) == ["call", "kinematics", "rne"]
    assert min(ours["stages_us"].values()) > 0
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["model", "worlds", "engine"]
    assert any(line.split()[:1] == ["kinematics"] for line in lines)
