"""What people have asked in public: each command ends with the right code and names the cause.

The first line of a file says what is right, the second where it was asked. A real control plane of
Kubernetes 1.37 has refused the same nodes for the same reasons; docs/development/public-reports.md
says what came of each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.test_cases import assert_answer

HERE = Path(__file__).parent / "public"

CASES: list[tuple[str, int, tuple[str, ...]]] = [
    (
        "explain injector-2-b --cluster 01-surge-on-one-node.yaml",
        1,
        ("blocked by default/injector-1-a", "another revision of the same Deployment"),
    ),
    (
        "simulate --restart deployment/injector --cluster 01-surge-on-one-node.yaml",
        1,
        ("gets stuck after 1 step", "maxSurge: 0, maxUnavailable: 1"),
    ),
    (
        "explain big --cluster 02-victim-on-another-node.yaml",
        1,
        (
            "1 node in zone a if default/low-q were gone",
            "default/low-q is less important, but not on the node that would fit then",
        ),
    ),
    (
        "simulate --cluster 03-spread-counts-tainted-node.yaml",
        1,
        ("3 pods placed, 4 wait", "cp has 0, and at most 1 more", "nodeTaintsPolicy: Honor"),
    ),
    (
        "simulate --drain w1 --cluster 04-spread-counts-cordoned-node.yaml",
        1,
        ("2 pods evicted, 2 wait", "w1 has 0, and at most 1 more", "nodeTaintsPolicy: Honor"),
    ),
    (
        "explain report --cluster 05-volume-and-selector-name-two-nodes.yaml",
        1,
        ("claim logs is bound to a volume on node4", "it asks for role in (log)"),
    ),
    (
        "explain jenkins-1-a --cluster 06-local-volume-names-absent-node.yaml",
        1,
        ("bound to a volume on worker-node01", "there is no node where its volume is"),
    ),
    (
        "simulate --restart deployment/cp-agent --cluster 07-host-network-rollout-on-one-node.yaml",
        1,
        ("host port 8003/TCP taken by default/cp-agent-1-a", "maxSurge: 0, maxUnavailable: 1"),
    ),
    (
        "lint 07-host-network-rollout-on-one-node.yaml",
        1,
        ("for port 8003", "maxSurge: 0 and maxUnavailable: 1"),
    ),
    (
        "explain nginx-1-c --cluster 08-host-network-without-host-port.yaml",
        1,
        (
            "host port 80/TCP taken by default/nginx-1-a, default/nginx-1-b",
            "n3 once it is reachable",
        ),
    ),
    (
        "simulate --restart deployment/nginx --cluster 08-host-network-without-host-port.yaml",
        1,
        ("default/nginx-1-a, default/nginx-1-b stay until",),
    ),
    (
        "explain stuff-1-b --cluster 09-init-container-still-counts.yaml",
        1,
        ("1 of 1 node: too little cpu", "n1 if 3 cpu were free"),
    ),
    (
        "explain prometheus-0 --cluster 10-storage-class-not-found.yaml",
        1,
        ("claim data-prometheus-0 waits: there is no class standard",),
    ),
    (
        "simulate --drain n1 --cluster 11-budget-of-one.yaml",
        1,
        ("default/one-1-a stays on n1: budget default/one", "it wants 1 of 1"),
    ),
    (
        "explain pg-3 --cluster 12-budget-after-first-cordon.yaml",
        1,
        ("2 of 3 nodes: your anti-affinity on hostname", "st1 if it was not cordoned"),
    ),
    (
        "simulate --drain st2 --cluster 12-budget-after-first-cordon.yaml",
        1,
        ("2 of 3 pods are healthy, and it wants 2", "still waits: default/pg-3"),
    ),
    (
        "explain r-1 --cluster 13-min-domains-beyond-pinned-zones.yaml",
        1,
        ("a has 1 of these pods", "1 of at least 3 domains"),
    ),
    (
        "simulate --lose c1 --cluster 14-min-domains-after-lost-zone.yaml",
        1,
        ("1 pod waits: default/api-1-c", "2 of at least 3 domains"),
    ),
    (
        "explain backend --cluster 15-too-many-pods-on-the-only-node.yaml",
        1,
        ("no matching pod on n2, n3; 1: too many pods",),
    ),
    (
        "explain coredns-1-a -n kube-system --cluster 16-cloud-controller-missing.yaml",
        1,
        ("3 nodes once they are initialized by the cloud controller manager",),
    ),
    (
        "explain foo-4 --cluster 17-volumes-made-before-the-pods.yaml",
        1,
        ("3 of 5 nodes: volume: claim data-foo-4 is bound to a volume in zone b", "on b1, b2"),
    ),
    (
        "explain app --cluster 18-two-volumes-in-two-zones.yaml",
        1,
        (
            "claim data is bound to a volume in zone a",
            "claim logs is bound to a volume in zone b",
            "no node can have all of them",
        ),
    ),
    (
        "explain big-0 --cluster 19-statefulset-keeps-broken-pod.yaml",
        1,
        ("too little memory even when empty (asks for 100Gi, the largest of them has 16Gi)",),
    ),
    (
        "simulate --restart statefulset/big --cluster 19-statefulset-keeps-broken-pod.yaml",
        1,
        ("waits for default/big-0, which has no node; delete that pod",),
    ),
    (
        "explain agent-n1 --cluster 20-daemonset-node-full-of-equals.yaml",
        1,
        ("does not fit on n1 1 of 1 node: too many pods", "PriorityClass above theirs"),
    ),
    (
        "explain agent-n1 --cluster 21-daemonset-with-priority.yaml",
        1,
        ("the scheduler would evict default/load-1-2 from n1",),
    ),
    (
        "explain db --cluster 22-no-capacity-of-second-class.yaml",
        1,
        ("its driver reports no storage for claim db (class zfs-fast of zfs.csi.example.com)",),
    ),
    (
        "explain rctest-n2 --cluster 23-runtime-class-narrows-daemonset.yaml",
        1,
        ("it asks for sandbox in (yes), and metadata.name in (n2)",),
    ),
    (
        "explain es-1 --cluster 24-local-volume-and-more-memory.yaml",
        1,
        (
            "2 of 3 nodes: volume: claim data-es-1 is bound to a volume on h2",
            "too little memory even when empty (asks for 16Gi, the largest of them has 12Gi)",
        ),
    ),
    (
        "lint 25-star-for-all-namespaces.yaml",
        1,
        ("'*' is not the name of a namespace; namespaceSelector: {} is all of them",),
    ),
    ("lint 26-empty-topology-key.yaml", 1, ("topologyKey '' is not a label key",)),
    (
        "lint 27-required-in-the-shape-of-preferred.yaml",
        1,
        (
            "podAffinityTerm is no field of the API",
            "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
        ),
    ),
    (
        "lint --cluster 28-rule-misses-its-own-pods.yaml",
        1,
        ("anti-affinity-matches-no-pod", "those of this StatefulSet lack app in (vault)"),
    ),
    (
        "simulate --restart deployment/p --cluster 29-lopsided-after-rollout.yaml",
        0,
        ("3 old deleted, 3 new placed, done",),
    ),
    (
        "explain train --cluster 30-sidecar-adds-to-containers.yaml",
        1,
        ("too little example.com/npu even when empty (asks for 16, the largest of them has 8)",),
    ),
    (
        "explain checkout-1-c --cluster 31-beside-redis-but-not-beside-itself.yaml",
        1,
        ("blocked by default/checkout-1-a, default/checkout-1-b", "no matching pod on n3"),
    ),
    (
        "explain arango-id --cluster 32-affinity-without-toleration.yaml",
        1,
        ("2 of 3 nodes: untolerated taint arch=arm64:NoSchedule; 1: node affinity",),
    ),
    (
        "simulate --restart daemonset/ds --cluster 33-daemonset-surge-with-host-port.yaml",
        1,
        ("host port 54323/TCP taken by default/ds-n1", "maxSurge: 0, maxUnavailable: 1"),
    ),
    (
        "lint 33-daemonset-surge-with-host-port.yaml",
        1,
        ("maxSurge needs the new pod beside the old one, which has its host ports",),
    ),
    (
        "explain deployment/dep --cluster 34-quota-wants-requests.yaml",
        4,
        ("its controller could not make it", "failed quota: rq-demo: must specify requests.cpu"),
    ),
    (
        "explain -A --cluster 34-quota-wants-requests.yaml",
        4,
        ("3 pods are not made yet", "must specify requests.cpu"),
    ),
    (
        "explain -A --cluster 35-priority-class-not-found.yaml",
        4,
        ("no PriorityClass with name gsp-critical was found",),
    ),
    (
        "explain mon-c --cluster 36-pinned-to-terminated-node.yaml",
        1,
        ("3 of 3 nodes: node affinity", "no node has kubernetes.io/hostname k3"),
    ),
    (
        "explain mon-c-canary --cluster 37-trial-pod-of-a-running-one.yaml",
        1,
        ("blocked by default/mon-a, default/mon-b, default/mon-c on k1, k2, k3",),
    ),
    (
        "explain proxy-2 --cluster 38-pod-eni-and-taints.yaml",
        1,
        ("too little vpc.amazonaws.com/pod-eni", "untolerated taint NodeType=frontend:NoSchedule"),
    ),
    (
        "explain -A --cluster 39-budgets-do-not-save-victims.yaml",
        1,
        ("the scheduler would evict default/high from w1", "To do: Wait: the scheduler makes room"),
    ),
    (
        "explain vhigh --cluster 39-budgets-do-not-save-victims.yaml",
        1,
        ("the scheduler would evict default/high from w1",),
    ),
    (
        "explain frontend --cluster 40-nodes-without-ephemeral-storage.yaml",
        1,
        (
            "too little ephemeral-storage even when empty",
            "asks for 12Mi, the largest of them has 0",
        ),
    ),
    (
        "explain task --cluster 41-selected-node-is-gone.yaml",
        1,
        ("being made for gone-1, a node that there is not", "Remove the annotation"),
    ),
    (
        "explain pinned --cluster 42-node-name-and-late-binding.yaml",
        4,
        ("its claim aaa2 is bound when a scheduler places the pod", "by nodeSelector instead"),
    ),
    (
        "explain web-2-a --cluster 43-rule-is-gone-from-the-template.yaml",
        1,
        ("the anti-affinity of default/web-1-a, default/web-1-b", "another revision"),
    ),
    (
        "explain aj --cluster 44-existing-pods-keep-it-away.yaml",
        1,
        ("2 of 2 nodes: the anti-affinity of default/pod1, default/pod2 on hostname",),
    ),
]
UNSAID: list[tuple[str, int, tuple[str, ...]]] = [
    ("explain agent-n1 --cluster 20-daemonset-node-full-of-equals.yaml", 1, ("Add a node",)),
    ("explain big --cluster 02-victim-on-another-node.yaml", 1, ("would evict", "preempted")),
    (
        "explain nginx-1-c --cluster 08-host-network-without-host-port.yaml",
        1,
        ("if the pod tolerated",),
    ),
    (
        "explain coredns-1-a -n kube-system --cluster 16-cloud-controller-missing.yaml",
        1,
        ("if the pod tolerated",),
    ),
    ("explain db --cluster 22-no-capacity-of-second-class.yaml", 1, ("too little free storage",)),
    ("explain arango-id --cluster 32-affinity-without-toleration.yaml", 1, ("had the labels",)),
    ("explain mon-c --cluster 36-pinned-to-terminated-node.yaml", 1, ("had the labels",)),
]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)


@pytest.mark.parametrize(("line", "code", "words"), CASES, ids=[line for line, *_ in CASES])
def test_the_cause_is_named(
    line: str, code: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_answer(line, code, capsys, said=words)


@pytest.mark.parametrize(("line", "code", "words"), UNSAID, ids=[line for line, *_ in UNSAID])
def test_what_misleads_is_not_said(
    line: str, code: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_answer(line, code, capsys, unsaid=words)


def test_each_report_says_what_is_right_and_where_it_is_from() -> None:
    asked = {word for line, *_ in CASES for word in line.split()}
    for file in HERE.iterdir():
        first, second, *_ = file.read_text().splitlines()
        assert file.name in asked
        assert first.startswith("# expect: ")
        assert second.startswith("# after: ")
