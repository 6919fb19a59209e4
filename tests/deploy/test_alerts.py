"""Each alert fires for what it is about and for nothing else, as promtool evaluates the rules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kustomize import render
from tests.deploy.places import MONITORING, ROOT, named, read_yaml
from tests.missing import missing

GROUPS = read_yaml(MONITORING / "prometheusrule.yaml")["spec"]
RULES = [rule for group in GROUPS["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}

MINUTES = 480
OURS = "affinity_extender"
REQUESTS = f"{OURS}_request_duration_seconds"
ATTEMPTS = f"{OURS}_schedule_attempts_total"
BINDS = f"{OURS}_bind_total"
ENDS = f"{OURS}_tls_certificate_expiration_timestamp_seconds"
SYNCED = f"{OURS}_cache_synced"
HEARD = f"{OURS}_cache_last_event_timestamp_seconds"
SYNCED_PODS = f'{SYNCED}{{instance="a", resource="pods"}}'
HEARD_PODS = f'{HEARD}{{instance="a", resource="pods"}}'
UP = 'up{job="kube-system/affinity-extender", instance="a"}'
BUILD = f'{OURS}_build_info{{instance="a", version="1.0.0-rc.1"}}'
CONFIG = f"{OURS}_config_info"
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
DAY = 86_400
RUNBOOKS = "https://git.example.com/team/affinity-extender/blob/main"


def steady(value: float) -> str:
    return f"{value}x{MINUTES}"


def growing(by: float) -> str:
    """Grow by so much each minute."""
    return f"0+{by}x{MINUTES}"


def calls(verb: str, code: int, le: str) -> str:
    return f'{REQUESTS}_bucket{{verb="{verb}", code="{code}", le="{le}"}}'


def answered(verb: str, code: int, fast: float, every: float) -> dict[str, str]:
    """Have calls of a verb each minute, and how many of them were answered within 0.8 s."""
    return {
        calls(verb, code, "0.8192"): growing(fast),
        calls(verb, code, "+Inf"): growing(every),
        f'{REQUESTS}_count{{verb="{verb}", code="{code}"}}': growing(every),
    }


HEALTHY: Mapping[str, str] = {
    UP: steady(1),
    BUILD: steady(1),
    f'{CONFIG}{{hash="abc", mode="replace"}}': steady(1),
    SYNCED_PODS: steady(1),
    HEARD_PODS: growing(60),
    **answered("filter", 200, 600, 600),
    **answered("filter", 499, 0, 0),
    f'{ATTEMPTS}{{result="feasible"}}': growing(500),
    f'{ATTEMPTS}{{result="unschedulable"}}': growing(100),
    f'{ATTEMPTS}{{result="error"}}': growing(0),
    f'{BINDS}{{result="bound"}}': growing(500),
    f'{BINDS}{{result="refused"}}': growing(50),
    f'{BINDS}{{result="error"}}': growing(0),
    f'{BINDS}{{result="unclear"}}': growing(0),
    f"{OURS}_consistency_mismatches_total": growing(0),
    f'{OURS}_violations{{plugin="InterPodAffinity", rule="antiAffinity"}}': steady(0),
    f'{OURS}_shadow_disagreements_total{{reason="r"}}': growing(0),
    f'{OURS}_evictions_total{{plugin="p", result="evicted"}}': growing(0.1),
    f'{OURS}_evictions_total{{plugin="p", result="failed"}}': growing(0),
    f'{OURS}_evictions_paused{{instance="a"}}': steady(0),
    f'{OURS}_evictions_paused_namespaces{{instance="a"}}': steady(0),
    f'{OURS}_evictions_stopped{{instance="a"}}': steady(0),
    f'{OURS}_evictions_stopped_namespaces{{instance="a"}}': steady(0),
    f"{OURS}_broken_annotations": steady(0),
    f'{ENDS}{{instance="a", port="callbacks"}}': steady(90 * DAY),
}

FAULTS: list[Any] = [
    ("nothing", {}, []),
    (
        "targets that do not answer, of which the one left says the mode",
        {UP: steady(0), UP.replace('"a"', '"b"'): steady(0)},
        ["AffinityExtenderDown"],
    ),
    ("no target at all", {UP: None, BUILD: None}, ["AffinityExtenderDown"]),
    (
        "two resources that are not listed",
        {f'{SYNCED}{{instance="a", resource="{each}"}}': steady(0) for each in ("pods", "nodes")},
        ["AffinityExtenderNotSynced"],
    ),
    (
        "watches that fell silent at two extenders, so that attempts end with errors",
        {
            **{f'{HEARD}{{instance="{each}", resource="pods"}}': steady(12_000) for each in "ab"},
            f'{ATTEMPTS}{{result="error"}}': growing(100),
        },
        ["AffinityExtenderWatchStale"],
    ),
    (
        "slow calls",
        {f'{REQUESTS}_bucket{{verb="preempt", code="200", le="{le}"}}': growing(by)
         for le, by in (("0.8192", 0), ("1.6384", 6), ("+Inf", 6))},
        ["AffinityExtenderSlow"],
    ),
    ("a scheduler that hangs up", {
        **answered("filter", 499, 0, 3), **answered("bind", 499, 0, 3),
    }, [
        "AffinityExtenderErrorBudgetSlowBurn", "AffinityExtenderTimeouts",
    ]),
    ("one error in twenty", answered("filter", 200, 570, 600), [
        "AffinityExtenderErrorBudgetFastBurn", "AffinityExtenderErrorBudgetSlowBurn",
    ]),
    ("one error in a hundred", answered("filter", 200, 594, 600), [
        "AffinityExtenderErrorBudgetSlowBurn",
    ]),
    (
        "errors instead of answers",
        {f'{ATTEMPTS}{{result="error"}}': growing(100)},
        ["AffinityExtenderErrors"],
    ),
    (
        "hardly a pod that fits",
        {f'{ATTEMPTS}{{result="unschedulable"}}': growing(5_000)},
        ["AffinityExtenderRefusesMost"],
    ),
    (
        "binds without a clear end",
        {f'{BINDS}{{result="unclear"}}': growing(60)},
        ["AffinityExtenderBindFailures"],
    ),
    (
        "a counter that was wrong",
        {f"{OURS}_consistency_mismatches_total": growing(1)},
        ["AffinityExtenderCacheInconsistent"],
    ),
    (
        "rules that are broken",
        {f'{OURS}_violations{{plugin="InterPodAffinity", rule="antiAffinity"}}': steady(2)},
        ["AffinityExtenderRulesViolated"],
    ),
    (
        "nodes that would have been refused",
        {f'{OURS}_shadow_disagreements_total{{reason="r"}}': growing(1)},
        ["AffinityExtenderShadowDisagrees"],
    ),
    (
        "two evictions a minute",
        {f'{OURS}_evictions_total{{plugin="p", result="evicted"}}': growing(2)},
        ["AffinityExtenderEvictsMany"],
    ),
    (
        "evictions that fail",
        {f'{OURS}_evictions_total{{plugin="p", result="failed"}}': growing(1)},
        ["AffinityExtenderEvictionsFail"],
    ),
    (
        "too many pods that would have to go",
        {f'{OURS}_evictions_paused{{instance="a"}}': steady(1)},
        ["AffinityExtenderEvictionsPaused"],
    ),
    (
        "too many pods of a namespace that would have to go",
        {f'{OURS}_evictions_paused_namespaces{{instance="a"}}': steady(1)},
        ["AffinityExtenderEvictionsPaused"],
    ),
    (
        "moved pods that do not come back",
        {f'{OURS}_evictions_stopped{{instance="a"}}': steady(1)},
        ["AffinityExtenderEvictionsStopped"],
    ),
    (
        "moved pods that do not come back in a namespace",
        {f'{OURS}_evictions_stopped_namespaces{{instance="a"}}': steady(1)},
        ["AffinityExtenderEvictionsStopped"],
    ),
    (
        "annotations that cannot be read",
        {f"{OURS}_broken_annotations": steady(3)},
        ["AffinityExtenderAnnotationsBroken"],
    ),
    (
        "a certificate for ten days",
        {f'{ENDS}{{instance="a", port="api-server"}}': steady(10 * DAY)},
        ["AffinityExtenderCertificateExpiresSoon"],
    ),
    (
        "certificates for some hours, at two hosts",
        {f'{ENDS}{{instance="{each}", port="callbacks"}}': steady(DAY) for each in "ab"},
        ["AffinityExtenderCertificateExpires", "AffinityExtenderCertificateExpiresSoon"],
    ),
    (
        "two configurations",
        {f'{CONFIG}{{hash="xyz", mode="assist"}}': steady(1)},
        ["AffinityExtenderConfigurationsDiffer"],
    ),
]  # fmt: skip

CONSEQUENCES = {
    "AffinityExtenderDown",
    "AffinityExtenderNotSynced",
    "AffinityExtenderWatchStale",
    "AffinityExtenderErrorBudgetFastBurn",
    "AffinityExtenderCacheInconsistent",
    "AffinityExtenderCertificateExpires",
}
"""Alerts about what stops the extender: how bad that is depends on the mode."""
SEVERITIES = {"shadow": "info", "assist": "warning", "replace": "critical"}
SCRAPED = f'{CONFIG}{{hash="abc", mode="replace"}}'
VIOLATED: list[Any] = [
    (
        f"{mode}: {rule} rules are broken",
        {
            SCRAPED: None,
            f'{CONFIG}{{hash="abc", mode="{mode}"}}': steady(1),
            f'{OURS}_violations{{plugin="InterPodAffinity", rule="{rule}"}}': steady(2),
        },
        "AffinityExtenderRulesViolated",
        "warning" if (mode, rule) == ("replace", "antiAffinity") else "info",
    )
    for mode in SEVERITIES
    for rule in ("affinity", "antiAffinity")
]
"""A partner that was scaled to 0 breaks affinity, and the API allows that."""
NO_EXTENDER = {UP: steady(0), BUILD: None, SYNCED_PODS: None, HEARD_PODS: None}

MODES: list[Any] = [
    *((f"{mode}: it is down, and was scraped once",
       {**NO_EXTENDER, SCRAPED: None, f'{CONFIG}{{mode="{mode}"}}': "1x60"},
       "AffinityExtenderDown", severity) for mode, severity in SEVERITIES.items()),
    *((f"{mode}: its watch is silent",
       {SCRAPED: None, f'{CONFIG}{{hash="abc", mode="{mode}"}}': steady(1),
        HEARD_PODS: steady(12_000)},
       "AffinityExtenderWatchStale", severity) for mode, severity in SEVERITIES.items()),
    ("it was never scraped", {**NO_EXTENDER, SCRAPED: None}, "AffinityExtenderDown", "critical"),
    ("shadow after replace",
     {SCRAPED: "1x60", f'{CONFIG}{{hash="abc", mode="shadow"}}': "_x60 " + steady(1),
      HEARD_PODS: steady(12_000)},
     "AffinityExtenderWatchStale", "info"),
    ("two modes, of which the one counts that pods depend on most",
     {f'{CONFIG}{{hash="abc", mode="{mode}"}}': steady(1) for mode in SEVERITIES}
     | {HEARD_PODS: steady(12_000)},
     "AffinityExtenderWatchStale", "critical"),
]  # fmt: skip


def promtool(*arguments: str, folder: Path) -> str:
    """Run promtool and return what it says; fail with that unless it is content."""
    if shutil.which("promtool") is None:
        missing("promtool is not installed (Debian: apt-get install prometheus)")
    done = subprocess.run(
        ["promtool", *arguments],  # noqa: S607 - wherever it is installed
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the rules as a Prometheus reads them."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(GROUPS))
    return tmp_path


def test_the_rules_are_valid(folder: Path) -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", "rules.yaml", folder=folder)


@pytest.mark.thorough
def test_each_fault_fires_its_alerts_once_and_no_other(folder: Path) -> None:
    tested = [
        unit_test(name, changed, FIRING, [f'{{alertname="{each}"}}' for each in expected])
        for name, changed, expected in FAULTS
    ]
    run_tests(folder, tested)


@pytest.mark.thorough
def test_what_stops_the_extender_is_as_severe_as_its_mode_makes_it(folder: Path) -> None:
    tested = [
        unit_test(
            name,
            changed,
            f'count by (severity) (ALERTS{{alertname="{alert}", alertstate="firing"}})',
            [f'{{severity="{severity}"}}'],
        )
        for name, changed, alert, severity in MODES + VIOLATED
    ]
    run_tests(folder, tested)


def test_a_stale_picture_is_one_alert_that_names_what_is_stale(folder: Path) -> None:
    labels = {"mode": "replace", "severity": "critical"}
    said = {
        "summary": "What extenders know of the cluster is 50m 0s old.",
        "description": "Bookmarks come each minute, and nothing is heard of nodes (a) pods (a).",
        "runbook_url": "docs/monitoring.md#affinityextenderwatchstale",
    }
    tested = {
        "interval": "1m",
        "input_series": [
            {"series": f'{HEARD}{{instance="a", resource="{each}"}}', "values": "3000x100"}
            for each in ("nodes", "pods")
        ] + [{"series": SCRAPED, "values": "1x100"}],
        "alert_rule_test": [
            {
                "alertname": "AffinityExtenderWatchStale",
                "eval_time": "100m",
                "exp_alerts": [{"exp_labels": labels, "exp_annotations": said}],
            }
        ],
    }  # fmt: skip
    run_tests(folder, [tested])


def run_tests(folder: Path, tests: list[dict[str, Any]]) -> None:
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "4m", "tests": tests}
    (folder / "alerts.yaml").write_text(yaml.safe_dump(document))
    assert "SUCCESS" in promtool("test", "rules", "alerts.yaml", folder=folder)


def unit_test(
    name: str, changed: Mapping[str, str | None], expression: str, expected: list[str]
) -> dict[str, Any]:
    """Expect 1 for each of some labels."""
    series = {key: values for key, values in {**HEALTHY, **changed}.items() if values is not None}
    firing = [{"labels": labels, "value": 1} for labels in expected]
    question = {
        "expr": expression,
        "eval_time": f"{MINUTES - 10}m",
        "exp_samples": firing,
    }
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": [question],
    }


def test_each_alert_has_a_fault() -> None:
    assert {alert for _, _, expected in FAULTS for alert in expected} == ALERTS.keys()


@pytest.mark.parametrize("name", ALERTS)
def test_each_alert_leads_to_its_runbook(name: str) -> None:
    rule = ALERTS[name]
    by_mode = ALERTS["AffinityExtenderDown"]["labels"]["severity"]
    assert (rule["labels"]["severity"] == by_mode) == (name in CONSEQUENCES)
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"docs/monitoring.md#{name.lower()}"
    sections = re.split(r"^### ", (ROOT / "docs" / "monitoring.md").read_text(), flags=re.MULTILINE)
    (section,) = (each for each in sections if each.startswith(f"{name}\n"))
    assert section.removeprefix(name).strip()


def test_an_overlay_makes_runbooks_urls_as_documented(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text()
    block = text.partition("add to your overlay:\n\n")[2].partition("\n\n**")[0]
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "components": [os.path.relpath(MONITORING, tmp_path)],
        **yaml.safe_load(block),
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    objects = render(tmp_path)
    assert_runbooks_at_the_url(named(objects, "PrometheusRule", "affinity-extender"))
    assert [one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"] == [
        "affinity-extender-dashboard"
    ]


def assert_runbooks_at_the_url(rules: Mapping[str, Any]) -> None:
    """See that each alert leads there."""
    urls = {
        rule["alert"]: rule["annotations"]["runbook_url"]
        for group in rules["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }
    assert urls == {name: f"{RUNBOOKS}/docs/monitoring.md#{name.lower()}" for name in ALERTS}
