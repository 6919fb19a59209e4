"""Lists in pages, each list at one version, and tokens that expire."""

from __future__ import annotations

from typing import Final

from simulation.apiserver.store import Json, Refused, Store

MOST_TOKENS: Final = 100


class Pages:
    """The lists that clients are in the middle of."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rest: dict[str, tuple[int, list[Json]]] = {}
        self._number = 0

    def first(self, objects: list[Json], version: int, limit: int) -> Json:
        """Return the first page of some objects."""
        page, rest = objects[:limit], objects[limit:]
        metadata: Json = {"resourceVersion": str(version)}
        if rest:
            self._number += 1
            token = metadata["continue"] = f"page-{self._number}"
            self._rest[token] = version, rest
            if len(self._rest) > MOST_TOKENS:
                # Whoever asks for one object alone never comes back for the rest.
                del self._rest[next(iter(self._rest))]
        return {"kind": "List", "metadata": metadata, "items": page}

    def next(self, token: str, limit: int) -> Json:
        """Return the page after a token; 410 when its version is compacted."""
        version, rest = self._rest.pop(token, (-1, []))
        if version < self._store.compacted:
            raise Refused(410, "Expired", "The provided continue parameter is too old")
        return self.first(rest, version, limit)
