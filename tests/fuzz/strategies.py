"""Makes small models from the table of the language: right in form, but hardly in meaning."""

import random
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

from mjjax.mjcf.schema import ELEMENTS, Attribute
from tests.fuzz.mutate import any_value

_DEPTH, _MOST_CHILDREN = 5, 4
_SECTIONS = ("worldbody", "worldbody", "asset", "default", "actuator", "sensor", "tendon")
_JOINTS = ("hinge", "slide", "ball")
_NAMES = ["a", "b", "c", "world", "main"]
_FILES = ("file", "fileright", "fileleft", "model")  # file names; there are no files


def _value(attribute: Attribute, rng: random.Random) -> str:
    if attribute.name in ("name", "class", "childclass"):
        return rng.choice(_NAMES)
    return any_value(attribute, rng, _NAMES)


def _element(tag: str, key: str, rng: random.Random, depth: int) -> str:
    schema = ELEMENTS[key]
    given = [
        f" {name}={quoteattr(_value(attribute, rng))}"
        for name, attribute in schema.attributes.items()
        if attribute.required or (name not in _FILES and rng.random() < 0.15)
    ]
    allowed = [
        (child, row)
        for child, (row, _) in schema.children.items()
        if not ELEMENTS[row].unsupported and row != "default"
    ]
    inside = ""
    if allowed and depth:
        inside = "".join(
            _element(*rng.choice(allowed), rng, depth - 1)
            for _ in range(rng.randint(0, _MOST_CHILDREN))
        )
    return f"<{tag}{''.join(given)}>{inside}</{tag}>"


@st.composite
def models(draw: st.DrawFn) -> bytes:
    """The XML of a model; one number decides its contents."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    extra = draw(st.lists(st.sampled_from(sorted(ELEMENTS["mujoco"].children)), max_size=3))
    tags = [*_SECTIONS[: draw(st.integers(1, len(_SECTIONS)))], *extra]
    sections = [
        _element(tag, tag, rng, _DEPTH) if tag != "worldbody" else _world(rng) for tag in tags
    ]
    return f"<mujoco>{''.join(sections)}</mujoco>".encode(errors="replace")


def _world(rng: random.Random) -> str:
    """A world with names to which the other sections may refer."""
    parts = [
        f'<body name="{name}"><joint name="{name}" type="{rng.choice(_JOINTS)}"/>'
        f'<geom name="{name}" size=".1"/><site name="{name}"/></body>'
        for name in _NAMES[:3]
    ]
    parts += [_element("body", "body", rng, _DEPTH - 1) for _ in range(rng.randint(0, 2))]
    return f"<worldbody>{''.join(parts)}</worldbody>"
