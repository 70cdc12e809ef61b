"""Limits on the size of a model, so that a small file cannot fill the memory or take for ever."""

from dataclasses import dataclass

from mjjax.core.errors import Origin


@dataclass(frozen=True)
class Limits:
    """How much a model file may ask for before it is refused (`UnsupportedFeature`).

    Files are not trusted: `Model.from_xml_path(path)` needs little memory and time for any file. If
    you trust a file, raise a limit: `from_xml_path(path, limits=mjjax.Limits(nv=20_000))`.

    Attributes:
        xml_bytes: bytes of all XML files of a model.
        file_bytes: bytes of one mesh, height field or texture file.
        elements: elements of XML, including those that macros make.
        bodies: bodies.
        nv: degrees of freedom, which are limited because the inertia matrix is dense.
        numbers: numbers in one field of a model.
        pixels: pixels of one picture.
        texture_bytes: bytes of the pixels of all textures, which are read when they are drawn.
        keyframes: keyframes.
        steps: steps of the simulation that finds length ranges.
    """

    xml_bytes: int = 2**25
    file_bytes: int = 2**27
    elements: int = 50_000
    bodies: int = 10_000
    nv: int = 5_000
    numbers: int = 2**24
    pixels: int = 2**26
    texture_bytes: int = 2**31 - 1
    keyframes: int = 20_000
    steps: int = 50_000

    def bound(self, origin: Origin, what: str, amount: float, name: str) -> None:
        """Refuses an amount that is larger than the limit called `name`.

        Raises:
            UnsupportedFeature: `amount` is more than the limit `name`.
        """
        bound(
            origin,
            what,
            amount,
            getattr(self, name),
            f"; raise it by limits=mjjax.Limits({name}=...)",
        )


def bound(origin: Origin, what: str, amount: float, most: int, how: str = "") -> None:
    """Refuses an amount that is larger than a limit; `how` ends the message with what to do.

    Raises:
        UnsupportedFeature: `amount` is more than `most`.
    """
    if amount > most:
        size = f"{amount:,}" if isinstance(amount, int) else f"{amount:.3g}"
        raise origin.unsupported(f"{what}: {size} are too many", f"the limit is {most:,}{how}")
