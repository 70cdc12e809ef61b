"""Mutations of a model and of the files that it refers to: of bytes, and of the XML tree."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import lxml.etree as etree

from mjjax.mjcf.keywords import KEYWORDS
from mjjax.mjcf.schema import ELEMENTS, Attribute

_CHANGES = (1, 1, 1, 2, 4)  # numbers of changes of one input
NUMBERS = (
    "0 -1 1 2 7 -0.5 1e-9 1e-320 1e30 1e308 -1e308 nan inf -inf 1e999 255 1000 65536 1000000 "
    "2147483647 -2147483648 2147483648 99999999999999999999 0x10 1_0 one"
).split()
TEXTS = (
    "",
    " ",
    "a",
    "world",
    "main",
    "../x",
    "/etc/passwd",
    "\u00e9\u4e16",
    "a b",
    "%s",
    "x" * 9999,
)


@dataclass
class Input:
    """A model as it is given to the loader.

    Attributes:
        xml: the main file.
        assets: contents of the files that it refers to.
        base: directory of the other files, or None if there are none.
    """

    xml: bytes
    assets: dict[str, bytes] = field(default_factory=dict)
    base: str | None = None


def mutated(given: Input, rng: random.Random) -> Input:
    """The input with a few changes, most of them in the tree of its XML."""
    xml, assets = given.xml, dict(given.assets)
    for _ in range(rng.choice(_CHANGES)):
        place = rng.random()
        if assets and place < 0.15:
            name = rng.choice(sorted(assets))
            assets[name] = of_bytes(assets[name], rng)
        elif place < 0.3:
            xml = of_bytes(xml, rng)
        else:
            xml = of_tree(xml, rng)
    return Input(xml, assets, given.base)


# ---- bytes --------------------------------------------------------------------------------------


def _part(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + int(2 ** rng.uniform(0, 10)))


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _delete(data: bytes, rng: random.Random) -> bytes:
    start, end = _part(data, rng)
    return data[:start] + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at, new = rng.randrange(len(data)), rng.randbytes(rng.randint(1, 16))
    return data[:at] + new + data[at:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _part(data, rng)
    return data[:end] + data[start:end] * rng.randint(1, 20) + data[end:]


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _splice(data: bytes, rng: random.Random) -> bytes:
    (start, end), at = _part(data, rng), rng.randrange(len(data))
    return data[:at] + data[start:end] + data[at + end - start :]


def _word(data: bytes, rng: random.Random) -> bytes:
    """Replaces four bytes by a number that may be a size in a binary file."""
    at = rng.randrange(min(len(data), 128))
    number = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 2**16, 10**6))
    return data[:at] + number.to_bytes(4, "little", signed=True) + data[at + 4 :]


_BYTES = (_flip, _delete, _insert, _repeat, _truncate, _splice, _word)


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """The data with one change that ignores its format."""
    return rng.choice(_BYTES)(data, rng) if data else rng.randbytes(8)


# ---- tree ---------------------------------------------------------------------------------------

_KEYS: dict[str, list[str]] = {}  # rows of the table by tag
for _row in ELEMENTS.values():
    for _tag, (_key, _) in _row.children.items():
        _KEYS.setdefault(_tag, []).append(_key)
_TAGS = sorted(_KEYS)


def any_value(attribute: Attribute, rng: random.Random, names: list[str]) -> str:
    """A value that may be right or wrong for an attribute."""
    if rng.random() < 0.1:
        return rng.choice((*TEXTS, *NUMBERS))
    if attribute.kind in KEYWORDS:
        return rng.choice([*KEYWORDS[attribute.kind], "auto"])
    if attribute.kind == "text":
        return rng.choice([*names, *TEXTS])
    count = attribute.count or rng.choice((1, 3, 4, 7, 12, 20_000))
    if not attribute.scalar and rng.random() < 0.1:
        count = max(0, count + rng.choice((-1, 1)))
    if rng.random() < 0.5:
        return " ".join(rng.choice(NUMBERS[:16]) for _ in range(count))
    return " ".join(f"{rng.uniform(-1, 2):.3g}" for _ in range(count))


def _attributes(element: etree._Element, rng: random.Random) -> dict[str, Attribute]:
    keys = _KEYS.get(str(element.tag), ["geom"])
    return ELEMENTS[rng.choice(keys)].attributes


def _names(root: etree._Element) -> list[str]:
    return sorted({e.get("name", "") for e in root.iter(etree.Element)})


def _change(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    """Gives an attribute another value."""
    if not element.attrib:
        return
    name = str(rng.choice(sorted(map(str, element.attrib))))
    attribute = _attributes(element, rng).get(name) or Attribute(name, "text")
    element.set(name, any_value(attribute, rng, _names(root)))


def _one_number(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    """Replaces one word of an attribute by a strange number."""
    if element.attrib:
        name = rng.choice(sorted(map(str, element.attrib)))
        words = str(element.get(name)).split() or [""]
        words[rng.randrange(len(words))] = rng.choice(NUMBERS)
        element.set(name, " ".join(words))


def _give(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    """Gives the element another of its attributes."""
    found = _attributes(element, rng)
    if found:
        attribute = found[rng.choice(sorted(found))]
        element.set(attribute.name, any_value(attribute, rng, _names(root)))


def _take(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    if element.attrib:
        del element.attrib[rng.choice(sorted(map(str, element.attrib)))]


def _drop(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _copy(element: etree._Element) -> etree._Element:
    return etree.fromstring(etree.tostring(element))


def _twice(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    if element is not root:
        element.addnext(_copy(element))


def _move(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    if element is not root:
        rng.choice(list(root.iter(etree.Element))).append(_copy(element))
        _drop(root, element, rng)


def _rename(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    element.tag = rng.choice(_TAGS)


def _deepen(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    """Puts the element inside many others of its kind."""
    if element is root:
        return
    for _ in range(rng.choice((3, 30, 150, 300))):
        outer = etree.Element(rng.choice((str(element.tag), "body", "frame")))
        parent = element.getparent()
        if parent is None:
            return
        parent.replace(element, outer)
        outer.append(element)


def _child(root: etree._Element, element: etree._Element, rng: random.Random) -> None:
    """Gives the element another child with some attributes."""
    allowed = ELEMENTS[rng.choice(_KEYS.get(str(element.tag), ["mujoco"]))].children
    tag = rng.choice(sorted(allowed) or _TAGS)
    key = allowed[tag][0] if tag in allowed else rng.choice(_KEYS[tag])
    child = etree.SubElement(element, tag)
    for name, attribute in ELEMENTS[key].attributes.items():
        if attribute.required or rng.random() < 0.2:
            child.set(name, any_value(attribute, rng, _names(root)))


_Change = Callable[[etree._Element, etree._Element, random.Random], None]
_TREE: tuple[_Change, ...] = (
    *(_change, _one_number, _give, _child) * 3,
    *(_take, _drop, _twice, _move, _rename, _deepen),
)


def of_tree(xml: bytes, rng: random.Random) -> bytes:
    """The XML with one change in its tree, or in its bytes if it is broken already."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(xml, parser)
        rng.choice(_TREE)(root, rng.choice(list(root.iter(etree.Element))), rng)
        return etree.tostring(root)
    except (etree.XMLSyntaxError, ValueError):  # text that XML cannot hold
        return of_bytes(xml, rng)
