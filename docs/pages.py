"""Makes the pages of the site that come from the code: functions, features and results.

This is a hook of MkDocs, which `mkdocs build --strict` calls. The columns of the other engines in
the table of features are data. This command refreshes them from a table of capabilities:

    python docs/pages.py TABLE.md
"""

import csv
import enum
import fnmatch
import functools
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data"
FEATURES = DATA / "features.csv"
MJX = DATA / "mjx.csv"  # the public names of `mujoco.mjx` 3.6.0
MUJOCO = DATA / "mujoco.csv"  # functions of `mujoco` whose names are not ours; `*` stands for any
EXAMPLES = Path(__file__).parent / "examples.py"
COLUMNS = ("id", "section", "capability", "C", "MJX", "Warp")
ROW = re.compile(r"^\|\s*([A-Z]+\d+)\s*\|(.*)\|\s*$")
# The title of the page that shows a public name, by the folder that defines the name.
TITLES = {
    "model": "Model and data",
    "pipeline": "Stepping, state, derivatives",
    "dynamics": "Kinematics and dynamics",
    "collision": "Contacts and rays",
    "constraint": "Constraints",
    "solver": "Solver",
    "sensor": "Sensors",
    "compiler": "Derived constants",
    "mjcf": "Building models",
    "render": "Pictures",
    "view": "Browser",
    "envs": "Environments",
    "training": "Training",
    "math": "Mathematics",
    "core": "Enumerations and errors",
    "xla": "Compilations",
}


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that this hook makes."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(ROOT))
    pages = {f"api/{name}.md": text for name, text in api_pages().items()}
    pages |= {"features.md": features_page(), "results.md": results_page()}
    pages["gallery.md"] = gallery_page()
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts a table in the place of its mark in a page."""
    markdown = markdown.replace("{{ README }}", home())
    markdown = markdown.replace("{{ table of README.md }}", readme_table())
    markdown = markdown.replace("{{ table of MJX }}", mjx_table())
    markdown = markdown.replace("{{ table of MuJoCo }}", mujoco_table())
    from mjjax.envs import GYMNASIUM_TASKS, TASKS

    markdown = markdown.replace("{{ table of Gymnasium's tasks }}", tasks_table(GYMNASIUM_TASKS))
    return markdown.replace("{{ table of tasks }}", tasks_table(TASKS))


def mjx_table() -> str:
    """Table of the names of `mujoco.mjx` 3.6.0 and of its inner modules, and what each is here."""
    from mjjax import mjx

    lines = ["| `mujoco.mjx` | in mjjax |", "|---|---|"]
    with MJX.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, note = row["name"], row["note"]
            note = note or _summary(mjx, name)
            if not note:
                raise ValueError(f"mjjax.mjx has no {name}, and docs/data/mjx.csv does not say why")
            lines.append(f"| `{name}` | {_cell(note)} |")
    return "\n".join(lines)


def mujoco_table() -> str:
    """Table of the functions of `mujoco` 3.6.0, and what each is here."""
    import mujoco

    lines = ["| `mujoco` | in mjjax |", "|---|---|"]
    done: set[str] = set()
    for name in _functions_of(mujoco):
        shown, here = counterpart(name)
        if shown not in done:
            lines.append(f"| `{shown}` | {_cell(here)} |")
            done.add(shown)
    return "\n".join(lines)


def _functions_of(mujoco: Any) -> list[str]:
    return sorted(name for name in dir(mujoco) if re.match(r"mj[a-z]?_", name))


@functools.cache
def counterpart(name: str) -> tuple[str, str]:
    """What a function of `mujoco` is here, and under which name or pattern the table has it."""
    import mjjax

    prefix, _, rest = name.partition("_")
    ours = re.sub(r"(?<!^)(?=[A-Z])", "_", rest).lower()
    for module in (mjjax.math, mjjax) if prefix == "mju" else (mjjax,):
        if hasattr(module, ours) and prefix in ("mj", "mju"):
            return name, f"`{module.__name__}.{ours}`"
    with MUJOCO.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if fnmatch.fnmatchcase(name, row["name"]):
                return row["name"], row["here"]
    raise ValueError(f"mjjax has no {ours}, and docs/data/mujoco.csv does not say why")


@functools.cache
def mujoco_names() -> dict[str, list[str]]:
    """The functions of `mujoco` that each of ours stands for."""
    import mujoco

    found: dict[str, list[str]] = {}
    for name in _functions_of(mujoco):
        if match := re.match(r"`(mjjax[\w.]+)(`(,|$)|\()", counterpart(name)[1]):
            found.setdefault(match[1], []).append(name)
    return found


def playground_table() -> str:
    """Table of Playground's environments on mjjax and on MJX."""
    lines = [
        "| environment | compile, s: mjjax, MJX | steps/s: mjjax, MJX | observations differ by | |",
        "|---|---|---|---|---|",
    ]
    for row in _read("playground"):
        engines = [row[engine] for engine in ("mjjax", "mjx")]
        compiled, speed = (
            ", ".join(f"{x[key]:,.0f}" if key in x else "-" for x in engines)
            for key in ("compile", "speed")
        )
        apart = f"{row['obs'][-1]:.0e}" if "obs" in row else "-"
        lines.append(
            f"| {row['environment']} | {compiled} | {speed} | {apart} | {row.get('reason', '')} |"
        )
    return "\n".join(lines)


def _summary(module: Any, name: str) -> str:
    """The first line of what documents a name; empty if it does not exist."""
    for part in name.split("."):
        module = getattr(module, part, None)
    if inspect.isclass(module) and issubclass(module, enum.Enum):
        return f"enumeration with MuJoCo's values, `mjjax.{name}`"
    text = inspect.getdoc(module) if module is not None else ""
    return (text or "").split("\n")[0].rstrip(".")


def tasks_table(tasks: Mapping[str, type]) -> str:
    """Table of tasks, made of their docstrings."""
    lines = ["| task | goal | reward and termination |", "|---|---|---|"]
    for name, task in tasks.items():
        what, reward = inspect.cleandoc(task.__doc__ or "").split("\n\n", 1)
        lines.append(f"| `{name}` | {_cell(what)} | {_cell(reward)} |")
    return "\n".join(lines)


def home() -> str:
    """The README as the first page of the site: links of the site, and none to other files."""
    text = _readme().partition("\n## Tests\n")[0].replace("](docs/", "](")
    return re.sub(r"\[([^]]+)\]\(notebooks/(\w+)\.ipynb\)", r"\1 `\2`", text)


def readme_table() -> str:
    """The README's table of what is simulated and refused."""
    section = _readme().partition("\n## What it simulates and refuses\n")[2].partition("\n## ")[0]
    return "\n".join(line for line in section.splitlines() if line.startswith("|"))


def _readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def public() -> dict[str, list[tuple[str, str]]]:
    """Public names by page: each as users write it, and the path where it is defined."""
    import mjjax
    import mjjax.training

    found: dict[str, list[tuple[str, str]]] = {page: [] for page in TITLES}
    for module in (mjjax, mjjax.view, mjjax.math, mjjax.envs, mjjax.training):
        for name in module.__all__:
            value = getattr(module, name)
            if value in (mjjax.math, mjjax.view, mjjax.envs) or isinstance(value, dict):
                continue
            value = inspect.unwrap(
                value
            )  # the shell of `mjjax.pipeline.public` is the same for all
            path = value.__name__
            if not inspect.ismodule(value):
                path = f"{value.__module__}.{path}"
            found[path.split(".")[1]].append((f"{module.__name__}.{name}", path))
    return found


def api_pages() -> dict[str, str]:
    """Text of the pages of functions, by name."""
    pages = {}
    for page, names in public().items():
        parts = [f"# {TITLES[page]}\n"]
        if any(shown.removeprefix("mjjax.") in examples() for shown, _ in names):
            parts.append(f"The examples use this model.\n\n{_folded(examples()['model'])}\n")
        for shown, path in sorted(names, key=lambda name: (_is_class(name[1]), name)):
            label = shown.rpartition(".")[2]
            options = f"heading: {shown}\n      toc_label: {label}"
            parts.append(f"::: {path}\n    options:\n      {options}\n")
            if theirs := mujoco_names().get(shown):
                parts.append(f"In MuJoCo: {', '.join(f'`{name}`' for name in theirs)}.\n")
            if example := examples().get(shown.removeprefix("mjjax.")):
                parts.append(f"```python\n{example}\n```\n")
            parts += _fields(path)
        pages[page] = "\n".join(parts)
    return pages


@functools.cache
def examples() -> dict[str, str]:
    """The cells of `examples.py` by name: the model, and one for each function."""
    cells = EXAMPLES.read_text(encoding="utf-8").split("# %% ")[1:]
    named = (cell.partition("\n") for cell in cells)
    return {name: text.strip() for name, _, text in named}


def _folded(code: str) -> str:
    """Code that a reader opens if he wants it."""
    indented = "\n".join(f"    {line}" for line in f"```python\n{code}\n```".splitlines())
    return f'??? note "The model"\n\n{indented}'


def _is_class(path: str) -> bool:
    return path.rpartition(".")[2][0].isupper()


def _fields(path: str) -> Iterator[str]:
    """Tables of the arrays that a class declares, and of its access by name."""
    from mjjax.core.struct import PyTree, specs

    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(value) and issubclass(value, PyTree)):
        return
    yield "\n| field | shape | unit | what it is |\n|---|---|---|---|"
    for spec in specs(value).values():
        shape = ", ".join(map(str, spec.shape))
        yield f"| `{spec.name}` | ({shape}) | {spec.unit} | {_cell(spec.doc)} |"
    yield ""
    yield from _views(value)


def _views(value: type) -> Iterator[str]:
    """Table of the kinds of elements that a class finds by name, with the fields of each kind."""
    from mjjax.model.view import Named, methods, view_fields

    if not issubclass(value, Named):
        return
    yield "\n| by name | what it is | fields |\n|---|---|---|"
    for kind, (names, doc) in methods(value).items():
        calls = ", ".join(f"`{name}(...)`" for name in names)
        fields = ", ".join(f"`{name}`" for name in view_fields(value, kind))
        yield f"| {calls} | {_cell(doc)} | {fields} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def features_page() -> str:
    """The table of features: our column comes from the marks of the tests, the others from data."""
    from tests.features import MEANINGLESS, shown

    ours = shown(ROOT / "tests")
    with FEATURES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tested = sum(row["id"] in ours for row in rows)
    lines = [
        "# Features against MuJoCo C, MJX and MuJoCo Warp\n",
        f"mjjax's tests show {tested} of the {len(rows)} rows; where possible, they compare with "
        f"MuJoCo 3.6.0. {len(MEANINGLESS)} rows have no meaning in JAX. In the column mjjax, "
        "**yes** means that a test shows the feature (the tooltip names the test files), **-** "
        "means that the feature does not apply, and an empty cell means that no test shows it. The "
        "columns of the other engines come from their code and documentation at MuJoCo 3.6.0: Y "
        "means yes, P partly, N no or refused, and I accepted but ignored. *via C* means that C "
        "compiles the model. *a→b* means *a* in the copy that comes with 3.6.0 and *b* in the "
        "newest version.\n",
    ]
    section = None
    for row in rows:
        if row["section"] != section:
            section = row["section"]
            lines += [
                f"\n## {section}\n",
                "| | capability | mjjax | C | MJX | Warp |",
                "|---" * 6 + "|",
            ]
        mine = ""
        if row["id"] in ours:
            mine = f'<span title="{" ".join(ours[row["id"]])}">**yes**</span>'
        elif row["id"] in MEANINGLESS:
            mine = f'<span title="{MEANINGLESS[row["id"]]}">-</span>'
        cells = (row["id"], _cell(row["capability"]), mine, row["C"], row["MJX"], row["Warp"])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def gallery_page() -> str:
    """A picture of each model that comes with mjjax and of each notebook."""
    import mjjax

    lines = [
        "# Gallery\n",
        "`python docs/gallery.py` makes these pictures. [Make pictures](pictures.md) has others, "
        "next to MuJoCo's own.\n",
        "![A humanoid buckles and falls](humanoid.gif)\n",
        "## Models\n",
        "These come with mjjax. The command line knows them by name, as in `mjjax view humanoid`, "
        "and `mjjax.envs` has tasks with them.\n",
    ]
    cards = []
    for path in sorted((ROOT / "mjjax/assets").glob("*.xml")):
        model = mjjax.Model.from_xml_path(path)
        text = f"`{path.stem}`: {model.nv} dofs, {_number(model.nu, 'actuator')}"
        cards.append((path.stem, path.stem.replace("_", " "), text))
    lines += _cards(cards)
    lines += [
        "## Notebooks\n",
        "These are in the folder `notebooks`, with their outputs. The links open them in Colab.\n",
    ]
    cards = []
    from docs.notebooks import SOURCE

    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
        title = "".join(first["source"]).splitlines()[0].removeprefix("# ")
        text = f"[{title}]({SOURCE}/{path.name})"
        cards.append((path.stem, f"A figure of the notebook: {title}", text))
    return "\n".join([*lines, *_cards(cards)]) + "\n"


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _cards(cards: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Pictures side by side, as many as the window has room for: name, what is seen, text."""
    yield '<div class="cards" markdown>\n'
    for name, seen, text in cards:
        picture = f"![{seen}](pictures/gallery/{name}.jpg){{ loading=lazy }}"
        yield f"<div markdown>\n{picture}\n\n{text}\n</div>\n"
    yield "</div>\n"


def results_page() -> str:
    """What `python -m benchmarks.results` measured: agreement, speed, tasks of other packages."""
    lines = [
        "# Results\n",
        "`python -m benchmarks.results --models FOLDER` measures what this page and the figure of "
        "the README show. Compare times only within a table, because the machines differ. "
        "`benchmarks/NOTES.md` records what made steps faster and what did not.\n",
        "![Steps per second and compile times, next to MJX and MuJoCo C](pictures/results.svg)\n",
        *_agreement(),
        *_speeds(),
        *_gymnasium(),
        *_training(),
        "## MuJoCo Playground's environments\n",
        f"{len(_read('playground'))} of Playground's 54 environments were measured so far. Each "
        "runs unmodified on mjjax and on MJX: 32 worlds with random actions, on two cores of a "
        "CPU, in single precision, beside other programs: the times are rough. The fourth column "
        "is the largest difference of any observation after 20 steps. If it is more than 0.001, "
        "the last column says why. Meshes are replaced by boxes on both sides, because Playground "
        "would download them.\n",
        playground_table(),
    ]
    return "\n".join(lines) + "\n"


def _read(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def _agreement() -> Iterator[str]:
    """Models in both compilers, and steps of some of them."""
    from benchmarks.conformance import OUTCOMES, STEPS, TOLERANCE

    found = _read("conformance")
    total = sum(found["compile"].values())
    yield f"## Agreement with MuJoCo C, {found['date']}\n"
    yield (
        f"{total:,} public model files, from MuJoCo, dm_control, MuJoCo Menagerie, Gymnasium, "
        "Meta-World, MyoSuite, Brax and Playground, in both compilers. Models are equal if every "
        "field with one of MuJoCo's names agrees to 1e-6.\n"
    )
    yield "| files | |\n|---:|---|"
    for outcome, text in OUTCOMES.items():
        if number := found["compile"].get(outcome, 0):
            yield f"| {number:,} | {text} |"
    reasons = ", ".join(
        f"`{name}` {n}" for name, n in sorted(found["refused"].items(), key=lambda x: -x[1])
    )
    yield f"\nFiles by the element that is refused: {reasons}.\n"
    steps = found["step"]
    yield (
        f"Of {sum(steps.values())} equal models, chosen at random, {steps.get('equal', 0)} are "
        f"within {TOLERANCE:.0e} of MuJoCo's positions after {STEPS} steps with random controls, "
        f"in double precision; {steps.get('diverges', 0)} diverge in MuJoCo.\n"
    )
    for path, row in found["named"].items():
        fields = ", ".join(f"`{name}`" for name in row.get("fields", ()))
        apart = f"positions by {row['apart']:.0e}" if "apart" in row else row.get("error", "")
        yield f"- `{path}` {row['outcome']}: {fields or apart}"
    yield ""


def _speeds() -> Iterator[str]:
    """Steps per second by machine, model and engine."""
    from benchmarks.figure import ENGINES, MODELS

    for path in sorted(DATA.glob("benchmarks-*.json")):
        found = _read(path.stem)
        machine = found["machine"]
        versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
        devices = ", ".join(sorted(set(machine["devices"])))
        yield f"## Speed on {devices.upper().replace('NVIDIA ', '')}, {machine['date'][:10]}\n"
        yield f"{machine['cores']} cores; Python {machine['python']}, {versions}.\n"
        yield "| model | worlds | engine | compile, s | steps/s | mjjax is faster by a factor of |"
        yield "|---|---:|---|---:|---:|---:|"
        runs: dict[tuple[str, int], list[Any]] = {}
        for record in found["results"]:
            runs.setdefault((Path(record["model"]).stem, record["worlds"]), []).append(record)
        for (stem, worlds), records in runs.items():
            model = MODELS.get(stem, stem).replace("\n", " ")
            ours = next(r["steps_per_s"] for r in records if r["engine"] == "ours")
            for record in records:
                speed = record.get("steps_per_s")
                compiled, ratio = record.get("compile_s"), ours / speed if speed else None
                cells = (
                    f"{model} | {worlds:,} | {ENGINES[record['engine']]}",
                    f"{compiled:.0f}" if compiled else "",
                    f"{speed:,.0f}" if speed else record["refused"],
                    f"{ratio:.2g}" if ratio and record["engine"] != "ours" else "",
                )
                yield f"| {' | '.join(cells)} |"
        yield ""


def _gymnasium() -> Iterator[str]:
    """Gymnasium's tasks here and there."""
    found = _read("gymnasium")
    yield f"## Gymnasium's tasks, {found['date']}\n"
    yield (
        "The differences are the largest in any observation and in the reward, after 20 steps with "
        "the same random actions, in double precision. The speeds are those of "
        f"{found['worlds']} worlds in mjjax, on two cores of a CPU and in single precision, and of "
        "one Gymnasium environment in one process.\n"
    )
    yield "| task | observation | reward | compile, s | steps/s: mjjax | Gymnasium |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in found["rows"]:
        yield (
            f"| `{row['task']}` | {row['obs'][-1]:.0e} | {row['reward'][-1]:.0e} "
            f"| {row['compile']:.0f} | {row['speed']:,.0f} | {row['gymnasium']:,.0f} |"
        )
    yield ""


def _training() -> Iterator[str]:
    """Learning curves of mjjax's tasks."""
    from benchmarks.training import final, reached

    rows = _read("training")
    dates = sorted({row["date"] for row in rows})
    yield f"## Training, {' to '.join(dict.fromkeys((dates[0], dates[-1])))} {{ #training }}\n"
    yield (
        "Learning curves with the settings of `mjjax train`, on two cores of a CPU. Each training "
        "ran alone, and its times include compilation. A line is a seed; a point is the mean "
        "return of 64 test episodes with random actions.\n"
    )
    yield "![Returns against steps and time, by task and algorithm](pictures/training.svg)\n"
    yield "| task | algorithm | seeds | steps | s | return at the end | s to PPO's |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["algorithm"]), []).append(row)
    for (task, algorithm), group in groups.items():
        ends = [final(row) for row in group]
        steps, seconds = (sum(row["curve"][-1][k] for row in group) / len(group) for k in (0, 1))
        wanted = sum(map(final, groups[task, "ppo"])) / len(groups[task, "ppo"])
        points = [reached(row, wanted) for row in group]
        times = ", ".join(f"{point[1]:.0f}" if point else "-" for point in points)
        returns = ", ".join(f"{end:,.0f}" for end in ends)
        yield (
            f"| {task} | {algorithm.upper()} | {len(group)} | {steps:,.0f} | {seconds:.0f} "
            f"| {returns} | {times if algorithm != 'ppo' else ''} |"
        )
    yield ""
    yield (
        "The return at the end is the mean of the last three points. The last column has, for each "
        "seed, the time in which it first reaches the mean of PPO's returns at the end.\n"
    )


def refresh(source: Path) -> None:
    """Writes the other engines' columns, read from rows `| id | capability | from | C | ...`."""
    section, rows = "", []
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith(("## ", "### ")):
            title = re.sub(r"^#+ [A-Z]\d*\.? ?", "", line).split(" (")[0]
            section = title
        elif match := ROW.match(line):
            text = match[2].replace("\N{EN DASH}", "-")
            cells = [x.strip() for x in re.split(r"(?<!\\)\|", text)]
            rows.append((match[1], section, cells[0], *cells[2:5]))
    with FEATURES.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    refresh(Path(sys.argv[1]))
