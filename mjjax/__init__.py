"""MuJoCo's physics in JAX: jit, vmap, shard and differentiate the simulation of MJCF models.

model = mjjax.Model.from_xml_path("humanoid.xml")
data = mjjax.make_data(model)
data = jax.jit(mjjax.step)(model, data)
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mjjax.core.below import whole_package
from mjjax.core.constants import VERSION as __version__  # noqa: F401 a public name
from mjjax.xla.threads import ensure_threads

if TYPE_CHECKING:
    from mjjax.api import *  # noqa: F403
    from mjjax.api import __all__  # noqa: F401

ensure_threads()
whole_package(lambda: importlib.import_module("mjjax.api"))


class _Lazy(ModuleType):
    """The package, which loads JAX and the engine when the first public name is used.

    Loading takes two seconds, before which a command can say what it is doing.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" or not name.startswith("__"):
            api = importlib.import_module("mjjax.api")
            public = {name: getattr(api, name) for name in api.__all__}
            self.__dict__.update(public, __all__=api.__all__)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module 'mjjax' has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        # Python stores a folder under its name when a module in it is imported. `collision` and
        # `render` are functions to users.
        if not (isinstance(value, ModuleType) and name in ("collision", "render")):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


sys.modules[__name__].__class__ = _Lazy
