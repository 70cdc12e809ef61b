"""Fields of the elements of a spec, in models and data (`mjx.Model.bind`, `mjx.Data.bind`)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mjjax.core.struct import specs
from mjjax.model.view import View, element_id, view_fields

_MOCAP = ("mocap_pos", "mocap_quat")


class Bound:
    """The rows that belong to some elements of one kind, in a model or data.

    Fields have the names of MuJoCo's views: `data.bind(model, spec.geoms).xpos` has the rows of
    `geom_xpos`. The rows of several elements are joined: `qpos` of joints. One element that is not
    in a list gives its row itself.

    Attributes:
        id: MuJoCo's id, or a list of ids.
    """

    id: int | list[int]

    def __init__(self, tree: Any, kind: str, ids: Sequence[int], alone: bool):
        vars(self).update(_tree=tree, _kind=kind, _ids=ids, id=ids[0] if alone else list(ids))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        field, rows = self._rows(name)
        whole = getattr(self._tree, field.name)
        return whole[(..., rows) + (slice(None),) * (_axes(whole, self._tree, field) - 1)]

    def set(self, name: str, value: Any) -> Any:
        """The model or data with other values in a field of these elements."""
        field, rows = self._rows(name)
        whole = getattr(self._tree, field.name)
        inner = (slice(None),) * (_axes(whole, self._tree, field) - 1)
        place = whole.at[(..., rows, *inner)]
        wanted = whole[(..., rows, *inner)].shape
        return self._tree.replace(**{field.name: place.set(np.reshape(value, wanted))})

    def _rows(self, name: str) -> tuple[Any, Any]:
        """The field that has a name in views, or in the tree, and the rows of the elements."""
        native = self._tree.native
        if self._kind == "body" and name in _MOCAP:
            index = native.structure.body_mocapid[self._ids]
            return specs(native)[name], index[0] if isinstance(self.id, int) else index
        fields = view_fields(type(native), self._kind)
        whole = {field.name: field for field in fields.values()}
        field = fields.get(name) or whole.get(name)
        if field is None:
            kind = type(native).__name__
            raise AttributeError(
                f"{name} is not available for this type: a {self._kind} of a {kind} has no {name!r}"
            )
        parts = [View(native, self._kind, i)._rows(field.shape[0])[0] for i in self._ids]
        if isinstance(self.id, int):
            part: Any = parts[0]
            one = isinstance(part, slice) and part.stop - part.start == 1
            return field, part.start if one else part
        index = [[x] if isinstance(x, int) else range(x.start, x.stop) for x in parts]
        return field, np.concatenate([np.array(x, int) for x in index])


def _axes(whole: Any, tree: Any, field: Any) -> int:
    """Axes of a field without those of a batch; MJX's matrices have one more than ours."""
    ours = getattr(tree.native, field.name)
    return len(field.shape) + np.ndim(whole) - np.ndim(ours)


def bound(tree: Any, obj: Any, model: Any) -> Bound:
    """Fields of elements of a spec.

    Args:
        tree: the model or data that has the fields.
        obj: an element of a `mujoco.MjSpec` or `mjjax.Spec`, or several of one kind.
        model: the model that was compiled from the spec.

    Raises:
        ValueError: the elements are of several kinds.
        KeyError: an element has no id, or no name by which it can be found.
    """
    alone = not isinstance(obj, Iterable)
    elements = [obj] if alone else list(obj)
    kinds = {_kind(element) for element in elements}
    if len(kinds) != 1:
        raise ValueError(f"bind takes elements of one kind, not of {sorted(kinds)}")
    (kind,) = kinds
    return Bound(tree, kind, [_id(model, kind, element) for element in elements], alone)


def _kind(element: Any) -> str:
    name = type(element).__name__
    return name.removeprefix("Mjs").lower() if name.startswith("Mjs") else element.kind


def _id(model: Any, kind: str, element: Any) -> int:
    """The id that MuJoCo's compiler gave to an element, or that of ours by its name."""
    given = element.id if hasattr(element, "signature") else element.name
    if (isinstance(given, int) and given < 0) or given == "":
        raise KeyError(f"bind: a {kind} has no id; compile the spec, or give it a name")
    return element_id(model.native.structure, kind, given, "bind")
