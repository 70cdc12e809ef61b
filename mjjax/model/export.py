"""Lets `jax.export` write programs whose arguments and results are models and data.

The static part of a tree is written into the file as data, never as code.
"""

import json
from typing import Any

from jax import export

from mjjax.core.struct import PyTree
from mjjax.model.data import CollisionRules, Contact, Data
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.rows import RowSlots
from mjjax.model.sleep import Sleep
from mjjax.model.storage import structure_from_bytes, structure_to_bytes
from mjjax.model.visual import VISUAL_PARTS, Visual


def register_numbers(cls: type[PyTree]) -> None:
    """Tells `jax.export` how to write and read a tree whose static fields are integers."""
    export.register_pytree_node_serialization(
        cls,
        serialized_name=f"mjjax.{cls.__name__}",
        serialize_auxdata=lambda numbers: json.dumps([int(x) for x in numbers]).encode(),
        deserialize_auxdata=lambda content: tuple(json.loads(bytes(content))),
    )


def _data_to_bytes(statics: tuple[Any, ...]) -> bytes:
    structure, rules, slots = statics
    if rules != CollisionRules():
        raise ValueError(
            "a program on data whose callbacks detect or filter contacts cannot be exported: "
            "make the data without these callbacks"
        )
    return json.dumps(slots).encode() + b"\n" + structure_to_bytes(structure)


def _data_from_bytes(content: bytes) -> tuple[Any, ...]:
    slots, _, structure = bytes(content).partition(b"\n")
    return structure_from_bytes(structure), CollisionRules(), RowSlots(*json.loads(slots))


def register() -> None:
    """Tells `jax.export` how to write and read our trees."""
    for cls in (Option, Statistic, Visual, *VISUAL_PARTS.values(), Contact, Sleep):
        register_numbers(cls)
    export.register_pytree_node_serialization(
        Model,
        serialized_name="mjjax.Model",
        serialize_auxdata=lambda statics: structure_to_bytes(statics[0]),
        deserialize_auxdata=lambda content: (structure_from_bytes(bytes(content)),),
    )
    export.register_pytree_node_serialization(
        Data,
        serialized_name="mjjax.Data",
        serialize_auxdata=_data_to_bytes,
        deserialize_auxdata=_data_from_bytes,
    )
