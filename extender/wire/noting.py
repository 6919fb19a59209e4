"""Reads pods for a simulation, and notes what it cannot know of them."""

from __future__ import annotations

from extender.model.keys import Key
from extender.model.objects import Pod
from extender.wire.affinity import EVERY_GATE_ON, Gates
from extender.wire.decoding import Json
from extender.wire.objects import GenerateName, PodReader


class NotingReader(PodReader):
    """Reads pods, and notes what those without an end ask beyond what is read."""

    def __init__(self, gates: Gates = EVERY_GATE_ON) -> None:
        super().__init__(gates, charges=True, node_affinity=True, owners=True, requirements=True)
        self.beyond: dict[str, list[Key]] = {}
        """The pods by the field that is not looked at."""

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        """Read a v1.Pod; ObjectError names the field that is broken."""
        pod = super().read(raw, generate)
        if not pod.terminal:
            for field in pod.requirements.unmodelled:
                self.beyond.setdefault(field, []).append(pod.key)
            if pod.group is not None:
                self.beyond.setdefault("schedulingGroup", []).append(pod.key)
        return pod
