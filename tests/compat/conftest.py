"""These tests need `mjjax[compat]` and run alone: `pytest -c tests/compat/pytest.ini tests/compat`.

They use JAX as users do, and packages that change it.
"""

from pathlib import Path
from typing import Any


def pytest_ignore_collect(collection_path: Path, config: Any) -> bool | None:
    """Leaves these tests out of a run of the whole suite."""
    del collection_path
    return True if config.rootpath != Path(__file__).parent else None
