"""A scheduler's watches: everything at the start, then each change in order, a moment late."""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.store import PATHS, Change, Store
from simulation.network import Link

Take = Callable[[Change], None]


class Informer:
    """Follows the store over a link; each resource on a connection of its own, so out of step."""

    def __init__(self, store: Store, link: Link, take: Take) -> None:
        self._store = store
        self._take = take
        # As client-go's reflector: a watch that breaks goes on from the last version that it has.
        self._pipes = {name: link.down.pipe(resumes=True) for name in PATHS}
        self.stopped = False

    def start(self) -> None:
        for resource in ("namespaces", "nodes", "poddisruptionbudgets", "podgroups", "pods"):
            for key, obj in sorted(self._store.all(resource).items()):
                self._take(Change(self._store.version, resource, key, None, obj, ""))
        self._store.observers.append(self._follow)

    def stop(self) -> None:
        self.stopped = True
        self._store.observers.remove(self._follow)
        for pipe in self._pipes.values():
            pipe.close()

    def _follow(self, change: Change) -> None:
        def arrive() -> None:
            if not self.stopped:
                self._take(change)

        self._pipes[change.resource].send(arrive)
