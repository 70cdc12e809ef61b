"""Documents for developers name what exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALK = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# `mjjax/some/file.py`, `name`
NAMED = re.findall(r"`(mjjax/[\w/]+\.py)`,\s+`(\w+)`", WALK)


def defined(path: str) -> set[str]:
    """Functions, classes and variables of a module."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_architecture_names_what_exists(path: str, name: str) -> None:
    """Keeps the walk through the code true when files and functions move."""
    assert name in defined(path)


def test_architecture_walks_from_the_attribute_to_the_acceleration() -> None:
    """The walk has ten steps, and each names a file."""
    steps = re.findall(r"^\d+\. .*?(?=^\d+\. |^## )", WALK, re.M | re.S)
    assert len(steps) == 10 and all(re.search(r"`mjjax/[\w/]+\.py`, `\w+`", s) for s in steps)
    assert len(NAMED) > 20


@pytest.mark.parametrize("text", [WALK, CONTRIBUTING], ids=["architecture", "contributing"])
def test_paths_exist(text: str) -> None:
    """Every file that a document names is there."""
    paths = re.findall(r"`((?:mjjax|tests|benchmarks|docs|notebooks)/[\w/.]+)`", text)
    assert paths and not [p for p in paths if not (ROOT / p).exists()]
    inner = re.findall(r"`(\w+/[\w/]+\.py)`", text)
    roots = (ROOT, ROOT / "mjjax")
    assert not [p for p in inner if not any((root / p).exists() for root in roots)]


def test_map_names_every_folder() -> None:
    """Every folder of the package has its line in the map."""
    rows = re.findall(r"^\| (`mjjax.*?) \|", CONTRIBUTING, re.M)
    named = {name for row in rows for name in re.findall(r"`(mjjax/[\w/]+)`", row)}
    folders = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "mjjax").rglob("*")
        if p.is_dir() and p.name != "__pycache__" and any(p.iterdir())
    }
    assert folders == named
