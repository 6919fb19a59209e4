"""A facet of no feature."""

from __future__ import annotations

from collections.abc import Mapping

from extender.core.model.facets import Facet, read_number

SIZE_ANNOTATION = "example.com/size"


class SizeFacet(Facet[int]):
    """A number; 0 is not written."""

    annotations = frozenset((SIZE_ANNOTATION,))

    def read(self, annotations: Mapping[str, bytes]) -> int | None:
        return read_number(annotations[SIZE_ANNOTATION]) or None

    def written(self, value: int) -> Mapping[str, str]:
        return {SIZE_ANNOTATION: str(value)} if value else {}


SIZE = SizeFacet()
