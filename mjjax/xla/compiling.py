"""Compiles less often, and programs that run only a few times in a fraction of the time."""

import functools
import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax import export

# Compiler options that make code generation cheaper.
CHEAP = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


@functools.cache
def known_options() -> dict[str, Any]:
    """The options in `CHEAP` that this version of XLA knows, on the default device."""

    def known(name: str) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options={name: CHEAP[name]})()
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return {name: value for name, value in CHEAP.items() if known(name)}


def as_flags(options: dict[str, Any]) -> str:
    """Options of the compiler as the text of the variable XLA_FLAGS."""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in options.items())


def quick(function: Callable, **options: Any) -> Callable:
    """`jax.jit` for a program that runs only a few times; `options` are those of `jax.jit`."""
    return jax.jit(function, compiler_options=known_options(), **options)


def cache_compilations(path: str | os.PathLike[str] | None = None) -> Path | None:
    """Keeps compiled programs on disk, for this and every later process.

    A program is loaded in a fraction of a second if the same version of JAX compiled it before, for
    the same kind of processor. Tracing still takes as long as before. Call this function before the
    first program is compiled. It applies to all JAX programs, not only to those of mjjax. The
    commands of `mjjax` call it, except `bench`. If the environment variable `MJJAX_CACHE` is 0, it
    does nothing.

    Args:
        path: folder, which you may delete at any time; by default `mjjax` in the user's cache
            folder. Each version of JAX and each kind of processor has a folder of its own in it.

    Returns:
        The folder of this version and processor; None if the environment variable is 0.
    """
    if os.environ.get("MJJAX_CACHE") == "0":
        return None
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(caches, "mjjax") if path is None else Path(path)
    folder = folder / f"jax-{jax.__version__}-{_processor()}"
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small programs are kept too, because there are many of them and their times add up.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


def compiled(name: str, function: Any, *args: Any) -> Any:
    """The compiled program of a function for some arguments; the next process need not trace it.

    Tracing the step of a robot takes several seconds, and the cache of compiled programs finds a
    program only after that. So the traced program is kept as well, in the same folder.

    Args:
        name: name of the function, which no other function has.
        function: result of `jax.jit`; `jax.export` knows the types of its arguments and results.
        args: the arguments.
    """
    settings = jax.config.values
    folder = settings["jax_compilation_cache_dir"]
    if not (settings["jax_enable_compilation_cache"] and folder):
        return function.lower(*args).compile()
    file = Path(folder, f"{name}-{_signature(args)}.traced")
    try:
        traced = export.deserialize(bytearray(file.read_bytes()))
    except OSError:
        try:
            traced = export.export(function)(*args)
        except ValueError:  # JAX does not vouch for one of the kernels in a file
            return function.lower(*args).compile()
        # Another process may read the folder at any time, so the file appears at once.
        part = file.with_suffix(f".{os.getpid()}")
        part.write_bytes(traced.serialize())
        part.replace(file)
    return jax.jit(traced.call).lower(*args).compile()


def _signature(args: tuple[Any, ...]) -> str:
    """A name for what decides a traced program: our code, and the kinds of the arguments.

    A program without results has both the static parts of the arguments, as bytes, and their
    shapes, types and devices. JAX's version is that of the folder.
    """
    kinds = export.export(jax.jit(lambda *args: ()))(*args).serialize()
    names = "jax_enable_x64", "jax_default_matmul_precision"
    settings = repr([jax.config.values[name] for name in names])
    return hashlib.sha256(_code() + kinds + settings.encode()).hexdigest()[:32]


@functools.cache
def _code() -> bytes:
    """A hash of all of our code."""
    paths = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).digest()


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """A name for the kind of processor, which differs where another set of instructions is there.

    JAX's own keys do not have it, and code for instructions that a processor lacks would end the
    process, for example in a home folder that several machines share.
    """
    kind = f"{platform.machine()} {platform.processor()}"
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        kind += next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return hashlib.sha256(kind.encode()).hexdigest()[:8]
