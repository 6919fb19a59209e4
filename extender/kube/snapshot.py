"""Everything that exists of a resource at one moment, already read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from extender.errors import ObjectError
from extender.kube.frames import Skip, read_object

if TYPE_CHECKING:
    import msgspec

    from extender.kube.frames import Metadata, Resource, Skipped

T = TypeVar("T")

SLICE: Final = 100
"""Objects read or stored before others get a turn: about a millisecond of work."""


@dataclass(slots=True)
class Snapshot(Generic[T]):
    """What a list said."""

    version: str = ""
    objects: dict[str, T] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Key to uid of the objects that exist but make no sense to us."""

    def __len__(self) -> int:
        return len(self.objects) + len(self.unreadable)

    def take(
        self, resource: Resource[T], metadata: Metadata, raw: msgspec.Raw, skipped: Skipped
    ) -> None:
        """Read one object; when it makes no sense, what was known of it stays."""
        try:
            self.objects[metadata.key] = read_object(resource, raw)
        except ObjectError as failure:
            self.unreadable[metadata.key] = metadata.uid
            skipped(Skip.UNREADABLE, f"{metadata.key}: {failure}")

    def drop(self, key: str) -> None:
        """Forget an object."""
        self.objects.pop(key, None)
        self.unreadable.pop(key, None)

    def has_unreadable(self, key: str, uid: str) -> bool:
        """Whether the object we hold is one of those; a uid of "" is not compared."""
        found = self.unreadable.get(key)
        return found is not None and uid in {"", found}
