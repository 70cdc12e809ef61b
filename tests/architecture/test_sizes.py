"""Caps on the length of modules and functions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("mjjax", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
MODULE_LINES = 400
FUNCTION_LINES = 60

# Exceptions, "path" or "path:function": this set may only shrink.
ALLOWED: frozenset[str] = frozenset()


def too_long(path: str) -> set[str]:
    """What in the module exceeds a cap."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found = {path} if text.count("\n") > MODULE_LINES else set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            if node.end_lineno - node.lineno + 1 > FUNCTION_LINES:
                found.add(f"{path}:{node.name}")
    return found


@pytest.mark.parametrize("path", MODULES)
def test_module_and_functions_are_short(path: str) -> None:
    """Keeps every module and function readable in one sitting."""
    assert too_long(path) <= ALLOWED


def test_exceptions_are_needed() -> None:
    """Makes the list of exceptions shrink when its reason is gone."""
    assert set().union(*map(too_long, MODULES)) >= ALLOWED
