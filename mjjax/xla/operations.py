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

    Operations in loops and branches count once. `calls` are calls of libraries, such as LAPACK.
    """
    text = compiled.as_text()
    return {name: len(re.findall(rf" {op}\(", text)) for name, op in OPERATION_KINDS.items()}


def total(counts: Counts) -> int:
    """Number of all operations except loops, which are counted separately."""
    return sum(counts.values()) - counts["loops"]
