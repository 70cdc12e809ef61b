"""Processes of Python for tests of training, which needs the default precision."""

import os
import subprocess
import sys

from mjjax.xla.compiling import as_flags, known_options


def started(*command: str) -> subprocess.Popen[str]:
    """A process of Python, whose programs compile soon."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"XLA_FLAGS": as_flags(known_options())},
    )


def said_by(process: subprocess.Popen[str]) -> str:
    """What a process says until it ends without an error."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    return out
