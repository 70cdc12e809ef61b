"""Materials."""

import numpy as np

from mjjax.compiler.common.context import Context
from mjjax.compiler.common.fields import bools, reals
from mjjax.mjcf.keywords import KEYWORDS

_ROLES = KEYWORDS["texrole"]
_REALS = ("emission", "specular", "shininess", "reflectance", "metallic", "roughness")


def compile_materials(ctx: Context) -> None:
    """Adds the fields `mat_*`; `mat_texid` has a column for each role, -1 for no texture."""
    elements, f = ctx.spec.elements["material"], ctx.fields
    f["mat_texid"] = np.full((len(elements), 1 + len(_ROLES)), -1, np.int32)
    f["mat_texid"][:, _ROLES["rgb"]] = ctx.names.find_all("texture", elements, "texture")
    for row, element in zip(f["mat_texid"], elements, strict=True):
        for layer in element.children:
            row[layer.values["role"]] = ctx.names.find("texture", layer.values["texture"], layer)
    f["mat_texuniform"] = bools(elements, "texuniform")
    f["mat_texrepeat"] = reals(elements, "texrepeat", 2)
    f["mat_rgba"] = reals(elements, "rgba", 4)
    for name in _REALS:
        f[f"mat_{name}"] = reals(elements, name)
