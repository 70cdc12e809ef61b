"""Makes the pictures of the gallery: `python docs/gallery.py [NAME ...]`.

A model gets a picture of a moment of a motion with random controls. A notebook gets the last figure
that is stored in it (`docs/notebooks.py` runs notebooks).
"""

import base64
import io
import json
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from PIL import Image

import mjjax

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/pictures/gallery"
SIZE = (480, 360)
MOMENT = 0.35  # s, when most models have begun to move and none has fallen
QUALITY = 85


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the pictures that the command line names, or all."""
    wanted = sys.argv[1:] if argv is None else argv
    PICTURES.mkdir(exist_ok=True)
    models = sorted(Path(str(resources.files("mjjax") / "assets")).glob("*.xml"))
    for path in [*models, *sorted((ROOT / "notebooks").glob("*.ipynb"))]:
        if wanted and path.stem not in wanted:
            continue
        picture = of_model(path) if path.suffix == ".xml" else of_notebook(path)
        picture.convert("RGB").save(PICTURES / f"{path.stem}.jpg", quality=QUALITY)
        print(path.stem, flush=True)
    return 0


def of_model(path: Path) -> Image.Image:
    """The model in motion."""
    model = mjjax.Model.from_xml_path(path)
    data = mjjax.make_data(model)
    if model.nkey:
        data = mjjax.reset_data(model, data, 0)
    steps = int(MOMENT / float(model.opt.timestep))
    controls = 0.3 * np.random.default_rng(0).normal(size=model.nu)
    data, _ = mjjax.rollout(model, data, jnp.tile(jnp.asarray(controls), (steps, 1)), keep=())
    data = mjjax.forward(model, data)
    picture = mjjax.render(model, data, width=2 * SIZE[0], height=2 * SIZE[1])
    pixels = (255 * np.clip(np.asarray(picture.rgb), 0, 1)).astype(np.uint8)
    return Image.fromarray(pixels).resize(SIZE, Image.Resampling.LANCZOS)


def of_notebook(path: Path) -> Image.Image:
    """The last figure that is stored in a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    figures = [x["data"]["image/png"] for x in outputs if "image/png" in x.get("data", {})]
    picture = Image.open(io.BytesIO(base64.b64decode(figures[-1])))
    picture.thumbnail((2 * SIZE[0], SIZE[1]), Image.Resampling.LANCZOS)
    return picture


if __name__ == "__main__":
    sys.exit(main())
