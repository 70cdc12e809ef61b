"""Small models made here, with every element that can be compiled and files of every kind."""

import io
import itertools
from pathlib import Path

import numpy as np

from tests.fuzz.mutate import Input

_FOLDER = Path(__file__).parent / "seeds"
_PART = (
    b'<mujoco><worldbody><body name="part"><joint/><geom size=".1"/></body></worldbody></mujoco>'
)
_OTHER = (
    b'<mujoco model="other"><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body>'
    b'</worldbody><actuator><motor joint="j"/></actuator></mujoco>'
)
_CORNERS = np.array(list(itertools.product((-1, 1), repeat=3)), np.float32)
_QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def assets() -> dict[str, bytes]:
    """The files that `seeds/files.xml` refers to."""
    from PIL import Image

    faces = np.array([[(a, b, c), (a, c, d)] for a, b, c, d in _QUADS], np.int32).reshape(-1, 3)
    lines = [f"v {x} {y} {z}" for x, y, z in _CORNERS.tolist()]
    lines += ["f " + " ".join(str(i + 1) for i in quad) for quad in _QUADS]
    rows = np.zeros(len(faces), [("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("end", "<u2")])
    rows["corner"] = _CORNERS[faces]
    sizes = np.array([len(_CORNERS), 0, 0, len(faces)], "<i4")
    picture = io.BytesIO()
    Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4)).save(picture, "PNG")
    grid = np.arange(6, dtype="<f4")
    return {
        "part.xml": _PART,
        "other.xml": _OTHER,
        "cube.obj": "\n".join(lines).encode(),
        "cube.stl": bytes(80) + np.array([len(faces)], "<i4").tobytes() + rows.tobytes(),
        "cube.msh": sizes.tobytes() + _CORNERS.tobytes() + faces.tobytes(),
        "picture.png": picture.getvalue(),
        "hills.bin": np.array([2, 3], "<i4").tobytes() + grid.tobytes(),
    }


def seeds() -> list[Input]:
    """The XML of the models."""
    names = ("world.xml", "files.xml")
    return [Input((_FOLDER / name).read_bytes(), assets()) for name in names]
