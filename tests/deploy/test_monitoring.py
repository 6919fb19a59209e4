"""The monitoring component finds the extender, and asks for what there is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kustomize import render
from tests.deploy.places import KUBEADM, MONITORING, ROOT, SERVICEMONITOR, SIDECAR, named, read_yaml
from tests.features.every import all_metrics

DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
QUERIES = [
    pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
]
RULES = [
    rule
    for group in read_yaml(MONITORING / "prometheusrule.yaml")["spec"]["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
NAME = re.compile(r"(?<![\w:])(?:[a-z_]+:)?(?:affinity_extender|rest_client|process)[\w:]*")


def samples() -> set[str]:
    """Return the names of all samples that the program can have."""
    suffixes = ("", "_total", "_bucket", "_sum", "_count", "_info")
    return {f"{one.name}{suffix}" for one in all_metrics().collect() for suffix in suffixes}


def test_a_dashboard_is_full_of_queries() -> None:
    assert len(QUERIES) >= 25


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_of_the_dashboard_names_metrics_that_exist(query: str) -> None:
    names = set(NAME.findall(query))
    assert names
    assert names <= samples() | RECORDED


def test_each_rule_names_metrics_that_exist() -> None:
    for rule in RULES:
        names = set(NAME.findall(rule["expr"]))
        names.discard("affinity-extender")
        assert names <= samples() | RECORDED, rule
        assert names or "up{" in rule["expr"]


def test_queries_in_the_document_name_metrics_that_exist() -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text()
    named_there = {name for name in NAME.findall(text) if "_" in name.replace("affinity_", "")}
    assert named_there
    assert named_there <= samples() | RECORDED


def ports(pod: dict[str, Any]) -> set[str]:
    containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    return {port["name"] for each in containers for port in each.get("ports", ())}


def chosen() -> tuple[dict[str, str], set[str]]:
    monitor = read_yaml(MONITORING / "podmonitor.yaml")["spec"]
    assert {each["path"] for each in monitor["podMetricsEndpoints"]} == {
        "/metrics",
        "/metrics/slis",
    }
    return monitor["selector"]["matchLabels"], {
        each["port"] for each in monitor["podMetricsEndpoints"]
    }


def test_the_pod_monitor_finds_both_forms_of_the_extender(tmp_path: Path) -> None:
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(SIDECAR, tmp_path)],
        "components": [os.path.relpath(MONITORING, tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    objects = render(tmp_path)
    assert {"PodMonitor", "PrometheusRule"} <= {one["kind"] for one in objects}
    board = named(objects, "ConfigMap", "affinity-extender-dashboard")
    assert json.loads(board["data"]["affinity-extender.json"]) == DASHBOARD
    assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
    sidecar = named(objects, "Deployment", "affinity-scheduler")["spec"]["template"]
    labels, wanted = chosen()
    for pod in (sidecar, read_yaml(KUBEADM / "static-pod.yaml")):
        assert labels.items() <= pod["metadata"]["labels"].items()
        assert wanted <= ports(pod)


def test_the_service_monitor_takes_the_place_of_the_pod_monitor(tmp_path: Path) -> None:
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(SIDECAR, tmp_path)],
        "components": [os.path.relpath(each, tmp_path) for each in (MONITORING, SERVICEMONITOR)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    objects = render(tmp_path)
    assert "PodMonitor" not in {one["kind"] for one in objects}
    service = named(objects, "Service", "affinity-extender-metrics")
    monitor = named(objects, "ServiceMonitor", "affinity-extender")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    pods_of, scraped = chosen()
    assert service["spec"]["selector"] == pods_of
    (port,) = service["spec"]["ports"]
    assert {port["name"], port["targetPort"]} == scraped
    endpoints = read_yaml(MONITORING / "podmonitor.yaml")["spec"]["podMetricsEndpoints"]
    assert monitor["endpoints"] == endpoints


def test_the_ops_port_of_a_kubeadm_host_is_opened_by_one_line() -> None:
    closed = (KUBEADM / "static-pod.yaml").read_text()
    line = "- --ops-bind-address=0.0.0.0"
    assert closed.count(f"# {line}") == 1
    opened = yaml.safe_load(closed.replace(f"# {line}", line))
    (container,) = opened["spec"]["containers"]
    assert container["args"][-1] == line.removeprefix("- ")
    # 0.0.0.0 is the host's loopback as well, where the kubelet probes.
    assert container["livenessProbe"]["httpGet"]["host"] == "127.0.0.1"
    assert line.removeprefix("- ") in (ROOT / "docs" / "monitoring.md").read_text()
