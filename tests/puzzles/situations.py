"""Pods that wait, as operators meet them, in a cluster of three zones with two nodes each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tests.builders import HOST, ZONE, Json, Pod, pod, requirement, selector, term, workload
from tests.builders import namespace as of_name
from tests.builders import node as of_labels
from tests.volumes import DRIVER, bound, claim, storage_class, volume

REGION: Final = "topology.kubernetes.io/region"
EVERYWHERE: Final[Json] = {"namespaceSelector": {}}
DEDICATED: Final = {"key": "dedicated", "value": "cache", "effect": "NoSchedule"}
ROOM: Final = {"cpu": "4", "memory": "16Gi", "pods": "20"}


def zones(*tainted: str) -> tuple[Json, ...]:
    """Build the nodes, with a taint in some zones."""
    return tuple(
        of_labels(
            f"{zone}{number}",
            {HOST: f"{zone}{number}", ZONE: zone, REGION: "r"},
            ROOM,
            [DEDICATED] if zone in tainted else (),
        )
        for zone in "abc"
        for number in (1, 2)
    )


@dataclass(frozen=True, slots=True)
class Puzzle:
    """What there is, what comes, and what keeps a pod of it waiting."""

    name: str
    coming: tuple[tuple[Json, int], ...]
    """One after the other, or what changes about it; each with how many pods then have a node."""
    pod: str
    """How the key of the pod begins that waits."""
    causes: tuple[str, ...]
    """In the summary that explain gives."""
    there: tuple[Json, ...] = ()
    """Before the scheduler starts, beside the nodes."""
    nodes: tuple[Json, ...] = zones()
    findings: tuple[str, ...] = ()
    """Rules of lint that say so as well."""
    fits: bool = False
    """Nothing refuses it: the scheduler never looks at it."""


def small(name: str, space: str = "default") -> Pod:
    """Build a pod that has room everywhere."""
    made = pod(name, space)
    made["spec"]["containers"] = []
    return made.requests(cpu="100m").labels(app=name)


def db(name: str) -> Pod:
    """Build a pod of a database."""
    return small(name).labels(app="db")


def using(made: Pod, claim_name: str) -> Pod:
    """Give a pod a claim as a volume."""
    source = {"persistentVolumeClaim": {"claimName": claim_name}}
    return Pod({**made, "spec": {**made["spec"], "volumes": [{"name": "data"} | source]}})


def spread(made: Pod, **more: Any) -> Pod:
    """Have pods of one app evenly in all zones."""
    app = made["metadata"]["labels"]["app"]
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector(app=app),
    }
    spec = {**made["spec"], "topologySpreadConstraints": [constraint | more]}
    return Pod({**made, "spec": spec})


def replicas(count: int, template: Pod, kind: str = "Deployment", **spec: Any) -> Json:
    """Build a workload of so many pods."""
    app = template["metadata"]["labels"]["app"]
    return workload(
        kind, app, template, replicas=count, selector={"matchLabels": {"app": app}}, **spec
    )


def in_zone(name: str, zone: str) -> Json:
    """Build a volume that nodes of a zone can have."""
    source = {"driver": DRIVER, "volumeHandle": name}
    place = requirement(ZONE, "In", zone)
    return volume(name, place, accessModes=["ReadWriteOnce"], csi=source)


ONCE: Final[Json] = {"accessModes": ["ReadWriteOnce"]}
AT_ONCE: Final[Json] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
WEB = small("web").anti_affinity(term(HOST, selector(app="web")))
TENANT = selector(requirement("tenant", "Exists"))
ALONE = term(ZONE, TENANT, mismatchLabelKeys=["tenant"], **EVERYWHERE)
NODE_OF_A = {"spec": {"unschedulable": True}}


def tenant(name: str) -> Pod:
    """Build a pod that shares its zone with no other tenant."""
    return small(f"of-{name}").labels(tenant=name).anti_affinity(ALONE)


def cordoned(name: str) -> Json:
    """Build a change to a node."""
    return {"kind": "Node", "metadata": {"name": name}} | NODE_OF_A


PINNED = small("web").selects(**{ZONE: "a"})
PUZZLES: Final = (
    Puzzle(
        "an-update-waits-for-its-own-old-pods",
        (
            (replicas(6, WEB, strategy=AT_ONCE), 6),
            (replicas(6, WEB.annotated("version", "2"), strategy=AT_ONCE), 6),
        ),
        "default/web-",
        ("your anti-affinity on hostname",),
        findings=("rollout-stuck",),
    ),
    Puzzle(
        "a-volume-in-the-zone-that-has-its-share",
        ((using(spread(db("db-1")), "data"), 1),),
        "default/db-1",
        (
            "volume: claim data is bound to a volume in zone a",
            "your topology spread on zone: a has 1",
        ),
        (
            storage_class("wait"),
            bound("data", "of-a", **ONCE),
            in_zone("of-a", "a"),
            db("db-0").on("a1"),
        ),
    ),
    Puzzle(
        "beside-a-cache-on-nodes-with-a-taint",
        ((small("worker").affinity(term(ZONE, selector(app="cache"))), 1),),
        "default/worker",
        ("untolerated taint dedicated=cache:NoSchedule", "your affinity on zone"),
        (small("cache").on("a1"),),
        zones("a"),
    ),
    Puzzle(
        "one-tenant-more-than-zones",
        ((tenant("four"), 3),),
        "default/of-four",
        ("your anti-affinity on zone",),
        tuple(
            tenant(name).on(f"{zone}1")
            for name, zone in (("one", "a"), ("two", "b"), ("three", "c"))
        ),
    ),
    Puzzle(
        "another-tenant-lets-nobody-near",
        ((small("batch", "blue"), 3),),
        "blue/batch",
        ("the anti-affinity of red/guard-a",),
        (
            of_name("red"),
            of_name("blue"),
            *(
                small(f"guard-{zone}", "red")
                .anti_affinity(term(ZONE, selector(app="batch"), **EVERYWHERE))
                .on(f"{zone}1")
                for zone in "abc"
            ),
        ),
    ),
    Puzzle(
        "a-namespace-selector-that-chooses-none",
        (
            (
                replicas(
                    1,
                    small("report").affinity(
                        term(ZONE, selector(app="db"), namespaceSelector=selector(team="dta"))
                    ),
                ),
                1,
            ),
        ),
        "default/report-",
        ("your affinity on zone: no matching pod",),
        (of_name("data", {"team": "data"}), small("db", "data").on("a1")),
        findings=("affinity-matches-no-pod", "namespace-selector-matches-none"),
    ),
    Puzzle(
        "a-letter-too-many",
        ((replicas(1, small("api").affinity(term(ZONE, selector(app="cachee")))), 1),),
        "default/api-",
        ("your affinity on zone: no matching pod",),
        (small("cache").on("a1"),),
        findings=("affinity-matches-no-pod",),
    ),
    Puzzle(
        "fewer-zones-than-there-have-to-be",
        ((replicas(4, spread(small("web"), minDomains=4)), 3),),
        "default/web-",
        ("your topology spread on zone", "there are 3 of at least 4 domains"),
    ),
    Puzzle(
        "a-host-port-on-every-node",
        ((replicas(7, small("edge").host_port(8080)), 6),),
        "default/edge-",
        ("host port 8080/TCP taken",),
        findings=("more-replicas-than-domains",),
    ),
    Puzzle(
        "a-zone-that-is-cordoned-and-a-budget",
        (
            (replicas(2, PINNED), 2),
            (cordoned("a1"), 2),
            (cordoned("a2"), 2),
            (replicas(3, PINNED), 2),
        ),
        "default/web-",
        ("cordoned", "node affinity"),
        (
            {
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"minAvailable": "100%", "selector": selector(app="web")},
            },
        ),
        findings=("budget-allows-none",),
    ),
    Puzzle(
        "two-that-wait-for-each-other",
        (
            (small("web").affinity(term(ZONE, selector(app="db"))), 0),
            (small("db").affinity(term(ZONE, selector(app="web"))), 0),
        ),
        "default/db",
        ("your affinity on zone: no matching pod",),
        findings=("affinity-circle",),
    ),
    Puzzle(
        "a-stateful-set-has-no-template-hash",
        (
            (
                replicas(
                    4,
                    db("db").anti_affinity(
                        term(ZONE, selector(app="db"), matchLabelKeys=["pod-template-hash"])
                    ),
                    "StatefulSet",
                    podManagementPolicy="Parallel",
                    serviceName="db",
                ),
                3,
            ),
        ),
        "default/db-",
        ("your anti-affinity on zone",),
        findings=("label-key-absent", "more-replicas-than-domains"),
    ),
    Puzzle(
        "a-volume-of-a-zone-that-is-lost",
        ((using(small("db"), "data"), 0),),
        "default/db",
        ("volume: claim data is bound to a volume in zone d",),
        (storage_class("wait"), bound("data", "of-d", **ONCE), in_zone("of-d", "d")),
    ),
    Puzzle(
        "a-pod-larger-than-every-node",
        ((small("model").requests(cpu="8"), 0),),
        "default/model",
        ("too little cpu even when empty",),
    ),
    Puzzle(
        "in-two-zones-at-once",
        (
            (
                replicas(
                    1,
                    small("web").requires_nodes(
                        {
                            "matchExpressions": [
                                requirement(ZONE, "In", "a"),
                                requirement(ZONE, "In", "b"),
                            ]
                        }
                    ),
                ),
                0,
            ),
        ),
        "default/web-",
        ("node affinity",),
        findings=("node-affinity-contradictory",),
    ),
    Puzzle(
        "a-claim-that-nothing-binds",
        ((using(small("db"), "data"), 0),),
        "default/db",
        ("volume: claim data (class now of csi.example.com) waits for the provisioner",),
        (storage_class("now", volumeBindingMode="Immediate"), claim("data", "now", **ONCE)),
    ),
    Puzzle(
        "the-first-of-a-group-that-leaves-itself-out",
        (
            (
                replicas(2, small("web").affinity(term(HOST, selector(app="web", tier="front")))),
                0,
            ),
        ),
        "default/web-",
        ("your affinity on hostname: no matching pod",),
        findings=("affinity-matches-no-pod",),
    ),
    Puzzle(
        "a-scheduler-that-nobody-runs",
        ((Pod({**small("web"), "spec": {**small("web")["spec"], "schedulerName": "own"}}), 0),),
        "default/web",
        ("6 nodes would fit by its rules",),
        fits=True,
    ),
)
