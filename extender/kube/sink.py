"""Where mirrored objects go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Keeps objects by key: namespace/name, or the name of what has no namespace.

    Each call is one whole step: it must not leave anything half done, and takes repeated,
    unchanged and unknown objects calmly.
    """

    def keys(self) -> AbstractSet[str]:
        """Return the keys of all objects it holds."""

    def uid(self, key: str) -> str:
        """Return the uid of the object under `key`, or "" without one."""

    def upsert(self, obj: T_contra) -> None:
        """Add an object, or replace the one of the same key."""

    def delete(self, key: str, uid: str) -> None:
        """Forget an object, unless another one has taken its key."""
