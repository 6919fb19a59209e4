"""Pod groups as users have them, and what becomes of them on the real control plane."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from tests.e2e.api import key_of
from tests.e2e.controlplane.cluster import Features
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

API = "scheduling.k8s.io/v1beta1"
WITH_GROUPS = Features(gates=("GenericWorkload", "TopologyAwareWorkloadScheduling"), apis=(API,))
GROUPS = f"/apis/{API}/namespaces/default/podgroups"
PROFILE = "groups"
RACK = "example.com/rack"
SOLO = {"app": "solo"}
IMPORTANT: JSON = {"priorityClassName": "important"}

PATIENCE_S = 120.0
QUIET_S = 3.0
"""Nothing is to happen for so long, where that is what is right."""


def group(name: str, spec: JSON) -> JSON:
    kind = {"apiVersion": API, "kind": "PodGroup"}
    return kind | {"metadata": {"name": name}, "spec": spec}


def gang(name: str, count: int, **spec: JSON) -> JSON:
    """Return a group of whose pods so many must be placeable before one is bound."""
    return group(name, {"schedulingPolicy": {"gang": {"minCount": count}}} | spec)


def member(each: JSON, of: str, mode: str = REPLACE) -> JSON:
    """Make a pod part of a group; where the extender binds, all of them share the profile."""
    profile = {"schedulerName": PROFILE} if mode == REPLACE else {}
    joined = {"schedulingGroup": {"podGroupName": of}} | profile
    return each | {"spec": each["spec"] | joined}


@dataclass(frozen=True)
class Scenario:
    """Nodes, groups and single pods, and what is to become of them."""

    name: str
    nodes: Sequence[JSON]
    groups: Sequence[tuple[JSON, Sequence[JSON]]]
    before: Sequence[JSON] = ()
    """Pods that have their nodes."""
    singles: Sequence[JSON] = ()
    is_bound: bool = True
    """Whether all pods come to be bound; else all gangs wait, and no pod is."""
    wrong: Callable[[Mapping[str, str]], Sequence[str]] = field(default=lambda _: ())
    """Says what is wrong with the nodes of pods, by name, beside broken rules."""

    def __str__(self) -> str:
        return self.name


@dataclass
class Outcome:
    """What became of a scenario."""

    seconds: float
    places: Mapping[str, str]
    in_part: Mapping[str, float]
    """For how long gangs were bound in part, by group; of those that were."""


def _name(pod: JSON) -> str:
    return str(pod["metadata"]["name"])


async def create(sandbox: Sandbox, scenario: Scenario, mode: str) -> None:
    """Create pods, and groups after their pods; single pods come in between."""

    async def whole(one: JSON, members: Sequence[JSON]) -> None:
        for each in members:
            await sandbox.api.create(pods_path(each), member(each, _name(one), mode))
        await sandbox.api.create(GROUPS, one)

    singles = (sandbox.api.create(pods_path(each), each) for each in scenario.singles)
    await asyncio.gather(*(whole(*each) for each in scenario.groups), *singles)


@asynccontextmanager
async def watched(sandbox: Sandbox, scenario: Scenario) -> AsyncIterator[dict[str, float]]:
    """Note for how long each gang is bound in part; what is left so is counted until the end."""
    needed = {
        _name(one): one["spec"]["schedulingPolicy"]["gang"]["minCount"]
        for one, _ in scenario.groups
        if "gang" in one["spec"]["schedulingPolicy"]
    }
    bound: dict[str, set[str]] = {name: set() for name in needed}
    since: dict[str, float] = {}
    took: dict[str, float] = {}

    async def follow() -> None:
        async for each in sandbox.pods.changes():
            of = each["spec"].get("schedulingGroup", {}).get("podGroupName")
            if of not in needed or not each["spec"].get("nodeName"):
                continue
            bound[of].add(_name(each))
            if len(bound[of]) == 1:
                since[of] = perf_counter()
            if len(bound[of]) >= needed[of] and of in since:
                took[of] = perf_counter() - since.pop(of)

    following = asyncio.create_task(follow())
    try:
        yield took
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        took |= {of: perf_counter() - start for of, start in since.items()}


async def settled(sandbox: Sandbox, scenario: Scenario) -> None:
    """Return once all pods are bound or, where none is to be, told why and left alone."""
    members = [each for _, some in scenario.groups for each in some]
    all_of_them = [*members, *scenario.singles]
    if scenario.is_bound:
        await sandbox.pods.until(
            lambda: all(_has(sandbox, each) for each in all_of_them), PATIENCE_S, scenario.name
        )
        return
    await sandbox.pods.until(
        lambda: all(told(sandbox, each)[1] for each in members), PATIENCE_S, "reasons"
    )
    # Nothing is to happen from now on, so there is nothing to wait for.
    await asyncio.sleep(QUIET_S)


def _has(sandbox: Sandbox, each: JSON) -> bool:
    seen = sandbox.pods.objects.get(key_of(each))
    return seen is not None and bool(seen["spec"].get("nodeName"))


def told(sandbox: Sandbox, each: JSON) -> tuple[str, str]:
    """Return what the scheduler says about a pod that waits: reason and message."""
    seen = sandbox.pods.objects.get(key_of(each)) or {}
    for condition in seen.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled":
            return condition["reason"], condition["message"]
    return "", ""


async def outcome(sandbox: Sandbox, scenario: Scenario, mode: str) -> Outcome:
    """Have a scenario happen; the schedulers run."""
    start = perf_counter()
    async with watched(sandbox, scenario) as in_part:
        await create(sandbox, scenario, mode)
        await settled(sandbox, scenario)
    seconds = perf_counter() - start
    places = {key.rpartition("/")[2]: at for key, at in sandbox.places().items()}
    return Outcome(seconds, places, in_part)


def faults(scenario: Scenario, found: Outcome) -> list[str]:
    """Say what is wrong with an outcome, beside broken rules."""
    wrong = [*scenario.wrong(found.places)]
    members = {_name(each) for _, some in scenario.groups for each in some}
    if not scenario.is_bound and members & found.places.keys():
        wrong.append(f"bound: {sorted(members & found.places.keys())}")
    return wrong


def _numbered(count: int) -> list[JSON]:
    return [node(f"n{number}") for number in range(count)]


def _apart(prefix: str, count: int, labels: Mapping[str, str] = SOLO) -> list[JSON]:
    own = dict(labels)
    return [pod(f"{prefix}-{n}", labels=own, apart=[term(HOSTNAME, own)]) for n in range(count)]


def _zones(count: int, each: int = 2) -> list[JSON]:
    return [node(f"{zone}{n}", zone) for zone in "abcdef"[:count] for n in range(each)]


def _two_zones(places: Mapping[str, str]) -> list[str]:
    zones = {prefix: {places[name][0] for name in places if name[0] == prefix} for prefix in "xy"}
    return [] if all(len(each) == 1 for each in zones.values()) else [f"zones: {zones}"]


def _together(places: Mapping[str, str]) -> list[str]:
    zones = {where[0] for where in places.values()}
    return [] if len(zones) == 1 else [f"zones: {sorted(zones)}"]


def _spread(places: Mapping[str, str]) -> list[str]:
    most = max(Counter(places.values()).values())
    return [] if most == 2 else [f"{most} of twelve are on one of six nodes"]


def _gone(places: Mapping[str, str]) -> list[str]:
    left = sorted(name for name in places if name.startswith("victim"))
    return [f"not evicted: {left}"] if left else []


def _exclusive_gangs(name: str, zone: str = ZONE) -> list[JSON]:
    """Build a gang that is together in a zone, without any of another gang."""
    own = {"gang": name, "kind": "exclusive"}
    others = {
        "matchExpressions": [
            {"key": "kind", "operator": "In", "values": ["exclusive"]},
            {"key": "gang", "operator": "NotIn", "values": [name]},
        ]
    }
    near, apart = [term(zone, {"gang": name})], [term(zone, others)]
    return [pod(f"{name}-{n}", labels=own, near=near, apart=apart) for n in range(8)]


def _victims() -> list[JSON]:
    found = [pod(f"victim-{n}", on=f"n{n}") for n in range(4)]
    for each in found:
        each["spec"]["terminationGracePeriodSeconds"] = 0
    return found


def _important(pods: Sequence[JSON]) -> list[JSON]:
    return [each | {"spec": each["spec"] | IMPORTANT} for each in pods]


def _mixed() -> Scenario:
    gangs = [(gang(f"g{n}", 4), _apart(f"g{n}", 4)) for n in range(8)]
    return Scenario("gangs and single pods on 60 nodes", _numbered(60), gangs,
                    singles=_apart("single", 20))  # fmt: skip


def _racks() -> Scenario:
    nodes = [node(f"r{rack}-{n}") for rack in range(20) for n in range(4)]
    for each in nodes:
        labels = each["metadata"]["labels"]
        labels[RACK] = labels[HOSTNAME].partition("-")[0]
    gangs = [(gang(f"x{n}", 8), _exclusive_gangs(f"x{n}", RACK)) for n in range(20)]

    def wrong(places: Mapping[str, str]) -> list[str]:
        racks: dict[str, set[str]] = {}
        for name, where in places.items():
            racks.setdefault(name.partition("-")[0], set()).add(where.partition("-")[0])
        return [f"{name} on {sorted(on)}" for name, on in racks.items() if len(on) > 1]

    return Scenario("twenty gangs of eight, each on its own rack", nodes, gangs, wrong=wrong)


_SIX = [(gang("six", 6), _apart("six", 6))]
_LEADER = {"role": "leader"}
_SPREAD = [
    pod(f"soft-{n}", labels=SOLO, prefer_apart=[(100, term(HOSTNAME, SOLO))]) for n in range(12)
]

SCENARIOS = (
    Scenario("six apart on six nodes", _numbered(6), [(gang("six", 6), _apart("six", 6))]),
    Scenario(
        "six apart on five nodes",
        _numbered(5),
        [(gang("six", 6), _apart("six", 6))],
        is_bound=False,
    ),
    Scenario(
        "a leader with workers in its zone",
        _zones(3),
        [
            (
                gang("team", 5),
                [
                    # By priority, the scheduler tries it first; see docs/groups.md.
                    pod("leader", labels=_LEADER, **IMPORTANT),
                    *(pod(f"worker-{n}", near=[term(ZONE, _LEADER)]) for n in range(4)),
                ],
            )
        ],
        wrong=_together,
    ),
    Scenario(
        "twelve that prefer to be spread",
        _numbered(6),
        [(gang("soft", 12), _SPREAD)],
        wrong=_spread,
    ),
    Scenario(
        "two gangs that exclude each other",
        _zones(2),
        [(gang(name, 8), _exclusive_gangs(name)) for name in "xy"],
        wrong=_two_zones,
    ),
    _mixed(),
    _racks(),
    Scenario(
        "a gang that preempts",
        [node(f"n{n}", pods=1) for n in range(4)],
        [(gang("vip", 4, **IMPORTANT), _important(_apart("vip", 4)))],
        before=_victims(),
        wrong=_gone,
    ),
)


def storm(gangs: int = 12, singles: int = 30, nodes: int = 60) -> Scenario:
    """Return more pods that exclude each other than there are nodes."""
    return Scenario(
        "a storm",
        _numbered(nodes),
        [(gang(f"g{n}", 4), _apart(f"g{n}", 4)) for n in range(gangs)],
        singles=_apart("single", singles),
    )
