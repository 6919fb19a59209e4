"""Watch lines and lists of every kind into the state: it stays what the readable ones say."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.config import Config
from extender.core.errors import ExtenderError, ObjectError
from extender.core.kube.client import ApiClient
from extender.core.kube.frames import EventType, SkippedError, read_event
from extender.core.kube.watchers import build_reflectors
from extender.core.kube.watching import Lister
from extender.core.resources import needed
from extender.core.source import empty_state, pod_reader
from simulation.apiserver.store import key_of
from simulation.invariants.recount import (
    live,
    mismatches,
    nominated_mismatches,
    room_mismatches,
)
from tests.annotating import moved
from tests.builders import budget, namespace, selector
from tests.conformance.cases import load_cases
from tests.features.every import objects
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import mutated, pieces
from tests.fuzz.parsers import NODE, POD, TABLE
from tests.kube.rig import credentials_for
from tests.unbound import everything

pytestmark = pytest.mark.thorough

EVENTS = 200
"""In one round, in which one state takes them."""
KINDS = tuple(EventType)


class Answering(ApiClient):
    """An API server that has one answer."""

    def __init__(self) -> None:
        super().__init__(credentials_for("http://127.0.0.1:1"))
        self.body = b""

    async def get(
        self, path: str, params: Mapping[str, str], *, within: float | None = None
    ) -> bytes:
        del path, params, within
        return self.body


def seeds() -> Mapping[str, Sequence[Any]]:
    """Return objects by their kind, as an API server has them."""
    found: dict[str, list[Any]] = {
        "Pod": [POD, moved(POD)],
        "Node": [NODE],
        "Namespace": [namespace("default", {"team": "red"})],
        "PodDisruptionBudget": [budget("one", selector(app="web"), 2)],
    }
    for case in load_cases()[:40]:
        for kind, name in (("Pod", "pods"), ("Node", "nodes"), ("Namespace", "namespaces")):
            found[kind] += case.cluster[name]
    for each in objects():
        found.setdefault(each["kind"], []).append(each)
    return {kind: [json.loads(json.dumps(each)) for each in some] for kind, some in found.items()}


def stored(dice: random.Random, found: Any) -> Any:
    """Return an object as it is stored: with a version, and perhaps another uid or name.

    Names have uids of their own, as on an API server: nominations are kept by uid.
    """
    metadata = {"resourceVersion": str(dice.randint(1, 99)), **found["metadata"]}
    if "uid" not in metadata or dice.random() < 0.2:
        metadata["uid"] = f"{key_of(found)} {dice.choice('uv')}"
    return {**found, "metadata": metadata}


def renewed(found: Any, number: int) -> Any:
    """Return an object that is listed and was never watched."""
    metadata = {**found["metadata"], "resourceVersion": "100", "uid": f"listed-{number}"}
    return {**found, "metadata": metadata}


class Told:
    """Two states: one is told all that comes, by the program's reflectors; one what is valid."""

    def __init__(self, config: Config) -> None:
        self.client = Answering()
        self.resources = needed(config)
        self.state, self.fresh = empty_state(config), empty_state(config)
        self.pods = pod_reader(config)
        built = build_reflectors(self.client, self.state, self.resources, self.pods)
        self.reflectors = dict(zip((each.kind for each in self.resources), built, strict=True))

    async def tell(self, kind: str, line: bytes) -> None:
        """Have a line told by the watch of a kind."""
        reflector = self.reflectors[kind]
        try:
            event = read_event(line)
        except (ExtenderError, SkippedError):
            return
        await reflector.mirror.take(event)
        [resource] = (each for each in self.resources if each.kind == kind)
        match event.kind:
            case EventType.ADDED | EventType.MODIFIED:
                with suppress(ObjectError):
                    read = resource.reader(self.pods)(event.raw)
                    resource.upsert(self.fresh, read)
            case EventType.DELETED:
                resource.remove(self.fresh, event.metadata.key, event.metadata.uid)
            case EventType.BOOKMARK:
                pass

    async def list(self, kind: str, body: bytes) -> None:
        """Have a kind listed, as by a reflector that has lost its place."""
        self.client.body = body
        reflector = self.reflectors[kind]
        lister = Lister(self.client, reflector.resource, lambda *_: None)
        with suppress(ExtenderError):
            await reflector.mirror.replace(await lister.latest())

    def check(self, fresh: ClusterState | None = None) -> None:
        """Hold the state against a recount, and one that has seen nothing broken."""
        fresh = fresh or self.fresh
        assert mismatches(self.state) == []
        assert room_mismatches(self.state) == []
        times = Counter(pod.uid for pod in self.state.pods.values())
        # A name that was changed has left its uid to two pods.
        assert [each for each in nominated_mismatches(self.state) if times[each] < 2] == []
        assert live(self.state) == live(fresh)
        for each in self.resources:
            assert each.keys(self.state) == each.keys(fresh), each.name
        assert dict(self.state.pods) == dict(fresh.pods)


async def test_no_line_of_a_watch_misleads_the_state(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    known = seeds()
    parts = pieces(known.values())
    config = everything("replace")
    campaign = Campaign("watch events", fewest=2)
    for dice in campaign:
        told = Told(config)
        kinds = [each.kind for each in told.resources]
        for _ in range(EVENTS):
            kind = dice.choice((*kinds, "Pod", "Pod", "Pod"))
            # A watch of one kind may bring another, or a table.
            found = dice.choice(known[kind if dice.random() < 0.95 else dice.choice(kinds)])
            event = {"type": dice.choice(KINDS), "object": stored(dice, found)}
            if dice.random() < 0.02:
                event["object"] = TABLE
            line = mutated(dice, event, parts) + b"\n" * (dice.random() < 0.95)
            with campaign.telling((kind, line)):
                await told.tell(kind, line)
        with campaign.telling("the round", 0):
            told.check()
        fresh = Told(config)
        for kind in kinds:
            made = [renewed(each, number) for number, each in enumerate(known[kind][:20])]
            page = {"metadata": {"resourceVersion": "100"}, "items": made}
            sent = mutated(dice, page, parts)
            with campaign.telling((kind, sent), len(made)):
                await told.list(kind, sent)
            # Then a sound list makes it what a program knows that has just begun.
            for each in (told, fresh):
                await each.list(kind, json.dumps(page).encode())
        with campaign.telling("lists", 0):
            told.check(fresh.state)
    assert caplog.records == []
