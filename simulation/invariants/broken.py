"""What is raised when something does not hold that must."""

from __future__ import annotations


class BrokenError(Exception):
    def __init__(self, invariant: str, about: str, words: tuple[str, ...]) -> None:
        super().__init__(f"{invariant}: {about}")
        self.invariant = invariant
        self.about = about
        self.words = words
        """Names to look for in the trace."""

    def __reduce__(self) -> tuple[type[BrokenError], tuple[str, str, tuple[str, ...]]]:
        """Return what it is made of, so that one process can send it to another."""
        return BrokenError, (self.invariant, self.about, self.words)
