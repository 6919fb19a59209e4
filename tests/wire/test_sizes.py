"""Estimates of what objects take, against the allocator."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from extender.core.model.node_selection import NodeSelection
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import PodManifest
from extender.core.wire.node_selection import NodeSelectionReader
from extender.core.wire.objects import PodReader
from extender.core.wire.pod_resources import RequestsReader, key_size, resources_key

LEAST, MOST = 0.9, 5.5
"""What an estimate may be of the truth, which is 6 % less with Python 3.13 than with 3.11."""
MANY = 3000

chance = random.Random(1)


def word(letters: int) -> str:
    """Return a random word."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=letters))


def words(number: int, letters: int) -> list[str]:
    """Return random words."""
    return [word(letters) for _ in range(number)]


def rules(*terms: dict[str, Any]) -> dict[str, Any]:
    """Build an affinity of required anti-affinity terms."""
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def about(topology_key: str = "zone", **fields: Any) -> dict[str, Any]:
    return {"topologyKey": topology_key, **fields}


def expressions(number: int, operator: str, values: int) -> dict[str, Any]:
    """Build a selector of requirements."""
    some = [{"key": word(5), "operator": operator} for _ in range(number)]
    return {
        "matchExpressions": [
            each | ({"values": words(values, 5)} if values else {}) for each in some
        ]
    }


KEYS = words(40, 6)
OWN = dict.fromkeys(KEYS, "x")

CLASSES = {
    "a few labels": ({f"app.kubernetes.io/{word(5)}": word(9) for _ in range(4)}, None),
    "many short labels": ({key: word(2) for key in words(MANY, 4)}, None),
    "many long labels": ({key: word(40) for key in words(MANY, 50)}, None),
    "one rule": ({"app": "web"}, rules(about(labelSelector={"matchLabels": {"app": "web"}}))),
    "many empty terms": ({}, rules(*(about(word(4)) for _ in range(OF_RULES.terms)))),
    "many whole terms": (
        {},
        rules(
            *(
                about(labelSelector={"matchLabels": {"app": word(8)}}, namespaceSelector={})
                for _ in range(OF_RULES.terms)
            )
        ),
    ),
    "many requirements": (
        {},
        rules(about(labelSelector=expressions(OF_RULES.conditions, "In", 1))),
    ),
    "many requirements without values": (
        {},
        rules(about(labelSelector=expressions(OF_RULES.conditions, "Exists", 0))),
    ),
    "many matchLabels": (
        {},
        rules(about(labelSelector={"matchLabels": dict.fromkeys(words(1000, 4), "x")})),
    ),
    "many values": ({}, rules(about(labelSelector=expressions(1, "In", OF_RULES.conditions)))),
    "many namespaces": ({}, rules(about(namespaces=words(OF_RULES.conditions, 5)))),
    "many label keys": (
        OWN,
        rules(*(about(labelSelector={}, matchLabelKeys=KEYS) for _ in range(10))),
    ),
    "label keys of both kinds": (
        OWN,
        rules(
            *(
                about(labelSelector={}, matchLabelKeys=KEYS, mismatchLabelKeys=KEYS)
                for _ in range(10)
            )
        ),
    ),
}


def taken(make: Callable[[int], object], times: int) -> float:
    """Return the bytes that one of several takes, once all that is needed for any is there."""
    make(times)
    gc.collect()
    tracemalloc.start()
    kept = [make(number) for number in range(times)]
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(kept)


@pytest.mark.parametrize("case", CLASSES)
def test_what_a_class_takes(case: str) -> None:
    labels, affinity = CLASSES[case]
    reader = PodReader()

    def read(number: int) -> int:
        namespace = f"space-{number}"
        metadata = {"name": "x", "namespace": namespace, "labels": labels}
        # Rules that are equal would be shared by the classes.
        own = json.dumps(affinity).replace('"zone"', f'"zone-{number}"', 1)
        raw = json.dumps({"metadata": metadata, "spec": {"affinity": json.loads(own)}})
        # What the pod has of its class lives on in the reader.
        return reader.read(raw.encode()).pod_class.size

    times = 100 if len(json.dumps(CLASSES[case])) < 1000 else 3
    estimated = read(times)
    # The reader keeps the rules once for their own sake: the estimate counts them for each.
    assert LEAST <= estimated / taken(read, times) <= MOST


def wishes(*terms: dict[str, Any]) -> dict[str, Any]:
    """Build required node affinity."""
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def named(name: str) -> dict[str, Any]:
    """Build a term about a node's name."""
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param(None, id="a selector"),
        pytest.param(wishes(named("node-7")), id="a name"),
        pytest.param(wishes(*map(named, words(MANY, 9))), id="many names"),
        pytest.param(wishes(expressions(2, "In", 2)), id="one term"),
        pytest.param(wishes(*(expressions(1, "In", 1) for _ in range(MANY))), id="many terms"),
        pytest.param(wishes(expressions(MANY, "Exists", 0)), id="many requirements"),
        pytest.param(wishes(expressions(1, "In", MANY)), id="many values"),
    ],
)
def test_what_node_affinity_takes(affinity: Any) -> None:
    reader, raw = NodeSelectionReader(), json.dumps(affinity)

    def read(number: int) -> NodeSelection:
        found = reader.read(raw.encode(), json.dumps({"disk": f"d{number}"}).encode())
        assert found is not None
        return found

    times = 100 if len(raw) < 1000 else 3
    assert LEAST <= read(times).size / taken(read, times) <= MOST


@pytest.mark.parametrize(
    ("containers", "most"),
    [
        pytest.param(1, MOST, id="one container"),
        # Their sum is one small tuple; what each requests is counted as if it were kept.
        pytest.param(100, 5 * MOST, id="many alike"),
    ],
)
def test_what_requests_take(containers: int, most: float) -> None:
    reader = RequestsReader()

    def read(number: int) -> int:
        some = [
            {"resources": {"requests": {"cpu": f"{number}m", f"example.com/{number}": "1"}}}
            for _ in range(containers)
        ]
        manifest = {"metadata": {"name": "x"}, "spec": {"containers": some}}
        spec = msgspec.json.decode(json.dumps(manifest).encode(), type=PodManifest).spec
        reader.read(spec)
        return key_size(resources_key(spec))

    times = 100 if containers == 1 else 5
    assert LEAST <= read(times) / taken(read, times) <= most
