"""Lists the feature rows that tests show: `python tests/features.py [--table TABLE.md]`.

A test shows a row if it has the mark `@pytest.mark.feature("A021")`; the mark may also stand on a
class, in `pytestmark` or in `pytest.param`. The test files are read, not run. If a table is given,
whose rows begin with `| A021 |`, the rows that no test shows are listed too, and rows that have no
meaning here are listed with the reason. A mark that names no row of the table is an error.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

# Rows that have no meaning here, with the reason and the replacement.
MEANINGLESS = {
    "A052": "nothing reads an array before it is written, so there is nothing to find by filling",
    "A077": "XLA spreads the work over threads; worlds run side by side by vmap and sharding",
    "A101": "data.qM is the dense matrix",
    "A102": "factor_m is the dense Cholesky factor; solve_m and solve_m2 solve with it",
    "A105": "the Jacobian is an operator by kind of row; constraint_jacobian makes it dense",
    "A107": "matrices are dense or operators; scipy.sparse converts what is exported",
    "A110": "mjjax.core.struct.specs lists the fields of Model and Data with shapes and units",
    "A111": "memory within a step is XLA's; there is no stack to mark",
    "A112": "errors are Python exceptions",
    "A113": "the compiler's warnings are in model.structure.warnings, the engine's in data.warning",
    "A114": "memory is JAX's; its environment variables configure it",
    "A118": "a step is one program: jax.profiler times it, with the stages by name",
    "A120": "the solver's factor is dense",
    "A145": "callbacks are arguments: there is nothing global to reset",
    "A146": "engine plugins are C libraries; a callback or a function around step does their work",
    "A182": "mjjax.__version__ is a version of its own; the semantics are MuJoCo 3.6.0's",
    "A195": "no finite differences are taken, so none has to start from the same warm start",
}
ROW = re.compile(r"^\|\s*([A-Z]+\d+)\s*\|\s*([^|]*?)\s*\|", re.MULTILINE)


def marks(source: str, name: str) -> list[str]:
    """Row ids of all feature marks in the text of one test file called `name`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.feature":
            for arg in node.args:
                if not (isinstance(arg, ast.Constant) and isinstance(arg.value, str)):
                    raise SystemExit(f"{name}:{node.lineno}: a feature id must be a literal string")
                found.append(arg.value)
    return found


def shown(folder: Path) -> dict[str, list[str]]:
    """The test files under `folder` that show each row, by row id, in order of ids."""
    rows = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        name = path.relative_to(folder).as_posix()
        for row in sorted(set(marks(path.read_text(encoding="utf-8"), name))):
            rows[row].append(name)
    return dict(sorted(rows.items()))


def main() -> int:
    """Prints the lists and returns 1 if a mark names no row of the table."""
    parser = argparse.ArgumentParser(description="Lists the feature rows that tests show.")
    parser.add_argument("--table", type=Path, help="Markdown table of all rows")
    args = parser.parse_args()
    rows = shown(Path(__file__).parent)
    for row, files in rows.items():
        print(f"shown  {row:6} {' '.join(files)}")
    if args.table is None:
        print(f"{len(rows)} rows shown")
        return 0
    table = dict(ROW.findall(args.table.read_text(encoding="utf-8")))
    for row, title in table.items():
        if row in MEANINGLESS:
            print(f"none   {row:6} {title}: {MEANINGLESS[row]}")
        elif row not in rows:
            print(f"open   {row:6} {title}")
    unknown = sorted(set(rows) - set(table))
    for row in unknown:
        print(f"error  {row:6} is not in the table: {' '.join(rows[row])}")
    absent = len(set(MEANINGLESS) & set(table))
    print(
        f"{len(set(rows) & set(table))} of {len(table)} rows shown, {absent} without meaning here"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
