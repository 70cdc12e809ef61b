"""Measures rendering: `python -m tests.render.speed [MODEL] [--worlds 64] [--size 64]`.

It prints pictures per second and memory. The worlds are near the start and seen by the free camera
or camera 0, in float32.
"""

import argparse
import functools
import json
import time

import jax

import mjjax
from mjjax.cli.models import load
from mjjax.cli.worlds import start


def main() -> None:
    """Prints one line of JSON: seconds to compile, pictures per second, bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="humanoid")
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--size", type=int, default=64, help="pixels along a side")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    model = load(args.model)
    camera = 0 if model.ncam else None
    draw = functools.partial(mjjax.render, camera=camera, width=args.size, height=args.size)

    def look(model: mjjax.Model, batch: mjjax.Data) -> mjjax.Picture:
        def one(data: mjjax.Data) -> mjjax.Picture:
            data = mjjax.com_pos(model, mjjax.kinematics(model, data))
            return draw(model, mjjax.camlight(model, data))

        return jax.vmap(one)(batch)

    batch = start(model, args.worlds, 0)
    begin = time.perf_counter()
    program = jax.jit(look).lower(model, batch).compile()
    compiled = time.perf_counter() - begin
    jax.block_until_ready(program(model, batch))
    seconds = []
    for _ in range(args.repeats):
        begin = time.perf_counter()
        jax.block_until_ready(program(model, batch))
        seconds.append(time.perf_counter() - begin)
    memory = program.memory_analysis()
    assert memory is not None
    print(
        json.dumps(
            {
                "model": args.model,
                "worlds": args.worlds,
                "size": args.size,
                "device": jax.devices()[0].device_kind,
                "compile_s": round(compiled, 1),
                "pictures_per_s": round(args.worlds / min(seconds), 1),
                "temporary_MB": round(memory.temp_size_in_bytes / 1e6, 1),
                "pictures_MB": round(memory.output_size_in_bytes / 1e6, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
