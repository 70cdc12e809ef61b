"""Counts the steps of the loops of a module."""

from types import ModuleType

import jax
import pytest
from jax import lax


def count_steps(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[int]:
    """Makes every `while_loop` of the module append its number of steps to a list."""
    steps: list[int] = []

    def counted(condition, body, state):
        state, count = lax.while_loop(
            lambda s: condition(s[0]), lambda s: (body(s[0]), s[1] + 1), (state, 0)
        )
        jax.debug.callback(lambda n: steps.append(int(n)), count)
        return state

    monkeypatch.setattr(module, "while_loop", counted)
    return steps
