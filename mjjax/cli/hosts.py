"""Commands that run on several hosts as one program, by `jax.distributed`."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax
from jax.experimental import multihost_utils

from mjjax.cli.arguments import UsageError, positive, told

AUTO = "auto"
# A process that says nothing for so long is taken as dead.
SILENCE_S = 30


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments with which the processes find each other."""
    group = parser.add_argument_group(
        "several hosts", "run the same command on each host, with a --process of its own"
    )
    group.add_argument(
        "--coordinator",
        metavar="HOST:PORT",
        help=f"address of process 0; '{AUTO}' on SLURM, on TPU pods and under mpirun",
    )
    group.add_argument("--processes", type=positive, metavar="N", help="number of processes")
    group.add_argument("--process", type=int, metavar="I", help="number of this process, from 0")


def join(args: argparse.Namespace) -> None:
    """Meets the other processes, if the command line says that there are any."""
    given = [args.processes is not None, args.process is not None]
    if args.coordinator is None:
        if any(given):
            raise UsageError("--processes and --process need --coordinator HOST:PORT")
        return
    if args.coordinator == AUTO:
        options = {}
    elif all(given):
        options = {
            "coordinator_address": args.coordinator,
            "num_processes": args.processes,
            "process_id": args.process,
        }
    else:
        raise UsageError("--coordinator HOST:PORT needs --processes and --process")
    try:
        jax.distributed.initialize(**options, heartbeat_timeout_seconds=SILENCE_S)
        # Gloo waits for 30 s where processes first exchange numbers. Now they are here together;
        # later one of them may still be compiling.
        multihost_utils.sync_global_devices("mjjax")
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"the processes do not find each other: {error}") from None


def is_first() -> bool:
    """Whether this process writes and reports for all."""
    return jax.process_index() == 0


@contextmanager
def together(advice: Callable[[], str]) -> Iterator[None]:
    """Ends this process at once if its work fails: the end of JAX would wait for the others.

    Args:
        advice: what to do if another process has ended, which this one finds out by an error.
    """
    try:
        yield
    except BaseException as error:
        if jax.process_count() == 1:
            raise
        status = told(_of_others(error, advice))
        if status is None:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _of_others(error: BaseException, advice: Callable[[], str]) -> BaseException:
    """A sentence for an error that comes from the end of another process; others as they are."""
    reason = str(error).partition("\n")[0]
    if not isinstance(error, jax.errors.JaxRuntimeError) or "RESOURCE_EXHAUSTED" in reason:
        return error
    return UsageError("; ".join(filter(None, ("another process has ended", advice(), reason))))
