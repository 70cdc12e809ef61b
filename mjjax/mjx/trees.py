"""`Model`, `Data` and `Contact` with MJX's names and shapes, each around one of ours."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

import mjjax
from mjjax.core.representation import represent
from mjjax.core.struct import shapes
from mjjax.mjx.bind import Bound, bound

# MJX has these rotation matrices as (n, 3, 3), MuJoCo and mjjax as (n, 9).
_MATRICES = frozenset("xmat ximat geom_xmat site_xmat cam_xmat cam_mat0 frame".split())
# Fields of MJX that mjjax computes on demand.
_COMPUTED = {"efc_J": "constraint_jacobian", "efc_AR": "project_constraint", "qLD": "factor_m"}
# Results of `rne_postconstraint` and `subtree_vel`.
_OF_BODIES = frozenset("cacc cfrc_int cfrc_ext subtree_linvel subtree_angmom".split())


class Impl(enum.Enum):
    """MJX's implementations. Arguments `impl` may be any of them; there is one here, `MJJAX`."""

    C = "c"
    CPP = "cpp"
    JAX = "jax"
    WARP = "warp"
    MJJAX = "mjjax"


class Wrapper:
    """A tree of mjjax, whose fields are read and replaced in MJX's shapes.

    Reading a field adds at most a reshape to a program. JAX maps over the leaves of our tree.

    Attributes:
        native: the tree of mjjax.
    """

    __slots__ = ("native",)
    native: Any

    def __init_subclass__(cls) -> None:
        jax.tree_util.register_pytree_with_keys(
            cls,
            lambda tree: (((jax.tree_util.GetAttrKey("native"), tree.native),), None),
            _made(cls),
        )

    def __init__(self, native: Any):
        object.__setattr__(self, "native", native)

    def __getattr__(self, name: str) -> Any:
        if name == "native" or name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.native, name)
        shape = getattr(value, "shape", ())
        return value.reshape(*shape[:-1], 3, 3) if name in _MATRICES and shape else value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.native, name, value)  # says how to make a new one

    def __getstate__(self) -> Any:
        return self.native

    def __setstate__(self, native: Any) -> None:
        object.__setattr__(self, "native", native)

    def __getitem__(self, index: Any) -> Any:
        """Some worlds of a batch: `data[0]`, `data[:, 2:4]`."""
        return jax.tree.map(lambda x: x[index], self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.native)})

    def __repr__(self) -> str:
        return repr(self.native)

    @property
    def _impl(self) -> Any:
        """The same tree: MJX keeps the fields of an implementation here."""
        return self

    def replace(self, **changes: Any) -> Any:
        """The same tree with some fields changed; values have MJX's shapes.

        Raises:
            TypeError: there is no such field, or a value is not an array of numbers.
        """
        return type(self)(self.native.replace(**{n: _ours(n, x) for n, x in changes.items()}))

    def tree_replace(self, params: Mapping[str, Any]) -> Any:
        """The same tree with some fields changed, by names such as `"opt.timestep"`."""
        new = self
        for path, value in params.items():
            new = _with(new, [part for part in path.split(".") if part != "_impl"], value)
        return new


def _made(cls: type[Wrapper]) -> Any:
    return lambda _, children: cls(children[0])


def _ours(name: str, value: Any) -> Any:
    """A value of MJX's shape, in ours."""
    if isinstance(value, Wrapper):
        return value.native
    shape = getattr(value, "shape", ())
    matrices = name in _MATRICES and shape[-2:] == (3, 3)
    return value.reshape(*shape[:-2], 9) if matrices else value


def _with(tree: Any, path: list[str], value: Any) -> Any:
    first, *rest = path
    return tree.replace(**{first: _with(getattr(tree, first), rest, value) if rest else value})


class Contact(Wrapper):
    """Contact slots (`mjx.Contact`); `frame` is (ncon, 3, 3). An empty slot has `geom == -1`."""


class Model(Wrapper):
    """A model (`mjx.Model`) with MuJoCo's names; see `mjjax.Model`.

    Make one with `put_model`. `native` is the `mjjax.Model`. `replace` and `tree_replace` also
    work on trees of marks, such as `in_axes` of `jax.vmap`.
    """

    native: mjjax.Model
    impl: ClassVar[Impl] = Impl.MJJAX

    def bind(self, obj: Any) -> Bound:
        """The fields of elements of a spec: `model.bind(spec.joints).stiffness`."""
        return bound(self, obj, self)


@jax.tree_util.register_pytree_with_keys_class
class Kept:
    """Fields of a `Data` that a program keeps of each step, and None for those that it does not."""

    def __init__(self, fields: Mapping[str, Any]):
        vars(self).update(fields)

    __repr__ = represent

    def replace(self, **changes: Any) -> "Kept":
        if unknown := changes.keys() - vars(self).keys():
            raise TypeError(f"this Data was made without {', '.join(sorted(unknown))}")
        return Kept(vars(self) | changes)

    def tree_flatten_with_keys(self) -> Any:
        own = vars(self)
        return [(jax.tree_util.GetAttrKey(name), x) for name, x in own.items()], tuple(own)

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], children: Iterable[Any]) -> "Kept":
        return cls(dict(zip(names, children, strict=True)))


class Data(Wrapper):
    """State and results of a world (`mjx.Data`) with MuJoCo's names; see `mjjax.Data`.

    Make one with `make_data` or `put_data`. `native` is the `mjjax.Data`. Rotations are (n, 3, 3).
    A `Data` of some fields, `Data(qpos=qpos, ctrl=None)`, holds these and cannot be stepped.
    """

    native: mjjax.Data
    impl: ClassVar[Impl] = Impl.MJJAX

    def __init__(self, native: Any = None, **fields: Any):
        super().__init__(Kept(fields) if fields else native)

    def __getattr__(self, name: str) -> Any:
        if name in _COMPUTED:
            how = f"mjjax.{_COMPUTED[name]}(model.native, data.native)"
            raise AttributeError(f"Data does not keep {name}; {how} computes it")
        value = super().__getattr__(name)
        if name in _OF_BODIES and getattr(value, "shape", (1, 1))[-2] == 0:
            bodies = self.native.structure.nbody  # zero until they are computed, as in MuJoCo
            return jnp.zeros((*value.shape[:-2], bodies, value.shape[-1]), value.dtype)
        return value

    @property
    def contact(self) -> Contact:
        """The contacts."""
        return Contact(self.native.contact)

    def bind(self, model: Model, obj: Any) -> Bound:
        """The fields of elements of a spec: `data.bind(model, spec.joints).qpos`."""
        return bound(self, obj, model)


# Programs make a `Data` of the fields that MJX's class declares.
Data.__annotations__ = dict.fromkeys(shapes(mjjax.Data), Any)
