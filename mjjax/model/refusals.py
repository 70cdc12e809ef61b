"""Errors of `Model.replace`: unknown fields, static fields, and impossible numbers of bodies."""

import dataclasses
from typing import Any

import numpy as np
from jax.core import Tracer

from mjjax.core.struct import specs
from mjjax.core.words import nearest
from mjjax.model.static_fields import SIZES, TABLES


def unknown_field(model: Any, name: str) -> str:
    """The part of a message that says what to do about an unknown or static field."""
    if name in SIZES or name in TABLES:
        return ": it is static, part of the program; change the description and compile it"
    for part in ("opt", "stat", "vis"):
        inner = getattr(model, part)
        if dataclasses.is_dataclass(inner) and name in {f.name for f in dataclasses.fields(inner)}:
            return f"; model.replace({part}=model.{part}.replace({name}=...)) changes it"
    near = nearest(name, specs(model))
    return f"; {near}" if near else ""


NOT_NEGATIVE = ("body_mass", "body_inertia")


def require_no_negative(model: Any, name: str) -> None:
    """Refuses masses and inertias that the compiler refuses too, unless they are traced.

    Args:
        model: model with the new values.
        name: a field with bodies as first dimension.

    Raises:
        ValueError: a number is negative; the message names the body.
    """
    value = getattr(model, name)
    if isinstance(value, Tracer) or not hasattr(value, "dtype"):
        return
    bad = np.argwhere(np.asarray(value) < 0)
    if len(bad):
        body = int(bad[0][-len(specs(model)[name].shape)])
        called = model.structure.names["body"][body] or body
        raise ValueError(f"{name} of body {called!r} is negative; it must not be")
