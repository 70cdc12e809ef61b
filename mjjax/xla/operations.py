"""What a compiled program consists of: figures that no other work on the machine disturbs."""

import re
from typing import Any

Counts = dict[str, int]

# XLA has its operations before it generates code, so that this costs half and counts the same.
COUNTED = {"xla_backend_optimization_level": 0}

# by the names that XLA gives them
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

    Those of its loops and branches count once; `calls` are calls of libraries, such as LAPACK.
    """
    text = compiled.as_text()
    return {name: len(re.findall(rf" {op}\(", text)) for name, op in OPERATION_KINDS.items()}


def total(counts: Counts) -> int:
    """All operations but loops, which are counted apart."""
    return sum(counts.values()) - counts["loops"]
