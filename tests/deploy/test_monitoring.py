"""The monitoring component finds the extender, and asks for what there is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from extender.core.metrics.observers import HealthMetrics
from tests.deploy.kustomize import render
from tests.deploy.places import KUBEADM, MONITORING, ROOT, SERVICEMONITOR, SIDECAR, named, read_yaml
from tests.deploy.test_alerts import run_tests
from tests.features.every import all_metrics

DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PANELS = [each for each in DASHBOARD["panels"] if each["type"] != "row"]
ANNOTATIONS = {each["name"]: each["expr"] for each in DASHBOARD["annotations"]["list"]}
QUERIES = [
    *(
        pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
        for panel in PANELS
        for target in panel["targets"]
    ),
    *(pytest.param(expr, id=name) for name, expr in ANNOTATIONS.items()),
]
RULES = [
    rule
    for group in read_yaml(MONITORING / "prometheusrule.yaml")["spec"]["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
NAME = re.compile(
    r"(?<![\w:])(?:[a-z_]+:)?(?:affinity_extender|rest_client|process|kubernetes)[\w:]*"
)


def samples() -> set[str]:
    """Return the names of all samples that the program can have."""
    suffixes = ("", "_total", "_bucket", "_sum", "_count", "_info")
    health = HealthMetrics()
    health.observe("ping", "livez", passed=True)
    _, body = health.exposition("")
    of_checks = re.findall(r"^# TYPE (\w+)", body.decode(), re.MULTILINE)
    return {
        *(f"{one.name}{suffix}" for one in all_metrics().collect() for suffix in suffixes),
        *of_checks,
    }


def test_a_dashboard_is_full_of_queries() -> None:
    assert len(QUERIES) >= 25


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_of_the_dashboard_names_metrics_that_exist(query: str) -> None:
    names = set(NAME.findall(query))
    assert names
    assert names <= samples() | RECORDED


def test_rows_come_one_after_the_other_and_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        taken |= cells
    assert DASHBOARD["panels"][0]["type"] == "row"
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


A, B = '{instance="a"}', '{instance="b"}'
OURS = {f"affinity_extender_build_info{A}": "1x20"}
OLD, NEW = (f'{{mode="{mode}", plugins="p", hash="{mode}"}}' for mode in ("assist", "replace"))
CONFIG = "affinity_extender_config_info"
CHANGED = {f"{CONFIG}{OLD}": "1x10", f"{CONFIG}{NEW}": "_x11 1x10"}
CHECKS = {
    f'kubernetes_healthcheck{{name="{name}", type="{kind}", instance="{each}"}}': values
    for name, kind, each, values in (
        ("sync", "readyz", "a", "1x10 0x10"),
        ("sync", "readyz", "b", "0x20"),
        ("ping", "livez", "a", "0x20"),
    )
}


@pytest.mark.parametrize(
    ("name", "series", "minute", "expected"),
    [
        pytest.param(
            "Starts",
            {f"process_start_time_seconds{A}": "7x20", f"process_start_time_seconds{B}": "9x20"},
            5,
            {A: 7000.0},
            id="a start is where its time says, and no other program's",
        ),
        pytest.param("Not ready", CHECKS, 5, {}, id="it is ready"),
        pytest.param("Not ready", CHECKS, 15, {A: 1.0}, id="a check fails"),
        pytest.param("Configurations", CHANGED, 1, {}, id="the first is no change"),
        pytest.param("Configurations", CHANGED, 8, {}, id="nothing has changed"),
        pytest.param("Configurations", CHANGED, 12, {NEW: 1.0}, id="it has changed"),
        pytest.param("Configurations", CHANGED, 18, {}, id="that was some time ago"),
    ],
)
def test_what_is_marked_in_all_panels(
    name: str, series: dict[str, str], minute: int, expected: dict[str, float], tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text("groups: []\n")
    given = [{"series": key, "values": values} for key, values in {**OURS, **series}.items()]
    asked = {
        "expr": ANNOTATIONS[name].replace("$instance", ".*"),
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": key, "value": value} for key, value in expected.items()],
    }
    run_tests(tmp_path, [{"interval": "1m", "input_series": given, "promql_expr_test": [asked]}])


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
