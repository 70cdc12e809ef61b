"""The script that lists which rows of the feature table tests show."""

import subprocess
import sys
from pathlib import Path

from tests import features

SCRIPT = Path(features.__file__)

SOURCE = """
import pytest
pytestmark = pytest.mark.feature("A001")
@pytest.mark.feature("B02", "B03")
class TestClass: ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.feature("C4"))])
def test_one(x): ...
@pytest.mark.slow
def test_two(): ...
"""


def test_finds_marks_wherever_they_stand() -> None:
    """Keeps every way to mark a test counted."""
    assert sorted(features.marks(SOURCE, "name")) == ["A001", "B02", "B03", "C4"]


def run(table: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--table", str(table)], capture_output=True, text=True
    )


def test_compares_with_a_table(tmp_path: Path) -> None:
    """Keeps the list honest: open rows are named, and a mark without a row is an error."""
    table = tmp_path / "table.md"
    rows = "".join(f"| {row} | what it is | more |\n" for row in features.shown(SCRIPT.parent))
    table.write_text(f"| id | capability | from |\n|---|---|---|\n{rows}| Z99 | to do | more |\n")
    done = run(table)
    assert done.returncode == 0
    assert "open   Z99    to do" in done.stdout
    table.write_text("| Z99 | to do | more |\n")
    done = run(table)
    assert done.returncode == 1
    assert "is not in the table" in done.stdout
