"""Tests whether steps stay finite from random and degenerate states.

The scenes have every joint, tendon, actuator and sensor. The program computes a step, its
derivative in a direction that moves everything, and the reverse derivative of a weighted sum with
respect to the state, all inputs and every real field of the model. Results that are not finite are
counted by field, with the seed and the row of a first example.

    python -m tests.pipeline.finite --count 100000 --float32
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjjax
from tests.dynamics.scenes import driven
from tests.pipeline.test_singular_states import REST
from tests.sensor.test_sensors import SCENE, many_sensors, rays_and_contacts

BATCH = 500
INPUTS = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied")
RESULTS = ("qpos", "qvel", "act", "qacc", "sensordata", "energy", "efc_force", "ten_length")
READ = {"shape": "capsule", "flag": "", "option": 'integrator="implicitfast"', "cone": "elliptic"}
SCENES = {
    "driven": driven(),
    "implicit": driven('integrator="implicit" cone="elliptic"'),
    "rest": REST.format(cone="pyramidal", option=""),
    "sensors": SCENE.format(sensors=many_sensors(), **READ),
    "rays": SCENE.format(sensors=rays_and_contacts(), **(READ | {"cone": "pyramidal"})),
}


class Found(NamedTuple):
    """Whether all numbers of a world are finite, by field.

    Attributes:
        values: whether the results are.
        rates: whether their forward derivatives are.
        slopes: whether the reverse derivatives by the model's fields and the inputs are.
        resets: whether the world diverged.
    """

    values: dict[str, jax.Array]
    rates: dict[str, jax.Array]
    slopes: dict[str, jax.Array]
    resets: jax.Array


def states(model: mjjax.Model, count: int, seed: int) -> dict[str, np.ndarray]:
    """Inputs of worlds; each part is zero, almost zero, on a grid, usual, or large."""
    rng, s = np.random.default_rng(seed), model.structure

    def part(n: int) -> np.ndarray:
        usual, kind = rng.normal(size=(count, n)), rng.integers(0, 6, (count, 1))
        grid = np.round(2 * usual) * np.pi / 4
        tiny = 10 ** rng.uniform(-15, -3, (count, 1)) * usual
        # Some dofs are at rest while others move.
        some = np.where(rng.random((count, n)) < 0.5, usual, 0)
        each = [np.zeros_like(usual), tiny, grid, usual, some, 20 * usual]
        return np.select([kind == k for k in range(6)], each)

    return {
        "move": 0.5 * part(s.nv),
        "qvel": part(s.nv),
        "act": np.clip(part(s.na), -1, 1),
        "ctrl": np.clip(part(s.nu), -1, 1),
        "qfrc_applied": part(s.nv),
        "xfrc_applied": part(6 * s.nbody).reshape(count, s.nbody, 6),
    }


def waves(like: jax.Array) -> jax.Array:
    """Numbers of the same shape between -1 and 1."""
    return jnp.cos(jnp.arange(like.size, dtype=like.dtype)).reshape(like.shape)


def finite(fields: dict[str, Any]) -> dict[str, jax.Array]:
    """Whether each field is finite throughout."""
    return {name: jnp.isfinite(x).all() for name, x in fields.items()}


def program(model: mjjax.Model, data: mjjax.Data) -> Callable[[dict[str, Any]], Found]:
    """Computes `Found` for worlds, in one compiled program."""

    def results(model: mjjax.Model, x: dict[str, Any]) -> tuple[dict[str, Any], jax.Array]:
        after = mjjax.step(model, data.replace(**x))
        return {k: getattr(after, k) for k in RESULTS}, jnp.any(after.warning[4:7] > 0)

    def one(start: dict[str, Any]) -> Found:
        x = {k: v for k, v in start.items() if k != "move"}
        x["qpos"] = mjjax.integrate_pos(model, data.qpos, start["move"], 1)
        values, push, resets = jax.linearize(results, model, x, has_aux=True)
        rates, weights = push(*jax.tree.map(waves, (model, x))), jax.tree.map(waves, values)
        by_model, by_input = jax.linear_transpose(push, model, x)(weights)
        slopes = {
            jax.tree_util.keystr(path): leaf
            for path, leaf in jax.tree_util.tree_leaves_with_path((by_model, by_input))
        }
        return Found(finite(values), finite(rates), finite(slopes), resets)

    return jax.jit(jax.vmap(one))


def check(name: str, count: int, dtype: Any) -> tuple[Counter, int]:
    """Number of worlds of a scene with something that is not finite, by field; resets."""
    model = mjjax.Model.from_xml_string(SCENES[name]).with_terms("all")
    run, bad, resets = program(model, mjjax.make_data(model)), Counter(), 0
    for seed in range(-(-count // BATCH)):
        start = {k: jnp.asarray(v, dtype) for k, v in states(model, BATCH, seed).items()}
        found = jax.device_get(run(start))
        resets += int(found.resets.sum())
        for kind in ("values", "rates", "slopes"):
            for field, good in getattr(found, kind).items():
                rows = np.flatnonzero(~good)
                if len(rows) and not bad[kind, field]:
                    print(f"  {name}: {kind} of {field}, seed {seed}, row {rows[0]}", flush=True)
                bad[kind, field] += len(rows)
        if (seed + 1) % 20 == 0:
            print(f"{name}: {(seed + 1) * BATCH} states, {bad.total()} bad", flush=True)
    return bad, resets


def main() -> None:
    """Prints a line for each scene."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--scenes", nargs="+", default=list(SCENES), choices=list(SCENES))
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", not options.float32)
    dtype = jnp.float32 if options.float32 else jnp.float64
    for name in options.scenes:
        start = time.perf_counter()
        bad, resets = check(name, options.count, dtype)
        seconds = time.perf_counter() - start
        print(f"{name}: {options.count} states, {resets} resets, {dtype.__name__}, {seconds:.0f} s")
        print(f"  not finite: {dict(+bad) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
