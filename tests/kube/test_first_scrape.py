"""Every series that can be known is there at the first scrape, before anything has happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from extender.core.kube.failures import Relist, Restart
from extender.core.kube.frames import EventType, Skip
from extender.core.metrics.table import ATTEMPTS
from extender.core.model.verdict import LEFT_TO_SCHEDULER, LIMITS, AnyReason, Reason
from extender.runtime import running
from tests.features.every import plugins as further_plugins
from tests.kube.program import live
from tests.kube.rig import Rig

WAIT = 10.0
BOTH = ["InterPodAffinity", "CrossNamespacePodAffinity"]

TOLD: frozenset[AnyReason] = frozenset(Reason) - LEFT_TO_SCHEDULER
"""The reasons that a scheduler can be given."""
WITHOUT_ANNOTATIONS = {each for each in TOLD if each.plugin != LIMITS}

EVERYWHERE = {
    "schedule_attempts_total": len(ATTEMPTS),
    "quota_refusals_total": 2,
    "filter_hold_seconds_count": 1,
    "reservations": 1,
    "consistency_mismatches_total": 1,
    "tls_reloads_total": 2,
    "event_loop_lag_seconds_count": 1,
    "event_loop_tasks": 1,
    "build_info": 1,
    "config_info": 1,
    "quota_pods_in_scope": 1,
    "quota_namespaces_in_scope": 1,
}
PER_RESOURCE = {
    "cache_objects": 1,
    "cache_synced": 1,
    "cache_last_event_timestamp_seconds": 1,
    "watch_events_total": len(EventType),
    "watch_events_skipped_total": len(Skip),
    "watch_restarts_total": len(Restart),
    "relists_total": len(Relist),
}
PER_PLUGIN = {("InterPodAffinity", "Filter"): 4, ("CrossNamespacePodAffinity", "Filter"): 4}
ONLY_QUOTA = {("CrossNamespacePodAffinity", "Filter"): 4}
SCORES = {("InterPodAffinity", "Score"): 2}
REPLACE = {("InterPodAffinity", "Preempt"): 3, ("InterPodAffinity", "Bind"): 3}
ANNOTATED_IN_ASSIST = {("InterPodAffinity", "Filter"): 4, ("InterPodAffinity", "Preempt"): 3}


@pytest.mark.parametrize(
    ("mode", "resources", "verbs", "plugins"),
    [
        pytest.param(
            "replace",
            5,
            {"filter", "prioritize", "bind", "preempt"},
            PER_PLUGIN | SCORES | REPLACE,
            id="replace",
        ),
        pytest.param(
            "assist",
            4,
            {"filter", "prioritize", "preempt"},
            ONLY_QUOTA | SCORES | ANNOTATED_IN_ASSIST,
            id="assist, with quotas",
        ),
        pytest.param(
            "shadow",
            4,
            {"filter", "prioritize"},
            PER_PLUGIN | SCORES,
            id="shadow",
        ),
    ],
)  # fmt: skip
async def test_a_fresh_program_shows_what_it_will_count(
    rig: Rig,
    tmp_path: Path,
    *,
    mode: str,
    resources: int,
    verbs: set[str],
    plugins: dict[tuple[str, str], int],
) -> None:
    async with (
        asyncio.timeout(WAIT),
        running(live(rig, tmp_path, mode=mode, plugins=BOTH)) as program,
        ClientSession() as session,
        session.get(f"{program.ops_url}/metrics") as response,
    ):
        text = await response.text()
    found = series(text)
    for name, number in EVERYWHERE.items():
        assert (name, len(found.get(name, ()))) == (name, number)
    # Filter refuses nothing in shadow, so it has no reason of a feature's plugin.
    of_features = {each for plugin in further_plugins() for each in plugin.reasons}
    refused = TOLD if mode == "shadow" else TOLD | of_features
    assert len(found["nodes_filtered_total"]) == len(refused)
    for name, number in PER_RESOURCE.items():
        assert (name, len(found.get(name, ()))) == (name, number * resources)
    runs: dict[tuple[str, str], int] = {}
    for labels in found["plugin_execution_duration_seconds_count"]:
        point = labels["plugin"], labels["extension_point"]
        runs[point] = runs.get(point, 0) + 1
    assert runs == plugins
    assert len(found.get("bind_total", ())) == 4 * ("bind" in verbs)
    calls = found["request_duration_seconds_count"]
    assert {labels["verb"] for labels in calls} == verbs | {"malformed"}
    assert {labels["code"] for labels in calls} == {"200", "400", "403", "413", "415", "499"}


def series(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the labels of each series, by the name of its samples without our prefix."""
    found: dict[str, list[dict[str, Any]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name.removeprefix("affinity_extender_"), []).append(
                dict(sample.labels)
            )
    return found
