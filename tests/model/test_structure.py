"""The static half of a model: its declared sizes and arrays."""

import numpy as np
import pytest

import mjjax
from mjjax.model.static_fields import SIZES, TABLES
from tests.random_models import random_mjcf

XML = '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'


@pytest.fixture(scope="module", params=["empty", "small", "random"])
def structure(request: pytest.FixtureRequest) -> mjjax.Structure:
    xml = {"empty": "<mujoco/>", "small": XML}.get(request.param)
    return mjjax.Model.from_xml_string(xml or random_mjcf(0)).structure


def test_declared_fields_are_those_of_compiled_models(structure: mjjax.Structure) -> None:
    """Fields that the type checker knows, such as `structure.nv`, are those that exist."""
    assert set(structure.sizes) == set(SIZES) and set(structure.arrays) == set(TABLES)
    for name in SIZES:
        assert type(getattr(structure, name)) is int, name
    for name, spec in TABLES.items():
        value = getattr(structure, name)
        assert isinstance(value, np.ndarray) and not value.flags.writeable, name
        assert (value.dtype == bool) == (spec.dtype is bool) and value.ndim == len(spec.shape), name
        assert spec.doc, name


def test_a_model_has_the_fields_of_its_structure() -> None:
    """`model.nv` and `model.jnt_type` are those of the structure; other names are errors.

    A tree's `__getattr__`, for fields without entries, is hidden from the type checker.
    """
    model = mjjax.Model.from_xml_string(XML)
    for name in (*SIZES, *TABLES):
        same = getattr(model, name) is getattr(model.structure, name)
        assert same != (name == "tex_data")  # pixels are not kept
    for owner in (model, model.structure):
        with pytest.raises(AttributeError, match="nbodyy"):
            _ = owner.nbodyy


@pytest.mark.parametrize(
    ("sizes", "arrays", "message"),
    [
        ({"nv": None}, {}, r"missing \['nv'\]"),
        ({"nvv": 1}, {}, r"unknown \['nvv'\]"),
        ({}, {"jnt_type": None}, r"missing \['jnt_type'\]"),
        ({}, {"jnt_kind": np.zeros(1, int)}, r"unknown \['jnt_kind'\]"),
        ({}, {"jnt_type": np.zeros(2, int)}, "jnt_type is"),
        ({}, {"jnt_type": np.zeros((1, 1), int)}, "jnt_type is"),
        ({}, {"jnt_type": np.zeros(1)}, "jnt_type is"),
        ({}, {"jnt_limited": np.zeros(1, int)}, "jnt_limited is"),
    ],
)
def test_other_fields_are_refused(sizes: dict, arrays: dict, message: str) -> None:
    """A field that is missing, not declared or of another shape or type is an error at once."""
    s = mjjax.Model.from_xml_string(XML).structure

    def changed(old: dict, new: dict) -> dict:
        return {k: v for k, v in (old | new).items() if v is not None}

    with pytest.raises(ValueError, match=message):
        mjjax.Structure(changed(s.sizes, sizes), changed(s.arrays, arrays), s.names, s.terms)


def test_part_of_a_structure() -> None:
    """A partial structure may leave arrays out, and reading one of these is an error."""
    s = mjjax.Model.from_xml_string(XML).structure
    part = mjjax.Structure(s.sizes, {"jnt_type": s.jnt_type}, {}, s.terms, partial=True)
    assert part.jnt_type.tolist() == s.jnt_type.tolist() and part != s
    with pytest.raises(AttributeError, match="made without geom_type"):
        _ = part.geom_type


def test_widened_structures_differ() -> None:
    """Entries that may become nonzero make another structure, with everything else the same."""
    s = mjjax.Model.from_xml_string(XML).structure
    friction = {"dof_frictionloss": np.ones(1, bool)}
    wider = s.widened(friction)
    assert wider != s and wider.terms["dof_frictionloss"].all()
    assert not s.terms["dof_frictionloss"].any()
    assert wider.widened(friction) is wider
    assert wider.arrays is s.arrays and wider.nv == s.nv
