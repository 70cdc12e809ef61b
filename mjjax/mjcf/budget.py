"""How large a model may be: a small file must not be able to fill the memory or take for ever."""

from dataclasses import dataclass

from mjjax.core.errors import Origin, UnsupportedFeature

XML_BYTES = 2**25  # of all XML files of a model
FILE_BYTES = 2**27  # of one mesh, height field or texture
ELEMENTS = 50_000  # of XML, and of what macros make of it
ATTRIBUTES = 1_000  # of one element
MODEL = 20  # elements that a model to be attached counts for, besides its own
DEPTH = 200  # of elements in one another, across files
BODIES = 10_000
GEOMS = 46_300  # the pairs of two are numbered in 32 bits
NV = 5_000  # degrees of freedom: the inertia matrix is dense
NUMBERS = 2**24  # in one field of a model
PIXELS = 2**26  # of a texture
KEYFRAMES = 20_000
STEPS = 50_000  # of the simulation that finds length ranges


def bound(origin: Origin, what: str, amount: float, most: int) -> None:
    """Refuses what is larger than a limit.

    Raises:
        UnsupportedFeature: `amount` is more than `most`.
    """
    if amount > most:
        raise _too_large(origin, what, amount, most)


def _too_large(origin: Origin, what: str, amount: float, most: int) -> UnsupportedFeature:
    size = f"{amount:,}" if isinstance(amount, int) else f"{amount:.3g}"
    return origin.unsupported(f"{what}: {size} are too many", f"the limit is {most:,}")


@dataclass
class Budget:
    """What is left for one model, shared by the models that it attaches.

    Attributes:
        xml: bytes of XML files.
        elements: elements of XML, and copies of them.
    """

    xml: int = XML_BYTES
    elements: int = ELEMENTS

    def read(self, origin: Origin, size: int) -> None:
        """Counts an XML file.

        Raises:
            UnsupportedFeature: the files are too large.
        """
        self.xml -= size
        if self.xml < 0:
            raise _too_large(origin, "bytes of XML", XML_BYTES - self.xml, XML_BYTES)

    def make(self, origin: Origin, count: int) -> None:
        """Counts elements before they are made.

        Raises:
            UnsupportedFeature: the model has too many.
        """
        self.elements -= count
        if self.elements < 0:
            raise _too_large(origin, "elements", ELEMENTS - self.elements, ELEMENTS)
