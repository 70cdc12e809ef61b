"""Copies a part of a model, with all that refers to it, to another place or another model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mjjax.mjcf import keyframes
from mjjax.mjcf.adapt import adapt
from mjjax.mjcf.element import DefaultClass, Element
from mjjax.mjcf.keyframes import PENDING, Snapshot
from mjjax.mjcf.references import ASSETS, IN_TREE, Reference, references
from mjjax.mjcf.spec import Spec

# Kinds outside the world that are copied with the elements they refer to, in an order in which each
# finds the others.
FOLLOWERS = ("pair", "exclude", "tendon", "equality", "actuator", "sensor")
# Elements of these kinds may name only elements in the copied part; others may also name elements
# outside of it.
_STRICT = ("equality", "actuator", "tuple", "skin")
_SHARED = ("texture", "material", "mesh", "hfield", "numeric", "text")
_MOST = 20_000  # elements of a kind
Known = dict[str, set[str]]


@dataclass(frozen=True)
class Rename:
    """Makes the names of a copy; `assets` says whether the copy has its own assets and classes."""

    prefix: str = ""
    suffix: str = ""
    assets: bool = False

    def __call__(self, name: str) -> str:
        """The new name; an element without a name keeps none."""
        return f"{self.prefix}{name}{self.suffix}" if name else name


def known_names(spec: Spec) -> Known:
    """The names of a model by kind."""
    known: Known = {}
    for element in spec.everything():
        known.setdefault(element.kind, set()).add(element.name)
    return known


def copy_parts(
    parent: Element,
    parts: Iterable[Element],
    rename: Rename,
    known: Known,
    copies: dict[Element, Element],
) -> list[Element]:
    """Adds renamed copies of bodies, frames or elements in them to `parent`.

    Args:
        parent: body or frame.
        parts: elements to copy.
        rename: the new names.
        known: names of the model, to which the new names are added.
        copies: gets the copy of each element.
    """
    twins = []
    for part in parts:
        twin = parent.add(part.copy(copies))
        twins.append(twin)
        for element in twin.walk():
            _rename(element, rename)
            known.setdefault(element.kind, set()).add(element.name)
    return twins


def _rename(element: Element, rename: Rename) -> None:
    if "name" in element.values:
        element.values["name"] = rename(element.name)
    for r in references(element) if element.kind in IN_TREE or not element.children else ():
        _refer(r, rename)
    if rename.assets:
        element.classname = rename(element.classname)


def _refer(reference: Reference, rename: Rename) -> None:
    if rename.assets or reference.kind not in ASSETS:
        reference.holder.values[reference.attribute] = rename(reference.name)


def copy_followers(
    spec: Spec,
    source: Spec,
    kinds: Sequence[str],
    rename: Rename,
    known: Known,
    copies: dict[Element, Element],
    made: set[Element] | None = None,
) -> None:
    """Adds copies of the elements of `source` that refer to copied elements.

    An element without references is copied too. An element that names something that neither the
    copy nor the model has is left out, and so are the elements in `made`. `made` gets the elements
    that refer only to this copy.
    """
    made = set() if made is None else made
    fresh = {twin.name for twin in copies.values()}
    for kind in kinds:
        for element in list(source.elements.get(kind, ())):
            if element in made:
                continue
            names = _resolved(element, rename, known)
            if names is None:
                continue
            twin = element.copy(copies)
            if kind != "skin":  # nor the skin itself
                twin.values["name"] = rename(element.name)
            for reference, name in zip(list(references(twin)), names, strict=True):
                reference.holder.values[reference.attribute] = name
            spec.append(twin)
            if names and fresh.issuperset(names):
                made.add(twin)
            known.setdefault(kind, set()).add(twin.name)
            if len(spec.elements[kind]) > _MOST:
                raise element.origin.error(
                    f"replicated more than {_MOST} times",
                    "an element that refers to nothing doubles with every copy, so move it out",
                )


def _resolved(element: Element, rename: Rename, known: Known) -> list[str] | None:
    """The names that the copy of an element refers to, or None if it is not to be copied."""
    names, inside, plain = [], 0, 0
    for r in references(element):
        if r.kind in ASSETS and (not rename.assets or element.kind == "skin"):
            names.append(r.name)  # MuJoCo does not rename the material of a skin
            continue
        renamed = rename(r.name)
        if renamed in known.get(r.kind, ()):
            names.append(renamed)
            inside += 1
        elif r.name in known.get(r.kind, ()) and element.kind not in _STRICT:
            names.append(r.name)
            plain += 1
        else:
            return None
    return names if inside or not plain else None


def remove_followers(
    spec: Spec, gone: Iterable[Element], known: Known, kinds: Sequence[str] = FOLLOWERS
) -> None:
    """Removes from the model elements that refer to the elements `gone`, if they are complete."""
    lost: Known = {}
    for element in gone:
        lost.setdefault(element.kind, set()).add(element.name)
    for kind in kinds:
        kept = []
        for element in spec.elements.get(kind, ()):
            named = [(r.kind, r.name) for r in references(element)]
            refers = any(name in lost.get(k, ()) for k, name in named)
            if refers and all(name in known.get(k, ()) for k, name in named):
                lost.setdefault(kind, set()).add(element.name)
                element.model = None
            else:
                kept.append(element)
        spec.elements[kind] = kept


def attach(
    spec: Spec, parent: Element, source: Spec, parts: Sequence[Element], rename: Rename
) -> tuple[list[Element], list[Snapshot]]:
    """Puts parts of another model into `parent`, with all its assets and what refers to the parts.

    Args:
        spec: the model that grows.
        parent: the body or frame in it that gets the parts.
        source: the other model; it is not changed.
        parts: bodies, or other elements of bodies, of `source`.
        rename: new names; `assets` must be set.

    Returns:
        The copies of the parts, and the keyframes of `source`, to be put into `spec`.

    Raises:
        MjcfError: a keyframe of `source` does not fit it.
        UnsupportedFeature: `source` was written with settings that cannot be combined.
    """
    snapshots = keyframes.take(source)
    copies: dict[Element, Element] = {}
    known = known_names(spec)
    twins = copy_parts(parent, parts, rename, known, copies)
    for kind in _SHARED:
        for element in source.elements.get(kind, ()):
            twin = element.copy(copies)
            for part in twin.walk():
                _rename(part, rename)
            spec.append(twin)
            known.setdefault(kind, set()).add(twin.name)
    copy_followers(spec, source, (*FOLLOWERS, "skin", "tuple"), rename, known, copies)
    for name, default in source.defaults.items():
        values = {kind: dict(v) for kind, v in default.values.items()}
        twin = DefaultClass(rename(name), rename(default.parent) or "main", values)
        spec.defaults.setdefault(twin.name, twin)
    adapt(spec, source, copies.values())
    spec.assets = source.assets | spec.assets
    return twins, [s.moved(_copied_key(spec, s.key, rename), copies) for s in snapshots]


def _copied_key(spec: Spec, key: Element, rename: Rename) -> Element:
    """A copy of a keyframe; as in MuJoCo, the copy has a name even if the keyframe had none.

    If the keyframe's model got it from another model and has not been compiled since, it keeps its
    name.
    """
    twin = key.copy()
    if not key.values.get(PENDING):
        twin.values["name"] = f"{rename.prefix}{key.name}{rename.suffix}"
    twin.values[PENDING] = True
    return spec.append(twin)
