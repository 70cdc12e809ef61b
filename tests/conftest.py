"""Settings of the whole suite: which tests run, float64, strict JAX, and memory given back.

`pytest` takes a sample of every folder: tests marked `slow` are left out, but for as many of their
parameters as the mark names (`slow(but=2)`). `pytest --suite all` runs everything, `--suite rest`
what the sample leaves out. A file or a test that is named runs whole, and so does what `-m` or `-k`
choose.
"""

import gc
from collections import Counter
from collections.abc import Iterator

import jax
import pytest

import mjjax  # noqa: F401  before the first array, as a user would: it sees to XLA's threads

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_enable_compilation_cache", False)

# Tracing makes objects by the million, few of which are in cycles. Looking for these all the time
# costs a tenth of the time of tests that trace much (measured).
gc.freeze()
gc.set_threshold(200_000, 20, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flag that chooses how much of the suite runs."""
    parser.addoption(
        "--suite",
        choices=("sample", "rest", "all"),
        default="sample",
        help="a sample of all tests (the default), what it leaves out, or all",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not in the chosen part of the suite."""
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
    items[:], others = (sample, rest) if suite == "sample" else (rest, sample)
    config.hook.pytest_deselected(items=others)


@pytest.fixture(autouse=True, scope="module")
def _give_back_memory() -> Iterator[None]:
    yield
    jax.clear_caches()
    gc.collect()
