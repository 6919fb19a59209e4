"""Many pods with few terms each: together as many as one hostile pod has, see `bench.hostile`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any, Final

from bench.hostile_pods import NODES, PLAIN, PREFERRED, PRIORITY, REQUIRED
from bench.workloads import HOST, Json

NAMESPACE: Final = "crowd"
JOB: Final = "jobset.sigs.k8s.io/job-key"


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: a pod, and those that are there before it."""

    pod: Json
    """One that waits, then is placed, then goes."""
    crowd: int = 0
    """Pods of its kind that are placed already."""
    like: Callable[[int], Json] = lambda _: PLAIN
    """Makes one of them."""
    beside: Callable[[int], Json] = lambda _: PLAIN
    """Makes the pods that others ask about, each of a workload of its own."""

    def placed(self) -> Iterator[Json]:
        chance = Random(3)
        for number in range(self.crowd):
            pod = self.like(number)
            yield {**pod, "spec": {**pod["spec"], "nodeName": f"n{chance.randrange(NODES)}"}}


def crowds() -> dict[str, Case]:
    return {
        "4,500 pods of 16 terms at one app": _at_one_app(4_500, REQUIRED, _unlike_key),
        "4,500 pods of 16 preferred terms": _at_one_app(4_500, PREFERRED, _unlike_key),
        "4,500 pods of 16 terms, other values": _at_one_app(4_500, REQUIRED, _or_another),
        "4,500 pods of 16 terms, other keys": _at_one_app(4_500, REQUIRED, _lacking),
        "20,000 pods of 4 negative terms": _case(20_000, partial(_terms, REQUIRED, 4, _unlike)),
        "20,000 pods of 4 affinity terms that nothing meets": _case(
            20_000, partial(_terms, REQUIRED, 4, _absent, kind="podAffinity")
        ),
        "5,000 pods of 4 terms in namespaces of a team": _case(
            5_000, partial(_terms, REQUIRED, 4, _absent, spaces={"matchLabels": {"team": "t1"}})
        ),
        "5,000 exclusive jobs": _case(5_000, _job, _job),
        "15,000 exclusive jobs": _case(15_000, _job, _job),
    }


def _case(
    count: int, like: Callable[[int], Json], beside: Callable[[int], Json] | None = None
) -> Case:
    hostile = like(count)
    identity = {"name": "hostile", "namespace": "ns0", "uid": "hostile"}
    hostile = {**hostile, "metadata": {**hostile["metadata"], **identity}}
    if beside is None:
        return Case(hostile, count, like, new_of("new"))
    return Case(hostile, count, like, lambda number: beside(count + 1 + number))


def new_of(app: str) -> Callable[[int], Json]:
    """Return what builds a pod of the app that terms are at, of another version each time."""

    def new(number: int) -> Json:
        labels = {"app": app, **({"pod-template-hash": f"{number}"} if number else {})}
        name = f"new-{number}" if number else "new"
        identity = {"name": name, "uid": name, "labels": labels}
        return {**PLAIN, "metadata": {**PLAIN["metadata"], **identity}}

    return new


def _at_one_app(count: int, strength: str, selector: Callable[[str], Sequence[Json]]) -> Case:
    return _case(count, partial(_terms, strength, 16, selector))


def _unlike(name: str) -> Sequence[Json]:
    return [{"key": "app", "operator": "NotIn", "values": [name]}]


def _unlike_key(name: str) -> Sequence[Json]:
    app = {"key": "app", "operator": "In", "values": ["new"]}
    return [app, {"key": "k", "operator": "NotIn", "values": [name]}]


def _or_another(name: str) -> Sequence[Json]:
    return [{"key": "app", "operator": "In", "values": ["new", name]}]


def _lacking(name: str) -> Sequence[Json]:
    app = {"key": "app", "operator": "In", "values": ["new"]}
    return [app, {"key": name, "operator": "DoesNotExist"}]


def _absent(name: str) -> Sequence[Json]:
    return [{"key": "app", "operator": "In", "values": [name]}]


def _terms(
    strength: str,
    terms: int,
    selector: Callable[[str], Sequence[Json]],
    number: int,
    *,
    kind: str = "podAntiAffinity",
    spaces: Mapping[str, Any] = MappingProxyType({}),
) -> Json:
    every = [
        {
            "labelSelector": {"matchExpressions": selector(f"x{number}-{each}")},
            "namespaceSelector": {**spaces},
            "topologyKey": HOST,
        }
        for each in range(terms)
    ]
    if strength == PREFERRED:
        rules: list[Json] = [{"weight": 1, "podAffinityTerm": each} for each in every]
    else:
        rules = every
    return _pod(number, {"app": f"c{number}"}, {kind: {strength: rules}})


def _job(number: int) -> Json:
    """Build the leader of a job that has its domain to itself, as JobSet does."""
    name = f"job-{number}"

    def rules(*requirements: Json) -> Json:
        selector = {"matchExpressions": list(requirements)}
        return {
            REQUIRED: [{"labelSelector": selector, "namespaceSelector": {}, "topologyKey": HOST}]
        }

    own = {"key": JOB, "operator": "In", "values": [name]}
    other = {"key": JOB, "operator": "NotIn", "values": [name]}
    affinity = {
        "podAffinity": rules(own),
        "podAntiAffinity": rules({"key": JOB, "operator": "Exists"}, other),
    }
    return _pod(number, {"app": "job", JOB: name}, affinity)


def _pod(number: int, labels: Json, affinity: Json) -> Json:
    name = f"c{number}"
    metadata = {"name": name, "namespace": NAMESPACE, "uid": name, "labels": labels}
    return {
        "metadata": metadata,
        "spec": {"affinity": affinity, "priority": PRIORITY},
        "status": {"phase": "Running"},
    }
