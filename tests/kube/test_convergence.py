"""Whatever goes wrong on the way, the mirror ends up equal to the server, and asks in moderation.

`MIRROR_SEEDS=1000 pytest tests/kube/test_convergence.py` takes a longer walk.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from aiohttp import web

from extender.core.kube.limits import Timeouts
from tests.kube.fake_api import (
    CLOSE,
    CUT,
    Answer,
    answering,
    dripping,
    dropping,
    failure,
    hanging,
    line,
    saying,
    too_large,
)
from tests.kube.rig import Rig, thing

pytestmark = pytest.mark.thorough

STEPS = 150
SEEDS = int(os.environ.get("MIRROR_SEEDS", "12"))
MOST_REQUESTS_A_SECOND = 3.0
"""Of virtual time, on average: a stream, a list in its place and a watch, after the shortest wait.
What a step of the course breaks off may be asked for again at once besides."""

OLD = {"metadata": {"name": "t1", "namespace": "ns", "uid": "old", "resourceVersion": "1"}}
TROUBLES: list[Answer] = [
    dropping,
    saying(),
    saying(CUT),
    saying(b"garbage\n", b"more"),
    saying(line("ERROR", {"code": 410, "reason": "Expired"})),
    saying(line("ERROR", {})),
    saying(line("BOOKMARK", {"metadata": {"resourceVersion": "1"}})),
    saying(line("DELETED", OLD), line("DELETED", OLD), line("RENAMED", OLD)),
    saying(b"\n\n \n", line("ADDED", {"metadata": {}}), line("BOOKMARK", {"metadata": {}})),
    dripping(piece=lambda _: b"\n"),
    dripping(piece=lambda _: b"x"),
    hanging(),
    answering(too_large),
    answering(lambda: failure(410, "Expired", "too old")),
    answering(lambda: failure(429, "TooManyRequests", "slow")),
    answering(lambda: failure(500, "InternalError", "etcdserver: leader changed")),
    answering(lambda: web.Response(status=502, text="<html>")),
    answering(lambda: web.json_response({"kind": "Status"})),
]


class Course:
    """Random changes and troubles."""

    def __init__(self, rig: Rig, chance: random.Random) -> None:
        self.rig = rig
        self.chance = chance
        self.steps = 0

    def step(self) -> None:
        """Let one thing happen."""
        self.steps += 1
        steps: list[tuple[int, Callable[[], object]]] = [
            (10, self.put),
            (5, self.delete),
            (2, self.recreate),
            (2, self.rig.things.bookmark),
            (1, self.rig.things.compact),
            (2, lambda: self.rig.things.send(CLOSE)),
            (2, lambda: self.rig.things.send(CUT)),
            (1, lambda: self.rig.things.send(b"\x00garbage\n")),
            (1, self.blink),
            (2, self.trouble),
            (2, self.repeat),
            (1, self.bookmark_and_close),
        ]
        weights = [weight for weight, _ in steps]
        self.chance.choices([step for _, step in steps], weights)[0]()

    def put(self) -> None:
        name = f"t{self.chance.randrange(12)}"
        known = self.rig.things.objects.get(f"ns/{name}")
        uid = known["metadata"]["uid"] if known else f"{name}-{self.rig.api.version}"
        self.rig.things.put(thing(name, self.chance.randrange(1000), uid=uid))

    def delete(self) -> None:
        if self.rig.things.objects:
            self.rig.things.delete(self.chance.choice(sorted(self.rig.things.objects)))

    def recreate(self) -> None:
        """Remove something and create another of its name."""
        self.delete()
        self.put()

    def blink(self) -> None:
        """Lose events with the watch that carried them."""
        self.rig.things.muted = True
        self.put()
        self.delete()
        self.rig.things.muted = False
        self.rig.things.send(CUT)

    def repeat(self) -> None:
        """Send the latest event of everything once more, in any order."""
        latest = list(self.rig.things.objects.values())
        self.chance.shuffle(latest)
        self.rig.things.send(*(line("MODIFIED", obj) for obj in latest))

    def bookmark_and_close(self) -> None:
        """Say how far the watch is, and end it."""
        self.rig.things.bookmark()
        self.rig.things.send(CLOSE)

    def trouble(self) -> None:
        """Answer the next requests badly."""
        for answers in (
            self.rig.things.watches,
            self.rig.things.lists,
            self.rig.things.streams,
        ):
            answers.extend(self.chance.choices(TROUBLES, k=self.chance.randrange(3)))
        self.rig.things.send(CLOSE)


@pytest.mark.parametrize(
    "streams",
    [
        pytest.param(True, id="from a server that streams lists"),
        pytest.param(False, id="from a server that lists in pages"),
    ],
)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_mirror_converges(rig: Rig, seed: int, streams: bool) -> None:
    rig.things.streams_lists = streams
    rig.things.paginates_cached = True
    rig.timeouts = Timeouts(read=0.1, total=0.2, idle=0.2, progress=0.1, streamed=0.3)
    course = Course(rig, random.Random(seed))
    began = rig.time.now
    async with rig.running():
        for _ in range(STEPS):
            course.step()
            if course.chance.random() < 0.3:
                rig.pulse.beat()
                await rig.time.sleep(course.chance.random())
                await rig.until_watching(0)
        await rig.pulse.until(
            lambda: (
                {key: (each.uid, each.value) for key, each in rig.sink.things.items()}
                == {
                    key: (obj["metadata"]["uid"], obj["value"])
                    for key, obj in rig.things.objects.items()
                }
            )
        )
    assert rig.observer.restarts.total() + rig.observer.relists.total() > 10
    seconds = rig.time.now - began
    assert len(rig.api.seen) <= course.steps + MOST_REQUESTS_A_SECOND * seconds
