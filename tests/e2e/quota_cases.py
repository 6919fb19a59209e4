"""Scopes and resources of quotas, and what becomes of pods under them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.builders import crossing, quota
from tests.e2e.objects import HOSTNAME, JSON, pod, term

if TYPE_CHECKING:
    import random

WEB = {"app": "web"}
ALL = term(HOSTNAME, WEB, namespaceSelector={})
OVERHEAD = {"cpu": "250m", "memory": "1Mi"}

PLAIN = pod("plain")


def user(*containers: JSON, **fields: Any) -> JSON:
    """Return a pod that uses affinity across namespaces."""
    made = pod("user", apart=[ALL])
    named = [
        {**each, "name": f"c{index}", "image": "none.invalid/none"}
        for index, each in enumerate(containers)
    ]
    return made | {"spec": made["spec"] | ({"containers": named} if named else {}) | fields}


def asks(requests: JSON | None = None, limits: JSON | None = None, **fields: Any) -> JSON:
    """Return a container."""
    resources = {"requests": requests, "limits": limits}
    return {"resources": {name: each for name, each in resources.items() if each}, **fields}


def before(*containers: JSON) -> list[JSON]:
    """Return init containers."""
    return [
        {**each, "name": f"i{index}", "image": "none.invalid/none"}
        for index, each in enumerate(containers)
    ]


def cpu(amount: str) -> JSON:
    """Return a container that requests cpu."""
    return asks({"cpu": amount})


def scope(name: str, operator: str = "Exists", *values: str) -> JSON:
    """Return an expression of a scopeSelector."""
    built: JSON = {"scopeName": name, "operator": operator}
    return built | ({"values": list(values)} if values else {})


def gpus(number: str) -> JSON:
    """Return a container that takes devices; to say the limit is the usual way."""
    return asks(None, {GPU: number})


GPU = "nvidia.com/gpu"
HIGH = user(priorityClassName="high")
LATE = user(activeDeadlineSeconds=60)
SIDECAR = asks({"cpu": "200m"}, restartPolicy="Always")


@dataclass(frozen=True, slots=True)
class Case:
    """Quotas, and pods with what is to become of each."""

    quotas: list[JSON]
    pods: list[tuple[JSON, bool]] = field(default_factory=list)


def limit(hard: JSON, *expressions: JSON, **fields: Any) -> JSON:
    """Return a quota with the scope, and with others that narrow it."""
    return quota("q", hard, crossing(), *expressions, **fields)


CASES = {
    "a namespace barred": Case([limit({"pods": "0"})], [(user(), False), (PLAIN, True)]),
    "places run out": Case(
        [limit({"pods": "2"})],
        [(user(), True), (PLAIN, True), (user(), True), (user(), False), (PLAIN, True)],
    ),
    "who is in scope": Case(
        [limit({"pods": "0"})],
        [
            (pod("p", apart=[term(HOSTNAME, WEB)]), True),
            (pod("p", apart=[term(HOSTNAME, WEB, namespaces=[])]), True),
            (pod("p", apart=[term(HOSTNAME, WEB, namespaces=["elsewhere"])]), False),
            (pod("p", near=[term(HOSTNAME, WEB, namespaceSelector={})]), False),
            (pod("p", near=[term(HOSTNAME, WEB, namespaceSelector={"matchLabels": WEB})]), False),
            (pod("p", prefer_near=[(1, ALL)]), False),
            (pod("p", prefer_apart=[(1, term(HOSTNAME, WEB)), (1, ALL)]), False),
        ],
    ),
    "the older way to name the scope": Case(
        [quota("q", {"pods": "1"}, scopes=["CrossNamespacePodAffinity"])],
        [(user(), True), (user(), False)],
    ),
    "count of objects": Case([limit({"count/pods": "1"})], [(user(), True), (user(), False)]),
    "only pods with a deadline": Case(
        [limit({"pods": "0"}, scope("Terminating"))], [(user(), True), (LATE, False)]
    ),
    "only pods without one, named in both lists": Case(
        [limit({"pods": "0"}, scopes=["NotTerminating"])], [(user(), False), (LATE, True)]
    ),
    "only best effort": Case(
        [limit({"pods": "0"}, scope("BestEffort"))],
        [
            (user(), False),
            (user(cpu("1m")), True),
            (user(asks({"cpu": "0"})), False),
            (user(asks({"ephemeral-storage": "1"})), False),
            (user({}, initContainers=before(cpu("1m"))), True),
            (user(cpu("1m"), resources={}), True),
        ],
    ),
    "never best effort": Case(
        [limit({"pods": "0"}, scope("NotBestEffort"))],
        [(user(), True), (user(cpu("1m")), False), (user(cpu("1m"), resources={}), False)],
    ),
    "any priority class": Case(
        [limit({"pods": "0"}, scope("PriorityClass"))], [(user(), True), (HIGH, False)]
    ),
    "any priority class, the older way": Case(
        [limit({"pods": "0"}, scopes=["PriorityClass"])], [(user(), True), (HIGH, False)]
    ),
    "this priority class": Case(
        [limit({"pods": "0"}, scope("PriorityClass", "In", "high"))],
        [(user(), True), (HIGH, False), (user(priorityClassName="low"), True)],
    ),
    "all but this priority class": Case(
        [limit({"pods": "0"}, scope("PriorityClass", "NotIn", "high"))],
        [(user(), False), (HIGH, True), (user(priorityClassName="low"), False)],
    ),
    "no priority class": Case(
        [limit({"pods": "0"}, scope("PriorityClass", "DoesNotExist"))],
        [(user(), False), (HIGH, True)],
    ),
    "cpu, to the thousandth": Case(
        [limit({"requests.cpu": "1"})],
        [(user(cpu("500m")), True), (user(cpu("501m")), False), (user(cpu("0.5")), True),
         (user(cpu("1m")), False), (user(cpu("0")), True)],
    ),
    "the short names": Case(
        [limit({"cpu": "1", "memory": "1Gi"})],
        [
            (user(asks({"cpu": "500m", "memory": "1Gi"})), True),
            (user(asks({"cpu": "500m", "memory": "1"})), False),
            (user(asks({"cpu": "600m", "memory": "0"})), False),
        ],
    ),
    "fractions of a byte": Case(
        [limit({"requests.memory": "1"})],
        [*[(user(asks({"memory": "400m"})), True)] * 2, (user(asks({"memory": "400m"})), False)],
    ),
    "limits": Case(
        [limit({"limits.cpu": "1", "limits.memory": "1Mi"})],
        [
            (user(asks({"cpu": "1m", "memory": "1"}, {"cpu": "1", "memory": "1Ki"})), True),
            (user(asks({"cpu": "1m", "memory": "1"}, {"cpu": "1m", "memory": "1Ki"})), False),
        ],
    ),
    "each container has to say what is counted": Case(
        [limit({"requests.cpu": "9"})],
        [
            (user(), False),
            (user(cpu("1"), {}), False),
            (user(cpu("1"), cpu("0")), True),
            (user(cpu("1"), initContainers=before({})), False),
            (user({}, resources={"requests": {"memory": "1Mi"}}), True),
        ],
    ),
    "init containers and sidecars": Case(
        [limit({"requests.cpu": "2300m"})],
        [
            # 1 beside a sidecar of 200m, or 900m after it in the beginning: 1200m.
            (user(cpu("1"), initContainers=before(SIDECAR, cpu("900m"))), True),
            (user(cpu("1"), initContainers=before(SIDECAR)), False),
            (user(cpu("100m"), initContainers=before(cpu("1100m"), cpu("300m"))), True),
            (user(cpu("1m")), False),
        ],
    ),
    "a pod that speaks for its containers": Case(
        [limit({"requests.cpu": "1", "requests.memory": "1Gi"})],
        [
            (user({}, resources={"requests": {"cpu": "600m"}}), True),
            (user(cpu("100m"), resources={"requests": {"cpu": "600m"}}), False),
            (user(cpu("100m"), resources={"requests": {"cpu": "400m"}}), True),
        ],
    ),
    "overhead": Case(
        [limit({"requests.cpu": "1", "limits.memory": "2Mi"})],
        [
            (
                user(
                    asks({"cpu": "500m", "memory": "1"}, {"memory": "1Mi"}),
                    runtimeClassName="heavy",
                    overhead=OVERHEAD,
                ),
                True,
            ),
            (user(asks({"cpu": "250m", "memory": "1"}, {"memory": "1"})), False),
            (user(asks({"cpu": "251m", "memory": "0"}, {"memory": "0"})), False),
            (user(asks({"cpu": "250m", "memory": "0"}, {"memory": "0"})), True),
        ],
    ),
    "extended resources": Case(
        [limit({"requests.nvidia.com/gpu": "3"})],
        [
            (user(), True),
            (user(gpus("2")), True),
            (user(gpus("1"), gpus("1")), False),
            (user(gpus("0"), initContainers=before(gpus("2"))), False),
            (user(asks({"example.com/other": "9"}, {"example.com/other": "9"})), True),
            (user(gpus("0"), initContainers=before(gpus("1"))), True),
            (user(gpus("1")), False),
            (user(gpus("0")), True),
        ],
    ),
    "extended resources by names that no quota honours": Case(
        [limit({"limits.nvidia.com/gpu": "0", "nvidia.com/gpu": "0", "pods": "2"})],
        [(user(gpus("2")), True), (user(gpus("2")), True), (user(), False)],
    ),
    "all quotas have to allow it": Case(
        [
            quota("one", {"pods": "2"}, crossing()),
            quota("two", {"pods": "1"}, crossing(), scope("NotBestEffort")),
        ],
        [(user(cpu("1")), True), (user(cpu("1")), False), (user(), True), (user(), False)],
    ),
}  # fmt: skip

UNDER_LIMITS = {
    "no quota": Case([], [(user(), False), (PLAIN, True)]),
    "a quota with the scope": Case([limit({"pods": "1"})], [(user(), True), (user(), False)]),
    "a quota without it": Case([quota("q", {"pods": "9"})], [(user(), False), (PLAIN, True)]),
    "a quota that names the scope, and is about others": Case(
        [limit({"pods": "0"}, scope("Terminating"))], [(user(), True), (LATE, False)]
    ),
    "a quota of devices": Case([limit({"requests.nvidia.com/gpu": "1"})], [
        (user(), True), (user(gpus("1")), True), (user(gpus("1")), False), (PLAIN, True),
    ]),
    "a quota that limits something else": Case([limit({"requests.cpu": "1"})], [
        (user(), False), (user(cpu("1")), True), (user(cpu("1m")), False),
    ]),
}  # fmt: skip


_HARD = {
    "pods": ("0", "1", "2", "3"),
    "count/pods": ("0", "1", "2"),
    "requests.cpu": ("1", "1500m"),
    "cpu": ("1", "2"),
    "limits.cpu": ("1", "3"),
    "requests.memory": ("1Gi", "1500Mi"),
    "limits.memory": ("1Gi", "3Gi"),
    "requests.ephemeral-storage": ("1Gi",),
    f"requests.{GPU}": ("1", "2"),
}
_SCOPES = (
    scope("Terminating"),
    scope("NotTerminating"),
    scope("BestEffort"),
    scope("NotBestEffort"),
    scope("PriorityClass", "In", "high"),
    scope("PriorityClass", "NotIn", "high", "low"),
    scope("PriorityClass"),
    scope("PriorityClass", "DoesNotExist"),
)
_AMOUNTS = {
    "cpu": ("100m", "500m", "1"),
    "memory": ("100Mi", "500Mi", "1Gi"),
    "ephemeral-storage": ("1Gi", "1Mi"),
}


def drawn(chance: random.Random) -> Case:
    """Draw quotas, not all of which an API server takes, and pods; who gets through is open."""
    quotas = []
    for number in range(chance.choice([1, 1, 2])):
        names = chance.sample([*_HARD], chance.choice([1, 1, 2, 3]))
        hard = {name: chance.choice(_HARD[name]) for name in names}
        scopes = chance.sample(_SCOPES, chance.choice([0, 0, 1, 2]))
        made = limit(hard, *scopes)
        quotas.append(made | {"metadata": made["metadata"] | {"name": f"q{number}"}})
    return Case(quotas, [(_drawn_pod(chance), True) for _ in range(5)])


def _drawn_pod(chance: random.Random) -> JSON:
    containers = [_drawn_container(chance) for _ in range(chance.choice([1, 1, 2]))]
    fields: dict[str, Any] = {}
    if chance.random() < 0.2:
        first = [_drawn_container(chance)]
        if chance.random() < 0.5:
            first[0]["restartPolicy"] = "Always"
        fields["initContainers"] = before(*first)
    if chance.random() < 0.3:
        fields["priorityClassName"] = chance.choice(["high", "low"])
    if chance.random() < 0.2:
        fields["activeDeadlineSeconds"] = 60
    if chance.random() < 0.2:
        # Admission adds the overhead before it judges; of a refused pod nobody sees it.
        fields |= {"runtimeClassName": "heavy", "overhead": OVERHEAD}
    made = user(*containers, **fields)
    if chance.random() < 0.2:
        made["spec"].pop("affinity")
    return made


def _drawn_container(chance: random.Random) -> JSON:
    requests = {
        name: chance.choice(amounts) for name, amounts in _AMOUNTS.items() if chance.random() < 0.6
    }
    # No limit is below a request.
    limits = {name: _AMOUNTS[name][-1] for name in requests if chance.random() < 0.5}
    limits = {name: each for name, each in limits.items() if name != "ephemeral-storage"}
    if chance.random() < 0.2:
        limits[GPU] = "1"
    return asks(requests, limits)
