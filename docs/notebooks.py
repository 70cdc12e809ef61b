"""Runs notebooks and stores their outputs in them: `python docs/notebooks.py [NAME ...]`.

A notebook then says in its first cell how its outputs were made. Pages that play are left out,
because they are large. It needs nbclient and ipykernel, which are in `mjjax[docs]`.
"""

import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
COLAB = "https://colab.research.google.com"
SOURCE = f"{COLAB}/github/mjjax/mjjax/blob/main/notebooks"
PAGE = "A page that plays is shown here when the cell is run."
LIMIT_S = 3600.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the notebooks that the command line names, or all."""
    wanted = sys.argv[1:] if argv is None else argv
    if "SMOKE" in os.environ:
        raise SystemExit("SMOKE is set: these would be the outputs of a short run")
    paths = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    for name in wanted or paths:
        print(name, end=" ", flush=True)
        print(f"{execute(paths[name]):.0f} s", flush=True)
    return 0


def execute(path: Path) -> float:
    """Runs a notebook and writes it with its outputs; returns the seconds that it took."""
    notebook = nbformat.read(path, as_version=4)
    begin = time.perf_counter()
    client = NotebookClient(notebook, timeout=LIMIT_S, record_timing=False, kernel_name="python3")
    client.execute(cwd=tempfile.gettempdir())
    seconds = time.perf_counter() - begin
    for cell in code_cells(notebook):
        cell.outputs = [stored(output) for output in cell.outputs if not is_stderr(output)]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "mjjax": {"code": code_hash(notebook)},
    }
    first = notebook.cells[0]
    first.source = head(path.stem, first.source, origin(seconds))
    for k, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{k}", {}
    nbformat.write(notebook, path)
    return seconds


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def code_hash(notebook: Any) -> str:
    """A hash of the code; another one than the stored one shows that outputs are of other code."""
    text = "\0".join(cell.source for cell in code_cells(notebook))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_stderr(output: Any) -> bool:
    """Whether an output is of the error stream, where libraries write about the machine."""
    return output.output_type == "stream" and output.name == "stderr"


def stored(output: Any) -> Any:
    """An output as it is stored: without pages that play."""
    if "<iframe" in output.get("data", {}).get("text/html", ""):
        output.data = {"text/plain": PAGE}
    return output


def origin(seconds: float) -> str:
    """A sentence on how outputs were made."""
    # In a process of its own: this one must leave the memory of a GPU to the next notebook.
    command = [sys.executable, "-c", "import jax; print(jax.devices()[0].device_kind)"]
    kind = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    cores = f"{os.cpu_count()} cores of an {platform.machine()} CPU" if kind == "cpu" else kind
    versions = f"mjjax {metadata.version('mjjax')}, JAX {metadata.version('jax')}"
    date = time.strftime("%Y-%m-%d")
    return f"*The stored outputs were made on {date} on {cores} in {seconds:.0f} s ({versions}).*"


def head(stem: str, source: str, made: str) -> str:
    """The first cell: title, badge, text, and how the outputs were made."""
    title, _, text = source.partition("\n")
    text = re.sub(r"\[!\[Open in Colab\].*\n|\n*\*The stored outputs were made.*\*", "", text)
    badge = f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({SOURCE}/{stem}.ipynb)"
    return f"{title}\n\n{badge}\n\n{text.strip()}\n\n{made}"


if __name__ == "__main__":
    sys.exit(main())
