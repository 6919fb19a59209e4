"""Mutated callbacks and queries against the whole program, over loopback."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import math
import random
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

from extender.core.cluster.state import ClusterState
from extender.core.config.layers import load
from extender.core.errors import MESSAGE_BYTES, RequestError
from extender.core.logs import TextFormatter
from extender.core.source import empty_state
from extender.runtime import Running, running
from simulation.invariants.recount import mismatches
from tests.builders import model_namespace, model_node, model_pod, workload
from tests.conformance.cases import Case, load_cases
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import ODD_TEXTS, mutated, pieces
from tests.kube.virtual_loop import run_virtually
from tests.unbound import Clock, everything
from tests.wired import wired

pytestmark = pytest.mark.thorough

MOST_SCORE = 20
LINE_BYTES = 8 * MESSAGE_BYTES
ANSWER_SECONDS = 5.0
"""kube-scheduler's httpTimeout."""
KINDS = {"nodes": "Node", "namespaces": "Namespace", "pods": "Pod"}
PAGES = ("domains", "explain", "violations", "quotas", "activity", "x")
QUERIES = {
    "/domains": ("key", "value", "term", "after", "limit", "other"),
    "/readyz": ("verbose", "exclude"),
    "/livez": ("verbose", "exclude"),
    "/livez/ping": ("exclude",),
    "/metrics": ("x",),
    "/configz": ("x",),
    "/": ("x",),
    "/metrics/slis": ("x",),
    "/explain": ("pod", "namespace", "node", "limit", "other"),
    "/violations": ("namespace", "limit", "after"),
    **{f"/page/{each}": ("page", "key", "value", "q", "pod") for each in PAGES},
}
HEADERS = ("Accept", "Accept-Encoding", "Range", "If-None-Match", "Cookie", "X-Forwarded-For")
MOST_PAGE = 1 << 22
CALLS = 500
"""In one round, over one cluster."""
PUT: Mapping[str, Callable[[ClusterState, Any], object]] = {
    "nodes": lambda state, raw: state.upsert_node(model_node(raw)),
    "namespaces": lambda state, raw: state.upsert_namespace(model_namespace(raw)),
    "pods": lambda state, raw: state.upsert_pod(model_pod(raw)),
}


def case_of(dice: random.Random) -> Case:
    """Choose a cluster with a few nodes at least."""
    return dice.choice([case for case in load_cases() if len(case.node_names) > 1])


def seeds(case: Case) -> Sequence[tuple[str, dict[str, Any]]]:
    """Return questions as kube-scheduler puts them."""
    found: list[tuple[str, dict[str, Any]]] = []
    placed = [pod for pod in case.cluster["pods"] if pod["spec"].get("nodeName")]
    for question in case.questions:
        pod, names = question.pod, case.node_names
        by_names = {"Pod": pod, "Nodes": None, "NodeNames": names}
        whole = {"Pod": pod, "Nodes": {"items": case.cluster["nodes"]}, "NodeNames": None}
        found += [(verb, body) for verb in ("filter", "prioritize") for body in (by_names, whole)]
        victims = {
            each["spec"]["nodeName"]: {"Pods": [each], "NumPDBViolations": 0} for each in placed
        }
        metas = {
            each["spec"]["nodeName"]: {
                "Pods": [{"UID": each["metadata"].get("uid", "u")}],
                "NumPDBViolations": 1,
            }
            for each in placed
        }
        found.append(("preempt", {"Pod": pod, "NodeNameToVictims": victims}))
        found.append(("preempt", {"Pod": pod, "NodeNameToMetaVictims": metas}))
        metadata = pod["metadata"]
        found.append(
            (
                "bind",
                {
                    "PodName": metadata["name"],
                    "PodNamespace": metadata.get("namespace", "default"),
                    "PodUID": metadata.get("uid", "u"),
                    "Node": names[0],
                },
            )
        )
    return found


@asynccontextmanager
async def serving(case: Case, folder: Path) -> AsyncIterator[Running]:
    """Serve a case's cluster with everything on."""
    items = [{"kind": kind, **each} for name, kind in KINDS.items() for each in case.cluster[name]]
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps({"kind": "List", "items": items}))
    config = folder / "config.yaml"
    config.write_text(
        "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"
        "mode: replace\n"
        "plugins: [InterPodAffinity, NodeAffinity, CrossNamespacePodAffinity]\n"
        f"clusterFiles: ['{cluster}']\nserving: {{port: 0, opsPort: 0}}\n"
    )
    async with running(load(Namespace(config=str(config)), Path.read_text)) as program:
        yield program


def check_filter(answer: Any, sent: bytes) -> None:
    """Hold an answer against ExtenderFilterResult."""
    assert answer.keys() == {
        *("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error")
    }
    if answer["Error"]:
        assert all(answer[key] is None for key in answer.keys() - {"Error"})
        return
    failed, hopeless = answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]
    assert not failed.keys() & hopeless.keys()
    assert (answer["Nodes"] is None) or (answer["NodeNames"] is None)
    for reason in (*failed.values(), *hopeless.values()):
        check_text(reason)
    names = answer["NodeNames"]
    read = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and not read:
        # Where no rule is to be judged, they are handed back unread.
        asked = json.loads(sent).items()
        assert names in [each for key, each in asked if key.lower() == "nodenames"]
        assert not failed
        assert not hopeless
    elif names is not None:
        assert not set(names) & (failed.keys() | hopeless.keys())


def check_prioritize(answer: Any, _: bytes) -> None:
    """Hold an answer against HostPriorityList."""
    assert isinstance(answer, list)
    for each in answer:
        assert each.keys() == {"Host", "Score"}
        assert isinstance(each["Host"], str)
        assert isinstance(each["Score"], int)
        assert 0 < each["Score"] <= 2 * MOST_SCORE, "two plugins score"


def check_preempt(answer: Any, _: bytes) -> None:
    """Hold an answer against ExtenderPreemptionResult."""
    assert answer.keys() == {"NodeNameToMetaVictims"}
    for victims in answer["NodeNameToMetaVictims"].values():
        assert victims.keys() == {"Pods", "NumPDBViolations"}
        assert all(pod.keys() == {"UID"} and isinstance(pod["UID"], str) for pod in victims["Pods"])
        assert isinstance(victims["NumPDBViolations"], int)
        assert -(2**63) <= victims["NumPDBViolations"] < 2**63, "Go reads an int64"


def check_bind(answer: Any, _: bytes) -> None:
    """Hold an answer against ExtenderBindingResult."""
    assert answer.keys() == {"Error"}


def check_text(text: str) -> None:
    """Hold a text for the scheduler against what it can take."""
    assert len(text.encode()) <= MESSAGE_BYTES
    assert text.isprintable()
    assert "%" not in text


CHECKS = {
    "filter": check_filter,
    "prioritize": check_prioritize,
    "preempt": check_preempt,
    "bind": check_bind,
}


async def ask(session: aiohttp.ClientSession, program: Running, verb: str, body: bytes) -> Any:
    """Send a body; return what was answered in the right shape, None when it was refused."""
    async with (
        asyncio.timeout(ANSWER_SECONDS),
        session.post(f"{program.callbacks_url}/{verb}", data=io.BytesIO(body)) as response,
    ):
        content = await response.read()
    if response.status != 200:
        assert response.status == 400
        assert 0 < len(content) <= MESSAGE_BYTES + 1
        assert content.endswith(b"\n")
        assert content[:-1].decode().isprintable()
        return None
    answer: Any = json.loads(content.decode())
    CHECKS[verb](answer, body)
    if isinstance(answer, dict):
        check_text(answer.get("Error", ""))
    return answer


async def healthy(
    session: aiohttp.ClientSession, program: Running, questions: Sequence[tuple[str, Any]]
) -> list[Any]:
    """Answer sound questions."""
    sound = [(verb, body) for verb, body in questions if verb in {"filter", "prioritize"}]
    return [
        await ask(session, program, verb, json.dumps(body).encode()) for verb, body in sound[:4]
    ]


def check_log(caplog: pytest.LogCaptureFixture) -> None:
    """No line is long, none has a stack trace, and none is an error."""
    for record in caplog.records:
        assert len(TextFormatter().format(record).encode()) <= LINE_BYTES
        assert record.exc_info is None, record.getMessage()
        assert record.levelno < logging.ERROR, record.getMessage()
    caplog.clear()


async def test_no_body_is_answered_wrongly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    campaign = Campaign("callbacks", fewest=2)
    for begin in campaign:
        case = case_of(begin)
        questions = seeds(case)
        async with serving(case, tmp_path) as program, aiohttp.ClientSession() as session:
            before = await healthy(session, program, questions)
            for _ in range(50):
                verb, body = begin.choice(questions)
                sent = mutated(begin, body)
                pods = dict(program.state.pods)
                with campaign.telling((verb, sent)):
                    await ask(session, program, verb, sent)
                    check_log(caplog)
                    assert dict(program.state.pods) == pods
                    assert mismatches(program.state) == []
                    assert len(program.state.reservations) == 0, "nobody can bind in a file"
            # After /preempt the scheduler is about to nominate; that no watch shows it ends this.
            program.state.expire(math.inf)
            with campaign.telling(case.id):
                assert await healthy(session, program, questions) == before


def test_no_call_is_answered_wrongly_in_process(caplog: pytest.LogCaptureFixture) -> None:
    """Without HTTP, and with all features that replace can have."""
    caplog.set_level(logging.ERROR)
    run_virtually(call())
    assert caplog.records == []


async def call() -> None:
    """Call the callbacks; what they wait for takes no time."""
    config = everything("replace")
    campaign = Campaign("callbacks in process", fewest=1)
    for dice in campaign:
        case = case_of(dice)
        questions = seeds(case)
        known = pieces(body for _, body in questions)
        state = empty_state(config)
        for kind in KINDS:
            for each in case.cluster[kind]:
                PUT[kind](state, each)
        callbacks = wired(config, state, clock=Clock())
        sound = [(verb, json.dumps(body).encode()) for verb, body in questions[:4]]
        before = [await callbacks[verb].answer(body) for verb, body in sound]
        pods = dict(state.pods)
        for number in range(CALLS):
            verb, body = dice.choice(questions)
            sent = mutated(dice, body, known)
            with campaign.telling((verb, sent)):
                with suppress(RequestError):
                    answer = await callbacks[verb].answer(sent)
                    assert len(answer) < 20 * len(sent) + 10 * MESSAGE_BYTES
                    CHECKS[verb](json.loads(answer), sent)
                if number % 50 == 0:
                    assert mismatches(state) == []
        with campaign.telling(case.id, 0):
            assert dict(state.pods) == pods
            state.expire(math.inf)
            assert [await callbacks[verb].answer(body) for verb, body in sound] == before


async def test_no_query_breaks_the_operations_port(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    campaign = Campaign("queries")
    case = load_cases()[0]
    async with (
        serving(case, tmp_path) as program,
        aiohttp.ClientSession() as session,
    ):
        asked: list[Any] = [body for verb, body in seeds(case) if verb == "filter"]
        asked += [workload("Deployment", "a"), *(each["Pod"] for each in asked)]
        known = pieces(asked)
        for dice in campaign:
            if dice.random() < 0.3:
                sent = mutated(dice, dice.choice(asked), known)
                with campaign.telling(sent):
                    async with session.post(f"{program.ops_url}/explain", data=sent) as response:
                        check_page(response, await response.read())
                    check_log(caplog)
            path, names = dice.choice(list(QUERIES.items()))
            values = (*ODD_TEXTS[:14], "9" * 3000, "٣", "-0", "1_0")
            pairs = [(dice.choice(names), dice.choice(values)) for _ in range(dice.randint(0, 3))]
            query = "&".join(
                f"{name}={quote(value[:3000], errors='surrogatepass')}" for name, value in pairs
            )
            url = f"{program.ops_url}{path}?{query}"
            with campaign.telling(url):
                headers = {dice.choice(HEADERS): dice.choice(values)[:3000].strip("\0\n")}
                if not all(each.isprintable() and each.isascii() for each in headers.values()):
                    headers = {}
                async with session.get(URL(url, encoded=True), headers=headers) as response:
                    check_page(response, await response.read())
                check_log(caplog)


def check_page(response: aiohttp.ClientResponse, content: bytes) -> None:
    """Hold an answer of the operations port against what it may say."""
    assert response.status in {200, 400, 403, 404}, content
    assert len(content) < MOST_PAGE
    if response.content_type == "application/json":
        json.loads(content.decode())
