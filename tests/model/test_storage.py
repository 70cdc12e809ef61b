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
    """Also those that are no real numbers."""
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
    """No damage goes unseen, wherever it is."""
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
    with pytest.raises(ValueError, match="has shape"):
        mjjax.load_state(data, tmp_path / "s")
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="holds a model, not a state"):
        mjjax.load_state(data, tmp_path / "m")


def batch(data: mjjax.Data) -> mjjax.Data:
    """Three worlds."""
    return jax.tree.map(lambda x: jnp.stack([x, x, x]), data)
