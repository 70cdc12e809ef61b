"""The order of the folders: each imports only what stands above it."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "mjjax"

# The pipeline, from the ground up; this list is the documentation of the order.
LAYERS = (
    "core",
    "xla",
    "math",
    "model",
    "sleep",
    "mjcf",
    "dynamics",
    "collision",
    "constraint",
    "solver",
    "sensor",
    "compiler",
    "pipeline",
    "render",
    "envs",
    "view",
    "training",
    "api",
    "__init__",
    "mjx",
    "mujoco",
    "playground",
    "cli",
    "__main__",
)
# The same within a folder: its rooms, and "" for the modules outside of them.
ROOMS = {
    "collision": ("shape", "fields", "rays", "primitive", "convex", "plan", "queue", ""),
    "compiler": ("common", "assets", "elements", "constants", ""),
    "pipeline": ("", "gradients", "planning"),
    "envs": ("", "tasks", "gymnasium_tasks"),
}
MODULES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


def imports(path: str, for_types: bool = True) -> Iterator[str]:
    """Dotted names of everything the module imports, also inside functions.

    Args:
        path: the module.
        for_types: whether imports for annotations alone count.
    """
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in types and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            if node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def at_once(path: str) -> Iterator[str]:
    """Dotted names of the modules that are imported together with the module."""
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(path: str) -> str:
    return Path(path).parts[0].removesuffix(".py")


def imported_layer(name: str) -> str | None:
    """Layer of a dotted name, `None` if it is not of this package."""
    parts = name.split(".")
    if parts[0] != "mjjax":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "__init__"


@pytest.mark.parametrize("path", MODULES)
def test_imports_only_layers_above(path: str) -> None:
    """Keeps the folder tree the pipeline: no cycles, no jumps back."""
    own = layer(path)
    assert own in LAYERS, f"{own} has no place in LAYERS"
    below = [
        name
        for name in imports(path)
        if (other := imported_layer(name)) and LAYERS.index(other) > LAYERS.index(own)
    ]
    assert not below, f"{path} imports {below}"


def dotted(path: str) -> str:
    """The name by which a module is imported."""
    return f"mjjax/{path}".removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def graph() -> dict[str, set[str]]:
    """Modules by dotted name, with the modules that they import at any time.

    Imports for types alone do not count, because an element knows its model, which has elements.
    """
    names, found = set(map(dotted, MODULES)), {}
    for path in MODULES:
        modules = {x if x in names else x.rpartition(".")[0] for x in imports(path, False)}
        found[dotted(path)] = (modules & names) - {dotted(path)}
    return found


def test_no_module_is_imported_by_what_it_imports() -> None:
    """Lets one read any module after those that it imports, and import it alone."""
    graphlib.TopologicalSorter(graph()).prepare()


def room(folder: str, parts: list[str]) -> str:
    """The room of a module, by the names on the way to it from its folder."""
    return parts[0] if parts and (PACKAGE / folder / parts[0]).is_dir() else ""


@pytest.mark.parametrize("path", [p for p in MODULES if p.count("/") and "__init__" not in p])
def test_imports_only_rooms_above(path: str) -> None:
    """Keeps the rooms of a folder in one order, so that no two rooms use each other."""
    folder, *parts = path.removesuffix(".py").split("/")
    rooms = {p.name for p in (PACKAGE / folder).iterdir() if (p / "__init__.py").exists()}
    order = ROOMS.get(folder, ("",))
    assert rooms | {""} == set(order), f"{folder} has other rooms than ROOMS says"
    inside = [n.split(".")[2:] for n in imports(path) if n.startswith(f"mjjax.{folder}.")]
    own = order.index(room(folder, parts))
    below = [names for names in inside if order.index(room(folder, names)) > own]
    assert not below, f"{path} imports {below}"


def test_work_is_handed_in_once() -> None:
    """Each method that a lower layer carries out has exactly one function."""
    asked, done = set(), []
    for path in MODULES:
        for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                name = getattr(node.args[0], "value", None)
                if node.func.id == "work" and layer(path) != "core":
                    asked.add(name)
                if node.func.id == "does":
                    done.append(name)
    assert asked == set(done) and len(done) == len(set(done))
    imported = "import mjjax.api; from mjjax.core import below; print(*below._WORK, sep='\\n')"
    found = subprocess.run([sys.executable, "-c", imported], capture_output=True, check=True)
    assert set(found.stdout.decode().splitlines()) == asked


@pytest.mark.parametrize("path", [p for p in MODULES if layer(p) == "mjcf"])
def test_mjcf_needs_no_jax(path: str) -> None:
    """Keeps the reading of XML usable and fast without JAX."""
    assert not [n for n in imports(path) if n.split(".")[0] in ("jax", "jaxlib", "flax", "chex")]


def test_one_module_imports_flax() -> None:
    """Keeps the choice of the dataclass library in one place; policies are networks of flax too."""
    users = [p for p in MODULES if any(n.split(".")[0] == "flax" for n in imports(p))]
    assert [p for p in users if layer(p) != "training"] == ["core/struct.py"]


@pytest.mark.parametrize("path", MODULES)
def test_oracle_is_not_imported(path: str) -> None:
    """Keeps MuJoCo out of the engine: users need not have it."""
    # works on the user's own MuJoCo objects; measures them, if `mjjax bench --peers` asks for it;
    # replaces its `mujoco.mjx`
    allowed = {"pipeline/interop.py", "cli/peers.py", "mujoco/install.py"}
    names = [n for n in imports(path) if n.split(".")[0] in ("mujoco", "mujoco_mjx")]
    assert not names or path in allowed


def test_peers_are_imported_only_if_asked_for() -> None:
    """Keeps the code that measures MuJoCo itself out of `import mjjax.cli`."""
    assert not [p for p in MODULES for name in at_once(p) if name.startswith("mjjax.cli.peers")]
