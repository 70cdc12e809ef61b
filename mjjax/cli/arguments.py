"""What a command line is made of before JAX is loaded: its errors, numbers and model names."""

import argparse
import sys
from importlib import resources
from typing import NoReturn

from mjjax.core.errors import MjcfError, UnsupportedFeature


class UsageError(Exception):
    """The user asked for something that cannot be done; the message is one line."""


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError`s."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def told(error: BaseException) -> int | None:
    """Says in a line what ended a command; returns its exit status, or None for a bug of ours."""
    match error:
        case UsageError() | OSError() | MjcfError() | UnsupportedFeature():
            print("mjjax: error: " + " ".join(str(error).split()), file=sys.stderr)
            return 2
        case KeyboardInterrupt():
            print("mjjax: interrupted", *error.args, file=sys.stderr)
            return 130
    return None


def positive(text: str) -> int:
    """Reads a number of a command line that must be at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def embedded() -> dict[str, str]:
    """The MJCF texts of the models that come with mjjax, by name."""
    files = resources.files("mjjax") / "assets"
    texts = {
        p.name.removesuffix(".xml"): p.read_text(encoding="utf-8")
        for p in files.iterdir()
        if p.name.endswith(".xml")
    }
    return dict(sorted(texts.items()))
