"""Writes the numbers of a changed model back into its description (`mj_copyBack`)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mjjax.compiler.compile import run
from mjjax.compiler.elements.bodies import aligned
from mjjax.compiler.elements.geom_assets import mesh_pose
from mjjax.compiler.load import compile_model
from mjjax.core.below import does
from mjjax.core.enums import EqType, GeomType, JointType, ObjType
from mjjax.core.struct import specs
from mjjax.math import quat as q
from mjjax.mjcf import orientation as poses
from mjjax.mjcf.defaults import builtin
from mjjax.mjcf.element import Element
from mjjax.mjcf.spec import Spec
from mjjax.mjcf.table import DISABLE_FLAGS, ENABLE_FLAGS
from mjjax.model.model import Model
from mjjax.model.option import Option, Statistic
from mjjax.model.visual import VISUAL_PARTS

_ROUNDS = 3  # each round corrects values that follow from the changes of the last round
_ROUNDING = 100  # epsilons by which equal numbers may differ
_FREE = 2  # a joint that does not say whether its body is aligned
_DEGREES = 180 / np.pi
_FLAGS = {"disableflags": (DISABLE_FLAGS, 0), "enableflags": (ENABLE_FLAGS, 1)}
_NOT_OPTIONS = frozenset(("disableactuator", *_FLAGS))
_INERTIAL = ("ipos", "iquat", "mass", "inertia")
# Maps MuJoCo's prefix to fields that are attributes, written ``field`` or ``field=attribute``.
_FIELDS = {
    "body": "gravcomp user",
    "jnt": "stiffness margin actfrcrange=actuatorfrcrange solref=solreflimit solimp=solimplimit"
    " user",
    "geom": "solref solimp margin gap friction solmix rgba user",
    "site": "rgba user",
    "cam": "fovy ipd user",
    "light": "attenuation cutoff exponent ambient diffuse specular bulbradius intensity range",
    "mat": "texrepeat emission specular shininess reflectance metallic roughness rgba",
    "hfield": "size",
    "skin": "rgba inflate",
    "pair": "solref solimp margin gap friction solreffriction",
    "eq": "solref solimp",
    "tendon": "range actfrcrange=actuatorfrcrange margin stiffness damping armature frictionloss"
    " width rgba user lengthspring=springlength solref_lim=solreflimit solimp_lim=solimplimit"
    " solref_fri=solreffriction solimp_fri=solimpfriction",
    "actuator": "dynprm gainprm biasprm ctrlrange forcerange actrange gear cranklength lengthrange"
    " user",
    "sensor": "cutoff noise user",
    "key": "time qpos qvel act ctrl mpos mquat",
}
# Fields of the dofs, of which the first one of a joint counts.
_DOF_FIELDS = "armature damping frictionloss solref=solreffriction solimp=solimpfriction"
_KINDS = {"jnt": "joint", "cam": "camera", "mat": "material", "eq": "equality"}
# The contents of the data of a constraint, by type.
_DATA: dict[int, dict[str, slice | int]] = {
    EqType.CONNECT: {"anchor": slice(0, 3)},
    EqType.WELD: {"anchor": slice(0, 3), "relpose": slice(3, 10), "torquescale": 10},
    EqType.JOINT: {"polycoef": slice(0, 5)},
    EqType.TENDON: {"polycoef": slice(0, 5)},
}


@does("Spec.copy_back")
def copy_back(spec: Spec, model: Model) -> None:
    """See `Spec.copy_back`."""
    if spec.compiler["fusestatic"] or spec.compiler["discardvisual"]:
        raise ValueError("turn off fusestatic and discardvisual: the model is not as described")
    for last in (False,) * (_ROUNDS - 1) + (True,):
        copy = _Copy(spec, model)
        for part in _PARTS:
            part(copy)
        if last or not copy.count:
            _statistics(copy)
            return


class _Copy:
    """A description, the model to which it compiles, and the model to which it shall compile."""

    def __init__(self, spec: Spec, model: Model):
        self.spec, self.model, self.base = spec, model, compile_model(spec)
        if (model.structure.sizes, model.structure.names) != (
            self.base.structure.sizes,
            self.base.structure.names,
        ):
            raise ValueError("the model was not compiled from this description")
        self.ctx, self.count = run(spec), 0
        self.aligned = aligned(self.ctx)

    def value(self, field: str) -> np.ndarray:
        """A field of the model."""
        return np.asarray(getattr(self.model, field))

    def changed(self, *fields: str) -> list[int]:
        """The rows in which one of some fields differs."""
        return sorted(
            {int(i) for f in fields for i in _differing(self.value(f), getattr(self.base, f))}
        )

    def elements(self, prefix: str) -> Sequence[Element]:
        """The elements of a kind in the order of their ids."""
        kind = _KINDS.get(prefix, prefix)
        if kind == "body":
            return self.ctx.tree.bodies.elements
        if kind in self.ctx.tree.members:
            return self.ctx.members(kind).elements
        return self.ctx.contacts[kind] if kind == "pair" else self.spec.elements[kind]

    def write(self, element: Element, **values: Any) -> None:
        """Replaces attributes of an element."""
        element.values.update({name: _plain(value) for name, value in values.items()})
        self.count += 1

    def assign(self, prefix: str, field: str, attribute: str, scale: Any = 1.0) -> None:
        """Replaces one attribute of the elements whose row of a field differs.

        The model also decides whether a range limits, no longer the range itself.
        """
        name, elements = f"{prefix}_{field}", self.elements(prefix)
        value = (self.value(name).T * scale).T
        flag = f"{prefix}_{field.removesuffix('range')}limited"
        for row in (i for i in self.changed(name) if i < len(elements)):
            self.write(elements[row], **{attribute: value[row]})
            if field.endswith("range") and flag in self.model.structure.arrays:
                limited = f"{attribute.removesuffix('range')}limited"
                self.write(elements[row], **{limited: int(self.value(flag)[row])})
            if attribute in ("ctrlrange", "actrange"):
                self.write(elements[row], inheritrange=0.0)


def _differing(ours: np.ndarray, base: Any) -> np.ndarray:
    """The rows of two arrays that differ by more than rounding."""
    base = np.asarray(base)
    near = _ROUNDING * np.finfo(ours.dtype).eps * np.maximum(1, np.abs(base))
    same = (ours == base) | (np.abs(ours - base) <= near) | (np.isnan(ours) & np.isnan(base))
    return np.flatnonzero(~same.all(axis=tuple(range(1, same.ndim))))


def _plain(value: Any) -> Any:
    """Numbers as elements hold them."""
    if not isinstance(value, np.ndarray | np.generic):
        return value
    return tuple(value.tolist()) if value.ndim else value.item()


def _entries(text: str) -> Iterable[tuple[str, str]]:
    for entry in text.split():
        field, _, attribute = entry.partition("=")
        yield field, attribute or field


# ---- parts --------------------------------------------------------------------------------------


def _attributes(copy: _Copy) -> None:
    for prefix, text in _FIELDS.items():
        for field, attribute in _entries(text):
            copy.assign(prefix, field, attribute)


def _poses(copy: _Copy) -> None:
    """Poses, in the frames in which they are written; sizes go with them."""
    ctx = copy.ctx
    for prefix, shape in (("body", ()), ("geom", ("size",)), ("site", ("size",)), ("cam", ())):
        members = ctx.tree.bodies if prefix == "body" else ctx.members(_KINDS.get(prefix, prefix))
        for i in _moved(copy, prefix, ("pos", "quat", *shape)):
            element = members.elements[i]
            pos, quat = poses.compose(*_into(copy, members.frame[i]), *_pose(copy, prefix, i))
            if shape:
                copy.write(element, fromto=None)
            if prefix == "geom" and element.values["mesh"]:
                asset = mesh_pose(ctx, int(ctx.fields["geom_dataid"][i]), element.values["type"])
                pos, quat = poses.compose(pos, quat, *poses.invert(*asset))
            elif shape and element.values["type"] != GeomType.HFIELD:
                copy.write(element, size=copy.value(f"{prefix}_size")[i])
            copy.write(element, pos=pos, quat=quat, alt=None)
    for prefix, direction in (("jnt", "axis"), ("light", "dir")):
        members = ctx.members(_KINDS.get(prefix, prefix))
        for i in _moved(copy, prefix, ("pos", direction)):
            back, turn = _into(copy, members.frame[i])
            pos = back + q.rotate(turn, copy.value(f"{prefix}_pos")[i])
            vector = q.rotate(turn, copy.value(f"{prefix}_{direction}")[i])
            copy.write(members.elements[i], pos=pos, **{direction: vector})
    copy.spec.compiler["alignfree"] = 0
    for i in copy.aligned:
        for joint in (e for e in ctx.tree.bodies.elements[i].members() if e.kind == "joint"):
            copy.write(joint, align=_FREE)


def _moved(copy: _Copy, prefix: str, fields: Sequence[str]) -> list[int]:
    """Rows whose place differs or whose body gets its own frame back, without the world."""
    rows = copy.changed(*(f"{prefix}_{name}" for name in fields))
    if prefix == "body":
        return sorted({*rows, *copy.aligned} - {0})
    within = np.flatnonzero(np.isin(copy.value(f"{prefix}_bodyid"), copy.aligned))
    return sorted({*rows, *within.tolist()})


def _pose(copy: _Copy, prefix: str, i: int) -> tuple[np.ndarray, np.ndarray]:
    pos, quat = (copy.value(f"{prefix}_{name}")[i].astype(float) for name in ("pos", "quat"))
    return pos, quat


def _into(copy: _Copy, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """The pose that takes body coordinates into those of a frame."""
    return poses.invert(copy.ctx.frames.pos[frame], copy.ctx.frames.quat[frame])


def _joints(copy: _Copy) -> None:
    """Writes ranges and references in the units of the description, and values of joints' dofs."""
    joints, s = copy.elements("jnt"), copy.model.structure
    kind, unit = s.jnt_type, _DEGREES if copy.ctx.degree else 1.0
    turns = (kind == JointType.HINGE) | (kind == JointType.BALL)
    copy.assign("jnt", "range", "range", np.where(turns, unit, 1.0))
    for field, attribute in (("qpos0", "ref"), ("qpos_spring", "springref")):
        rows, value = set(copy.changed(field)), copy.value(field)
        for i in np.flatnonzero(kind >= JointType.SLIDE).tolist():
            if s.jnt_qposadr[i] in rows:
                scale = unit if turns[i] else 1.0
                copy.write(joints[i], **{attribute: scale * value[s.jnt_qposadr[i]]})
    for field, attribute in _entries(_DOF_FIELDS):
        for i in {int(s.dof_jntid[row]) for row in copy.changed(f"dof_{field}")}:
            copy.write(joints[i], **{attribute: copy.value(f"dof_{field}")[s.jnt_dofadr[i]]})
    sprung = {*copy.changed("jnt_stiffness"), *s.dof_jntid[copy.changed("dof_damping")].tolist()}
    for i in (i for i in sprung if any(joints[i].values["springdamper"])):
        damping = copy.value("dof_damping")[s.jnt_dofadr[i]]
        stiffness = copy.value("jnt_stiffness")[i]
        copy.write(joints[i], springdamper=(0.0, 0.0), stiffness=stiffness, damping=damping)


def _inertia(copy: _Copy) -> None:
    """Writes inertias that differ, or all of them if the whole model determines the inertias."""
    rows, compiler = copy.changed(*(f"body_{name}" for name in _INERTIAL)), copy.spec.compiler
    if rows and (compiler["inertiafromgeom"] == 1 or compiler["settotalmass"] > 0):
        rows = np.flatnonzero(copy.value("body_mass") > 0).tolist()
        compiler.update(inertiafromgeom=0, settotalmass=-1.0)
    for i in set(rows) - {0}:
        element = copy.ctx.tree.inertials.get(i)
        if element is None:
            body = copy.elements("body")[i]
            element = Element("inertial", dict(builtin("inertial")), body.origin, key="inertial")
            body.add(element)
        pos, quat, mass, moments = (copy.value(f"body_{name}")[i] for name in _INERTIAL)
        copy.write(element, pos=pos, quat=quat, alt=None, mass=mass)
        copy.write(element, diaginertia=moments, fullinertia=None)


def _relations(copy: _Copy) -> None:
    """Writes the data of constraints; for constraints between sites, all but their poses."""
    data, s = copy.value("eq_data"), copy.model.structure
    for i in copy.changed("eq_data"):
        element, sites = copy.elements("eq")[i], s.eq_objtype[i] == ObjType.SITE
        for name, place in _DATA[int(s.eq_type[i])].items():
            if not sites or name == "torquescale":
                copy.write(element, **{name: data[i][place]})


def _parts_of_elements(copy: _Copy) -> None:
    """Coefficients of tendons, and custom numbers."""
    wraps = [part for e in copy.elements("tendon") for part in e.children]
    for i in copy.changed("wrap_prm"):
        for name in {"coef", "divisor"} & set(wraps[i].values):
            copy.write(wraps[i], **{name: copy.value("wrap_prm")[i]})
    members = [part for e in copy.elements("tuple") for part in e.children]
    for i in copy.changed("tuple_objprm"):
        copy.write(members[i], prm=copy.value("tuple_objprm")[i])
    data, s = copy.value("numeric_data"), copy.model.structure
    found = np.searchsorted(s.numeric_adr, copy.changed("numeric_data"), "right") - 1
    for i in {int(i) for i in found}:
        start = s.numeric_adr[i]
        copy.write(copy.elements("numeric")[i], data=data[start : start + s.numeric_size[i]])


def _options(copy: _Copy) -> None:
    ours, base, spec = copy.model.opt, copy.base.opt, copy.spec
    for name in set(specs(Option)) - _NOT_OPTIONS:
        if _unequal(getattr(ours, name), getattr(base, name)):
            spec.option[name] = _plain(np.asarray(getattr(ours, name)))
    for name, (flags, setting) in _FLAGS.items():
        for bit, flag in enumerate(flags):
            now, before = (getattr(opt, name) >> bit & 1 for opt in (ours, base))
            if now != before:
                spec.flag[flag] = setting if now else 1 - setting
    if ours.disableactuator != base.disableactuator:
        groups = tuple(i for i in range(31) if ours.disableactuator >> i & 1)
        spec.option["actuatorgroupdisable"] = groups or None


def _statistics(copy: _Copy) -> None:
    """Writes only the statistics that would not be computed anyway."""
    for name in specs(Statistic):
        value = getattr(copy.model.stat, name)
        if _unequal(value, getattr(copy.base.stat, name)):
            copy.spec.statistic[name] = _plain(np.asarray(value))


def _visual(copy: _Copy) -> None:
    for part in VISUAL_PARTS:
        ours, base = getattr(copy.model.vis, part), getattr(copy.base.vis, part)
        for name in vars(ours):
            value = getattr(ours, name)
            if _unequal(value, getattr(base, name)):
                section = copy.spec.visual[part.rstrip("_")]
                section[name] = _plain(np.asarray(value))


def _unequal(ours: Any, base: Any) -> bool:
    return bool(len(_differing(np.atleast_1d(np.asarray(ours, float)), np.atleast_1d(base))))


_PARTS = (
    *(_attributes, _poses, _joints, _inertia, _relations, _parts_of_elements),
    *(_options, _visual),
)
