"""The command `mjjax`; each of its commands has a module, which is loaded if it is asked for."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from mjjax.cli.arguments import CommandParser, embedded, told
from mjjax.cli.progress import doing

__all__ = ["embedded", "main"]

COMMANDS = {
    "simulate": "simulate a model in many worlds at once",
    "bench": "measure how fast a model runs",
    "info": "show what a model consists of, and what cannot be simulated",
    "compile": "compile a model to one file",
    "render": "make a picture of a model",
    "view": "run a model in a browser",
    "train": "train policies for a task by reinforcement learning",
    "play": "show a trained policy",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv`, by default that of the process; returns its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        args = _parser(argv[0] if argv else "").parse_args(argv)
        args.run(args)
    except (Exception, KeyboardInterrupt) as error:
        status = told(error)
        if status is None:
            raise
        return status
    return 0


def _parser(command: str) -> argparse.ArgumentParser:
    """A parser that knows all commands by name, and the arguments of the one that is asked for."""
    parser = CommandParser(prog="mjjax", description="Simulates MuJoCo models in JAX.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=CommandParser)
    for name, text in COMMANDS.items():
        made = commands.add_parser(name, help=text)
        if name == command:
            with nullcontext() if "jax" in sys.modules else doing("loading JAX"):
                module = importlib.import_module(f"mjjax.cli.{name}")
            module.add(made)
    return parser
