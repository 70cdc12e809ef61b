"""The public names: present, documented, and those that the design promises."""

import inspect

import pytest

import mjjax

PROMISED = (
    "Model Data make_data reset_data step forward rollout "
    "fwd_position fwd_velocity fwd_actuation fwd_acceleration fwd_constraint euler "
    "kinematics com_pos crb transmission collision make_constraint com_vel passive rne "
    "transition_jacobian inverse_jacobian "
    "integrate_pos differentiate_pos MjcfError UnsupportedFeature WarningType "
    "JointType GeomType IntegratorType SolverType ConeType DisableBit EnableBit"
).split()


@pytest.mark.parametrize("name", mjjax.__all__)
def test_public_name_exists_and_is_documented(name: str) -> None:
    """Keeps `__all__` true and every public name explained."""
    doc = inspect.getdoc(getattr(mjjax, name))
    assert doc and doc.strip()


@pytest.mark.parametrize("name", mjjax.math.__all__)
def test_public_math_names_its_counterpart(name: str) -> None:
    """`mjjax.math.box_qp` and the like are there after `import mjjax`, and name `mju_*`."""
    found = getattr(mjjax.math, name)
    doc = inspect.getdoc(found)
    assert doc and ("mju_" in doc or not inspect.isfunction(found))


@pytest.mark.parametrize("name", PROMISED)
def test_promised_name_is_public(name: str) -> None:
    """Protects scripts that use the published names."""
    assert name in mjjax.__all__


def test_all_is_sorted_and_unique() -> None:
    """Keeps the list easy to scan and free of merge leftovers."""
    for module in (mjjax, mjjax.math):
        assert len(set(module.__all__)) == len(module.__all__)


def test_package_is_typed() -> None:
    """Tells type checkers of users to read our annotations."""
    import importlib.resources

    assert (importlib.resources.files("mjjax") / "py.typed").is_file()
