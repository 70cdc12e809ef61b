"""Mesh files: their contents are MuJoCo's, and they are found in the same folders."""

import itertools
import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mjjax import mjcf
from mjjax.compiler import compile_spec
from mjjax.core.errors import MjcfError
from tests.compiler.oracle import assert_same, compare, compiled, refused

VERT = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0, 0], [2, 2, 2]], np.float32)
FACE = np.array([[0, 2, 1], [4, 1, 3], [1, 2, 3], [0, 3, 2]], np.int32)
V = "".join(f"v {x} {y} {z}\n" for x, y, z in VERT)
F = "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACE)
VN, VT = "vn 0 0 1\nvn 1 0 0\n", "vt .1 .2\nvt .3 .4\nvt .5 .6\n"
_COUNTER = itertools.count()


def unique(extension: str) -> str:
    """A file name that no other test uses: MuJoCo caches files by name."""
    return f"meshfile{next(_COUNTER)}.{extension}"


def model(name: str, attributes: str = "", compiler: str = "") -> str:
    """A free body with the mesh of a file."""
    return (
        f'<mujoco><compiler {compiler}/><asset><mesh name="m" file="{name}" {attributes}/></asset>'
        '<worldbody><body><freejoint/><geom size=".1"/><geom type="mesh" mesh="m"/></body>'
        "</worldbody></mujoco>"
    )


def stl(corners: np.ndarray, count: int | None = None) -> bytes:
    """A binary STL file of triangles (n, 3, 3)."""
    rows = (struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in corners)
    return b"\0" * 80 + struct.pack("<i", len(corners) if count is None else count) + b"".join(rows)


def msh(normal: int = 0, texcoord: int = 0, sizes: tuple[int, ...] | None = None) -> bytes:
    """A file in MuJoCo's own format, with numbers of normals and texture coordinates."""
    sizes = sizes or (len(VERT), normal, texcoord, len(FACE))
    parts = (VERT, VERT[:normal], VERT[:texcoord, :2], FACE)
    return struct.pack("<4i", *sizes) + b"".join(part.tobytes() for part in parts)


@pytest.mark.feature("B26", "A002")
@pytest.mark.parametrize(
    "text",
    [
        V + F,
        (V + F).replace("\n", "\r\n"),
        "  " + (V + F).replace(" ", "\t").replace("\n", "\n  "),
        V,
        V.replace("\n", " 1 0 0\n") + F,
        "o a\n" + V + F + "o b\nf 1 3 6\n",
        "g a\n" + V + "g b\n" + F + "usemtl c\nf 1 3 6\ng d\nf 2 3 6\n",
        V + F + "f 1 2\n# comment\nhello\n",
        V + "f -6 -4 -5\nf 1 2 4\nf 2 3 4\nf 1 4 3\n",
        V + "f 1 3 6 2\n" + F,
        V + VN + "f 1//1 3//1 2//2\nf 1//1 2//1 4//1\nf 2//1 3//1 4//1\nf 1//1 4//1 3//1\n",
        V + VT + "f 1/1 3/1 2/2\nf 1/3 2/1 4/2\nf 2/1 3/1 4/1\nf 1/1 4/1 3/1\n",
        V + VN + VT + "f 1/1/1 3/2/1 2/3/1\nf 1//1 2//1 4//1\nf 2/1 3/1 4/1\nf 1 4 3\n",
        V + VN + VT + "f 1/1/1 3/2/1 2/3/1\nf 1/1/1 2/1/1 4/1/1\nf 2 3 4\nf 1 4 3\n",
        V + VT + "f 1a/1 3.5/1 2\\\nf 1 2, 4#\nf 2/1 3/ 4\nf 1 4 3\n",
        "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 .1 0\nv 0 1 0\nv 0 0 1\nf 1 2 3 4 5\n" + "f 1 2 6\n",
    ],
)
def test_obj(text: str) -> None:
    """OBJ files as people write them: line ends, groups, polygons, partial and relative indices."""
    for attributes in ('inertia="shell"', 'inertia="shell" scale="-1 1 2"'):
        name = unique("obj")
        assert_same(model(name, attributes), assets={name: text.encode()})


@pytest.mark.feature("B26")
@pytest.mark.parametrize("corners", [4, 5, 6, 9])
def test_polygons_are_cut_as_in_mujoco(corners: int) -> None:
    """Faces of four or more corners, even if bent, are cut into MuJoCo's triangles."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ring = rng.normal(size=(corners, 3))
        ring = ring[np.argsort(np.arctan2(ring[:, 1], ring[:, 0]))]
        ring[:, 2] *= seed % 3
        ring = np.roll(ring, seed % 2, axis=1)
        lines = [f"v {x:.7g} {y:.7g} {z:.7g}" for x, y, z in [*ring, [4, 5, 6]]]
        lines.append("f " + " ".join(str(i + 1) for i in range(corners)))
        lines += [f"f {i + 1} {corners + 1} {(i + 1) % corners + 1}" for i in range(corners)]
        name = unique("obj")
        assert_same(model(name, 'inertia="shell"'), assets={name: "\n".join(lines).encode()})


@pytest.mark.feature("B26")
def test_stl() -> None:
    """Corners at the same place are one vertex; a face without area does no harm."""
    corners = np.concatenate([VERT[FACE], VERT[[[0, 1, 1]]]])
    for attributes in ("", 'scale="-1 1 2"'):
        name = unique("STL")
        assert_same(model(name, attributes), assets={name: stl(corners)})


@pytest.mark.feature("B26")
@pytest.mark.parametrize("optional", [(0, 0), (6, 0), (0, 6), (6, 6)])
def test_msh(optional: tuple[int, int]) -> None:
    """MuJoCo's own format, with and without normals and texture coordinates."""
    name = unique("msh")
    assert_same(model(name), assets={name: msh(*optional)})


@pytest.mark.feature("B89")
@pytest.mark.parametrize(
    ("extension", "content"),
    [
        ("obj", b""),
        ("obj", V.encode() + b"f 0 3 2\n"),
        ("obj", V.encode() + b"f 9 3 2\n"),
        ("obj", V.encode() + b"f 1 3 2 \\\n"),
        ("obj", V.encode() + b"f 1/0 3/1 2/1\n"),
        ("obj", V.encode() + b"f 1 3 2/\n"),
        ("obj", V.encode() + b"f 1/1/1/1 3 2\n"),
        ("stl", b"solid a\nfacet normal 0 0 0\n"),
        ("stl", b"solid" * 100),
        ("stl", stl(VERT[FACE]) + b"x"),
        ("stl", stl(VERT[FACE], 0)),
        ("stl", stl(VERT[FACE], 3)),
        ("stl", stl(np.full((4, 3, 3), np.nan))),
        ("stl", stl(VERT[FACE] * 2.0**30)),
        ("msh", b"123"),
        ("msh", b"$MeshFormat\n4.1 0 8\n"),
        ("msh", msh()[:-1]),
        ("msh", msh(sizes=(3, 0, 0, 4))),
        ("msh", msh(2)),
        ("dae", V.encode()),
        ("", V.encode()),
    ],
)
def test_broken_file_is_refused(extension: str, content: bytes) -> None:
    """A file that is no mesh is an error that says which file."""
    name = unique(extension)
    assert refused(model(name), {name: content}).element == "mesh"


@pytest.mark.feature("B10", "A001")
@pytest.mark.parametrize(
    ("folders", "written", "stored"),
    [
        ("", "sub/a.obj", "sub/a.obj"),
        ('meshdir="sub"', "a.obj", "sub/a.obj"),
        ('assetdir="sub"', "a.obj", "sub/a.obj"),
        ('assetdir="none" meshdir="sub/"', "a.obj", "sub/a.obj"),
        ('strippath="true"', "x/y/a.obj", "a.obj"),
        ('meshdir="sub" strippath="true"', "../a.obj", "sub/a.obj"),
        ('meshdir="sub"', "../other/a.obj", "other/a.obj"),
    ],
)
def test_folders(tmp_path: Path, folders: str, written: str, stored: str) -> None:
    """Files are found from the model's folder through the folders of the compiler section."""
    (tmp_path / "sub").mkdir()
    (tmp_path / stored).parent.mkdir(exist_ok=True)
    (tmp_path / stored).write_text(V + F)
    main = tmp_path / "main.xml"
    main.write_text(model(written, compiler=folders).replace('name="m" ', "").replace('"m"', '"a"'))
    compare(mujoco.MjModel.from_xml_path(str(main)), compile_spec(mjcf.read_path(main)))


@pytest.mark.feature("A002")
def test_files_in_memory_come_first(tmp_path: Path) -> None:
    """Files given in memory are found by base name, in any case and folder."""
    for key in ("sub/Q.obj", "q.OBJ", "/other/q.obj"):
        xml = model("q.obj", compiler='meshdir="sub"')
        assert compiled(xml, assets={key: (V + F).encode()}).sizes["nmeshface"] == 4


def test_missing_file_names_the_path(tmp_path: Path) -> None:
    """The error says which file was looked for, and where."""
    main = tmp_path / "main.xml"
    main.write_text(model("a.obj", compiler='meshdir="sub"'))
    with pytest.raises(MjcfError, match=r"sub/a\.obj"):
        compile_spec(mjcf.read_path(main))
