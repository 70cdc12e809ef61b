"""How many steps the loops of a module take."""

from types import ModuleType, SimpleNamespace

import jax
import pytest
from jax import lax


def count_steps(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[int]:
    """A list to which every `lax.while_loop` of the module appends its number of steps."""
    steps: list[int] = []

    def counted(condition, body, state):
        state, count = lax.while_loop(
            lambda s: condition(s[0]), lambda s: (body(s[0]), s[1] + 1), (state, 0)
        )
        jax.debug.callback(lambda n: steps.append(int(n)), count)
        return state

    monkeypatch.setattr(module, "lax", SimpleNamespace(**{**vars(lax), "while_loop": counted}))
    return steps
