"""What a model uses of its limits, and limits that nobody can raise."""

from dataclasses import dataclass, field

from mjjax.core.errors import Origin
from mjjax.core.limits import Limits

ATTRIBUTES = 1_000  # of one element
MODEL = 20  # elements that a model to be attached counts for, besides its own
MOST_NESTED = 200  # of elements in one another, across files
GEOMS = 46_300  # the pairs of two are numbered in 32 bits


@dataclass
class Budget:
    """What one model has used of its limits, shared by the models that it attaches.

    Attributes:
        limits: the limits.
        xml: bytes of XML files so far.
        elements: elements of XML, and copies of them, so far.
    """

    limits: Limits = field(default_factory=Limits)
    xml: int = 0
    elements: int = 0

    def read(self, origin: Origin, size: int) -> None:
        """Counts an XML file.

        Raises:
            UnsupportedFeature: the files are too large.
        """
        self.xml += size
        self.limits.bound(origin, "bytes of XML", self.xml, "xml_bytes")

    def make(self, origin: Origin, count: int) -> None:
        """Counts elements before they are made.

        Raises:
            UnsupportedFeature: the model has too many.
        """
        self.elements += count
        self.limits.bound(origin, "elements", self.elements, "elements")
