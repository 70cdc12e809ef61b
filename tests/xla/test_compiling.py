"""Where compiled programs are kept."""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
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
    assert ("not kept on disk: no room" in capsys.readouterr().err) == (not given)


def test_a_program_is_traced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later process has the traced program from disk; other arguments or code need a new one."""
    monkeypatch.setattr(compiling, "_code", lambda: b"as it is")
    traced = []

    def function(model: mjjax.Model, x: jax.Array) -> jax.Array:
        traced.append(model.nbody)
        return x * model.nbody

    one, two = (
        mjjax.Model.from_xml_string(f"<mujoco><worldbody>{n * '<body/>'}</worldbody></mujoco>")
        for n in (1, 2)
    )
    settings = {
        name: getattr(jax.config, name)
        for name in (
            "jax_enable_compilation_cache",
            "jax_compilation_cache_dir",
            "jax_persistent_cache_min_compile_time_secs",
            "jax_persistent_cache_min_entry_size_bytes",
        )
    }
    monkeypatch.delenv("MJJAX_CACHE")
    try:
        mjjax.cache_compilations(tmp_path)
        for args, again in (
            ((one, jnp.ones(3)), 1),
            ((two, jnp.ones(3)), 2),
            ((two, jnp.ones(4)), 3),
        ):
            for _ in range(2):
                found = compiling.compiled("f", jax.jit(lambda *x: function(*x)), *args)(*args)
                assert (found == args[0].nbody).all() and len(traced) == again
        monkeypatch.setattr(compiling, "_code", lambda: b"changed")
        compiling.compiled("f", jax.jit(lambda *x: function(*x)), one, jnp.ones(3))
        assert len(traced) == 4
    finally:
        for name, value in settings.items():
            jax.config.update(name, value)
    compiling.compiled("f", jax.jit(lambda *x: function(*x)), one, jnp.ones(3))
    assert len(traced) == 5  # nothing is kept where the cache is off
