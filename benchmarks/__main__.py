"""`python -m benchmarks`: `mjjax bench`, with every peer that is installed beside it.

Knows the chains of `benchmarks.scenes` by name, too.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scenes import CHAINS
from mjjax.cli import bench
from mjjax.cli.models import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints or saves what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    bench.arguments(parser, peers=("c", "mjx"))
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        args.models = [_file(name, Path(folder)) for name in args.models]
        try:
            bench.measure_all(args)
        except UsageError as error:
            parser.error(str(error))
    return 0


def _file(name: str, folder: Path) -> str:
    """A file of the chain with this name, which every engine can read; other names as they are."""
    if name not in CHAINS:
        return name
    file = folder / f"{name}.xml"
    file.write_text(CHAINS[name], encoding="utf-8")
    return str(file)


if __name__ == "__main__":
    sys.exit(main())
