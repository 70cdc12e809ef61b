"""`mjjax compile`: compiles a model to one file."""

import argparse
import sys
from pathlib import Path

from mjjax.cli.arguments import UsageError
from mjjax.cli.models import sizes, spec_of


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = (
        "Compiles a model to one file, which loads faster and needs no other files. "
        "If the name ends in .xml, the model is written as plain MJCF instead: without includes, "
        "macros and default classes."
    )
    parser.add_argument("model", help="MJCF file, or name of an embedded model")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="file to write"
    )
    parser.set_defaults(run=_compile)


def _compile(args: argparse.Namespace) -> None:
    if not args.out.absolute().parent.is_dir():
        raise UsageError(f"--out {args.out}: no such folder")
    spec = spec_of(args.model)
    model = spec.compile()
    for warning in model.structure.warnings:
        print(f"mjjax: warning: {warning}", file=sys.stderr)
    if args.out.suffix == ".xml":
        spec.to_file(args.out)
    else:
        model.save(args.out)
    print(f"saved {args.out}: {' '.join(sizes(model).split())}")
