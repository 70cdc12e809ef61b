"""Stand-ins for the files that MuJoCo Playground downloads.

Meshes are boxes and textures grey. Two robots whose MJCF is downloaded too are in `stand_ins`: arms
and legs of the same sizes, with the same names.
"""

import importlib
import io
import itertools
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_HALF = 0.03  # half size of a stand-in [m]
_CORNERS = np.array(list(itertools.product((-_HALF, _HALF), repeat=3)))
_FACES = (
    (0, 1, 3),
    (0, 3, 2),
    (4, 6, 7),
    (4, 7, 5),
    (0, 4, 5),
    (0, 5, 1),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
    (1, 5, 7),
    (1, 7, 3),
)


def without_downloads() -> None:
    """Lets Playground load its robots without the network, from stand-ins for missing files."""
    mujoco: Any = importlib.import_module("mujoco")
    mjx_env: Any = importlib.import_module("mujoco_playground._src.mjx_env")
    mjx_env.ensure_menagerie_exists = lambda: None
    mjx_env.MENAGERIE_PATH = type(mjx_env.MENAGERIE_PATH)(Path(__file__).parent / "stand_ins")
    load = mujoco.MjModel.from_xml_string

    def from_xml_string(xml: str | bytes, assets: Mapping[str, bytes] | None = None) -> Any:
        return load(xml, with_stand_ins(xml, assets or {}))

    mujoco.MjModel.from_xml_string = staticmethod(from_xml_string)


def with_stand_ins(xml: str | bytes, assets: Mapping[str, bytes]) -> dict[str, bytes]:
    """The assets, and a stand-in for each file that is named and missing."""
    found = dict(assets)
    xml = xml.decode() if isinstance(xml, bytes) else xml
    texts = [xml, *(x.decode() for name, x in assets.items() if name.endswith(".xml"))]
    for name in itertools.chain(*(re.findall(r'file="([^"]+)"', text) for text in texts)):
        base = name.rpartition("/")[2]
        maker = _MAKERS.get(base.rpartition(".")[2].lower())
        if maker and base not in found and name not in found:
            found[base] = maker()
    return found


def _stl() -> bytes:
    triangles = (struct.pack("<12fH", 0, 0, 0, *_CORNERS[list(f)].ravel(), 0) for f in _FACES)
    return bytes(80) + struct.pack("<I", len(_FACES)) + b"".join(triangles)


def _obj() -> bytes:
    lines = [f"v {x} {y} {z}" for x, y, z in _CORNERS]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in _FACES]
    return "\n".join(lines).encode()


def _png() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (12, 12), (128, 128, 128)).save(file, "png")
    return file.getvalue()


_MAKERS = {"stl": _stl, "obj": _obj, "png": _png}
