"""Rays against height fields: MuJoCo's results from the cells along the ray."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import mjjax
from mjjax.collision.rays import ray_hfield
from tests.collision.loops import count_steps
from tests.oracle_tools import load, quick, to_ours

NROW, NCOL = 30, 45
ELEVATION = np.random.default_rng(0).uniform(size=NROW * NCOL).round(3)
SCENE = f"""
<mujoco><asset>
  <hfield name="h" nrow="{NROW}" ncol="{NCOL}" size="2 3 .5 .2"
    elevation="{" ".join(map(str, ELEVATION))}"/>
  <hfield name="flat" nrow="2" ncol="3" size="1 1 .3 .1" elevation="1 1 1 0 0 1"/>
</asset><worldbody>
  <geom type="hfield" hfield="h"/>
  <geom type="hfield" hfield="flat" pos="0 0 2" euler="40 10 0"/>
</worldbody></mujoco>
"""


def rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """From above, below, beside and within; some straight down, along axes, or over grid lines."""
    rng = np.random.default_rng(1)
    start = rng.uniform([-3, -4, -1], [3, 4, 3], size=(n, 3))
    along = rng.uniform([-2, -3, 0], [2, 3, 0.5], size=(n, 3)) - start
    along[::6] = np.eye(3)[np.arange(len(along[::6])) % 3] * rng.choice(
        [-2, 2], (len(along[::6]), 1)
    )
    start[::7, 0] = np.round(start[::7, 0] * 11) / 11
    return start, along


@pytest.mark.feature("A169", "A173")
def test_rays_are_mujocos(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distance, geom and normal are MuJoCo's; only cells along a ray are tried."""
    both = load(SCENE)
    d = mujoco.MjData(both.reference)
    mujoco.mj_forward(both.reference, d)
    data = mjjax.kinematics(both.ours, to_ours(both.ours, d))
    steps = count_steps(monkeypatch, ray_hfield)
    cast = quick(lambda p, v: mjjax.ray(both.ours, data, p, v))
    start, along = rays(400)
    met = []
    for i, (p, v) in enumerate(zip(start, along, strict=True)):
        hit = cast(jnp.asarray(p), jnp.asarray(v))
        geom, normal = np.zeros(1, np.int32), np.zeros(3)
        x = mujoco.mj_ray(both.reference, d, p, v, None, 1, -1, geom, normal)
        assert hit.geomid == geom[0], i
        np.testing.assert_allclose(hit.dist, x, atol=1e-9, err_msg=str(i))
        if i % 7:  # over a line of the grid either triangle may be the one
            np.testing.assert_allclose(hit.normal, normal, atol=1e-7, err_msg=str(i))
        met.append(int(geom[0]))
    jax.effects_barrier()
    assert set(met) == {-1, 0, 1} and np.mean(np.array(met) >= 0) > 0.6
    assert 5 < max(steps) <= NROW + NCOL
