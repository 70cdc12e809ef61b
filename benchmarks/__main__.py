"""`python -m benchmarks`: `mjjax bench`, with every peer that is installed beside it."""

import argparse
import sys
from collections.abc import Sequence

from mjjax.cli import bench
from mjjax.cli.models import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Measures what the command line asks for and prints or saves it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    bench.arguments(parser, peers=("c", "mjx"))
    try:
        bench.measure_all(parser.parse_args(argv))
    except UsageError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
