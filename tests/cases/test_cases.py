"""Situations that people have met: each command ends with the right code and says what decides.

The first line of most files says what is right, and which control plane has decided it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from affinityctl import cli

HERE = Path(__file__).parent

CASES: list[tuple[str, int, tuple[str, ...]]] = [
    (
        "simulate --restart deployment/front --cluster 02-rollout-pdb-no-help.yaml",
        1,
        ("gets stuck after 1 step", "maxSurge: 0, maxUnavailable: 1", "matchLabelKeys"),
    ),
    (
        "lint 04-misindented-node-affinity.yaml",
        1,
        ("nodeSelectorTerms is no field of the API",),
    ),
    (
        "simulate --cluster 06-two-spreads-deadlock.yaml",
        1,
        ("5 pods placed, 2 wait", "topology spread on hostname: c1 has 1", "a3 has 0"),
    ),
    (
        "explain -A --cluster 06-two-spreads-deadlock.yaml",
        0,
        ("7 pods are not made yet by their controllers",),
    ),
    (
        "explain -A --cluster 08-spread-no-zone-label.yaml",
        1,
        ("2 pods are not made yet", "default/search-1, default/search-2"),
    ),
    (
        "simulate --cluster 08-spread-no-zone-label.yaml",
        1,
        ("2 pods are not created: default/search-1, default/search-2",),
    ),
    (
        "explain search-0 --cluster 08-spread-no-zone-label.yaml",
        1,
        ("your topology spread on zone: no such label",),
    ),
    (
        "lint --cluster 08-spread-no-zone-label.yaml",
        1,
        ("no node has the label topology.kubernetes.io/zone",),
    ),
    (
        "explain -A --cluster 10-affinity-cycle.yaml",
        1,
        (
            "default/worker-w1-y waits as well",
            "neither can be placed first",
            "To do: Take one of these required affinities out",
        ),
    ),
    (
        "lint 10-affinity-cycle.yaml",
        1,
        ("waits for Deployment default/worker, which waits for this one",),
    ),
    (
        "explain consul-2 --cluster 12-lost-zone-statefulset.yaml",
        1,
        (
            "2 of 3 nodes: volume: claim data-consul-2 is bound to a volume in zone c",
            "Note: there is no node where its volume is",
            "What to do - Make room, or add a node, where its volume is: it cannot move",
        ),
    ),
    (
        "explain vault-1 --cluster 14-instance-type-domain.yaml",
        1,
        ("your anti-affinity on instance-type, blocked by default/vault-0",),
    ),
    (
        "lint --cluster 14-instance-type-domain.yaml",
        1,
        ("3 replicas, and 1 domain of node.kubernetes.io/instance-type",),
    ),
    (
        "explain urgent-0 --cluster 16-preempt-by-anti-affinity.yaml",
        1,
        (
            "the scheduler would evict default/train-0 from g1",
            "What to do - Wait: the scheduler makes room itself",
        ),
    ),
    (
        "explain -A --cluster 16-preempt-by-anti-affinity.yaml",
        1,
        ("the scheduler would evict default/train-0 from g1", "To do: Wait: the scheduler"),
    ),
    (
        "explain panda-2 --cluster 18-hook-job-shares-labels.yaml",
        1,
        (
            "3 placed pods; 2 of them have the same rule",
            "p3 1 node blocked by default/panda-post-x",
            "and no label tells them apart",
            "What to do - Give one of them other labels",
        ),
    ),
    (
        "explain exporter-q3 exporter-q4 -n mon --cluster 20-daemonset-pod-which-node.yaml",
        1,
        ("does not fit on q3 1 of 1 node: too little memory", "9100/TCP taken by mon/other4;"),
    ),
    (
        "explain db-3 --cluster 22-csi-attach-limit.yaml",
        1,
        (
            "2 of 2 nodes: volume: as many volumes are attached as the node takes",
            "2 of 2 attached; this pod brings 1",
        ),
    ),
    (
        "explain mq-2 --cluster 24-soft-node-against-soft-anti.yaml",
        4,
        (
            "s-2 100 100",
            "s-od 100 0",
            "no node is best for InterPodAffinity and NodeAffinity alike",
        ),
    ),
    (
        "explain deployment/tenant-web -n tenant --cluster 26-quota-zero-preferred-term.yaml",
        1,
        (
            "quota tenant/no-cross has no room",
            "counts for its preferred anti-affinity on hostname, which has a namespaceSelector",
            "its controller has not made it yet",
        ),
    ),
    (
        "explain -A --cluster 26-quota-zero-preferred-term.yaml",
        1,
        ("2 pods are not made yet by their controllers",),
    ),
    (
        "quota --cluster 26-quota-zero-preferred-term.yaml",
        0,
        ("tenant 2 2 2 no-cross pods 0 0",),
    ),
    (
        "simulate --restart deployment/blog --cluster 28-rwop-rollout.yaml",
        1,
        ("gets stuck", "claim blog is for one pod alone, and default/blog-aa-x has it"),
    ),
    (
        "lint --cluster 28-rwop-rollout.yaml",
        1,
        ("claim blog is for one pod at a time", "fix: Set strategy: {type: Recreate}"),
    ),
    (
        "simulate --scale deployment/share=3 --cluster rwo-scale.yaml",
        1,
        (
            "2 not started",
            "node o1 has the volume of claim shared for default/share-a-1",
            "ReadWriteMany",
        ),
    ),
    (
        "simulate --scale deployment/share=3 -o name --cluster rwo-scale.yaml",
        1,
        ("pod/share-new-1 -n default pod/share-new-2 -n default",),
    ),
    (
        "simulate --restart deployment/share --cluster rwo-scale.yaml",
        1,
        ("1 not started, stuck", "use strategy: {type: Recreate}"),
    ),
    (
        "lint --cluster rwo-scale.yaml",
        1,
        ("claim shared is for one node at a time", "fix: Set strategy: {type: Recreate}"),
    ),
    ("explain waits --cluster spread-empty-selector-1.38.yaml", 0, ("fits on 2 of 2 nodes",)),
    (
        "explain waits --config of-1.38.yaml --cluster spread-empty-selector-1.38.yaml",
        0,
        ("fits on 1 of 2 nodes", "a has 2 of these pods"),
    ),
    (
        "explain gated typo ghost --cluster 30-nobody-schedules.yaml",
        4,
        (
            "waits for its scheduling gates (example.com/quota): no scheduler looks at it",
            "asks for scheduler 'defualt-scheduler', which is not known here",
            "names node gone-7 in spec.nodeName, and there is none",
        ),
    ),
    (
        "explain never --cluster 30-nobody-schedules.yaml",
        1,
        ("its preemptionPolicy is Never: no pod is evicted for it, though some are less",),
    ),
    ("lint --cluster 30-nobody-schedules.yaml", 0, ("nothing found in 5 objects",)),
    (
        "explain gpu-job -n ml --cluster 32-extended-resource.yaml",
        1,
        (
            "too little nvidia.com/gpu",
            "gpu1 if 1 nvidia.com/gpu were free",
            "What to do - Add a node",
        ),
    ),
    (
        "simulate --lose n3 --cluster 33-dead-node-terminating.yaml",
        1,
        ("1 pod waits: default/es-2", "your anti-affinity on hostname"),
    ),
    ("lint 35-selector-misindented.yaml", 1, ("matchExpressions is no field", "matches no pod")),
    (
        "explain a-0 --cluster 37-group-started-in-wrong-zone.yaml",
        1,
        (
            "bound to a volume in zone c",
            "your affinity on zone: no matching pod in zone c",
            "default/b-0 holds the group that it has to be near, and its volume is elsewhere",
            "What to do - See whether the pods that hold the group elsewhere have volumes there",
            "scale a Deployment to 0 and back",
            "Or, once its data is saved or of no use, delete the claim",
        ),
    ),
    (
        "lint 39-spread-constraints-unread.yaml",
        1,
        (
            "topologySpreadConstraint is no field",
            "its place is spec.template.spec.topologySpreadConstraints",
            "'DoNotschedule' is none of",
            "the string '1' instead of a whole number",
            "its place is spec.template.spec.affinity",
        ),
    ),
    (
        "explain web --cluster 41-scheduler-said-no.yaml",
        4,
        ("fits by what is looked at", "1 node(s) were refused by policy engine"),
    ),
    (
        "simulate --cluster 41-scheduler-said-no.yaml",
        4,
        ("the scheduler did not place default/web",),
    ),
    (
        "simulate --drain n1 --cluster 42-two-budgets.yaml",
        1,
        ("evicts no pod that is in two budgets",),
    ),
    (
        "simulate --drain n1 --cluster 43c-all-unready-always-allow.yaml",
        0,
        ("1 pod evicted, 1 placed",),
    ),
    (
        "lint lint-folder",
        1,
        ("metadata.labels.version the number 1.1 instead of a string", "3 replicas fill all 3"),
    ),
    ("lint kustomize", 0, ("taken for a patch",)),
    (
        "explain -A --cluster cycle3.yaml",
        1,
        ("it waits for default/worker-h-x, which waits for default/third-h-x",),
    ),
    (
        "lint cycle3.yaml",
        1,
        ("waits for Deployment default/worker, which waits for Deployment default/third, which",),
    ),
    (
        "explain next --cluster term-cpu.yaml",
        1,
        ("default/dying on n1 is being deleted",),
    ),
    (
        "explain pre --cluster preempting2.json",
        1,
        ("waits for its victim on n1: default/dying is being deleted", "no other pod is evicted"),
    ),
    (
        "simulate --cluster preempting2.json",
        1,
        ("0 pods placed, 1 waits", "waits for its victim on n1"),
    ),
    ("explain gated --cluster gated.yaml", 4, ("waits for its scheduling gates (a.b/c)",)),
    ("explain typo --cluster typo.yaml", 4, ("If default-scheduler is meant",)),
    (
        "explain -A --cluster down.yaml",
        4,
        ("they fit by what is looked at", "the scheduler said", "connection refused"),
    ),
    ("explain p -n red --cluster down2.yaml", 4, ("1 Insufficient example.com/gpu-slice",)),
    (
        "simulate -f vip-cpu.yaml --cluster prio.yaml",
        1,
        ("preempted: shop/web-1-x on n1 for shop/vip",),
    ),
    (
        "simulate -f vip-cpu2.yaml --cluster prio.yaml",
        1,
        ("preempted: shop/web-1-x on n1 for shop/vip",),
    ),
    (
        "explain new --cluster 44-rwop-and-the-more-important.yaml",
        1,
        ("the scheduler would evict default/old from a1", "What to do - Wait: the scheduler makes"),
    ),
    (
        "simulate --cluster 44-rwop-and-the-more-important.yaml",
        1,
        ("preempted: default/old on a1 for default/new",),
    ),
    (
        "explain boss --cluster 45-attach-limit-and-the-more-important.yaml",
        1,
        ("the scheduler would evict default/low from a1", "What to do - Wait: the scheduler makes"),
    ),
    (
        "explain boss --cluster 46-attached-whoever-goes.yaml",
        1,
        ("1 of 1 attached", "What to do - Add a node"),
    ),
    (
        "explain web-a-4 --cluster 47-terminating-on-dead-node.yaml",
        1,
        (
            "default/web-a-3 is being deleted where the node has node.kubernetes.io/unreachable",
            "What to do - Find out what is wrong with the node",
        ),
    ),
    (
        "explain -A --cluster 47-terminating-on-dead-node.yaml",
        1,
        ("default/web-a-3 is being deleted", "To do: Find out what is wrong with the node"),
    ),
    (
        "explain web-a-3 --cluster 48-spread-ignores-node-affinity.yaml",
        1,
        ("counts c, where the pod's node selector", "What to do - Set nodeAffinityPolicy: Honor"),
    ),
    (
        "explain -A --cluster 49-cordoned-in-the-only-zone.yaml",
        1,
        ("1 pod: cordoned", "To do: Wait until what the node is cordoned for is done"),
    ),
    (
        "explain g-0 --cluster 50-gang-without-room.yaml",
        4,
        ("What to do - See whether the other pods of its group fit",),
    ),
    (
        "explain w-absent --cluster 51-affinity-to-another-namespace.yaml",
        1,
        ("or the namespaces: without any, the term is about the pod's own namespace",),
    ),
    (
        "explain p --cluster 52-volume-out-of-selected-zone.yaml",
        1,
        (
            "its volume allows a1, b1 alone, and its node selector or node affinity does not match",
            "What to do - Correct the node selector or node affinity",
        ),
    ),
    (
        "explain db-2 --cluster 53-spread-against-zonal-volume.yaml",
        1,
        ("bound to a volume in zone a", "What to do - Make room in the domains that have the"),
    ),
    (
        "explain db-1 --cluster 54-anti-affinity-against-zonal-volume.yaml",
        1,
        ("bound to a volume in zone a", "What to do - Have fewer replicas or more domains"),
    ),
    (
        "explain p --cluster 55-local-volume-by-node-name.yaml",
        1,
        (
            "the node of that name has kubernetes.io/hostname host-1",
            "What to do - Have the PersistentVolume made again with the value",
        ),
    ),
    (
        "simulate -f class.yaml --cluster prio.yaml",
        4,
        ("the PriorityClass that default/w-new-1 asks for is not known", "makes no such pod"),
    ),
    (
        "explain web-1 --cluster 56-two-nodes-of-one-hostname.yaml",
        1,
        (
            "n1, n2 all have kubernetes.io/hostname tmpl",
            "What to do - Give each node a kubernetes.io/hostname of its own",
        ),
    ),
    (
        "explain db-1 --cluster 57-node-label-lost.yaml",
        1,
        (
            "default/db-0 has the same node selector and node affinity, and is on n1",
            "What to do - Look whether that node has lost the labels",
        ),
    ),
    (
        "explain ds-x --cluster 58-daemon-pod-of-a-node-that-is-gone.yaml",
        1,
        (
            "names gone alone, and there is no such node",
            "Of a DaemonSet nothing is to be done",
        ),
    ),
    (
        "explain app --cluster 59-near-a-pod-that-waits.yaml",
        1,
        (
            "default/cache-0 would be near it, and waits for a node as well",
            "What to do - See first why the pods that it has to be near wait",
        ),
    ),
    (
        "explain -A --cluster 59-near-a-pod-that-waits.yaml",
        1,
        ("default/cache-0 would be near it",),
    ),
    (
        "explain op --cluster 60-former-label-of-control-planes.yaml",
        1,
        (
            "no node has the label node-role.kubernetes.io/master; node-role",
            "io/control-plane has taken its place",
        ),
    ),
    (
        "explain op2 --cluster 60-former-label-of-control-planes.yaml",
        1,
        (
            "has taken the place of that taint",
            "What to do - Correct the toleration",
        ),
    ),
    (
        "explain job --cluster 61-toleration-of-another-effect.yaml",
        1,
        (
            "it tolerates dedicated:NoExecute, and the effect of the taint is NoSchedule",
            "What to do - Correct the toleration",
        ),
    ),
    (
        "explain job --cluster 62-toleration-without-value.yaml",
        1,
        (
            "it tolerates gpu with the value '', and the taint has 'true'",
            "What to do - Correct the toleration",
        ),
    ),
    (
        "explain app --cluster 63-selected-node-is-full.yaml",
        1,
        ("What to do - Make room on n1",),
    ),
    (
        "explain db-0 --cluster 64-local-volume-on-a-full-node.yaml",
        1,
        ("What to do - Make room on n1",),
    ),
    (
        "explain app --cluster 65-near-a-pod-on-a-tainted-node.yaml",
        1,
        ("What to do - Have the pod tolerate the taint",),
    ),
    (
        "explain app --cluster 66-hostname-is-not-the-name.yaml",
        1,
        ("The node ip-1.ec2.internal has ip-1",),
    ),
    (
        "explain app --cluster 67-taints-of-what-starts.yaml",
        1,
        (
            "n2 once it is ready",
            "What to do - Find out what is wrong with the node",
        ),
    ),
    (
        "explain web-0 -n prod --cluster 68-anti-affinity-to-all-namespaces.yaml",
        1,
        (
            "staging/web-0 is in another namespace",
            "What to do - If pods of its own namespace are meant",
        ),
    ),
    (
        "explain lonely --cluster 69-anti-affinity-to-every-pod.yaml",
        1,
        (
            "has an empty labelSelector: it is about every pod",
            "What to do - Have the labelSelector ask",
        ),
    ),
    (
        "explain app --cluster 70-namespace-misspelt.yaml",
        1,
        ("and there is no namespace cahce",),
    ),
    (
        "explain p --cluster 71-claim-kept-to-a-full-node.yaml",
        1,
        (
            "What to do - Make room on n1",
            "Find out why the volume is not made",
        ),
    ),
    (
        "explain train --cluster 72-gpus-behind-a-taint.yaml",
        1,
        ("What to do - Have the pod tolerate the taint",),
    ),
    (
        "explain app --cluster 73-near-a-pod-on-a-full-node.yaml",
        1,
        ("What to do - Make room on n1",),
    ),
    (
        "explain app --cluster 74-no-namespace-has-the-labels.yaml",
        1,
        ("and no namespace is one of them",),
    ),
    (
        "explain web-1 --cluster 75-affinity-against-anti-affinity.yaml",
        1,
        (
            "asks for the very pods that your anti-affinity on hostname keeps away from",
            "What to do - Take one of the two rules out",
        ),
    ),
    (
        "explain w-1 --cluster 76-affinity-against-spread.yaml",
        1,
        (
            "keeps these pods in one zone",
            "What to do - Take one of the two rules out",
        ),
    ),
    (
        "explain app --cluster 77-volume-of-an-earlier-claim.yaml",
        1,
        ("pv1 is for claim default/data that there was before",),
    ),
    (
        "explain app --cluster 78-volume-of-another-claim.yaml",
        1,
        ("waits to be bound to volume pv1: pv1 is for claim default/old",),
    ),
    (
        "explain app --cluster 79-volume-too-small.yaml",
        1,
        ("pv1 is smaller than it asks for",),
    ),
    (
        "explain app --cluster 80-no-default-class.yaml",
        1,
        ("data (without a class, and none is the default)",),
    ),
    (
        "explain app --cluster 81-class-of-another-zone.yaml",
        1,
        ("class standard of ebs.csi.example.com, for zone c alone",),
    ),
    (
        "explain app --cluster 82-volume-at-another-node.yaml",
        4,
        (
            "node n1 has the volume of claim data for default/old",
            "the pod starts on no other until that pod is gone",
        ),
    ),
    (
        "explain -A --cluster 83-statefulset-waits-for-its-first.yaml",
        4,
        (
            "waits until default/db-0 is ready",
            "To do: Find out why the pod before it is not ready",
        ),
    ),
    (
        "explain statefulset/db --cluster 83-statefulset-waits-for-its-first.yaml",
        4,
        ("default/db-1 is not made yet, and waits until default/db-0 is ready",),
    ),
    (
        "explain -A --cluster 84-paused.yaml",
        4,
        (
            "Deployment web is paused",
            "To do: Resume it",
        ),
    ),
    (
        "explain db-1 --cluster 85-older-revision-of-a-statefulset.yaml",
        1,
        (
            "has another template by now",
            "What to do - Delete this pod, which has never run",
        ),
    ),
    (
        "explain -A --cluster 85-older-revision-of-a-statefulset.yaml",
        1,
        ("To do: Delete this pod",),
    ),
    (
        "explain web-2-a --cluster 86-several-old-pods-in-one-domain.yaml",
        1,
        (
            "no domain has fewer than 2 pods to go",
            "What to do - Let this update remove the old pods of a domain first",
        ),
    ),
    (
        "explain web-1-a --cluster 87-spread-over-other-workloads.yaml",
        1,
        ("over pods with part-of in (shop) refuses 1 node",),
    ),
    (
        "explain p --cluster 88-more-volumes-than-a-node-takes.yaml",
        1,
        (
            "0 of 2 attached; this pod brings 3",
            "If the pod alone brings more, have fewer in it",
        ),
    ),
    (
        "lint --cluster 89-windows-pod-without-selector.yaml",
        1,
        (
            "os-not-selected",
            "windows, and nothing keeps the pods off nodes of another system",
        ),
    ),
    (
        "explain web-0 --cluster 90-former-topology-key.yaml",
        1,
        ("which your affinity is over; topology.kubernetes.io/zone has taken its place",),
    ),
    (
        "explain s-0 --cluster 90-former-topology-key.yaml",
        1,
        ("which your topology spread is over; topology.kubernetes.io/zone has taken its place",),
    ),
    (
        "explain app --cluster 91-pod-to-be-near-has-ended.yaml",
        1,
        ("as those that have ended do not count",),
    ),
    (
        "explain openshift-ingress/router-default-6b-c --cluster 92-several-reasons.yaml",
        1,
        (
            "What to do - Have fewer replicas or more nodes, as each takes these ports on one",
            "Have fewer replicas or more domains",
        ),
    ),
    (
        "explain es-1 --cluster 93-local-volume-beside-a-sibling.yaml",
        1,
        ("What to do - Have the pods that it keeps away from moved off n1",),
    ),
    (
        "explain train-1 --cluster 94-a-scheduler-that-runs.yaml",
        1,
        (
            "default/train-1 does not fit on g1",
            "What to do - Add a node",
        ),
    ),
    (
        "explain app-5c-1 --node n00 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("or the cloud is about to take these away",),
    ),
    (
        "explain app-5c-1 --node n02 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("or the cloud is about to take these away",),
    ),
    (
        "explain app-5c-1 --node n10 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("What to do - Find out what is wrong with the node",),
    ),
    (
        "explain app-5c-1 --node n15 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("What to do - Find out what is wrong with the node",),
    ),
    (
        "explain big-5c-1 --cluster 96-daemonsets-take-the-rest.yaml",
        1,
        (
            "leave 3770m cpu at most, and the pod asks for 3800m",
            "What to do - Ask for less, or add nodes that are larger",
        ),
    ),
    (
        "explain web-new-1 --cluster 97-spread-counts-the-older-revision.yaml",
        1,
        (
            "counts the pods of the older revision as well (pod-template-hash)",
            "What to do - Have the constraint count one revision alone: matchLabelKeys",
        ),
    ),
    (
        "explain db-0 --cluster 98-zone-label-of-the-driver.yaml",
        1,
        (
            "by the label topology.ebs.csi.aws.com/zone, which n1 there lacks",
            "What to do - Have the CSI driver run on the nodes in that zone",
        ),
    ),
    (
        "explain train --cluster 99-resource-by-another-name.yaml",
        1,
        (
            "nodes offer nvidia.com/mig-1g.5gb, and none offers nvidia.com/gpu",
            "What to do - Ask for what nodes offer",
        ),
    ),
    (
        "explain app-5c-1 --cluster 100-near-pods-on-nodes-not-selected.yaml",
        1,
        (
            "leave it a1, and its node selector or node affinity does not match that node",
            "What to do - Correct the node selector or node affinity, or have nodes",
        ),
    ),
    (
        "explain web-5c-3 --cluster 101-zone-that-is-down.yaml",
        1,
        (
            "every node in c has something wrong with it",
            "What to do - Find out what is wrong with the nodes there",
            "nodeTaintsPolicy: Honor",
        ),
    ),
    (
        "explain web-f9c-c1 --cluster 102-update-of-an-argo-rollout.yaml",
        1,
        (
            "another revision of the same Rollout (rollouts-pod-template-hash 7fd)",
            "matchLabelKeys: [rollouts-pod-template-hash] in the term",
            "What to do - Let this update remove a pod first",
        ),
    ),
    (
        "explain -A --cluster 103-most-nodes-are-for-others.yaml",
        1,
        (
            "1 pod: too little cpu",
            "To do: Add a node",
        ),
    ),
    (
        "explain jupyter-bob -n jhub --cluster 104-full-where-its-volume-is.yaml",
        1,
        ("What to do - Make room, or add a node, where its volume is",),
    ),
    (
        "explain app-5c-1 --cluster 105-taint-of-a-node-not-cordoned.yaml",
        1,
        ("What to do - Find out what keeps the taint on the node: it is not cordoned",),
    ),
    (
        "explain app-5c-1 --cluster 106-kubelet-has-not-reported.yaml",
        1,
        (
            "n1 has no status.allocatable",
            "What to do - Find out why the kubelet there does not report",
        ),
    ),
    (
        "explain app --cluster 107-huge-pages.yaml",
        1,
        ("What to do - Ask for a size of huge pages that nodes have",),
    ),
    (
        "explain -A --cluster 108-pods-that-differ-by-an-index.yaml",
        1,
        (
            "5 pods: too little cpu even when empty",
            "default/sum-0-x, default/sum-1-x, default/sum-2-x and 2 more, the oldest",
        ),
    ),
    (
        "explain statefulset/db --cluster 109-deleted-where-no-kubelet-answers.yaml",
        0,
        (
            "is being deleted where the node has node.kubernetes.io/unreachable",
            "What to do - Find out what is wrong with the node",
        ),
    ),
    (
        "explain web-5c-2 --cluster 110-daemonsets-are-all-a-node-takes.yaml",
        1,
        (
            "leave no pods at most",
            "What to do - Ask for less, or add nodes that are larger",
        ),
    ),
]
UNSAID: list[tuple[str, int, tuple[str, ...]]] = [
    ("explain shop/stranger --cluster prio2.yaml", 1, ("same Deployment", "ignored")),
    ("explain -f vip-aff.yaml --cluster prio.yaml", 1, ("same Deployment", "ignored")),
    ("explain -A --cluster 20-daemonset-pod-which-node.yaml", 1, ("exporter-q1", "affinity,")),
    ("explain new --cluster 44-rwop-and-the-more-important.yaml", 1, ("strategy",)),
    ("explain boss --cluster 46-attached-whoever-goes.yaml", 1, ("evict",)),
    ("explain -A --cluster 48-spread-ignores-node-affinity.yaml", 1, ("Make room in the",)),
    ("explain gated --cluster gated.yaml", 4, ("BEST NODES", "fits on")),
    ("explain typo --cluster typo.yaml", 4, ("BEST NODES", "fits on")),
    ("explain -A --cluster 41-scheduler-said-no.yaml", 4, ("fits now",)),
    ("explain pre --cluster preempting2.json", 1, ("default/weak",)),
    ("simulate --cluster preempting2.json", 1, ("default/weak",)),
    ("explain never --cluster 30-nobody-schedules.yaml", 1, ("evict default/batch",)),
    ("explain panda-2 --cluster 18-hook-job-shares-labels.yaml", 1, ("panda-pre-y",)),
    ("explain web-1 --cluster 56-two-nodes-of-one-hostname.yaml", 1, ("fewer replicas",)),
    ("explain ds-x --cluster 58-daemon-pod-of-a-node-that-is-gone.yaml", 1, ("Name other nodes",)),
    (
        "explain op2 --cluster 60-former-label-of-control-planes.yaml",
        1,
        ("Add nodes for workloads",),
    ),
    ("explain job --cluster 61-toleration-of-another-effect.yaml", 1, ("Add nodes without",)),
    ("explain job --cluster 62-toleration-without-value.yaml", 1, ("Ask for less",)),
    ("explain app --cluster 63-selected-node-is-full.yaml", 1, ("Add a node",)),
    ("explain db-0 --cluster 64-local-volume-on-a-full-node.yaml", 1, ("dd a node",)),
    (
        "explain app --cluster 65-near-a-pod-on-a-tainted-node.yaml",
        1,
        (
            "Make room",
            "Add nodes",
        ),
    ),
    (
        "explain app --cluster 67-taints-of-what-starts.yaml",
        1,
        (
            "tolerate it",
            "if the pod tolerated",
        ),
    ),
    (
        "explain web-0 -n prod --cluster 68-anti-affinity-to-all-namespaces.yaml",
        1,
        ("fewer replicas",),
    ),
    ("explain lonely --cluster 69-anti-affinity-to-every-pod.yaml", 1, ("fewer replicas",)),
    (
        "explain p --cluster 71-claim-kept-to-a-full-node.yaml",
        1,
        (
            "Add a node",
            "use a class whose",
        ),
    ),
    ("explain app --cluster 73-near-a-pod-on-a-full-node.yaml", 1, ("Add a node",)),
    ("explain web-1 --cluster 75-affinity-against-anti-affinity.yaml", 1, ("fewer replicas",)),
    ("explain w-1 --cluster 76-affinity-against-spread.yaml", 1, ("Make room",)),
    ("explain app --cluster 80-no-default-class.yaml", 1, ("somebody",)),
    ("explain -A --cluster 83-statefulset-waits-for-its-first.yaml", 4, ("they fit",)),
    ("explain -A --cluster 84-paused.yaml", 4, ("they fit",)),
    ("explain web-2-a --cluster 86-several-old-pods-in-one-domain.yaml", 1, ("maxUnavailable: 1",)),
    (
        "explain train-1 --cluster 94-a-scheduler-that-runs.yaml",
        1,
        (
            "which is not known here",
            "Make the pod anew",
        ),
    ),
    (
        "explain app-5c-1 --node n00 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("tolerate it",),
    ),
    (
        "explain app-5c-1 --node n15 --cluster 95-node-about-to-be-interrupted.yaml",
        1,
        ("tolerate it",),
    ),
    ("explain big-5c-1 --cluster 96-daemonsets-take-the-rest.yaml", 1, ("Add a node, or",)),
    ("explain db-0 --cluster 98-zone-label-of-the-driver.yaml", 1, ("add a node",)),
    ("explain app-5c-1 --cluster 100-near-pods-on-nodes-not-selected.yaml", 1, ("Make room",)),
    ("explain web-f9c-c1 --cluster 102-update-of-an-argo-rollout.yaml", 1, ("other labels",)),
    (
        "explain app-5c-1 --cluster 105-taint-of-a-node-not-cordoned.yaml",
        1,
        ("no longer cordoned",),
    ),
    ("explain app-5c-1 --cluster 106-kubelet-has-not-reported.yaml", 1, ("device plugin",)),
    ("explain app --cluster 107-huge-pages.yaml", 1, ("device plugin",)),
    ("explain -A --cluster 108-pods-that-differ-by-an-index.yaml", 1, ("default/sum-3-x",)),
    ("explain web-5c-2 --cluster 110-daemonsets-are-all-a-node-takes.yaml", 1, ("Add a node",)),
]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)


def answer(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = cli.main(line.split())
    captured = capsys.readouterr()
    return code, " ".join((captured.out + captured.err).split())


def assert_answer(
    line: str,
    code: int,
    capsys: pytest.CaptureFixture[str],
    *,
    said: tuple[str, ...] = (),
    unsaid: tuple[str, ...] = (),
) -> None:
    found, text = answer(line, capsys)
    assert found == code, text
    assert [each for each in said if each not in text] == [], text
    assert [each for each in unsaid if each in text] == [], text


@pytest.mark.parametrize(("line", "code", "words"), CASES, ids=[line for line, *_ in CASES])
def test_what_decides_is_said(
    line: str, code: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_answer(line, code, capsys, said=words)


@pytest.mark.parametrize(("line", "code", "words"), UNSAID, ids=[line for line, *_ in UNSAID])
def test_what_is_wrong_is_not_said(
    line: str, code: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert_answer(line, code, capsys, unsaid=words)


def test_each_file_is_asked_about() -> None:
    named = {word for line, *_ in (*CASES, *UNSAID) for word in line.split()}
    there = {each.name for each in HERE.iterdir() if each.suffix != ".py"}
    there -= {"__pycache__", "public"}
    assert there == there & named
