"""What the feature reads of others, for those who give it what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from extender.features.binding.protocol import read_binding_args

if TYPE_CHECKING:
    from collections.abc import Callable

PARSERS: Final[dict[str, tuple[Callable[[bytes], object], list[Any]]]] = {
    "bind": (
        read_binding_args,
        [{"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n"}],
    )
}
