"""The command line: what it prints, what it saves, and how it refuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import chex
import jax
import mujoco
import numpy as np
import pytest
from PIL import Image

import mjjax
from mjjax import cli
from mjjax.cli.worlds import advance, start

BALL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    <body pos="0 0 0.2"><freejoint/><geom type="sphere" size="0.1"/></body>
  </worldbody>
</mujoco>
"""


def command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mjjax", *args], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", sorted(cli.embedded()))
def test_embedded_model_compiles_as_in_the_oracle(name: str) -> None:
    """Keeps the embedded models valid MJCF, and the same in both engines."""
    text = cli.embedded()[name]
    ours, theirs = mjjax.Model.from_xml_string(text), mujoco.MjModel.from_xml_string(text)
    for size in ("nq", "nv", "nu", "nbody", "ngeom", "njnt"):
        assert getattr(ours, size) == getattr(theirs, size), size
    np.testing.assert_allclose(ours.body_mass, theirs.body_mass, rtol=1e-9)
    np.testing.assert_allclose(ours.qpos0, theirs.qpos0, atol=1e-12)


def test_list_names_every_embedded_model(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the way users find out what they can run without a file."""
    assert cli.main(["simulate", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"ant", "cartpole", "double_pendulum", "hopper", "humanoid"} <= set(names)
    assert names == sorted(cli.embedded())


@pytest.mark.slow
def test_simulates_the_embedded_humanoid(tmp_path: Path) -> None:
    """Protects the first command of the README, in a fresh process and float32."""
    video = tmp_path / "humanoid.gif"
    done = command("simulate", "--worlds", "4", "--steps", "12", "--video", str(video))
    assert done.returncode == 0, done.stderr
    with Image.open(video) as frames:
        assert frames.n_frames == 2 and str(video) in done.stdout
    assert "humanoid: 4 worlds x 12 steps of 0.005 s" in done.stdout
    assert "(float32)" in done.stdout
    report = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert float(report["speed"].split()[0].replace(",", "")) > 0
    # Both feet stand on the floor: four corners each, four edges of the pyramid per corner.
    assert report["contacts"].startswith("at most 8 in a world")
    rows, capacity = re.findall(r"\d+", report["rows"])
    assert 32 <= int(rows) < int(capacity)
    assert report["warnings"] == "none"


# Modules of distributions that mjjax does not require without extras cannot be imported.
PLAIN = """
import re, sys
from importlib import metadata
from importlib.machinery import PathFinder

def required(name, found):
    if name not in found:
        found.add(name)
        for line in metadata.requires(name) or ():
            other = re.match(r"[\\w.-]+", line)[0].lower().replace("_", "-")
            if "extra" not in line and others.get(other):
                required(other, found)
    return found

others = {d.name.lower().replace("_", "-"): d for d in metadata.distributions()}
ours = required("mjjax", set())

absent = {
    module
    for module, names in metadata.packages_distributions().items()
    if not ours & {n.lower().replace("_", "-") for n in names}
} - set(sys.stdlib_module_names)

class Present(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if path is None and name in absent else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Present
from mjjax import cli
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_commands_need_no_extra(tmp_path: Path) -> None:
    """The first command of a user who installed no extra runs, with its cache and its video."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "MJJAX_CACHE": "1"}
    args = ["simulate", "pendulum", "--worlds", "2", "--steps", "4"]
    args += ["--video", str(tmp_path / "run.gif")]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PLAIN, *args], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr[-3000:]
    assert list(tmp_path.rglob("*.traced")) and (tmp_path / "run.gif").is_file()


@pytest.mark.slow
def test_saved_trajectory_is_the_oracles(tmp_path: Path) -> None:
    """Protects the saved file: its keys, its frames and the motion in them."""
    out = tmp_path / "run.npz"
    args = ["simulate", "double_pendulum", "--worlds", "3", "--steps", "25", "--out", str(out)]
    assert cli.main(args) == 0
    saved = np.load(out)
    model = mujoco.MjModel.from_xml_string(cli.embedded()["double_pendulum"])
    assert saved["model"] == "double_pendulum"
    assert saved["timestep"] == model.opt.timestep
    chex.assert_shape((saved["qpos"], saved["qvel"]), (4, 3, 2))
    chex.assert_shape(saved["warning"], (3, 9))
    frames = np.array([0, 10, 20, 25])
    np.testing.assert_allclose(
        saved["time"], np.repeat(frames[:, None] * model.opt.timestep, 3, 1), rtol=1e-9
    )
    for world in range(3):
        data = mujoco.MjData(model)
        data.qpos, data.qvel = saved["qpos"][0, world], saved["qvel"][0, world]
        mujoco.mj_step(model, data, nstep=25)
        np.testing.assert_allclose(saved["qpos"][-1, world], data.qpos, rtol=1e-8)
        np.testing.assert_allclose(saved["qvel"][-1, world], data.qvel, rtol=1e-8)


def test_seed_decides_the_start() -> None:
    """Keeps runs repeatable, and worlds different from each other."""
    model = mjjax.Model.from_xml_string(cli.embedded()["cartpole"])
    one, again, other = (np.asarray(start(model, 5, seed).qpos) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.any(np.isclose(one, other))
    assert len(np.unique(one[:, 0])) == 5


@pytest.mark.slow
def test_diverged_worlds_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the user from runs that diverge silently."""
    path = tmp_path / "diverging.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="j" damping="-1e4"/><geom size="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    assert cli.main(["simulate", str(path), "--worlds", "2", "--steps", "50"]) == 0
    assert "in 2 of 2 worlds" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["simulate", "no_such_model"], ["no_such_model", "neither a file nor embedded", "ant"]),
        (["simulate", "missing.xml"], ["missing.xml", "neither a file"]),
        (["simulate", "--worlds", "0"], ["--worlds", "at least 1"]),
        (["simulate", "--steps", "many"], ["--steps", "many"]),
        (["simulate", "--out", "run.txt"], ["run.txt", ".npz"]),
        (["simulate", "--out", "/no/such/folder/run.npz"], ["no such folder"]),
        (["dance"], ["dance", "simulate"]),
        ([], ["command"]),
    ],
)
def test_bad_arguments_end_with_one_line(
    args: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects users from tracebacks: one line on stderr says what to change."""
    assert cli.main(args) == 2
    _assert_one_line(capsys, words)


@pytest.mark.feature("A004")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco><worldbody>", ["model.xml"]),
        ("<mujoco><worldbody><body/></mujoco>", ["model.xml"]),
        (BALL.replace("freejoint", "hingejoint"), ["model.xml", "hingejoint"]),
        (BALL.replace('size="0.1"', 'size="-0.1"'), ["size"]),
        (
            BALL.replace(
                "<worldbody>",
                '<extension><plugin plugin="mujoco.elasticity.cable"/></extension><worldbody>',
            ),
            ["model.xml", "plugin"],
        ),
    ],
    ids=["cut off", "not well formed", "unknown element", "bad value", "unsupported"],
)
def test_bad_model_ends_with_one_line(
    text: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects users from tracebacks: the line names the file and the element."""
    path = tmp_path / "model.xml"
    path.write_text(text)
    assert cli.main(["simulate", str(path)]) == 2
    _assert_one_line(capsys, words)


def _assert_one_line(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    captured = capsys.readouterr()
    assert captured.out == ""
    *steps, message = captured.err.splitlines()
    assert all(line.startswith("mjjax: reading ") for line in steps) and len(steps) < 2
    assert message.startswith("mjjax: error: ")
    for word in words:
        assert word in message


class _Interrupted:
    """A progress bar during which the user presses Ctrl-C when it has moved twice."""

    def __init__(self, **_):
        self.moves = self.n = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, text: str) -> None:
        print(text)

    def set_description(self, text: str) -> None:
        pass

    def update(self, _: int = 1) -> None:
        self.moves += 1
        if self.moves == 2:
            raise KeyboardInterrupt


def test_an_interrupted_simulation_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C loses nothing: the frames up to then are in the file, and the command says so."""
    monkeypatch.setattr("mjjax.cli.simulate.tqdm", _Interrupted)
    out = tmp_path / "run.npz"
    command = f"simulate double_pendulum --worlds 2 --steps 90 --out {out}"
    assert cli.main(command.split()) == 130
    np.testing.assert_allclose(np.load(out)["time"][:, 0], [0, 0.02], atol=1e-9)
    said = capsys.readouterr()
    assert "2 worlds x 10 steps" in said.out
    assert said.err.splitlines() == [
        "mjjax: reading double_pendulum",
        "mjjax: compiling a program for 2 worlds",
        "mjjax: interrupted after 10 of 90 steps",
    ]


def test_an_interrupted_measurement_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of `mjjax bench` are printed and saved as they come, so Ctrl-C loses one at most."""
    monkeypatch.setattr("mjjax.cli.bench.tqdm", _Interrupted)
    out = tmp_path / "run.json"
    command = f"bench double_pendulum cartpole --batch 2 --steps 2 --warmup 0 --json {out}"
    assert cli.main(command.split()) == 130
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "double_pendulum"]
    assert len(json.loads(out.read_text())["results"]) == 1


def test_any_number_of_steps_runs_one_program() -> None:
    """Keeps a last, shorter chunk from being compiled again."""
    model = mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])
    batch = start(model, 2, 0)
    run = jax.jit(advance)
    for n in (3, 5):
        after, _ = run(model, batch, np.int32(n))
        np.testing.assert_allclose(after.time, n * 0.002, rtol=1e-6)
    assert run._cache_size() == 1


def test_compiles_to_a_file_and_runs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the compilation to a file that loads without XML, and to plain MJCF."""
    model = mjjax.Model.from_xml_string(cli.embedded()["ant"])
    for name, load in (("m.mjjax", mjjax.Model.load), ("m.xml", mjjax.Model.from_xml_path)):
        assert cli.main(["compile", "ant", "-o", str(tmp_path / name)]) == 0
        assert "bodies 14 dofs 8 actuators" in capsys.readouterr().out
        loaded = load(tmp_path / name)
        chex.assert_trees_all_equal(jax.tree.leaves(model), jax.tree.leaves(loaded))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compile", "ant"], ["--out"]),
        (["compile", "none", "-o", "x"], ["none", "neither a file"]),
        (["compile", "ant", "-o", "/no/such/folder/x"], ["no such folder"]),
        (["simulate", __file__], ["not a file written by mjjax"]),
    ],
)
def test_compile_refuses(
    args: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong; nothing is written."""
    assert cli.main(args) == 2
    _assert_one_line(capsys, words)


SENSING = """<mujoco model="s"><worldbody><body name="b"><joint name="j"/><geom size="1"/></body>
</worldbody><sensor><jointpos name="angle" joint="j"/></sensor></mujoco>"""


def test_info_lists_what_a_model_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes, trees, joints, actuators and pairs are the oracle's; tables and JSON say the same."""
    assert cli.main(["info", "ant", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    m = mujoco.MjModel.from_xml_string(cli.embedded()["ant"])
    assert {name: getattr(m, name) for name in facts["sizes"]} == facts["sizes"]
    assert [j["name"] for j in facts["joints"]] == [m.joint(i).name for i in range(m.njnt)]
    assert [a["transmission"] for a in facts["actuators"]] == ["JOINT"] * m.nu
    np.testing.assert_allclose(facts["trees"][0]["mass"], m.body_subtreemass[1])
    assert sum(facts["contact_pairs"].values()) == 9 and not facts["not_simulated"]
    assert facts["contact_slots"]["nconmax"] == 17 and facts["contact_slots"]["reason"]
    assert cli.main(["info", "ant"]) == 0
    text = capsys.readouterr().out
    assert all(j["name"] in text for j in facts["joints"])


def test_info_says_what_is_not_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that cannot be simulated yet is described, with the element and its line."""
    path = tmp_path / "m.xml"
    twice = '<joint name="k"/><geom size="1"/></body>\n</worldbody>'
    xml = SENSING.replace('<geom size="1"/></body>\n</worldbody>', twice)
    path.write_text(xml, encoding="utf-8")
    assert cli.main(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["sensors"] == [{"name": "angle", "type": "JOINTPOS", "dim": 1}]
    assert len(facts["not_simulated"]) == 1 and "m.xml:1" in facts["not_simulated"][0]


@pytest.mark.slow
@pytest.mark.feature("A177")
def test_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A keyframe, seen by a camera, is in the file: the ball above the middle, right side up."""
    xml = BALL.replace("<worldbody>", '<worldbody><camera name="c" pos="0 -3 1" euler="80 0 0"/>')
    key = '<keyframe><key name="up" qpos="0 0 1 1 0 0 0"/></keyframe></mujoco>'
    (tmp_path / "ball.xml").write_text(xml.replace("</mujoco>", key).replace('"0.1"', '"0.5"'))
    out = tmp_path / "ball.png"
    size = ["--width", "16", "--height", "12"]
    seen = ["--keyframe", "up", "--camera", "c"]
    assert cli.main(["render", str(tmp_path / "ball.xml"), "-o", str(out), *size, *seen]) == 0
    assert "16 x 12" in capsys.readouterr().out
    with Image.open(out) as image:
        pixels = np.asarray(image)
    assert pixels.shape == (12, 16, 3)
    bright = pixels.sum(axis=2)
    assert bright[0].max() == 0 and bright[5, 8] > 0  # the sky is black


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "x.jpg"], "must end in .png"),
        (["-o", "nowhere/x.png"], "no such folder"),
        (["-o", "x.png", "--width", "0"], "pixels"),
        (["-o", "x.png", "--camera", "side"], "no camera 'side'"),
        (["-o", "x.png", "--keyframe", "3"], "no keyframe '3'"),
    ],
)
def test_refuses_pictures(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A picture that cannot be drawn gives one line that says why."""
    assert cli.main(["render", "double_pendulum", *args]) == 2
    assert message in capsys.readouterr().err
