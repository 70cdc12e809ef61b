"""Says on stderr what a command is doing, so that long work is never silent."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Says what is done in the body; on a terminal also for how long it has been going on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        print(f"mjjax: {what}", file=sys.stderr, flush=True)
        yield
        return
    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=1)
        yield
        progress.update(task, completed=1)
