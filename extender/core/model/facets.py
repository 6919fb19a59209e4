"""What features read of pods that the core knows nothing of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")


class Facet(Generic[T]):
    """One thing that a feature reads of each pod: `pod.facet(FACET)`.

    There is one object of each; it is told from others by identity. Its values are hashable, since
    pods with the same ones share them. What is read of more than annotations, a
    `wire.objects.Beyond` reads.
    """

    annotations: frozenset[str] = frozenset()
    """Those that the decoder keeps for it, as JSON."""

    def read(self, annotations: Mapping[str, bytes]) -> T | None:
        """Read those of its annotations that a pod has, at least one; ObjectError for a fault."""
        del annotations
        return None

    def written(self, value: T) -> Mapping[str, str]:
        """Return the annotations that a pod with this value gets when it is bound."""
        del value
        return {}


Facets: TypeAlias = tuple[tuple[Facet[Any], Any], ...]
NO_FACETS: Facets = ()


_NUMBER: Final = re.compile(rb'"(?P<value>0|-[0-9]{1,20}|[1-9][0-9]{0,19})"')
_INT32: Final = 1 << 31


def read_number(raw: bytes) -> int:
    """Read an annotation as Kubernetes reads numbers there (ParseInt to 32 bits); 0 for others."""
    written = _NUMBER.fullmatch(raw)
    value = 0 if written is None else int(written["value"])
    return value if -_INT32 <= value < _INT32 else 0
