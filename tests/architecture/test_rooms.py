"""Code that depends on the machine stays in its room, `mjjax/xla`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "mjjax"
# What is there for XLA, threads or a GPU, wherever it is imported from.
OF_THE_MACHINE = frozenset(
    "custom_vmap platform_dependent optimization_barrier default_backend bitcast_convert_type "
    "pallas pallas_call triton xla_bridge".split()
)
MODULES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


def words(path: str) -> Iterator[str]:
    """Names, attributes and imported names of a module."""
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                yield from alias.name.split(".")
            yield from (getattr(node, "module", None) or "").split(".")


@pytest.mark.parametrize("path", [m for m in MODULES if not m.startswith("xla/")])
def test_machine_has_its_room(path: str) -> None:
    """Lets one read the physics without knowing XLA, threads or GPUs."""
    assert not OF_THE_MACHINE.intersection(words(path))


@pytest.mark.parametrize("path", [m for m in MODULES if not m.startswith("xla/")])
def test_physics_does_not_speak_of_the_machine(path: str) -> None:
    """Texts for users about devices may name XLA; comments between formulas may not."""
    text = (PACKAGE / path).read_text(encoding="utf-8")
    lines = [x for x in text.splitlines() if re.search(r"(?i)\bxla\b", x) and "import" not in x]
    assert not lines or path == "pipeline/devices.py"


# These call JAX's own loops: the room that wraps them, the command line, training and the viewer,
# which run whole programs and measure peers, and the module that looks for loops of users.
OWN_LOOPS = ("cli/", "training/", "view/", "xla/", "pipeline/refit.py")


@pytest.mark.parametrize("path", [m for m in MODULES if not m.startswith(OWN_LOOPS)])
def test_loops_pass_the_checks_of_shard_map(path: str) -> None:
    """Loops and branches are those of `mjjax.xla.loops`, which may run inside `jax.shard_map`."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    plain = "while_loop fori_loop scan cond switch".split()
    assert not used & {f"{module}.{name}" for module in ("lax", "jax.lax") for name in plain}
