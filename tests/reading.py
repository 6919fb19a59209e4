"""A reader of pods that notes in which threads they are read."""

from __future__ import annotations

import threading

from extender.core.model.objects import Pod
from extender.core.wire.decoding import Json
from extender.core.wire.objects import GenerateName, PodReader


class Reading(PodReader):
    """Notes in which thread it reads, and so do the readers that are made from it."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.others: list[Reading] = []

    @property
    def apart(self) -> list[int]:
        """Return the threads in which the readers that were made from it read."""
        return [thread for other in self.others for thread in other.threads]

    def another(self) -> Reading:
        """Return a reader for another thread."""
        self.others.append(Reading())
        return self.others[-1]

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        self.threads.append(threading.get_ident())
        return super().read(raw, generate)
