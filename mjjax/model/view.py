"""Access by name: `model.body("torso").mass`, `data.joint("knee").qpos`."""

import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mjjax.core.enums import JointType, ObjType
from mjjax.core.representation import shape_text, short, table
from mjjax.core.struct import Size, shapes, sources
from mjjax.core.words import listed, nearest
from mjjax.model.static_fields import TABLES, StaticFields
from mjjax.model.structure import NAMED, Structure


class Part(NamedTuple):
    """Rows of other tables that belong to one element.

    Attributes:
        prefixes: beginnings of the names of their fields, which views leave out; `""` last.
        first: static field with the element's first row.
        counts: function that gives the number of rows, or the sizes of the grid that they fill.
    """

    prefixes: tuple[str, ...]
    first: str
    counts: Callable[[Structure, int], tuple[int, ...]]


class ElementKind(NamedTuple):
    """How the fields of one kind of elements are declared.

    Attributes:
        size: the size that counts them.
        prefixes: beginnings of the names of their fields, which views leave out; `""` last.
        parts: rows of other tables that belong to an element, by the size that counts them.
    """

    size: str
    prefixes: tuple[str, ...]
    parts: Mapping[str, Part] = {}


def _numbers(*names: str) -> Callable[[Structure, int], tuple[int, ...]]:
    return lambda s, index: tuple(int(getattr(s, name)[index]) for name in names)


def _positions(s: Structure, joint: int) -> tuple[int, ...]:
    return (JointType(s.jnt_type[joint]).qpos_width(),)


def _dofs(s: Structure, joint: int) -> tuple[int, ...]:
    return (JointType(s.jnt_type[joint]).dof_width(),)


def _of(kind: str, rows: str, number: str = "") -> Part:
    """Rows of a mesh or skin: `mesh_vert` from `mesh_vertadr` on, `mesh_vertnum` of them."""
    return Part((f"{kind}_",), f"{kind}_{rows}adr", _numbers(f"{kind}_{number or rows}num"))


KINDS: dict[str, ElementKind] = {
    "actuator": ElementKind(
        "nu",
        ("actuator_", ""),
        {"na": Part(("",), "actuator_actadr", _numbers("actuator_actnum"))},
    ),
    "body": ElementKind("nbody", ("body_", "")),
    "camera": ElementKind("ncam", ("cam_",)),
    "equality": ElementKind("neq", ("eq_",)),
    "exclude": ElementKind("nexclude", ("exclude_",)),
    "geom": ElementKind("ngeom", ("geom_",)),
    "hfield": ElementKind(
        "nhfield",
        ("hfield_",),
        {"nhfielddata": Part(("hfield_",), "hfield_adr", _numbers("hfield_nrow", "hfield_ncol"))},
    ),
    "joint": ElementKind(
        "njnt",
        ("jnt_", ""),
        {
            "nq": Part(("",), "jnt_qposadr", _positions),
            "nv": Part(("dof_", ""), "jnt_dofadr", _dofs),
        },
    ),
    "key": ElementKind("nkey", ("key_",)),
    "light": ElementKind("nlight", ("light_",)),
    "material": ElementKind("nmat", ("mat_",)),
    "mesh": ElementKind(
        "nmesh",
        ("mesh_",),
        {
            "nmeshvert": _of("mesh", "vert"),
            "nmeshnormal": _of("mesh", "normal"),
            "nmeshtexcoord": _of("mesh", "texcoord"),
            "nmeshface": _of("mesh", "face"),
            "nmeshpoly": _of("mesh", "poly"),
        },
    ),
    "numeric": ElementKind(
        "nnumeric",
        ("numeric_",),
        {"nnumericdata": Part(("numeric_",), "numeric_adr", _numbers("numeric_size"))},
    ),
    "pair": ElementKind("npair", ("pair_",)),
    "sensor": ElementKind(
        "nsensor",
        ("sensor_",),
        {"nsensordata": Part(("sensor",), "sensor_adr", _numbers("sensor_dim"))},
    ),
    "site": ElementKind("nsite", ("site_",)),
    "skin": ElementKind(
        "nskin",
        ("skin_",),
        {
            "nskinvert": _of("skin", "vert"),
            "nskintexvert": _of("skin", "texcoord", "vert"),
            "nskinface": _of("skin", "face"),
            "nskinbone": _of("skin", "bone"),
        },
    ),
    "tendon": ElementKind(
        "ntendon",
        ("tendon_", "ten_"),
        {"nwrap": Part(("",), "tendon_adr", _numbers("tendon_num"))},
    ),
    "text": ElementKind(
        "ntext", ("text_",), {"ntextdata": Part(("text_",), "text_adr", _numbers("text_size"))}
    ),
    "texture": ElementKind(
        "ntex",
        ("tex_",),
        {
            "ntexdata": Part(
                ("tex_",), "tex_adr", _numbers("tex_height", "tex_width", "tex_nchannel")
            )
        },
    ),
    "tuple": ElementKind(
        "ntuple",
        ("tuple_",),
        {"ntupledata": Part(("tuple_",), "tuple_adr", _numbers("tuple_size"))},
    ),
}
# Sizes that count bodies where a sensor needs the fields, else nothing; what computes the fields.
COMPUTED_BY = {"nmomentum": "subtree_vel", "nreaction": "rne_postconstraint"}
# Fields of MuJoCo's views that have no meaning here, and why.
_SHORTCUT = "it is a shortcut of MuJoCo's C code"
_SPARSE = "it is an address in MuJoCo's sparse matrices, and ours are dense"
ABSENT: dict[str, str] = dict.fromkeys(("sameframe", "simplenum", "bvhadr", "bvhnum"), _SHORTCUT)
ABSENT |= dict.fromkeys(("Madr", "J_colind", "J_rowadr", "J_rownnz"), _SPARSE)
ABSENT |= {
    "qLDiagInv": "the factor of the inertia is not kept: call mjjax.factor_m(model, data)",
    "moment": "moments of actuators are not kept",
    "wrapadr": "points of paths are not kept",
    "wrapnum": "points of paths are not kept",
    "graph": "hulls of meshes are in hull, hulladr",
    "graphadr": "hulls of meshes are in hull, hulladr",
    "plugin": "engine plugins are refused when a model is loaded",
}


class Field(NamedTuple):
    """A field that a view has.

    Attributes:
        name: its name in the `Model` or `Data`.
        shape: its shape there.
    """

    name: str
    shape: tuple[Size, ...]


@functools.lru_cache(maxsize=128)
def view_fields(owner: type, kind: str) -> dict[str, Field]:
    """The fields of a kind's views on a `Model` or `Data`, by their names in the view.

    Fields with one row per element come first. Where two fields have the same name, the first wins.
    """
    own = KINDS[kind]
    declared = shapes(owner)
    if issubclass(owner, StaticFields):
        declared |= {name: spec.shape for name, spec in TABLES.items()}
    sizes = {own.size: own.prefixes} | {size: part.prefixes for size, part in own.parts.items()}
    if kind == "body":
        sizes |= dict.fromkeys(COMPUTED_BY, own.prefixes)
    found: dict[str, Field] = {}
    for size, prefixes in sizes.items():
        for name, shape in declared.items():
            if shape[:1] == (size,):
                prefix = next((p for p in prefixes if name.startswith(p)), None)
                if prefix is not None:
                    found.setdefault(name.removeprefix(prefix), Field(name, shape))
    return found


class View:
    """The rows that belong to one named element, in a `Model` or a `Data`.

    Fields have the names that MuJoCo's views give them: `model.geom("foot").size` is the row of
    `geom_size`. A field has the shape of its row: a number where MuJoCo has an array of one number,
    (9,) for a rotation. If a field has several rows of one element, these rows are its first axis:
    the coordinates and dofs of a joint (`qpos`, `damping`, ...), the readings of a sensor (`data`),
    the vertices of a mesh (`vert`). The `data` of a height field has shape (nrow, ncol), that of a
    texture (height, width, nchannel). In a batched `Data` the worlds come first. `print` shows all.

    A field has the derivative of the array that it is read from. You cannot write to a view; use
    `replace` to make a model or data with other numbers.

    Attributes:
        id: MuJoCo's id.
        name: name, `""` if unnamed.
    """

    id: int
    name: str

    def __init__(self, owner: Any, kind: str, name: str | int):
        index = element_id(owner.structure, kind, name, f"{kind}()")
        found = owner.structure.names[kind][index]
        vars(self).update(_owner=owner, _kind=kind, id=index, name=found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        field = view_fields(type(self._owner), self._kind).get(name)
        if field is None:
            raise AttributeError(self._without(name))
        value = getattr(self._owner, field.name)
        size, inner = field.shape[0], len(field.shape) - 1
        if size in COMPUTED_BY and not value.shape[-len(field.shape)]:
            raise AttributeError(
                f"no sensor needs {name}, so it is empty: call "
                f"mjjax.{COMPUTED_BY[size]}(model, data) before"
            )
        rows, grid = self._rows(size)
        value = value[(..., rows) + (slice(None),) * inner]
        return value.reshape(*value.shape[:-1], *grid) if len(grid) > 1 else value

    def __setattr__(self, name: str, value: Any) -> None:
        field = view_fields(type(self._owner), self._kind).get(name)
        full = field.name if field else name
        owner = type(self._owner).__name__.lower()
        raise AttributeError(
            f"a view cannot be written to: {owner} = {owner}.replace({full}=...) makes a new one"
        )

    def __dir__(self) -> list[str]:
        return ["id", "name", *view_fields(type(self._owner), self._kind)]

    def __repr__(self) -> str:
        rows = []
        for name, field in view_fields(type(self._owner), self._kind).items():
            if field.shape[0] not in COMPUTED_BY:
                rows.append((name, self._shown(field)))
        return table(f"{self._kind} {self.id} {self.name!r}", rows)

    def _rows(self, size: Size) -> tuple[int | slice, tuple[int, ...]]:
        """The element's rows in fields that `size` counts, and the grid that they fill."""
        part = KINDS[self._kind].parts.get(str(size))
        if part is None:
            return self.id, ()
        s = self._owner.structure
        first = int(getattr(s, part.first)[self.id])
        if first < 0:
            return slice(0, 0), ()
        grid = part.counts(s, self.id)
        return slice(first, first + math.prod(grid)), grid

    def _shown(self, field: Field) -> str:
        """A field's rows as text: numbers if they are few and known. Reads them without JAX."""
        if field.name in sources(type(self._owner)):
            return "made when it is read"
        value = getattr(self._owner, field.name)
        if not hasattr(value, "shape"):
            return short(value)
        rows, grid = self._rows(field.shape[0])
        worlds = value.shape[: len(value.shape) - len(field.shape)]
        text = shape_text(value.dtype, (*worlds, *grid, *value.shape[len(worlds) + 1 :]))
        if worlds or len(grid) > 1:
            return text
        try:
            return short(np.asarray(value)[rows])
        except (TypeError, RuntimeError):  # traced, or deleted
            return text

    def _without(self, name: str) -> str:
        """The message about a field that the view does not have."""
        fields = view_fields(type(self._owner), self._kind)
        text = f"a {self._kind} of a {type(self._owner).__name__} has no {name!r}"
        if name in ABSENT:
            return f"{text}: {ABSENT[name]}; there are {listed(name, tuple(fields))}"
        hint = nearest(name, fields)
        return f"{text}; {hint}" if hint else f"{text}; there are {listed(name, tuple(fields))}"


def element_id(s: Structure, kind: str, element: Any, what: str) -> int:
    """The id of an element, as a number that is known while tracing.

    Args:
        s: structure.
        kind: name of its kind in a `Structure`.
        element: its name, its id or a view of it.
        what: name of the caller, for the message.

    Raises:
        KeyError: no element has that name.
        IndexError: no element has that id.
        TypeError: `element` is neither a name nor an id nor a view of that kind, or it is traced.
    """
    if isinstance(element, str):
        return s.id_of(kind, element)
    given: Any = element
    if isinstance(element, View):
        given = element.id if element._kind == kind else f"a {element._kind}"
    try:
        index = operator.index(given)
    except TypeError:
        given = given if isinstance(given, str) else short(given)
        raise TypeError(
            f"{what} takes a name or an id that is known while tracing, not {given}"
        ) from None
    count = len(s.names[kind])
    if not 0 <= index < count:
        valid = f"ids are 0 to {count - 1}" if count else f"the model has no {kind}"
        raise IndexError(f"{what}: no {kind} {index}: {valid}")
    return index


def _view(kind: str, what: str) -> Callable[[Any, str | int], View]:
    """A method that gives the view of one element."""

    def find(self: Any, name: str | int) -> View:
        return View(self, kind, name)

    find.__name__, find.__qualname__ = kind, f"Named.{kind}"
    find.__doc__ = what
    return find


class Named:
    """Access by name, for `Model` and `Data`: `model.body("torso").id`, `data.joint("knee").qpos`.

    Each method takes a name, or an id that is known while tracing, and returns a `View`. If there
    is no such element, it raises `KeyError` for a name and `IndexError` for an id. In a compiled
    program a view costs no more than the rows that you read.
    """

    actuator = _view("actuator", "An actuator and its activations.")
    body = _view("body", "A body.")
    camera = cam = _view("camera", "A camera.")
    equality = eq = _view("equality", "An equality constraint.")
    geom = _view("geom", "A geom.")
    joint = jnt = _view("joint", "A joint, its coordinates and its dofs.")
    light = _view("light", "A light.")
    sensor = _view("sensor", "A sensor; `data` are its readings.")
    site = _view("site", "A site.")
    tendon = ten = _view("tendon", "A tendon and the objects on its path.")


class NamedInModel(Named):
    """Access by name to the kinds of elements that only a `Model` has."""

    exclude = _view("exclude", "An excluded pair of bodies.")
    hfield = _view("hfield", "A height field; `data` are its elevations (nrow, ncol).")
    key = keyframe = _view("key", "A keyframe.")
    material = mat = _view("material", "A material.")
    mesh = _view("mesh", "A mesh, its vertices and triangles.")
    numeric = _view("numeric", "A custom numeric field.")
    pair = _view("pair", "An explicit pair of geoms.")
    skin = _view("skin", "A skin, its vertices, triangles and bones.")
    text = _view("text", "A custom text field; `data` are its zero-terminated bytes.")
    texture = tex = _view("texture", "A texture; `data` are pixels (height, width, nchannel).")
    tuple = _view("tuple", "A custom tuple.")


def methods(owner: type) -> dict[str, tuple[list[str], str]]:
    """Names of the methods of each kind on a `Model` or `Data`, and their descriptions."""
    found: dict[str, tuple[list[str], str]] = {}
    for cls in (Named, NamedInModel):
        for name, method in vars(cls).items() if issubclass(owner, cls) else ():
            if inspect.isfunction(method):
                found.setdefault(method.__name__, ([], method.__doc__ or ""))[0].append(name)
    return found


def name2id(model: Any, kind: ObjType | int, name: str) -> int:
    """Id of the element called `name`, or -1 if there is none (`mj_name2id`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names.index(name) if name and name in names else -1


def id2name(model: Any, kind: ObjType | int, index: int) -> str | None:
    """Name of an element; None if the id is invalid or the element has no name (`mj_id2name`)."""
    names = model.structure.names.get(NAMED.get(ObjType(kind), ""), ())
    return names[index] or None if 0 <= index < len(names) else None
