"""Gives descriptions the document order of their ids, for code that follows the document."""

from collections.abc import Sequence

from mjjax.mjcf.defaults import builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.spec import Spec


def settle(spec: Spec) -> None:
    """Moves elements that a program added into frames to the place of their ids.

    They go to the end of their body, into copies of their frames without names. The model stays the
    same.
    """
    for body in list(spec.in_order()):
        _settle(body)
    spec.turns = 0


def _settle(body: Element) -> None:
    members = list(body.members())
    place = {element: i for i, (_, element) in enumerate(body.in_document())}
    contents = [e for e in members if e.kind != "frame"]
    early = (i for i in range(1, len(contents)) if place[contents[i]] < place[contents[i - 1]])
    for element in members:
        element.turn = 0
    path: list[Element] = []
    holder = body
    for element in contents[next(early, len(contents)) :]:
        before, path = path, _frames(element)
        if element.parent is not None:
            element.parent.remove(element)
        if path != before or not path:
            holder = _copied(body, path)
        holder.add(element)
    for frame in sorted((e for e in members if e.kind == "frame"), key=place.__getitem__)[::-1]:
        if not frame.children and not frame.name and frame.parent is not None:
            frame.parent.remove(frame)


def _frames(element: Element) -> list[Element]:
    """The frames around an element, from its body inward."""
    found: list[Element] = []
    around = element.parent
    while around is not None and around.kind == "frame":
        found.insert(0, around)
        around = around.parent
    return found


def _copied(body: Element, path: Sequence[Element]) -> Element:
    """The innermost of new frames at the end of a body with the poses of others."""
    holder = body
    for frame in path:
        values = dict(frame.values, name=builtin("frame").get("name"))
        twin = Element("frame", values, frame.origin, frame.classname, key=frame.key)
        holder = holder.add(twin)
    return holder
