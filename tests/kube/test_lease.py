"""Of several replicas one leads, and one that was cut off finds out before it acts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import web

from extender.core.kube.client import ApiClient
from extender.core.kube.lease import ACKNOWLEDGED, Lease
from extender.core.kube.limits import LEASE
from extender.core.kube.pacing import Timing
from extender.core.model.keys import Key
from tests.clock import Clock
from tests.kube.rig import credentials_for

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
KEY = Key("kube-system/affinity-extender")


class Server:
    """Keeps one Lease, as the API server does."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.away = False

    def keep(self, lease: dict[str, Any]) -> web.Response:
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease = lease
        return web.json_response(lease)

    async def get(self, _: web.Request) -> web.Response:
        if self.away:
            return web.json_response({"message": "away"}, status=503)
        if self.lease is None:
            return web.json_response({"message": "none"}, status=404)
        return web.json_response(self.lease)

    async def post(self, request: web.Request) -> web.Response:
        """Create it, once."""
        if self.lease is not None:
            return web.json_response({"message": "there is one"}, status=409)
        return self.keep(await request.json())

    async def put(self, request: web.Request) -> web.Response:
        """Replace it, if nobody has done so meanwhile."""
        if self.away:
            return web.json_response({"message": "away"}, status=503)
        found = await request.json()
        if self.lease is None:
            return web.json_response({"message": "none"}, status=404)
        if found["metadata"]["resourceVersion"] != str(self.version):
            return web.json_response({"message": "it has changed"}, status=409)
        return self.keep(found)

    def annotate(self, **annotations: str) -> None:
        """Change annotations, as an operator does."""
        assert self.lease is not None
        self.lease["metadata"].setdefault("annotations", {}).update(annotations)
        self.keep(self.lease)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
async def client(server: Server, aiohttp_server: Any) -> AsyncIterator[ApiClient]:
    app = web.Application()
    app.router.add_post(PATH, server.post)
    app.router.add_get(f"{PATH}/affinity-extender", server.get)
    app.router.add_put(f"{PATH}/affinity-extender", server.put)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as opened:
        yield opened


def replica(client: ApiClient, name: str, clock: Clock) -> Lease:
    """Build a replica."""
    return Lease(client, KEY, identity=name, timing=Timing(clock=clock))


async def step(lease: Lease) -> bool:
    """Let a replica try once, as `run` does every two seconds."""
    return await lease._attempt()


@pytest.mark.parametrize("seconds", [0.0, 1.5], ids=["at once", "slowly"])
async def test_the_lead_counts_from_when_it_was_asked_for_however_long_the_answer_takes(
    client: ApiClient,
    server: Server,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    keep = server.keep

    def keep_late(lease: dict[str, Any]) -> web.Response:
        clock.now += seconds
        return keep(lease)

    monkeypatch.setattr(server, "keep", keep_late)
    one = replica(client, "one", clock)
    for _ in ("taken", "renewed", "renewed again"):
        began = clock.now
        assert await step(one)
        clock.now = began + LEASE.valid - 0.01
        assert one.leads
        clock.now = began + LEASE.valid
        assert not one.leads


async def test_the_first_one_leads_and_the_second_waits_until_nobody_renews(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one, two = replica(client, "one", clock), replica(client, "two", clock)
    assert await step(one)
    assert not await step(two)
    clock.now += LEASE.duration - 1
    assert await step(one)
    clock.now += LEASE.duration - 1
    assert not await step(two)
    clock.now += LEASE.duration + 1
    assert await step(two)
    assert server.lease is not None
    spec = server.lease["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)


async def test_a_lead_that_was_not_renewed_in_time_is_none(client: ApiClient, clock: Clock) -> None:
    one = replica(client, "one", clock)
    await step(one)
    clock.now += LEASE.valid - 0.1
    led = one.leads
    clock.now += 0.2
    assert (led, one.leads, await one.confirm()) == (True, False, False)


async def test_one_that_was_cut_off_finds_out_before_it_acts(
    client: ApiClient, clock: Clock
) -> None:
    other = Clock(100.0)
    one, two = replica(client, "one", clock), replica(client, "two", other)
    await step(one)
    await step(two)
    other.now += LEASE.duration + 1
    assert await step(two)
    # The first one's clock stands still: it still takes itself to lead.
    assert one.leads
    assert not await one.confirm()
    assert (one.leads, await two.confirm()) == (False, True)


async def test_what_cannot_be_confirmed_is_not_confirmed(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one = replica(client, "one", clock)
    await step(one)
    server.away = True
    assert not await one.confirm()


class Told:
    """Notes that count what was written by whom, and remember what was learned."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.followed: list[str] = []
        self.seen: set[str] = set()

    def learn(self, annotations: Mapping[str, str], *, leads: bool) -> None:
        self.seen |= annotations.keys()
        if leads:
            self.followed.append(annotations.get("moves", ""))

    def written(self, annotations: Mapping[str, str], *, leads: bool) -> Mapping[str, str]:
        """Write, as long as the other does not lead, what does not change."""
        del annotations
        return {"moves": self.says} if leads else {f"by-{self.says}": "asked"}


async def test_the_next_leader_hears_what_the_last_one_knew(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one, two = replica(client, "one", clock), replica(client, "two", clock)
    notes, others = Told("of one"), Told("of two")
    one.keep(notes)
    two.keep(others)
    await step(one)
    notes.says = "seven"
    assert await one.confirm()
    await one.close()
    assert (one.leads, await step(two)) == (False, True)
    assert others.followed == ["seven"]
    assert server.lease is not None
    assert server.lease["metadata"]["annotations"]["moves"] == "of two"


async def test_a_replica_that_does_not_lead_writes_what_it_knows_once(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one, two = replica(client, "one", clock), replica(client, "two", clock)
    one.keep(Told("one"))
    two.keep(notes := Told("two"))
    await two._add_notes()
    await step(one)
    before = server.version
    for _ in range(3):
        assert not await step(two)
        await two._add_notes()
    assert server.version == before + 1
    assert server.lease is not None
    assert server.lease["metadata"]["annotations"]["by-two"] == "asked"
    assert server.lease["spec"]["holderIdentity"] == "one"
    assert await step(one)
    assert server.lease["metadata"]["annotations"]["by-two"] == "asked"
    assert await one.confirm()
    assert notes.seen >= {"moves", "by-two"}


async def test_who_annotates_a_lease_without_end_keeps_nobody_from_the_lead(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one, two = replica(client, "one", clock), replica(client, "two", clock)
    assert await step(one)
    for number in range(int(LEASE.duration)):
        assert not await step(two)
        server.annotate(number=str(number))
        clock.now += 1
    assert await step(two)


async def test_a_lease_that_is_deleted_is_made_again_by_who_held_it(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one = replica(client, "one", clock)
    assert await step(one)
    server.lease = None
    assert await step(one)
    assert server.lease is not None


async def test_a_lead_is_given_back_over_an_annotation_but_not_over_another_leader(
    client: ApiClient, server: Server, clock: Clock
) -> None:
    one, two = replica(client, "one", clock), replica(client, "two", Clock(100.0))
    assert await step(one)
    server.annotate(somebody="was here")
    await one.close()
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == ""
    assert server.lease["spec"]["leaseDurationSeconds"] == 1
    assert await step(one)
    server.lease["spec"]["holderIdentity"] = ""
    server.annotate()
    assert await step(two)
    await one.close()
    assert server.lease["spec"]["holderIdentity"] == "two"


@pytest.mark.parametrize(
    ("text", "expected"), [("120", 120), ("", 0), ("many", 0), ("-1", 0), ("9" * 50, 0)]
)
async def test_an_annotation_acknowledges_so_many(
    client: ApiClient, server: Server, clock: Clock, text: str, expected: int
) -> None:
    one = replica(client, "one", clock)
    await step(one)
    server.annotate(**{ACKNOWLEDGED: text})
    assert await step(one)
    assert one.acknowledged == expected
    assert server.lease is not None
    assert server.lease["metadata"]["annotations"][ACKNOWLEDGED] == text
