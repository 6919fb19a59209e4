"""What the feature reads of others, for those who give it what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from extender.core.wire.objects import PodReader
from extender.features.explain.asked import read_asked
from tests.builders import HOST, pod, term, workload

if TYPE_CHECKING:
    from collections.abc import Callable

_POD: Final = pod("p").labels(app="web").affinity(term(HOST))
PARSERS: Final[dict[str, tuple[Callable[[bytes], object], list[Any]]]] = {
    "question to explain": (
        lambda body: read_asked(body, PodReader()),
        [
            _POD,
            workload("Deployment", "web", _POD),
            {"Pod": _POD, "NodeNames": ["a"]},
            {"Pod": _POD, "Nodes": {"items": [{"metadata": {"name": "a"}}]}},
        ],
    )
}
