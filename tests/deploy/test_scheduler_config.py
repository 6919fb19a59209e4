"""What the files in scheduler-config/ make kube-scheduler do."""

from __future__ import annotations

import ipaddress
import itertools
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from extender.core.config import Mode, Prioritize, Serving
from tests.deploy.places import MANIFESTS, SCHEDULER_CONFIG, SIDECARS, read_yaml

SHIPPED = sorted(SCHEDULER_CONFIG.glob("*.yaml"))
SIDECAR_CONFIGS = {mode: path / "scheduler-config.yaml" for mode, path in SIDECARS.items()}

in_every_file = pytest.mark.parametrize(
    "path",
    [
        *(pytest.param(path, id=path.name) for path in SHIPPED),
        *(pytest.param(path, id=path.parent.name) for path in SIDECAR_CONFIGS.values()),
    ],
)

IN_TREE_WEIGHT = 2
"""InterPodAffinity's weight in the default profile; its scores are 0 to 100."""
SCALE_OF_EXTENDERS = 10
"""kube-scheduler multiplies an extender's scores by 100/10 and by its weight."""


def extender(path: Path) -> dict[str, Any]:
    (only,) = read_yaml(path)["extenders"]
    return dict(only)


def plugins(path: Path) -> dict[str, Any]:
    """Return the plugins of the profile for pods that name none."""
    profile, *_ = read_yaml(path)["profiles"]
    return dict(profile["plugins"])


def insecure(found: dict[str, Any]) -> bool:
    """Return whether a call could be read, or answered, by somebody else."""
    host = urlsplit(found["urlPrefix"]).hostname
    if not found.get("enableHTTPS"):
        return not ipaddress.ip_address(str(host)).is_loopback
    tls = found.get("tlsConfig", {})
    return bool(tls.get("insecure")) or not (tls.get("caFile") or tls.get("caData"))


def test_there_is_a_file_for_each_mode() -> None:
    assert {path.stem for path in SHIPPED} == {mode.value for mode in Mode}


@in_every_file
def test_the_file_is_of_the_version_that_kube_scheduler_reads(path: Path) -> None:
    found = read_yaml(path)
    assert (found["apiVersion"], found["kind"]) == (
        "kubescheduler.config.k8s.io/v1",
        "KubeSchedulerConfiguration",
    )


@in_every_file
def test_calls_are_plain_only_on_loopback_and_verified_elsewhere(path: Path) -> None:
    assert not insecure(extender(path))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({"urlPrefix": "http://10.0.0.1:10280"}, id="plain http across the network"),
        pytest.param(
            {"urlPrefix": "https://10.0.0.1:10280", "enableHTTPS": True}, id="https without a CA"
        ),
        pytest.param(
            {
                "urlPrefix": "https://127.0.0.1:10280",
                "enableHTTPS": True,
                "tlsConfig": {"insecure": True, "caFile": "ca.crt"},
            },
            id="https told to trust anybody",
        ),
    ],
)
def test_the_check_of_the_channel_sees(found: dict[str, Any]) -> None:
    assert insecure(found)


@in_every_file
def test_the_address_is_where_we_listen_by_default(path: Path) -> None:
    listening = Serving()
    url = urlsplit(extender(path)["urlPrefix"])
    assert (url.scheme, url.hostname, url.port, url.path) == (
        "http",
        listening.bind_address,
        listening.port,
        "",
    )


@in_every_file
def test_the_scheduler_waits_five_seconds_and_sends_names_only(path: Path) -> None:
    found = extender(path)
    assert (found["httpTimeout"], found["nodeCacheCapable"]) == ("5s", True)


@in_every_file
def test_our_scores_span_what_the_plugin_spans_in_tree(path: Path) -> None:
    ours = extender(path)["weight"] * Prioritize().max_score * SCALE_OF_EXTENDERS
    assert ours == IN_TREE_WEIGHT * 100


@in_every_file
def test_sampling_of_nodes_is_left_to_the_scheduler(path: Path) -> None:
    found = read_yaml(path)
    assert "percentageOfNodesToScore" not in found
    assert all("percentageOfNodesToScore" not in profile for profile in found["profiles"])


@in_every_file
def test_only_one_scheduler_is_active(path: Path) -> None:
    assert read_yaml(path)["leaderElection"]["leaderElect"] is True


def test_assist_keeps_the_hard_rules_in_the_scheduler() -> None:
    found = plugins(SCHEDULER_CONFIG / "assist.yaml")
    off = {"disabled": [{"name": "InterPodAffinity"}]}
    assert found == {"preScore": off, "score": off}


def test_assist_cannot_make_a_pod_wait() -> None:
    found = extender(SCHEDULER_CONFIG / "assist.yaml")
    verbs = {name: value for name, value in found.items() if name.endswith("Verb")}
    assert verbs == {"prioritizeVerb": "prioritize"}
    assert found["ignorable"] is True


def test_shadow_leaves_the_plugins_as_they_are() -> None:
    (profile,) = read_yaml(SCHEDULER_CONFIG / "shadow.yaml")["profiles"]
    assert profile == {"schedulerName": "default-scheduler"}


def test_shadow_is_shown_everything_and_may_fail() -> None:
    found = extender(SCHEDULER_CONFIG / "shadow.yaml")
    verbs = {name: value for name, value in found.items() if name.endswith("Verb")}
    assert verbs == {"filterVerb": "filter", "prioritizeVerb": "prioritize"}
    assert found["ignorable"] is True


def test_replace_switches_the_plugin_off_everywhere() -> None:
    found = plugins(SCHEDULER_CONFIG / "replace.yaml")
    assert found == {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}


def test_replace_leaves_pods_of_groups_to_the_scheduler() -> None:
    _, *others = read_yaml(SCHEDULER_CONFIG / "replace.yaml")["profiles"]
    assert others == [{"schedulerName": "groups"}]
    for path in MANIFESTS.glob("overlays/*/config.yaml"):
        config = read_yaml(path)
        named = config.get("profiles", [])
        assert named == [{**each, "mode": "bind"} for each in others if config["mode"] == "replace"]


def test_replace_decides_and_is_never_skipped() -> None:
    found = extender(SCHEDULER_CONFIG / "replace.yaml")
    verbs = {name: value for name, value in found.items() if name.endswith("Verb")}
    expected = ("filter", "prioritize", "bind", "preempt")
    assert verbs == {f"{verb}Verb": verb for verb in expected}
    assert found["ignorable"] is False


@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_the_second_scheduler_is_the_mode_under_its_own_name(mode: str) -> None:
    expected = read_yaml(SCHEDULER_CONFIG / f"{mode}.yaml")
    del expected["clientConnection"]["kubeconfig"]
    expected["leaderElection"] |= {
        "resourceName": "affinity-scheduler",
        "resourceNamespace": "kube-system",
    }
    expected["profiles"][0]["schedulerName"] = "affinity-scheduler"
    assert read_yaml(SIDECAR_CONFIGS[mode]) == expected


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in SHIPPED])
def test_each_setting_says_its_reason(path: Path) -> None:
    lines = [line.strip() for line in path.read_text().splitlines()]
    silent = [
        line
        for before, line in itertools.pairwise(lines)
        if line
        and not line.startswith(("#", "apiVersion:", "kind:"))
        and not line.endswith(":")
        and not before.startswith("#")
    ]
    assert silent == []
