"""`python -m benchmarks`: runs `mjjax bench` with all peers that are installed.

It also knows the chains of `benchmarks.scenes` by name.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scenes import CHAINS
from mjjax.cli import bench
from mjjax.cli.arguments import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Measures what the command line asks for and prints or saves it."""
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
    """For the name of a chain, a file that every engine can read; other names are unchanged."""
    if name not in CHAINS:
        return name
    file = folder / f"{name}.xml"
    file.write_text(CHAINS[name], encoding="utf-8")
    return str(file)


if __name__ == "__main__":
    sys.exit(main())
