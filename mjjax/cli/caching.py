"""The option that keeps commands from storing their compiled programs on disk."""

import argparse
import sys

import mjjax


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Adds `--no-cache` to a command's parser."""
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="do not keep the compiled programs on disk for the next run",
    )


def use_cache(args: argparse.Namespace) -> None:
    """Keeps compiled programs on disk, where the user wants it and has a folder for it."""
    if args.cache:
        try:
            mjjax.cache_compilations()
        except OSError as error:
            print(f"mjjax: compiled programs are not kept on disk: {error}", file=sys.stderr)
