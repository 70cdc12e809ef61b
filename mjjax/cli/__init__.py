"""The command `mjjax`; each of its commands has a module."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import mjjax
from mjjax.cli import bench, compile, info, render, simulate, train, view
from mjjax.cli.models import UsageError, embedded
from mjjax.cli.worlds import advance, start

__all__ = ["advance", "embedded", "main", "start"]

COMMANDS = (simulate, bench, info, compile, render, view, train)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv`, by default that of the process; returns its exit status."""
    try:
        args = _parser().parse_args(argv)
        args.run(args)
    except (UsageError, OSError, mjjax.MjcfError, mjjax.UnsupportedFeature) as error:
        print("mjjax: error: " + " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mjjax: interrupted", file=sys.stderr)
        return 130
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mjjax", description="Simulates MuJoCo models in JAX.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for command in COMMANDS:
        command.add(commands)
    return parser
