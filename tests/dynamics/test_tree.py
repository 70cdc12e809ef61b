"""Sums along kinematic trees, in the forms for small and for large scenes."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjjax
from mjjax.dynamics import tree
from mjjax.model.structure import Structure

# A chain that branches, with a ball, twice; a free body; bodies without joints, one with a child.
LIMB = """<body pos="0 0 .1"><joint axis="1 0 0"/><geom size=".1"/>
  <body><joint/><joint axis="0 1 0"/><geom size=".1"/></body>
  <body><body><joint type="ball"/><geom size=".1"/></body></body></body>"""
SCENE = f"""<mujoco><worldbody>{LIMB}
  <body><freejoint/><geom size=".1"/></body>
  <body><geom size=".1"/>{LIMB}</body>
  <body><joint type="slide"/><geom size=".1"/><body><joint/><geom size=".1"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def scene() -> Structure:
    return mjjax.Model.from_xml_string(SCENE).structure


def _descends(s: Structure, body: int, above: int) -> bool:
    while body > above:
        body = s.body_parentid[body]
    return body == above


SUMS: dict[str, tuple[Callable, str, Callable[[Structure, int, int], bool]]] = {
    "body_sum": (tree.body_sum, "nv", lambda s, b, i: _descends(s, b, s.dof_bodyid[i])),
    "dof_sum": (tree.dof_sum, "nbody", lambda s, i, b: _descends(s, b, s.dof_bodyid[i])),
    "subtree_sum": (tree.subtree_sum, "nbody", lambda s, a, b: _descends(s, b, a)),
}


@pytest.mark.parametrize("dense", [tree.DENSE, 0])
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_those_of_the_parents(
    scene: Structure, name: str, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sum has the terms of the chain of parents, whole or by blocks, in both precisions."""
    monkeypatch.setattr(tree, "DENSE", dense)
    function, source, takes = SUMS[name]
    x = np.random.default_rng(0).normal(size=(3, getattr(scene, source)))
    found = function(scene, x)
    mask = [[takes(scene, i, j) for j in range(x.shape[1])] for i in range(found.shape[1])]
    np.testing.assert_allclose(found, x @ np.array(mask, float).T, atol=1e-12)
    traced = jax.jit(lambda x: function(scene, x))(jnp.asarray(x))
    np.testing.assert_allclose(traced, found, atol=1e-12)
    batch = jax.vmap(lambda x: function(scene, x))(jnp.asarray(x)[None])
    np.testing.assert_allclose(batch[0], found, atol=1e-12)


@pytest.mark.parametrize("dense", [tree.DENSE, 0])
def test_dofs_before_a_joint(scene: Structure, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dofs of joints above or earlier precede; a free joint's translations its rotations."""
    monkeypatch.setattr(tree, "DENSE", dense)
    s = scene
    x = np.random.default_rng(0).normal(size=(2, s.nv))
    expected = np.zeros_like(x)
    for i in range(s.nv):
        joint, free = s.dof_jntid[i], s.jnt_type[s.dof_jntid[i]] == 0
        for j in range(i):
            above = _descends(s, s.dof_bodyid[i], s.dof_bodyid[j])
            turns = free and i - s.jnt_dofadr[joint] >= 3 > j - s.jnt_dofadr[joint]
            if above and (s.dof_jntid[j] != joint or turns):
                expected[:, i] += x[:, j]
    np.testing.assert_allclose(tree.before_sum(s, x), expected, atol=1e-12)
