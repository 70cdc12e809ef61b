"""Lists the feature rows that tests show: `python tests/features.py [--table TABLE.md]`.

A test shows a row when it carries `@pytest.mark.feature("A021")`; the mark may also stand on a
class, in `pytestmark` or in `pytest.param`. The test files are read, not run. With a table, whose
rows begin with `| A021 |`, the rows that no test shows are listed too, and a mark that names no
row of the table is an error.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

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
    """Row id to the test files under `folder` that show it, in order of ids."""
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
        if row not in rows:
            print(f"open   {row:6} {title}")
    unknown = sorted(set(rows) - set(table))
    for row in unknown:
        print(f"error  {row:6} is not in the table: {' '.join(rows[row])}")
    print(f"{len(set(rows) & set(table))} of {len(table)} rows shown")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
