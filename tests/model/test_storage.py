"""Compiled models and states in files: exact, checked, never half written."""

import os
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax import cli
from mjjax.core.files import FORMAT, pack
from mjjax.pipeline.carried import carried, leaf_fields
from mjjax.xla.compiling import quick

XML = cli.embedded()["humanoid"]


@pytest.fixture(scope="module")
def model() -> mjjax.Model:
    return mjjax.Model.from_xml_string(XML)


@pytest.fixture(scope="module")
def content(model: mjjax.Model) -> bytes:
    return model.to_bytes()


def assert_same_leaves(ours: object, other: object) -> None:
    chex.assert_trees_all_equal_structs(ours, other)
    chex.assert_trees_all_equal(ours, other, strict=True)  # types, too


@pytest.mark.feature("A005", "A006", "D25")
def test_loaded_model_is_the_saved_one(model: mjjax.Model, tmp_path: Path) -> None:
    """Every field, name, option and origin comes back; compiled programs are shared."""
    model.save(tmp_path / "m.mjjax")
    loaded = mjjax.Model.load(tmp_path / "m.mjjax")
    assert_same_leaves(model, loaded)
    assert loaded.structure == model.structure and hash(loaded.structure) == hash(model.structure)
    assert loaded.structure.origins == model.structure.origins
    assert loaded.structure.warnings == model.structure.warnings
    assert os.listdir(tmp_path) == ["m.mjjax"]


@pytest.mark.feature("D25")
def test_settings_of_pictures_and_pixels_are_saved() -> None:
    """Settings of pictures and statistics are saved, also those that are no real numbers."""
    model = mjjax.Model.from_xml_string(
        '<mujoco><visual><global orthographic="true" fovy="3"/><headlight active="0"/></visual>'
        '<asset><texture name="t" builtin="flat" width="4"/></asset></mujoco>'
    )
    loaded = mjjax.Model.from_bytes(model.to_bytes())
    assert (loaded.vis.global_.orthographic, loaded.vis.headlight.active) == (1, 0)
    assert_same_leaves(model, loaded)
    assert loaded.tex_data.dtype == np.uint8 and loaded.structure == model.structure


@pytest.mark.feature("D25")
def test_batch_of_models_is_saved(model: mjjax.Model) -> None:
    """Models with other numbers per world keep their batch dimension."""
    mass = jnp.stack([model.body_mass, 2 * model.body_mass])
    batch = model.replace(body_mass=mass)
    assert_same_leaves(batch, mjjax.Model.from_bytes(batch.to_bytes()))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: b"", "not a file"),
        (lambda c: c[:5], "truncated"),
        (lambda c: c[:100], "truncated"),
        (lambda c: c[:-1], "truncated or damaged"),
        (lambda c: c[: len(c) // 2] + b"\x00\xff" + c[len(c) // 2 + 2 :], "damaged"),
        (lambda c: c + b"x", "damaged"),
        (lambda c: XML.encode(), "not a file written by mjjax"),
        (lambda c: c[:8] + bytes([FORMAT + 1, 0, 0, 0]) + c[12:], "update mjjax"),
        (lambda c: pack("state", {}, {}), "holds a state, not a model"),
        (lambda c: pack("model", {"mjjax": "9.9"}, {}), "written by mjjax 9.9"),
        (lambda c: pack("model", {}, {"a": np.zeros(2)})[:-40] + b"0" * 40, "damaged"),
    ],
)
def test_bad_file_is_one_clear_error(content: bytes, tmp_path: Path, damage, message: str) -> None:
    """A file that is cut, changed, foreign or newer is named and refused."""
    path = tmp_path / "bad.mjjax"
    path.write_bytes(damage(content))
    with pytest.raises(ValueError, match=message) as caught:
        mjjax.Model.load(path)
    assert str(path) in str(caught.value)


def test_every_flipped_byte_is_noticed(content: bytes) -> None:
    """Damage anywhere in a file is noticed."""
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 40):
        broken = bytearray(content)
        broken[place] ^= 1 << rng.integers(8)
        with pytest.raises(ValueError):
            mjjax.Model.from_bytes(bytes(broken))


def test_failed_save_leaves_the_file(model: mjjax.Model, tmp_path: Path, monkeypatch) -> None:
    """An interrupted write keeps the old file and leaves nothing else."""
    path = tmp_path / "m.mjjax"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m.mjjax"]


@pytest.mark.feature("D25")
def test_state_is_saved_and_loaded(tmp_path: Path) -> None:
    """A run goes on from a saved state as if it had not stopped, also a batch of worlds."""
    model = mjjax.Model.from_xml_string(cli.embedded()["double_pendulum"])
    fresh = mjjax.make_data(model)
    data = fresh.replace(qpos=fresh.qpos + 0.3, qvel=fresh.qvel - 1, time=fresh.time + 4)
    for one, start in ((data, fresh), (batch(data), batch(fresh))):
        mjjax.save_state(one, tmp_path / "s")
        assert_same_leaves(one, mjjax.load_state(start, tmp_path / "s"))
    with pytest.raises(ValueError, match="of 3 worlds, the data of one world"):
        mjjax.load_state(data, tmp_path / "s")
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="holds a model, not a state"):
        mjjax.load_state(data, tmp_path / "m")


SLEEPERS = """<mujoco><option sleep_tolerance=".05"><flag sleep="enable" energy="enable"/></option>
  <worldbody><geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><geom size=".1"/><site name="s"/></body>
    <body pos="2 0 .4"><joint name="j" type="slide" axis="0 0 1"/><geom size=".1"/></body>
  </worldbody>
  <actuator><motor joint="j"/>
    <general joint="j" dyntype="filter" delay=".02" nsample="5"/></actuator>
  <sensor><accelerometer site="s"/><touch site="s"/><force site="s"/>
    <jointpos joint="j" delay=".01" nsample="4"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def sleepers() -> tuple[mjjax.Model, mjjax.Data]:
    """Three worlds in which some trees sleep and others move."""
    model = mjjax.Model.from_xml_string(SLEEPERS)
    data = batch(mjjax.make_data(model))
    return model, run(model, data.replace(ctrl=jnp.array([[1.0, 2], [0, 0], [-3, 1]])), 60)


STEP = quick(jax.vmap(mjjax.step, (None, 0)))


def run(model: mjjax.Model, data: mjjax.Data, steps: int) -> mjjax.Data:
    for _ in range(steps):
        data = STEP(model, data)
    return data


@pytest.mark.slow
@pytest.mark.feature("D25")
def test_sleeping_trees_go_on_with_the_same_bits(sleepers: tuple, tmp_path: Path) -> None:
    """Protects saved sleeping trees, delayed signals and counts: the run goes on as before."""
    model, data = sleepers
    assert (data.tree_asleep >= 0).any() and (data.tree_asleep < 0).any()
    mjjax.save_state(data, tmp_path / "s")
    loaded = mjjax.load_state(batch(mjjax.make_data(model)), tmp_path / "s")
    assert_same_leaves(run(model, data, 5), run(model, loaded, 5))


@pytest.mark.slow
def test_all_that_a_step_reads_is_saved(sleepers: tuple, tmp_path: Path) -> None:
    """Everything that a callback may read from the step before is saved."""
    model, data = sleepers
    one = jax.tree.map(lambda x: jnp.full_like(x[0], 3), data)
    start = jax.tree.map(jnp.zeros_like, one)
    mjjax.save_state(one, tmp_path / "s")
    loaded = mjjax.load_state(start, tmp_path / "s")
    saved = {
        name
        for name in leaf_fields(one)
        if all(map(jnp.array_equal, *(jax.tree.leaves(getattr(d, name)) for d in (one, loaded))))
    }

    def all_of(data: mjjax.Data) -> jax.Array:
        return sum((jnp.sum(x).astype(float) for x in jax.tree.leaves(data)), jnp.zeros(()))

    calls = mjjax.Callbacks(
        control=lambda m, d: d.replace(ctrl=d.ctrl + all_of(d)),
        passive=lambda m, d: d.replace(qfrc_passive=d.qfrc_passive + all_of(d)),
    )
    read = carried(lambda m, d: (mjjax.step(m, d, calls), None), model, start, ())
    assert len(read) > 20 and read <= saved, read - saved


def test_a_state_goes_into_data_of_other_capacities(tmp_path: Path) -> None:
    """A saved state is loaded into data with more contact slots, and the run goes on."""
    model = mjjax.Model.from_xml_string(BOX)
    data = mjjax.make_data(model, nconmax=2)
    mjjax.save_state(data.replace(time=data.time + 1), tmp_path / "s")
    wider = mjjax.load_state(mjjax.make_data(model, nconmax=4), tmp_path / "s")
    assert wider.time == 1 and wider.contact.dist.shape == (4,)


BOX = (
    "<mujoco><worldbody><geom type='plane' size='3 3 .1'/><body pos='0 0 .1'><freejoint/>"
    "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>"
)
RAIL = "<mujoco><worldbody><body><joint type='{}'/><geom size='.1'/></body></worldbody></mujoco>"
ASLEEP = BOX.replace("<worldbody>", "<option><flag sleep='enable'/></option><worldbody>", 1)


@pytest.mark.parametrize(
    ("saved", "into", "message"),
    [
        (BOX, RAIL.format("slide"), "with nq 7, nv 6; that of the data has nq 1, nv 1"),
        (RAIL.format("hinge"), RAIL.format("slide"), "joints are of other types"),
        (BOX, ASLEEP, "has no sleeping trees"),
        (ASLEEP, BOX, "has sleeping trees: make the data of a model with the flag 'sleep' on"),
    ],
)
def test_a_state_of_another_model_is_refused(
    saved: str, into: str, message: str, tmp_path: Path
) -> None:
    """A state of another model is refused in one sentence, instead of being used."""
    data, other = (mjjax.make_data(mjjax.Model.from_xml_string(x)) for x in (saved, into))
    mjjax.save_state(data, tmp_path / "s")
    with pytest.raises(ValueError, match=message) as caught:
        mjjax.load_state(other, tmp_path / "s")
    assert str(tmp_path / "s") in str(caught.value) and "\n" not in str(caught.value)


def batch(data: mjjax.Data) -> mjjax.Data:
    """Three worlds."""
    return jax.tree.map(lambda x: jnp.stack([x, x, x]), data)
