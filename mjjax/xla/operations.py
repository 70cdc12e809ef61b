"""Counts of the operations of a compiled program, which no other work on the machine disturbs."""

import re
from typing import Any

Counts = dict[str, int]

# XLA decides its operations before it generates code. Without optimized code generation, compiling
# takes half the time and gives the same counts.
COUNTED = {"xla_backend_optimization_level": 0}

# Kinds of operations, by the names that XLA gives them.
OPERATION_KINDS = {
    "fusions": "fusion",
    "dots": "dot",
    "calls": "custom-call",
    "copies": "copy",
    "transposes": "transpose",
    "loops": "while",
}


def operations(compiled: Any) -> Counts:
    """Operations of a program of `jax.jit(...).lower(...).compile()`, by kind.

    Operations in loops and branches count once. `calls` are calls of libraries, such as LAPACK. A
    loop with all that is in it counts as one fusion where it is compiled to one kernel, see
    `mjjax.xla.item_by_item`.
    """
    parts = _computations(compiled.as_text())
    calls = [x for text in parts.values() for x in text.splitlines() if _is_kernel(x)]
    inside = {re.findall(r"to_apply=%([\w.\-]+)", call)[0] for call in calls}
    outside = _reached([next(iter(parts))], parts, inside)
    text = "\n".join(parts[name] for name in parts if name in outside)
    counts = {name: len(re.findall(rf" {op}\(", text)) for name, op in OPERATION_KINDS.items()}
    return counts | {"fusions": counts["fusions"] + len(calls)}


_NAME = re.compile(r"%([\w.\-]+)")


def _computations(text: str) -> dict[str, str]:
    """The computations of a program by name, the entry first."""
    found = {}
    for block in re.split(r"\n(?=(?:ENTRY )?%[^\n]*\{\n)", text)[1:]:
        found[_NAME.findall(block)[0]] = block
    entry = next(name for name, block in found.items() if block.startswith("ENTRY"))
    return {entry: found.pop(entry), **found}


def _is_kernel(line: str) -> bool:
    """Whether an instruction is a call that is compiled to one kernel."""
    return " call(" in line and 'xla_cpu_small_call="true"' in line


def _reached(names: list[str], parts: dict[str, str], inside: set[str]) -> set[str]:
    """The computations that are used by some, but not by those that are one kernel."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found and name not in inside:
            found.add(name)
            names += [x for x in _NAME.findall(parts[name]) if x in parts]
    return found


def total(counts: Counts) -> int:
    """Number of all operations except loops, which are counted separately."""
    return sum(counts.values()) - counts["loops"]
