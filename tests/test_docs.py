"""The site: every public function is on it, its tables are true, and it builds without warnings."""

import csv
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import mjjax
import mjjax.training
from tests import features

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The hook that makes pages, `docs/pages.py`."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs/pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_its_place(pages: ModuleType) -> None:
    """Every public name is explained on one page, under the name that users write."""
    found = [shown for names in pages.public().values() for shown, _ in names]
    names = [f"mjjax.{name}" for name in mjjax.__all__ if name not in ("envs", "math", "view")]
    names += [f"mjjax.math.{name}" for name in mjjax.math.__all__]
    names += [f"mjjax.view.{name}" for name in mjjax.view.__all__]
    names += [f"mjjax.envs.{name}" for name in mjjax.envs.__all__ if "TASKS" not in name]
    names += [f"mjjax.training.{name}" for name in mjjax.training.__all__ if name != "ALGORITHMS"]
    assert sorted(found) == sorted(names)
    text = "\n".join(pages.api_pages().values())
    assert all(f"heading: {name}\n" in text for name in names)
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"api/{name}.md" in listed for name in pages.api_pages())


def test_every_function_has_an_example(pages: ModuleType) -> None:
    """Examples call their functions, in two to six lines, and none is left out."""
    cells = pages.examples()
    public = [n for n in mjjax.__all__ if inspect.isfunction(getattr(mjjax, n))]
    assert {*cells} == {"model", *public} and len(public) > 100
    for name in public:
        assert re.search(rf"mjjax\.{name}\b", cells[name]), name
        assert cells[name].count("\n") < 14, name


def test_every_function_of_mujoco_has_a_counterpart(pages: ModuleType) -> None:
    """Nothing is missing in the table for people who come from C, and what it names exists."""
    table = pages.mujoco_table()
    for name in set(re.findall(r"`(?:mjjax|jax)\.([\w.]+)", table)):
        assert any(_has(module, name) for module in (mjjax, jax)), name
    functions = [name for name in dir(mujoco) if re.match("mj[a-z]?_", name)]
    assert len(functions) > 250
    with pages.MUJOCO.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):  # a row that is never used is a mistake
            assert any(pages.counterpart(name)[0] == row["name"] for name in functions), row


def _has(value: Any, path: str) -> bool:
    for name in path.split("."):
        value = getattr(value, name, None)
    return value is not None


def test_readme_has_the_measured_numbers(pages: ModuleType) -> None:
    """The numbers of models in the README are those of the last measurement."""
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    stated = re.search(r"of (\d+) public models .*?, (\d+) compile .*? (\d+) are refused", text)
    assert stated
    found = json.loads((pages.DATA / "conformance.json").read_text(encoding="utf-8"))["compile"]
    loaded = sum(found.get(name, 0) for name in ("equal", "differs", "refused", "failed"))
    assert [*map(int, stated.groups())] == [loaded, found["equal"], found["refused"]]


@pytest.mark.slow
def test_examples_run(tmp_path: Path) -> None:
    """All examples run one after the other, as a reader runs them."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs/examples.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false"},  # compiles sooner
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_feature_table_has_every_row_that_tests_show(pages: ModuleType) -> None:
    """No row is lost between the marks of the tests and the page."""
    with pages.FEATURES.open(encoding="utf-8", newline="") as file:
        rows = {row["id"] for row in csv.DictReader(file)}
    shown = features.shown(ROOT / "tests")
    assert set(shown) <= rows and set(features.MEANINGLESS) <= rows
    page = pages.features_page()
    assert page.count("**yes**</span>") == len(shown)
    assert page.count("\n| A0") + page.count("\n| A1") + page.count("\n| A2") > 150


def test_refreshing_the_table_reads_rows_and_sections(
    pages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that refreshes the others' columns keeps ids, sections and cells."""
    table = tmp_path / "table.md"
    table.write_text(
        "## A. First, of all\n| id | x |\n| A01 | one \\| two | S | Y | N | P→Y | - |\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(pages, "FEATURES", tmp_path / "features.csv")
    pages.refresh(table)
    with (tmp_path / "features.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1:] == [["A01", "First, of all", "one \\| two", "Y", "N", "P→Y"]]


@pytest.mark.slow
@pytest.mark.feature("D06", "D27")
def test_page_on_gradients_runs() -> None:
    """The examples of the page on gradients run, and the derivatives are finite."""
    text = (ROOT / "docs/gradients.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.S)), names)
    flat = np.concatenate([np.ravel(x) for x in names["slope"].values()])
    assert np.isfinite(flat).all() and names["slope"]["geom:link:fromto"][3] != 0


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """Links, references and docstrings are sound, and the pages of functions have text."""
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    page = (site / "api/pipeline/index.html").read_text(encoding="utf-8")
    assert "mjjax.rollout" in page and "transition_jacobian" in page
    assert "inertia box and by ellipsoid</td>" in (site / "limits/index.html").read_text(
        encoding="utf-8"
    )
    fields = (site / "api/model/index.html").read_text(encoding="utf-8")
    assert "body_invweight0" in fields
