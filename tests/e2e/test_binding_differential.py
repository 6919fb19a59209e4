"""Binds at random: the API server is asked first, without effect, what it would say to each.

What `extender` makes of the answer has to agree with it, and with the pod as it is afterwards.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from extender.core.kube.reader import ObjectReader
from extender.core.model.keys import Key
from extender.core.wire.objects import PodReader
from extender.features.binding import binder
from extender.features.binding.binder import Binder
from extender.features.binding.outcome import BindOutcome
from tests.e2e.api import ApiError
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.objects import JSON, node, pod
from tests.e2e.sandbox import pod_path, pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from extender.core.model.objects import Pod
    from tests.e2e.sandbox import Sandbox

SHARE = 20
"""One bind for so many questions of a run: each takes six requests."""
FINALIZER = "example.com/held"
WITHIN_S = 10.0
UNKNOWN_NODE, NO_NAME = "elsewhere", "Not_A_Name"
CLEAR = {400, 404, 422}
DRY = "?dryRun=All"
OURS = ("the pod is gone", "is being deleted", "already", "has ended", "unknown to the extender")
"""In which words the extender refuses before it asks the API server, or for what it reads back."""


@dataclass(frozen=True, slots=True)
class Case:
    """A pod, what becomes of it once it was seen, and a bind of what was seen."""

    gated: bool
    held: bool
    """It has a finalizer, so that a deletion takes until that is gone."""
    change: str
    """Nothing, or: delete, recreate, end, bind (to b)."""
    node: str
    body: JSON
    """What is written over the Binding that the extender sends."""

    @property
    def is_ours(self) -> bool:
        """Return whether the extender itself sends such a Binding."""
        return not self.body.keys() - {"annotations"}


def drawn(chance: random.Random) -> Case:
    """Draw a case; half of them ask what the extender asks."""
    body: JSON = {}
    if chance.random() < 0.5:
        body = chance.choice(
            [
                {"uid": "of-another"},
                {"uid": None},
                {"resourceVersion": "1"},
                {"kind": "Pod"},
                {"kind": ""},
                {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "7"}},
            ]
        )
    return Case(
        gated=chance.random() < 0.2,
        held=chance.random() < 0.3,
        change=chance.choice(["", "", "delete", "recreate", "end", "bind"]),
        node=chance.choice(["a", "a", "b", UNKNOWN_NODE, NO_NAME]),
        body=body,
    )


def binding(of: Case, target: Pod) -> JSON:
    """Return the Binding of a case."""
    metadata: JSON = {
        "namespace": "default",
        "name": target.key.rpartition("/")[2],
        "uid": target.uid,
    }
    metadata |= {name: each for name, each in of.body.items() if name != "kind"}
    kind = of.body.get("kind", "Node")
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {name: each for name, each in metadata.items() if each is not None},
        "target": {"apiVersion": "v1", "kind": kind, "name": of.node},
    }


@dataclass(slots=True)
class Differential:
    """The API server, and what of the extender talks to it."""

    sandbox: Sandbox
    binder: Binder
    told: Counter[str]

    @asynccontextmanager
    async def of(self, of: Case, name: str) -> AsyncIterator[Pod]:
        """Create the pod, see it, and let happen to it what is to; nothing keeps it afterwards."""
        raw = pod(name)
        raw["metadata"] |= {"finalizers": [FINALIZER]} if of.held else {}
        raw["spec"] |= {"schedulingGates": [{"name": "example.com/quota"}]} if of.gated else {}
        api = self.sandbox.api
        await api.create(pods_path(raw), raw)
        seen = await self.binder.read(Key(f"default/{name}"))
        assert seen is not None
        match of.change:
            case "delete":
                await api.delete(pod_path(raw))
            case "recreate":
                await self.release(raw)
                await api.delete(pod_path(raw))
                await api.create(pods_path(raw), raw)
            case "end":
                ended = {"status": {"phase": "Failed"}}
                await api.patch(f"{pod_path(raw)}/status", ended)
            case "bind":
                other = binding(replace(of, node="b", body={}), seen.pod)
                try:
                    await api.request("POST", f"{pod_path(raw)}/binding", other)
                except ApiError:
                    assert of.gated
        try:
            yield seen.pod
        finally:
            await self.release(raw)

    async def release(self, raw: JSON) -> None:
        """Take the finalizer away, if the pod is there."""
        with suppress(ApiError):
            await self.sandbox.api.patch(pod_path(raw), {"metadata": {"finalizers": None}})

    async def foretold(self, of: Case, target: Pod) -> ApiError | None:
        """Return what the API server would say to the bind; None for success."""
        path = f"{pod_path(pod(target.key.rpartition('/')[2]))}/binding{DRY}"
        try:
            await self.sandbox.api.request("POST", path, binding(of, target))
        except ApiError as error:
            return error
        return None

    async def now(self, target: Pod) -> JSON | None:
        """Return the pod as the API server has it, None if this very one is gone."""
        try:
            found = await self.sandbox.api.get(pod_path(pod(target.key.rpartition("/")[2])))
        except ApiError:
            return None
        return found if found["metadata"]["uid"] == target.uid else None


@pytest.fixture
async def differential(sandbox: Sandbox) -> AsyncIterator[Differential]:
    await sandbox.add(node("a"), node("b"))
    credentials = await load_credentials(str(sandbox.control_plane.kubeconfig(EXTENDER)))
    async with ApiClient(credentials) as client:
        yield Differential(
            sandbox, Binder(client, ObjectReader(client, PodReader(requirements=True))), Counter()
        )


@pytest.fixture
def cases(request: pytest.FixtureRequest, start: int) -> list[Case]:
    chance = random.Random(start)
    number = request.config.getoption("--questions") // SHARE
    return [drawn(chance) for _ in range(number)]


def expected(of: Case, said: ApiError | None, found: JSON | None) -> BindOutcome:
    """Return what the API server's answer means, by the pod as it is."""
    if said is None:
        return BindOutcome.BOUND
    if found is None or found["status"].get("phase") == "Failed":
        return BindOutcome.GONE
    there = found["spec"].get("nodeName")
    if there is not None:
        return BindOutcome.BOUND if there == of.node else BindOutcome.ELSEWHERE
    if "deletionTimestamp" in found["metadata"]:
        return BindOutcome.GONE
    if said.status in CLEAR:
        return BindOutcome.REFUSED
    judged = said.status == 409
    return BindOutcome.REFUSED if judged and of.gated else BindOutcome.INDETERMINATE


async def test_what_an_answer_means(
    differential: Differential,
    cases: list[Case],
    monkeypatch: pytest.MonkeyPatch,
    say: Callable[[str], None],
) -> None:
    for number, of in enumerate(cases):
        async with differential.of(of, f"pod-{number}") as target:
            said = await differential.foretold(of, target)
            body = msgspec.json.encode(binding(of, target))
            monkeypatch.setattr(binder, "_binding", lambda *_, body=body: body)
            bound = await differential.binder.bind(target, of.node, WITHIN_S)
            found = await differential.now(target)
        told = of, said, bound, found
        assert bound.outcome is expected(of, said, found), told
        if bound.outcome is BindOutcome.INDETERMINATE:
            assert not of.is_ours or of.node == NO_NAME, told
        there = None if found is None else found["spec"].get("nodeName")
        # Without uid the API server binds the pod's successor, so the extender sends it.
        if said is not None or found is not None or of.is_ours:
            assert (there == of.node) == (bound.outcome is BindOutcome.BOUND), told
        if bound.outcome is BindOutcome.REFUSED:
            assert said is not None
            assert _words(said) in _as_dry(bound.why), told
        if said is None and found is not None:
            noted = of.body.get("annotations", {})
            assert found["metadata"].get("annotations", {}).items() >= noted.items()
        differential.told[bound.outcome.value] += 1
    say(f"{len(cases)} Bindings: {dict(differential.told)}")
    assert {*differential.told} == {each.value for each in BindOutcome}


async def test_what_the_callback_answers(
    differential: Differential, cases: list[Case], say: Callable[[str], None]
) -> None:
    sandbox, told = differential.sandbox, differential.told
    folder = sandbox.folder(REPLACE)
    async with Extender.running(sandbox.control_plane, REPLACE, folder) as ours:
        for number, each in enumerate(cases):
            of = replace(each, body={"uid": "of-another"} if each.body.get("uid") else {})
            async with differential.of(of, f"pod-{number}") as target:
                said = await differential.foretold(of, target)
                asked = {"PodName": f"pod-{number}", "PodNamespace": "default", "Node": of.node}
                answer = await ours.bind(asked | {"PodUID": of.body.get("uid", target.uid)})
                found = await differential.now(target)
                await _given_back(ours)
            error, case = answer["Error"], (of, said, answer, found)
            there = None if found is None else found["spec"].get("nodeName")
            assert bool(error) == (there != of.node or of.body != {}), case
            own = [words for words in OURS if words in error]
            if said is None and error:
                told["refused where the API server would not"] += 1
                assert own in (["has ended"], ["unknown to the extender"]), case
            elif said is not None and error:
                told[own[0] if own else "in the API server's words"] += 1
                assert own or _words(said) in _as_dry(error), case
            else:
                told["bound" if said is None else "bound there before"] += 1
    say(f"{len(cases)} bind calls: {dict(told)}")
    assert told["bound"]
    assert told["in the API server's words"]


def _as_dry(words: str) -> str:
    """Return what a dry run says for it: there the storage's key has no prefix."""
    return words.replace(" Key: /registry/", " Key: /")


def _words(said: ApiError) -> str:
    message: str = json.loads(str(said).partition(": ")[2])["message"]
    return message


async def _given_back(ours: Extender) -> None:
    """Wait until nothing is reserved: a refusal has ended it, or the watch shows the pod."""
    async with asyncio.timeout(WITHIN_S):
        while await ours.total("affinity_extender_reservations"):  # noqa: ASYNC110 (a process)
            await asyncio.sleep(0.01)
