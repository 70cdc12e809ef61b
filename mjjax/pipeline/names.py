"""Ids and names of model elements."""

from mjjax.core.enums import ObjType
from mjjax.model.model import Model
from mjjax.model.structure import NAMED


def name2id(model: Model, kind: ObjType | int, name: str) -> int:
    """Id of the element called `name`, -1 if there is none (`mj_name2id`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names.index(name) if name and name in names else -1


def id2name(model: Model, kind: ObjType | int, index: int) -> str | None:
    """Name of an element, None if the id is invalid or it has none (`mj_id2name`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names[index] or None if 0 <= index < len(names) else None
