"""Settings of the whole suite: the tests that run, float64, strict JAX, and freeing of memory.

`pytest` runs a sample of every folder. It leaves out tests marked `slow`, except the first few of
their parameters if the mark gives a number (`slow(but=2)`). `pytest --suite all` runs all tests,
and `--suite rest` those that the sample leaves out. Files and tests that are named, or chosen by
`-m` or `-k`, run whole.
"""

import gc
import os
from collections import Counter
from collections.abc import Iterator

import jax
import pytest

import mjjax  # noqa: F401  before the first array is made, as by users: it sets up threads

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_compilation_cache", False)
os.environ["MJJAX_CACHE"] = "0"  # commands that tests run compile what the code at hand says

# Tracing makes millions of objects, of which few are in cycles. The search for cycles would take a
# tenth of the time of tests that trace much (measured), so it is made less often.
gc.freeze()
gc.set_threshold(200_000, 20, 100)


# Files of minutes, which run first, so that no worker ends long after the other.
LONG = ("test_notebooks", "test_limits", "test_devices", "test_derivatives", "test_tasks")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the flag that chooses how much of the suite runs."""
    parser.addoption(
        "--suite",
        choices=("sample", "rest", "all"),
        default="sample",
        help="a sample of all tests (the default), what it leaves out, or all",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that are not in the chosen part of the suite."""
    suite = config.getoption("suite")
    chosen_otherwise = config.getoption("markexpr") or config.getoption("keyword")
    if suite == "all" or chosen_otherwise or any(".py" in arg for arg in config.args):
        return
    number: Counter[str] = Counter()
    sample, rest = [], []
    for item in items:
        mark = item.get_closest_marker("slow")
        function = item.nodeid.partition("[")[0]
        number[function] += 1
        left_out = mark is not None and number[function] > mark.kwargs.get("but", 0)
        (rest if left_out else sample).append(item)
    rest.sort(key=lambda item: item.path.stem not in LONG)
    items[:], others = (sample, rest) if suite == "sample" else (rest, sample)
    config.hook.pytest_deselected(items=others)


@pytest.fixture(autouse=True, scope="module")
def _give_back_memory() -> Iterator[None]:
    yield
    jax.clear_caches()
    gc.collect()
