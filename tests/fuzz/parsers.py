"""The parsers of what others have written, and what each is given to begin with.

Those behind a port, a watch or a command are reached by the other drivers. Features name theirs in
their tests (`tests.features.every.parsers`).
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec
import trustme
import yaml
from yarl import URL

from affinityctl.commands.leftovers.finding import LEASE as HELD
from affinityctl.commands.leftovers.finding import POD as LEFT_ON
from affinityctl.commands.leftovers.finding import marked
from affinityctl.reading.label_selectors import parse_selector
from affinityctl.scheduler.arguments import profiles_in
from affinityctl.scheduler.file import seconds
from clusterload.compiling import compile_test
from clusterload.durations import parse_duration
from clusterload.measurements.scheduler import histograms, report
from clusterload.monitoring import read_samples
from clusterload.templates import Templates
from clusterload.workloads import BROKEN
from extender.core import config, files
from extender.core.certificates import not_after
from extender.core.config import layers
from extender.core.kube.client import ApiClient
from extender.core.kube.clientcmd import Chosen, choose, header
from extender.core.kube.credentials import kubeconfig_credentials
from extender.core.kube.failures import failure_from_body
from extender.core.kube.frames import (
    SkippedError,
    read_event,
    read_metadata,
    read_page,
    read_version,
)
from extender.core.kube.kubeconfig_file import Exec
from extender.core.kube.lease import Lease
from extender.core.kube.plugin import _status, cluster_info
from extender.core.kube.proxies import proxy_for
from extender.core.kube.tls_material import TLSMaterial
from extender.core.model.keys import Key
from extender.core.resources import of_features
from extender.core.wire.affinity import Gates
from extender.core.wire.objects import NodeReader, PodReader, read_budget, read_namespace
from extender.core.wire.placement import moment
from extender.core.wire.quantities import read_quantity
from tests.beside import AFFINITY_ANNOTATION, RULES
from tests.builders import budget, every_facet, namespace, node, pod, selector, term
from tests.commands.leftovers.test_leftovers import traced
from tests.conformance.cases import load_cases
from tests.deploy.places import ROOT
from tests.features.every import objects, parsers
from tests.kube.rig import credentials_for

KEYS = {"matchLabelKeys": ["app"], "mismatchLabelKeys": ["tier"]}
PLACED = (
    pod("p")
    .labels(app="web", tier="a")
    .anti_affinity(term("zone", selector(app="web"), **KEYS))
    .prefers(5, term("zone", selector(app="db"), namespaces=["x"], namespaceSelector={}))
    .created("2026-01-01T00:00:00Z")
    .owned_by("web")
    .host_port(80)
    .on("a")
)
POD = {
    **PLACED,
    "spec": {
        **PLACED["spec"],
        "priority": 5,
        "nodeName": "a",
        "overhead": {"cpu": "1m"},
        "activeDeadlineSeconds": 5,
        "containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1Gi", "a/b": 2}}}],
        "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"cpu": 0.5}}}],
        "schedulingGroup": {"podGroupName": "g"},
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-01-01T00:00:00Z",
        "containerStatuses": [{"name": "c", "restartCount": 1}],
        "nominatedNodeName": "b",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/3 nodes are available: 3 node(s) had untolerated taint(s).",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    },
}
NODE = {
    **node("a", {"zone": "z"}),
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
PAGE = {"kind": "PodList", "metadata": {"resourceVersion": "5", "continue": "x"}, "items": [POD]}
TABLE = {
    "kind": "Table",
    "metadata": {"resourceVersion": "5"},
    "columnDefinitions": [{"name": "Name", "type": "string"}],
    "rows": [{"cells": ["p"], "object": {"kind": "PartialObjectMetadata", **PLACED}}],
}
STATUS = {
    "kind": "Status",
    "code": 410,
    "reason": "Expired",
    "message": "m",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
}
EVENTS = [
    *({"type": kind, "object": POD} for kind in ("ADDED", "MODIFIED", "DELETED")),
    {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}},
    {"type": "ERROR", "object": STATUS},
    {"type": "ADDED", "object": TABLE},
]
KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "n"}}],
    "clusters": [
        {
            "name": "a",
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority-data": "YQ==",
                "proxy-url": "http://127.0.0.1:2",
                "tls-server-name": "a",
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {}}],
            },
        }
    ],
    "users": [
        {"name": "a", "user": {"token": "t", "as": "b", "as-groups": ["c"], "as-uid": "1"}},
        {"name": "b", "user": {"client-certificate-data": "YQ==", "client-key-data": "YQ=="}},
        {"name": "c", "user": {"username": "u", "password": "p", "tokenFile": "f"}},
    ],
}
PLUGIN = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "./plugin",
    "args": ["a"],
    "env": [{"name": "A", "value": "b"}],
    "provideClusterInfo": True,
    "interactiveMode": "Never",
}
KUBECONFIGS = [
    KUBECONFIG,
    {
        **KUBECONFIG,
        "users": [{"name": "a", "user": each["user"]} for each in KUBECONFIG["users"][1:2]],
    },
    {**KUBECONFIG, "users": [{"name": "a", "user": {"exec": PLUGIN}}]},
]
CREDENTIAL = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"},
}
LEASE: dict[str, Any] = {
    "metadata": {
        "resourceVersion": "5",
        "annotations": {"affinity-extender.io/acknowledged-violations": "5"},
    },
    "spec": {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 3,
    },
}
HELD_LEASE = {**LEASE, "metadata": {**LEASE["metadata"], "namespace": "n", "name": "l"}}
ADMISSION = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                "limitedResources": [
                    {
                        "resource": "pods",
                        "matchScopes": [
                            {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
                        ],
                    }
                ],
            },
        }
    ],
}
_BUCKET = "scheduler_pod_scheduling_sli_duration_seconds"
METRICS = [
    f"""\
# HELP {_BUCKET} h
# TYPE {_BUCKET} histogram
{_BUCKET}_bucket{{attempts="1",le="0.01"}} 5
{_BUCKET}_bucket{{attempts="1",le="+Inf"}} 7
{_BUCKET}_count 7
"""
]
PROMETHEUS = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1.5, "0.25"]}]},
}
RULES_BESIDE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingRequiredDuringExecution": [
            {**term("zone", selector(app="web")), "maxMatchingPods": 2}
        ],
    },
    "podAffinity": PLACED["spec"]["affinity"]["podAntiAffinity"],
}
TEXTS = (
    *("1h2m3.5s", "100ms", "-1.5h", "100m", "1.5Gi", "2e3", "2026-01-01T00:00:00.5+01:00"),
    *("zone=b,disk in (ssd, hdd),!old", "a!=b", "127.0.0.1:8080", "http://user:p@proxy:80/"),
)


class Parser(NamedTuple):
    read: Callable[[bytes], object]
    seeds: Sequence[Any]
    """Documents; bytes and texts are changed as such."""
    refusals: tuple[type[Exception], ...] = ()
    """What it raises beside the project's own errors."""


def _raw(read: Callable[[msgspec.Raw], object]) -> Callable[[bytes], object]:
    return lambda raw: read(msgspec.Raw(raw))


def _of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda raw: read(raw.decode(errors="replace"))


def _page(raw: bytes) -> None:
    for item in read_page(raw).items or ():
        with suppress(SkippedError):
            read_metadata(item)


def _objects(kind: str) -> list[Any]:
    return [each for each in objects() if each["kind"] == kind]


def _in_file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def write_and_read(raw: bytes) -> None:
        path.write_bytes(raw)
        read(path)

    return write_and_read


def _load(path: Path) -> None:
    layers.load(Namespace(config=str(path)), files.read_text)


def _choose(path: Path) -> None:
    chosen = choose(str(path))
    header(chosen.user)
    cluster_info(chosen)


def _annotation(raw: bytes) -> None:
    text = raw.decode(errors="replace")
    made = pod("p").annotated(AFFINITY_ANNOTATION, text)
    PodReader(facets=every_facet(), rules=RULES).read(json.dumps(made).encode())


def _credential(path: Path) -> Callable[[bytes], object]:
    path.write_text(json.dumps(KUBECONFIGS[-1]))

    def load(raw: bytes) -> None:
        async def run_plugin(plugin: Exec, chosen: Chosen) -> Mapping[str, Any]:
            del chosen
            return _status(raw, plugin)

        with patch("extender.core.kube.kubeconfig.run_plugin", run_plugin):
            asyncio.run(kubeconfig_credentials(str(path)))

    return load


def _lease(raw: bytes) -> None:
    lease = Lease(ApiClient(credentials_for("http://127.0.0.1:1")), Key("a/b"))
    lease._note(raw)
    assert lease.acknowledged >= 0
    assert not lease.leads


def _compile(path: Path) -> None:
    templates = Templates(path.parent, random.Random(1))
    compile_test(templates, path.name, {"Name": "a"}, ("Sleep", "Timer"))


def in_process(folder: Path) -> Mapping[str, Parser]:
    """Return those that are called directly, by name; some read from files in a folder."""
    pods = [POD, *(each for case in load_cases()[:20] for each in case.cluster["pods"])]
    settings = config.effective(layers.load(Namespace(), Path.read_text))
    settings["plugins"] = ["InterPodAffinity", "CrossNamespacePodAffinity"]
    given, admission = folder / "given.yaml", folder / "admission.yaml"
    given.write_text(json.dumps(settings))

    def admit(path: Path) -> None:
        layers.load(
            Namespace(config=str(given), admission_control_config_file=str(path)), files.read_text
        )

    shutil.copytree(ROOT / "loadtest", folder / "loadtest")
    loads = sorted((ROOT / "loadtest").glob("*.yaml"))
    schedulers = [
        yaml.safe_load(each.read_text()) for each in (ROOT / "scheduler-config").iterdir()
    ]
    authority = trustme.CA()
    leaf = authority.issue_cert("a.test")
    pems = [leaf.cert_chain_pems[0].bytes(), authority.cert_pem.bytes()]
    keys = [leaf.private_key_pem.bytes()]
    return {
        "pod": Parser(_raw(PodReader(facets=every_facet(), rules=RULES).read), pods),
        "pod without gates": Parser(_raw(PodReader(gates=Gates(False, False)).read), pods),  # noqa: FBT003
        "node": Parser(_raw(NodeReader().read), [NODE]),
        "namespace": Parser(_raw(read_namespace), [namespace("default", {"team": "red"})]),
        "budget": Parser(_raw(read_budget), [budget("one", selector(app="web"), 2)]),
        "leftovers": Parser(lambda raw: marked(LEFT_ON, raw, ()), [traced("p")]),
        "leftover lease": Parser(lambda raw: marked(HELD, raw, ["n/l"]), [HELD_LEASE]),
        "list": Parser(_page, [PAGE, TABLE]),
        "watch": Parser(read_event, EVENTS, (SkippedError,)),
        "status": Parser(lambda raw: failure_from_body(raw, status=410), [STATUS]),
        "version": Parser(read_version, [POD]),
        "scheduler's file": Parser(profiles_in, schedulers),
        "configuration": Parser(_in_file(folder / "c.yaml", _load), [settings]),
        "admission configuration": Parser(_in_file(admission, admit), [ADMISSION]),
        "kubeconfig": Parser(_in_file(folder / "kubeconfig", _choose), KUBECONFIGS, (OSError,)),
        "credential of a plugin": Parser(_credential(folder / "exec"), [CREDENTIAL]),
        "lease": Parser(_lease, [LEASE]),
        "certificate": Parser(not_after, pems, (ValueError, IndexError)),
        "key": Parser(
            lambda raw: TLSMaterial(raw, pems[0], raw, verify=True).context(),
            [*pems, *keys],
            (OSError, ValueError),
        ),
        "load test": Parser(
            _in_file(folder / "loadtest/test.yaml", _compile), [each.read_text() for each in loads]
        ),
        "metrics of a scheduler": Parser(
            _of_text(lambda text: report(histograms([text]))), METRICS
        ),
        "answer of Prometheus": Parser(lambda raw: read_samples(raw, "q"), [PROMETHEUS], BROKEN),
        "rules in an annotation": Parser(_annotation, [RULES_BESIDE]),
        "selector of a flag": Parser(_of_text(lambda text: parse_selector(text, "-l")), TEXTS),
        "duration": Parser(_of_text(seconds), TEXTS),
        "duration of a load test": Parser(_of_text(parse_duration), TEXTS, (ValueError,)),
        "time": Parser(_of_text(moment), TEXTS),
        "quantity": Parser(_of_text(read_quantity), TEXTS, (ValueError,)),
        "proxy": Parser(
            _of_text(
                lambda text: proxy_for(URL("http://a"), {"HTTP_PROXY": text, "NO_PROXY": text})
            ),
            TEXTS,
        ),
        **{name: Parser(*each) for name, each in parsers().items()},
        **{
            each.name: Parser(_raw(each.reader(PodReader())), _objects(each.kind))
            for each in of_features()
        },
    }
