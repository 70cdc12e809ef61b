"""The models that a command works on."""

from pathlib import Path

import mjjax
from mjjax.cli.arguments import UsageError, embedded
from mjjax.cli.progress import doing


def listing() -> str:
    lines = []
    for name, text in embedded().items():
        m = mjjax.Model.from_xml_string(text)
        lines.append(f"{name:16} {sizes(m)}")
    return "\n".join(lines)


def load(name: str) -> mjjax.Model:
    """A model that comes with mjjax, or from an MJCF file or a file of `mjjax compile`."""
    with doing(f"reading {name}"):
        if name in embedded() or name.endswith(".xml") or not Path(name).is_file():
            return spec_of(name).compile()
        try:
            return mjjax.Model.load(name)
        except ValueError as error:
            raise UsageError(str(error)) from None


def spec_of(name: str) -> mjjax.Spec:
    models = embedded()
    if name in models:
        return mjjax.Spec.from_string(models[name])
    if not Path(name).is_file():
        raise UsageError(f"no model {name!r}: neither a file nor embedded ({', '.join(models)})")
    return mjjax.Spec.from_file(name)


def sizes(m: mjjax.Model) -> str:
    return f"{m.nbody - 1:3} bodies {m.nv:3} dofs {m.nu:3} actuators"
