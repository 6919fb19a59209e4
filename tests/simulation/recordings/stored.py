"""The recordings: one file for each scenario, with what the real control plane did."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final, Self

from tests.simulation.recordings.log import AFTER_BACK_OFF, Log

FOLDER = Path(__file__).parent
HINT: Final = "nominated"


@dataclass(frozen=True, slots=True)
class Story:
    """What happened to one pod."""

    steps: list[str]
    conditions: list[str]


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened in a scenario, pod by pod."""

    scenario: str
    kubernetes: str
    pods: dict[str, Story]

    @classmethod
    def of(cls, scenario: str, kubernetes: str, log: Log) -> Self:
        """Take down a log."""
        pods = {pod: Story(log.steps(pod), log.conditions(pod)) for pod in log.pods()}
        return cls(scenario, kubernetes, pods)

    @classmethod
    def load(cls, scenario: str) -> Self:
        found = json.loads(path_of(scenario).read_text())
        pods = {pod: Story(**story) for pod, story in found["pods"].items()}
        return cls(found["scenario"], found["kubernetes"], pods)

    def save(self) -> None:
        """Write the file."""
        pods = {
            pod: {"steps": story.steps, "conditions": story.conditions}
            for pod, story in self.pods.items()
        }
        text = {"scenario": self.scenario, "kubernetes": self.kubernetes, "pods": pods}
        path_of(self.scenario).write_text(json.dumps(text, indent=2) + "\n")


def path_of(scenario: str) -> Path:
    """Return where the recording of a scenario is."""
    return FOLDER / f"{scenario}.json"


def differences(recorded: Recording, found: Recording, *, idle: bool) -> list[str]:
    """Say where two recordings of a scenario differ.

    Time is left out but for this: a back-off that is recorded must be there. Unless the machine was
    `idle`, as simulated ones are, two things may be there that are not recorded: a back-off, and a
    nomination of a pod that its scheduler was about to try again by itself.
    """
    wrong: list[str] = []
    for pod in sorted({*recorded.pods, *found.pods}):
        told, seen = recorded.pods.get(pod), found.pods.get(pod)
        if told is None or seen is None:
            wrong.append(f"{pod}: only in one of them")
            continue
        expected, steps = _caught_up(told.steps), _caught_up(seen.steps)
        if not idle:
            steps = _without_needless_pauses(_without_needless_hints(steps, expected), expected)
        if steps != expected:
            wrong.append(f"{pod}: recorded {told.steps}, found {seen.steps}")
        if told.conditions != seen.conditions:
            wrong.append(f"{pod}: recorded {told.conditions}, found {seen.conditions}")
    return wrong


def _without_needless_pauses(steps: list[str], expected: list[str]) -> list[str]:
    return [
        each if told.startswith(AFTER_BACK_OFF) else each.removeprefix(AFTER_BACK_OFF)
        for each, told in zip_longest(steps, expected, fillvalue="")
        if each
    ]


def _without_needless_hints(steps: list[str], expected: list[str]) -> list[str]:
    return steps if HINT in expected else [each for each in steps if each != HINT]


def _caught_up(steps: list[str]) -> list[str]:
    """Return steps as if the extender had seen each event no later than the scheduler did.

    Their watches race. Where the extender's lost, it refuses a pod once more, and lets it in when
    it has seen the event and the scheduler comes back, by itself or for a hint: all of it counts as
    the one call that would have let the pod in.
    """
    return _LATE.sub(r"\1\2: 1 fit", "\n".join(steps)).split("\n")


_LATE: Final = re.compile(
    r"(\[[^\n]*\]\n)(filter \d+): 0 fit\n(?:filter \d+: 0 fit\n)*(?:nominated\n)?filter \d+: 1 fit"
)
