"""Ids of elements attached or added to frames, in random trees, against MuJoCo's specs."""

import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.compiler import compile_spec
from tests.compiler.oracle import compare

SPECS = (mujoco.MjSpec.from_string, mjjax.Spec.from_string)


class Trees:
    """Writes random trees whose elements have names; frames nest and stand between the others."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.names: dict[str, list[str]] = {}

    def new(self, kind: str) -> str:
        names = self.names.setdefault(kind, [])
        names.append(f"{kind}{len(names)}")
        return names[-1]

    def pick(self, kind: str) -> str:
        return str(self.random.choice(self.names[kind]))

    def pose(self) -> str:
        numbers = self.random.integers(-9, 9, 6) / 10
        return "pos='{} {} {}' euler='{} {} {}'".format(*numbers)

    def content(self, depth: int, world: bool, attached: tuple[str, ...] = ()) -> str:
        text = ""
        for _ in range(self.random.integers(1, 5)):
            kind = self.random.choice(["body", "frame", "geom", "site", "camera", "light", "joint"])
            if attached and self.random.random() < 0.3:
                prefix = f"{self.new('p')}_"
                body = self.random.choice(["", *(f"body='{name}'" for name in attached)])
                text += f"<attach model='c' prefix='{prefix}' {body}/>"
            elif kind == "joint" and not world:
                axis = self.random.choice(AXES)
                text += f"<joint name='{self.new('joint')}' axis='{axis}' armature='1'/>"
            elif kind in ("body", "frame") and depth:
                inner = self.content(depth - 1, world and kind == "frame", attached)
                inertia = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
                inner += inertia if kind == "body" else ""
                text += f"<{kind} name='{self.new(kind)}' {self.pose()}>{inner}</{kind}>"
            elif kind in ("geom", "site"):
                text += f"<{kind} name='{self.new(kind)}' size='.1' pos='{depth} 0 0'/>"
            elif kind in ("camera", "light"):
                text += f"<{kind} name='{self.new(kind)}' pos='{depth} 0 0'/>"
        return text

    def model(self, depth: int) -> str:
        inside = self.content(depth, world=True) + f"<frame name='{self.new('frame')}'/>"
        inside += f"<site name='{self.new('site')}'/>"
        return f"<mujoco><worldbody>{inside}</worldbody></mujoco>"


AXES = ("1 0 0", "0 1 0", "0 0 1")


@pytest.mark.feature("A015", "B85")
@pytest.mark.parametrize("seed", range(12))
def test_what_is_attached_and_added_has_mujocos_ids(seed: int) -> None:
    """Attached to frames, to sites, to what was attached, and added in between: as MuJoCo has it.

    What is written of it is the same model, here and for MuJoCo.
    """
    trees = Trees(seed)
    parent, steps = trees.model(3), []
    for i in range(5):
        kind = str(trees.random.choice(["frame", "frame", "site", "add", "add"]))
        if kind == "add":
            name, holder = f"new{i}", str(trees.random.choice(["frame", "body"]))
            holder = holder if "body" in trees.names else "frame"
            steps.append(("add", holder, trees.pick(holder), name))
            continue
        inner = Trees(100 * seed + i)
        child = inner.model(2)
        steps.append((kind, trees.pick(kind), child, f"p{i}_"))
        for what, names in inner.names.items():
            trees.names.setdefault(what, []).extend(f"p{i}_{name}" for name in names)
    theirs, ours = (_grown(parse, parent, steps) for parse in SPECS)
    reference = theirs.compile()
    compare(reference, compile_spec(ours))
    text = ours.to_xml()
    compare(reference, compile_spec(mjjax.Spec.from_string(text)))
    assert mujoco.MjModel.from_xml_string(text).names == reference.names
    ours.compiler.fusestatic = True  # which moves elements, and MuJoCo itself dies of
    compare(mujoco.MjModel.from_xml_string(ours.to_xml()), compile_spec(ours))


def _grown(parse, parent: str, steps: list[tuple[str, ...]]):
    spec = parse(parent)
    for kind, *rest in steps:
        if kind == "add":
            holder, target, name = rest
            found = getattr(spec, holder)(target)
            found.add_geom(name=name, size=[0.1, 0.1, 0.1])
            inner = found.add_frame(name=f"{name}f", pos=[0, 1, 0])
            inner.add_site(name=f"{name}s", size=[0.1, 0.1, 0.1])
            inner.add_body(name=f"{name}b", pos=[0, 0, 1]).add_geom(size=[0.1, 0.1, 0.1])
        else:
            target, child, prefix = rest
            spec.attach(parse(child), prefix=prefix, **{kind: target})
    return spec


@pytest.mark.feature("B37", "B85")
@pytest.mark.parametrize("seed", range(12))
def test_attach_elements_in_frames_have_mujocos_ids(seed: int) -> None:
    """`<attach>` anywhere among frames and bodies, of a body or a whole model."""
    child = Trees(seed)
    text = child.model(2)
    files = {"c.xml": text.encode()}
    trees = Trees(1000 + seed)
    inside = trees.content(3, True, tuple(child.names.get("body", ())))
    parent = "<mujoco><asset><model name='c' file='c.xml'/></asset>"
    parent += f"<worldbody>{inside}</worldbody></mujoco>"
    reference = mujoco.MjModel.from_xml_string(parent, files)
    compare(reference, compile_spec(mjjax.Spec.from_string(parent, assets=files)))
