"""Where compiled programs are kept."""

import argparse
from pathlib import Path

import jax
import pytest

import mjjax
from mjjax.cli.caching import add_cache, use_cache
from mjjax.xla import compiling


def test_other_instructions_are_another_processor(tmp_path: Path) -> None:
    """Machines that share a home folder do not load each other's code."""
    names = set()
    for flags in ("fpu avx2", "fpu avx512f", "fpu avx2"):
        info = tmp_path / "cpuinfo"
        info.write_text(f"processor : 0\nflags : {flags}\nprocessor : 1\nflags : {flags}\n")
        names.add(compiling._processor(info))
    names.add(compiling._processor(tmp_path / "missing"))
    assert len(names) == 3


def test_environment_turns_the_cache_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `MJJAX_CACHE=0` nothing is written and JAX's settings stay."""
    monkeypatch.setenv("MJJAX_CACHE", "0")
    before = jax.config.jax_compilation_cache_dir
    assert mjjax.cache_compilations(tmp_path / "cache") is None
    assert not (tmp_path / "cache").exists()
    assert jax.config.jax_compilation_cache_dir == before


@pytest.mark.parametrize("given", [[], ["--no-cache"]])
def test_commands_keep_programs_unless_told_not_to(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option decides; a folder that cannot be written is said and stops nothing."""
    calls = []

    def refused() -> None:
        calls.append(True)
        raise PermissionError("no room")

    monkeypatch.setattr(mjjax, "cache_compilations", refused)
    parser = argparse.ArgumentParser()
    add_cache(parser)
    use_cache(parser.parse_args(given))
    assert bool(calls) == (not given)
    assert ("not kept: no room" in capsys.readouterr().err) == (not given)
