"""Quotas judged by kube-apiserver's own admission, and by the extender: the same pods get through.

Each case is a namespace with quotas, and pods that come one after another. Those that the API
server takes are placed at once, so that both count the same pods. In the end both say how much of
each quota is in use.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from extender.core.wire.objects import PodReader
from extender.core.wire.quantities import read_exact_amounts
from extender.features.quota.ledger import quotas_of
from extender.features.quota.objects import read_quota
from extender.features.quota.rules import shortfall
from tests.beside import RULES
from tests.builders import empty_state, every_facet, quota
from tests.e2e.api import Api, ApiError
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.objects import JSON, namespace, pod
from tests.e2e.quota_cases import CASES, OVERHEAD, UNDER_LIMITS, Case, drawn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

WAIT_S = 10.0
SHARE = 20
"""One namespace for so many questions of a run."""

LIMITED = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchScopes:
      - scopeName: CrossNamespacePodAffinity
        operator: Exists
"""


@asynccontextmanager
async def admitting(binaries: Binaries, folder: Path, *options: str) -> AsyncIterator[Api]:
    """Run an API server with what the pods of the cases refer to."""
    with storage_and_apiserver(binaries, binaries, folder, [], *options) as cluster:
        async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
            for name in ("high", "low"):
                await api.create(
                    "/apis/scheduling.k8s.io/v1/priorityclasses",
                    {"metadata": {"name": name}, "value": 10},
                )
            heavy = {"metadata": {"name": "heavy"}, "handler": "heavy"}
            await api.create(
                "/apis/node.k8s.io/v1/runtimeclasses", heavy | {"overhead": {"podFixed": OVERHEAD}}
            )
            yield api


@pytest.mark.parametrize(
    ("cases", "limited"),
    [
        pytest.param(CASES, False, id="scopes and resources"),
        pytest.param(
            UNDER_LIMITS, True, id="where the scope needs a quota", marks=pytest.mark.long
        ),
    ],
)
async def test_the_same_pods_get_through(
    binaries: Binaries, tmp_path: Path, cases: dict[str, Case], *, limited: bool
) -> None:
    options = []
    if limited:
        (tmp_path / "admission.yaml").write_text(LIMITED)
        options = [f"--admission-control-config-file={tmp_path / 'admission.yaml'}"]
    async with admitting(binaries, tmp_path, *options) as api:
        spaces = {f"case-{number}": name for number, name in enumerate(cases)}
        for space, name in spaces.items():
            await api.create("/api/v1/namespaces", namespace(space))
            for each in cases[name].quotas:
                await put_quota(api, space, each)
        await until_quotas_are_known(api)
        outcomes = {
            name: await Both(api, space, limited=limited).take(cases[name])
            for space, name in spaces.items()
        }
    expected = {name: [allowed for _, allowed in case.pods] for name, case in cases.items()}
    assert {name: theirs for name, (theirs, _, _) in outcomes.items()} == expected
    assert {name: ours for name, (_, ours, _) in outcomes.items()} == expected
    assert {name: differing for name, (*_, differing) in outcomes.items() if differing} == {}


@pytest.mark.parametrize(
    "limited",
    [
        pytest.param(False, id="quotas"),
        pytest.param(True, id="the scope needs a quota", marks=pytest.mark.long),
    ],
)
async def test_the_same_pods_get_through_at_random(
    binaries: Binaries,
    tmp_path: Path,
    start: int,
    request: pytest.FixtureRequest,
    say: Callable[[str], None],
    *,
    limited: bool,
) -> None:
    options = []
    if limited:
        (tmp_path / "admission.yaml").write_text(LIMITED)
        options = [f"--admission-control-config-file={tmp_path / 'admission.yaml'}"]
    chance = random.Random(start)
    number = request.config.getoption("--questions") // SHARE
    cases = {f"drawn-{each}": drawn(chance) for each in range(number)}
    told = Counter[str]()
    async with admitting(binaries, tmp_path, *options) as api:
        for space, case in cases.items():
            await api.create("/api/v1/namespaces", namespace(space))
            for each in case.quotas:
                told[await _put_if_valid(api, space, each)] += 1
        await until_quotas_are_known(api)
        for space, case in cases.items():
            theirs, ours, differing = await Both(api, space, limited=limited).take(case)
            assert (theirs, differing) == (ours, []), (space, case)
            told["pods that get through"] += sum(theirs)
            told["pods refused"] += len(theirs) - sum(theirs)
    say(f"{number} namespaces, limited by default {limited}: {dict(told)}")
    assert min(told["pods that get through"], told["pods refused"]) > number


async def _put_if_valid(api: Api, space: str, raw: JSON) -> str:
    try:
        await put_quota(api, space, raw)
    except ApiError as error:
        if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return "quotas that are not valid"
    return "quotas"


async def put_quota(api: Api, space: str, raw: JSON) -> None:
    """Create a quota, and say in its status that nothing is used: its controller does not run."""
    path = f"/api/v1/namespaces/{space}/resourcequotas"
    made = await api.create(path, {**raw, "metadata": {"name": raw["metadata"]["name"]}})
    hard = made["spec"]["hard"]
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    await api.request("PUT", f"{path}/{made['metadata']['name']}/status", made | {"status": status})


async def until_quotas_are_known(api: Api) -> None:
    """Return once admission knows all quotas so far.

    It follows them by a watch of its own, which shows them in order: when it refuses by the last
    one, it has seen all. The first quota of that namespace keeps it from looking this one up.
    """
    space = "last"
    await api.create("/api/v1/namespaces", namespace(space))
    await put_quota(api, space, quota("roomy", {"pods": "9"}))
    path = f"/api/v1/namespaces/{space}/pods"

    async def is_refused() -> bool:
        try:
            await api.request("POST", path, pod("canary", space), dryRun="All")
        except ApiError as error:
            return "exceeded quota: full" in str(error)
        return False

    assert not await is_refused()
    await put_quota(api, space, quota("full", {"pods": "0"}))
    async with asyncio.timeout(WAIT_S):
        while not await is_refused():  # noqa: ASYNC110 - its watch is its own
            await asyncio.sleep(0.01)


class Both:
    """One namespace, as the API server has it and as the extender does."""

    def __init__(self, api: Api, space: str, *, limited: bool) -> None:
        self._api = api
        self._space = space
        self._limited = limited
        self._state = empty_state()
        self._pods = PodReader(facets=every_facet(), rules=RULES)

    async def take(self, case: Case) -> tuple[list[bool], list[bool], list[str]]:
        """Return who got through there, who did here, and the quotas whose use differs."""
        quotas = f"/api/v1/namespaces/{self._space}/resourcequotas"
        for each in (await self._api.get(quotas))["items"]:
            quotas_of(self._state).upsert(read_quota(json.dumps(each).encode()))
        theirs, ours = [], []
        for number, (raw, _) in enumerate(case.pods):
            metadata = raw["metadata"] | {"name": f"p{number}", "namespace": self._space}
            created = await self._create(raw | {"metadata": metadata})
            theirs.append(created is not None)
            ours.append(self._allows(created or raw | {"metadata": metadata}))
            if created is not None:
                placed = {**created, "spec": {**created["spec"], "nodeName": "n"}}
                self._state.upsert_pod(self._pods.read(json.dumps(placed).encode()))
        return theirs, ours, self._differing((await self._api.get(quotas))["items"])

    async def _create(self, raw: JSON) -> JSON | None:
        try:
            return await self._api.create(f"/api/v1/namespaces/{self._space}/pods", raw)
        except ApiError as error:
            # Forbidden, or 500 where the scope needs a quota. And nothing but a quota refuses.
            if "quota" in str(error) and "status unknown" not in str(error):
                return None
            raise

    def _allows(self, raw: JSON) -> bool:
        read = self._pods.read(json.dumps(raw).encode())
        return shortfall(self._state, read, limited=self._limited) is None

    def _differing(self, stored: list[JSON]) -> list[str]:
        wrong = []
        for each in quotas_of(self._state).of(self._space):
            (status,) = (
                one["status"]
                for one in stored
                if one["metadata"]["name"] == each.quota.key.partition("/")[2]
            )
            used = read_exact_amounts(status["used"], "status.used")
            if {name: amount for name, amount in used.items() if amount} != each.used:
                wrong.append(f"{each.quota.key}: {status['used']} there, {each.used} here")
        return wrong
