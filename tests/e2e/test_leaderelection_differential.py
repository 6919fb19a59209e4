"""A Lease as this program and client-go's elector take, renew and give it back, step by step.

Both get the same clock, the same writes of others and the same failures. What differs stands in
docs/development/differences.md, and in `is_documented` here.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from extender.core.errors import ApiError
from extender.core.kube.failures import NoAnswerError
from extender.core.kube.lease import Lease
from extender.core.kube.limits import LEASE
from extender.core.kube.pacing import Timing
from extender.core.model.keys import Key
from tests.clock import Clock
from tests.conformance.asking import asking
from tests.conformance.drawing import look_at_each
from tests.e2e.original import CLIENT_GO, original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import SearchStrategy

    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

    JSON = dict[str, Any]


@pytest.fixture(scope="module")
def client_go(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Return what asks client-go, built on the first run."""
    with asking(
        original(built, "leaderelection", "client-go's leader election", CLIENT_GO)
    ) as asked:
        yield asked


# Cases

SECONDS = st.one_of(st.none(), st.integers(0, 200))
RECORDS = st.fixed_dictionaries(
    {
        "holder": st.sampled_from(["other", "other", "third", "me", "", None]),
        "duration": st.sampled_from([15, 15, 1, 30, None]),
        "acquired": SECONDS,
        "renewed": st.none(),
        "transitions": st.sampled_from([None, 0, 3]),
    }
)
OTHERS = st.one_of(
    st.fixed_dictionaries({"act": st.just("set"), "record": RECORDS}),
    st.sampled_from([{"act": "note"}, {"act": "note"}, {"act": "delete"}]),
)
FAILURES = st.sampled_from(["", "", "", "", "fail"])
TRIES = {
    "act": st.sampled_from(["try", "try", "try", "try", "try", "release"]),
    "reads": FAILURES,
    "writes": st.one_of(FAILURES, st.just("lost")),
}
ALONE = st.fixed_dictionaries(TRIES)
RARE = 7
OVERTAKEN = st.fixed_dictionaries({**TRIES, "before": OTHERS})
LATER = st.sampled_from([0, 1, 2, 2, 2, 9, 14, 15, 16, 40])


def cases() -> SearchStrategy[JSON]:
    """Draw what happens to a Lease, mostly tries."""
    kinds = st.integers(0, 15).map(lambda drawn: drawn if drawn == RARE else drawn % 4)
    step = st.tuples(
        LATER, kinds.flatmap(lambda kind: {RARE: OVERTAKEN, 0: OTHERS}.get(kind, ALONE))
    )
    return st.lists(step, min_size=1, max_size=14).map(_timed)


def _timed(steps: list[tuple[int, JSON]]) -> JSON:
    """Say when, and let no two writes of others be the same: each renews."""
    now, timed = 1000, []
    for number, (later, step) in enumerate(steps):
        now += later
        timed.append({**_renewed(step, 2 * number), "at": now})
        if "before" in step:
            timed[-1]["before"] = _renewed(step["before"], 2 * number + 1)
    return {"steps": timed}


def _renewed(step: JSON, at: int) -> JSON:
    return step if "record" not in step else {**step, "record": {**step["record"], "renewed": at}}


# This program


class Server:
    """Keeps one Lease as the API server does, and is the client as well."""

    def __init__(self) -> None:
        self.lease: JSON | None = None
        self.version = 0
        self.step: JSON = {}
        self.wrote = False

    async def get(self, *_: object, **__: object) -> bytes:
        if self.step.get("reads"):
            raise NoAnswerError("away")
        if self.lease is None:
            raise ApiError(404, "NotFound", "none")
        return json.dumps(self.lease).encode()

    async def post(self, _: str, body: bytes, **__: object) -> bytes:
        """Create it, once."""
        return self._write(body, lambda _: 409 if self.lease is not None else None)

    async def put(self, _: str, body: bytes, **__: object) -> bytes:
        """Replace it, if that is based on the latest version."""

        def refused(sent: JSON) -> int | None:
            if self.lease is None:
                return 404
            here = self.lease["metadata"]["resourceVersion"]
            return None if sent["metadata"]["resourceVersion"] == here else 409

        return self._write(body, refused)

    def _write(self, body: bytes, refused: Callable[[JSON], int | None]) -> bytes:
        before, sent = self.step.pop("before", None), json.loads(body)
        self.wrote = True
        if before is not None:
            self.change(before)
        if self.step.get("writes") == "fail":
            raise ApiError(503, "Unavailable", "away")
        status = refused(sent)
        if status is not None:
            raise ApiError(status, "Overtaken", "it has changed")
        self.keep(sent["spec"])
        if self.step.get("writes") == "lost":
            raise NoAnswerError("silence")
        return json.dumps(self.lease).encode()

    def keep(self, spec: JSON) -> None:
        self.version += 1
        self.lease = {"metadata": {"resourceVersion": str(self.version)}, "spec": spec}

    def change(self, step: JSON) -> None:
        """Do what others do."""
        if step["act"] == "delete":
            self.lease = None
        elif step["act"] == "set":
            self.keep({_FIELDS[name]: _written(value) for name, value in _named(step["record"])})
        elif self.lease is not None:
            self.keep(self.lease["spec"])

    def record(self) -> JSON | None:
        """Return what there is, as the other program tells it."""
        if self.lease is None:
            return None
        spec = self.lease["spec"]
        found = {name: spec.get(field) for name, field in _FIELDS.items()}
        for name in ("acquired", "renewed"):
            at = found[name]
            found[name] = None if at is None else int(datetime.fromisoformat(at).timestamp())
        return found


_FIELDS = {
    "holder": "holderIdentity",
    "duration": "leaseDurationSeconds",
    "acquired": "acquireTime",
    "renewed": "renewTime",
    "transitions": "leaseTransitions",
}


def _named(record: JSON) -> list[tuple[str, Any]]:
    return [
        (name, ("at", value) if name in {"acquired", "renewed"} else value)
        for name, value in record.items()
        if value is not None
    ]


def _written(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return f"{datetime.fromtimestamp(value[1], UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


async def ours(case: JSON, led: list[bool]) -> Iterator[JSON]:
    """Return what this program does at each step; `led` is whether it led before."""
    server, clock, found = Server(), Clock(), []
    lease = Lease(
        server,  # type: ignore[arg-type]
        Key("here/it"),
        identity="me",
        timing=Timing(clock=clock, wall=clock),
    )
    for step in case["steps"]:
        clock.now, server.step, server.wrote = float(step["at"]), dict(step), False
        held = False
        led.append(lease.leads)
        if step["act"] == "try":
            held = await lease._attempt()
            assert lease.leads or not held
        elif step["act"] == "release":
            await lease.close()
            assert not lease.leads
        else:
            server.change(step)
        found.append({"held": held, "wrote": server.wrote, "lease": server.record()})
    return iter(found)


# The comparison


def is_documented(step: JSON, mine: JSON, theirs: JSON, *, led: bool) -> str | None:
    """Return which known difference a step shows, if so."""
    if step["act"] == "release":
        # client-go writes over whoever holds the Lease, and goes by what it has seen last.
        left = mine["lease"] or {"holder": "me"}
        taken = left["holder"] != "me" and left["renewed"] != step["at"]
        plain = led and not taken and "before" not in step and not step["reads"]
        return None if plain else "gives back what it certainly holds, without reading it"
    if step["reads"] or ("before" in step and mine["wrote"] is not theirs["wrote"]):
        # It reads again at once when it was overtaken, and not before it writes to its own.
        return "reads a Lease when others have written to it"
    if "before" in step and not theirs["held"] and mine["lease"]["holder"] == "me":
        return "tries again at once where a write of others leaves the Lease free"
    if mine["lease"] is not None and mine["lease"]["acquired"] == step["at"]:
        # client-go keeps both of a lead that it has lost, if it takes it again in the same try.
        kept = {"acquired": step["at"], "transitions": mine["lease"]["transitions"]}
        if {**theirs["lease"], **kept} == mine["lease"]:
            return "acquireTime and leaseTransitions tell of each time the lead was taken"
    return None


def test_a_lease_is_led_by_as_client_go_does_it(
    client_go: Ask, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    tally = Counter[str]()

    def look(case: JSON) -> None:
        led: list[bool] = []
        mine, theirs = asyncio.run(ours(case, led)), client_go(case)
        for step, before, one, other in zip(case["steps"], led, mine, theirs, strict=True):
            if (one["held"], one["lease"]) != (other["held"], other["lease"]):
                why = is_documented(step, one, other, led=before)
                assert why is not None, (step, one, other)
                tally[why] += 1
                return
            failed = step.get("writes") and (one["lease"] or {}).get("holder") != "me"
            if ("before" in step or failed) and not one["held"]:
                # One reads at once, the other at the next try: their clocks of it differ from here.
                tally["the same until it was overtaken"] += 1
                return
            tally[f"{step['act']}{'' if not one['held'] else ', held'}"] += 1
        tally["the same to the end"] += 1

    examples = int(request.config.getoption("--questions"))
    look_at_each(cases(), look, start=start, examples=examples)
    say(f"leader election: {dict(tally)}")
    assert tally["the same to the end"] > examples / 4, tally
    assert min(tally["try, held"], tally["try"], tally["release"]) > examples / 10, tally


def test_a_lead_that_is_not_renewed_lasts_no_longer_than_client_go_s(client_go: Ask) -> None:
    """The machine may delay its end, but nothing makes it come early."""
    retries = client_go({"retry": 0.2})
    assert retries * LEASE.retry >= LEASE.valid
    assert LEASE.valid < LEASE.duration
