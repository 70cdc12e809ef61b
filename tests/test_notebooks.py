"""Notebooks, and the code of the README and the tour, run as they are, in fresh processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from docs.notebooks import SOURCE, code_cells, code_hash
from mjjax.xla.compiling import as_flags, known_options

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in "tour porting from_c environments identify optimise pictures speed".split()
    ),
)
ROBOT = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 0.1"/>
    <camera name="side" pos="0 -3 1" euler="80 0 0"/>
    <body pos="0 0 1">
      <freejoint/>
      <camera name="head" pos="0 -1 0" euler="90 0 0"/>
      <geom size="0.1"/>
      <site name="s"/>
    </body>
  </worldbody>
  <sensor><gyro site="s"/></sensor>
</mujoco>
"""
LARGEST = 500_000  # bytes of a notebook with its outputs
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(tmp_path: Path, parts: list[str], **variables: str) -> str:
    """Output of the code in `parts`, run one after another with small sizes."""
    script = tmp_path / "script.py"
    script.write_text("\n\n".join(parts), encoding="utf-8")
    env = {**os.environ, "SMOKE": "1", "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)}
    env |= variables
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_stored_outputs_are_of_this_code(path: Path) -> None:
    """Whoever changes a notebook runs it again; it opens in Colab and says where it was run."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    again = f"python docs/notebooks.py {path.stem}"
    assert notebook.metadata.get("mjjax", {}).get("code") == code_hash(notebook), again
    cells = code_cells(notebook)
    assert all(cell.execution_count for cell in cells), again
    assert cells[-1].outputs[-1].text.endswith("all as expected\n")
    assert "pip" in cells[0].source and not cells[0].outputs
    first = notebook.cells[0].source.splitlines()
    assert first[0].startswith("# ") and f"{SOURCE}/{path.name}" in first[2]
    assert first[-1].startswith("*The stored outputs were made on")
    assert path.stat().st_size < LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    """Notebooks run to their end, where they assert their numbers."""
    # most of a notebook's programs run once; these options halve the time of their compilation
    flags = as_flags(known_options())
    cells = code_cells(nbformat.read(path, as_version=4))
    out = run(tmp_path, [cell.source for cell in cells], XLA_FLAGS=flags)
    assert out.endswith("all as expected\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_of_documents_runs(name: str, tmp_path: Path) -> None:
    """Code in documents, which newcomers copy first, runs."""
    text = (ROOT / name).read_text(encoding="utf-8")
    (tmp_path / "robot.xml").write_text(ROBOT, encoding="utf-8")  # pages show a robot of the reader
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    # the README as its readers run it, the others with cheaper code, as the notebooks
    flags = {} if name == "README.md" else {"XLA_FLAGS": as_flags(known_options())}
    run(tmp_path, blocks, **flags)
