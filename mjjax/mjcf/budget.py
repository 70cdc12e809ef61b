"""Counts how much of its limits a model has used, and has limits that users cannot raise."""

from dataclasses import dataclass, field

from mjjax.core.errors import Origin
from mjjax.core.limits import Limits

ATTRIBUTES = 1_000  # largest number of attributes of one element
MODEL = 20  # elements for which a model to be attached counts, besides its own elements
MOST_NESTED = 200  # largest number of elements in one another, across files
GEOMS = 46_300  # largest number of geoms, because pairs of geoms are numbered in 32 bits


@dataclass
class Budget:
    """The part of its limits that a model has used; the models that it attaches share it.

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
