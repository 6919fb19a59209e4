"""What a person can do about what keeps a pod waiting, a line for each cause.

The first line is never one that loses data or takes a protection away: no taint, budget, claim or
gate is removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from extender.core.model.labels import HOSTNAME, TEMPLATE_HASH
from extender.core.model.node_resources import PODS, RESTARTS
from extender.core.model.verdict import AnyReason, Reason
from extender.core.model.wording import some
from extender.core.model.workload import DAEMON_SET, ROLLOUT_HASH
from extender.core.verbs.rules import Refusal
from extender.diagnosis.verbs.explanation import Explanation, whatever_it_spares
from extender.diagnosis.verbs.filters import OTHER_SCHEDULER
from extender.diagnosis.verbs.node_room import (
    EMPTY,
    HELD,
    SILENT,
    RoomRule,
    of_condition,
    of_cordoned,
    of_leaving,
    of_role,
)
from extender.diagnosis.verbs.notes import OF_PLACE, Note
from extender.diagnosis.verbs.topology_spread import SkewRule

MOST: Final = 4
"""Lines for one pod."""


class Cure(NamedTuple):
    """What to do about what a note says."""

    text: str
    covers: Collection[AnyReason] = ()
    """Reasons of which nothing more general is to be said then."""
    alone: bool = False
    """Nothing else is to be done until then."""


_OF_PODS: Final = (Reason.ANTI_AFFINITY, Reason.EXISTING_ANTI_AFFINITY)
_GO: Final = "One that does not go is held by a finalizer, or by a node that does not answer"


def _first_a_pod_goes(key: str) -> Cure:
    return Cure(
        "Let this update remove a pod first: maxSurge: 0, maxUnavailable: 1. For the updates after "
        f"it, matchLabelKeys: [{key}] in the term. Where the extender decides, "
        "affinity-extender.io/revisions: Own on the old pods helps at once",
        _OF_PODS,
    )


OF_NOTES: Final[Mapping[str, Cure]] = {
    "victims": Cure(f"Wait until its victims are gone. {_GO}", alone=True),
    "deleting": Cure("Wait: its controller, if it has one, makes another pod", alone=True),
    "gated": Cure(
        "Find out what has set the gates: it removes them when what it waits for is there",
        alone=True,
    ),
    "otherScheduler": Cure(
        "Make the pod anew with the schedulerName of a scheduler that runs, or start the one that "
        "it names",
        alone=True,
    ),
    "notItsTurn": Cure(
        "Find out why the pod before it is not ready: explain says it if that one waits, kubectl "
        "describe pod if it is placed",
        alone=True,
    ),
    "paused": Cure("Resume it once it is as it is to be: kubectl rollout resume", alone=True),
    "superseded": Cure(
        "Delete this pod, which has never run: its StatefulSet makes it again by the template that "
        "it has now"
    ),
    "noSuchNode": Cure(
        "Leave spec.nodeName to the scheduler. If the node does not come back, delete the pod: its "
        "controller, if it has one, makes another one; else make it anew from its manifest",
        alone=True,
    ),
    "groupInOtherProfile": Cure("Create all pods of its group again with that schedulerName"),
    "preemption": Cure(
        "Wait: the scheduler makes room itself. If it does not, its last word is in the events of "
        "the pod",
        (
            *(*_OF_PODS, Reason.RESOURCES, Reason.PORTS, Reason.SPREAD),
            *(Reason.CLAIM_IN_USE, Reason.VOLUME_COUNT, Reason.DISK),
        ),
    ),
    "mayPreempt": Cure("See in its events whether the scheduler makes room for it by eviction"),
    "makesRoom": Cure(
        f"Wait until the pods that are being deleted are gone. {_GO}", (Reason.RESOURCES,)
    ),
    "terminating": Cure(f"Wait until the pods that are being deleted are gone. {_GO}"),
    "terminatingOnBadNode": Cure(
        "Find out what is wrong with the node: kubectl describe node says it. Once it is well, or "
        "deleted, its pods that are being deleted go"
    ),
    "otherRevision": _first_a_pod_goes(TEMPLATE_HASH),
    "otherRolloutRevision": _first_a_pod_goes(ROLLOUT_HASH),
    "otherRevisions": Cure(
        "Let this update remove the old pods of a domain first: strategy: {type: Recreate}, or a "
        "maxUnavailable of as many as are there",
        _OF_PODS,
    ),
    "otherRevisionPort": Cure(
        "Let this update remove a pod first (maxSurge: 0, maxUnavailable: 1): no two pods of a "
        "node have the same host port",
        (Reason.PORTS,),
    ),
    "daemonsTakeRest": Cure(
        "Ask for less, or add nodes that are larger: the pods of DaemonSets will be on each",
        (Reason.RESOURCES,),
    ),
    "offeredInstead": Cure(
        "Ask for what nodes offer, if it will do, or have the device plugin offer what is asked "
        "for",
        (Reason.RESOURCES,),
    ),
    "nearNotSelected": Cure(
        "Correct the node selector or node affinity, or have nodes with the labels that it asks "
        "for where the pods are that it has to be near",
        (Reason.AFFINITY, Reason.NODE_AFFINITY),
    ),
    "volumesApart": Cure(
        "Have one of its volumes made anew where the other is, once its data is saved or of no use",
        OF_PLACE,
    ),
    "volumeNotSelected": Cure(
        "Correct the node selector or node affinity, or add a node with the labels that it asks "
        "for where its volume is: that cannot move",
        (*OF_PLACE, Reason.NODE_AFFINITY),
    ),
    "opposed": Cure(
        "Take one of the two rules out, or make it preferred: no node meets both",
        (Reason.AFFINITY, *_OF_PODS, Reason.SPREAD),
    ),
    "waitForEachOther": Cure(
        "Take one of these required affinities out, or make it preferred", (Reason.AFFINITY,)
    ),
    "noSinglePod": Cure(
        "Require a label that the pods which it has to be near have in common, or make one of the "
        "terms preferred",
        (Reason.AFFINITY,),
    ),
    "toleration": Cure(
        "Correct the toleration: with operator: Exists, and without value and effect, it covers "
        "every taint of its key",
        (Reason.TAINT,),
    ),
    "namedNodeGone": Cure(
        "Name nodes that there are. Of a DaemonSet nothing is to be done: its controller deletes "
        "the pods of nodes that are gone",
        (Reason.NODE_AFFINITY, Reason.NOT_NAMED),
    ),
    "labelsLost": Cure(
        "Look whether that node has lost the labels, as when it was made anew, and have them set "
        "where nodes are made",
        (Reason.NODE_AFFINITY,),
    ),
    "sharedHostname": Cure(
        f"Give each node a {HOSTNAME} of its own: the kubelet sets it to its host's name, or to "
        "--hostname-override",
        (*_OF_PODS, Reason.SPREAD),
    ),
    "everyPod": Cure(
        "Have the labelSelector ask for the labels of the pods that are meant; if all are, add "
        "nodes without any",
        (Reason.ANTI_AFFINITY,),
    ),
    "otherNamespace": Cure(
        "If pods of its own namespace are meant, leave namespaces and namespaceSelector out of the "
        "term; else add nodes without the pods that it keeps away from",
        (Reason.ANTI_AFFINITY,),
    ),
    "noSuchKey": Cure(
        "Correct the topology key, or have the nodes labelled with it",
        (Reason.AFFINITY, Reason.SPREAD_LABEL),
    ),
    "noDomain": Cure(
        "Have the nodes of these pods labelled with the topology key", (Reason.AFFINITY,)
    ),
    "matchWaits": Cure(
        "See first why the pods that it has to be near wait themselves", (Reason.AFFINITY,)
    ),
    "noPod": Cure(
        "Start the pods that it has to be near, as those that have ended do not count, or correct "
        "the labelSelector or the namespaces: without any, the term is about the pod's own "
        "namespace",
        (Reason.AFFINITY,),
    ),
    "groupElsewhere": Cure(
        "See whether the pods that hold the group elsewhere have volumes there, as they cannot "
        "follow this one then. If not, and there is room for all where its volume is, have them "
        "gone while this one waits: it starts the group. Delete those of a StatefulSet; scale a "
        "Deployment to 0 and back, as it replaces a deleted pod before that one is gone. Or, once "
        "its data is saved or of no use, delete the claim with this pod, and its volume is made "
        "where the group is",
        (Reason.AFFINITY, *OF_PLACE),
    ),
    "otherWorkload": Cure(
        "Give one of them other labels, or have the labelSelector ask as well for one that tells "
        "them apart",
        (Reason.ANTI_AFFINITY,),
    ),
    "countsOtherRevision": Cure(
        f"Have the constraint count one revision alone: matchLabelKeys: [{TEMPLATE_HASH}], of an "
        f"Argo Rollout [{ROLLOUT_HASH}]. Or let this update remove a pod first: maxSurge: 0, "
        "maxUnavailable: 1",
        (Reason.SPREAD,),
    ),
    "domainDown": Cure(
        "Find out what is wrong with the nodes there: kubectl describe node says it"
    ),
    "taintedDomain": Cure(
        "Set nodeTaintsPolicy: Honor in the constraint: then only nodes count whose taints the pod "
        "tolerates",
        (Reason.SPREAD,),
    ),
    "unselectedDomain": Cure(
        "Set nodeAffinityPolicy: Honor in the constraint, as it is by default: then only nodes "
        "count that the pod's node selector and node affinity match",
        (Reason.SPREAD,),
    ),
    "noSuchValue": Cure(
        "Ask for a value that nodes have, or add nodes with the one that is asked for",
        (Reason.NODE_AFFINITY,),
    ),
    "noSuchLabel": Cure(
        "Ask for a label that nodes have, or add nodes with the one that is asked for",
        (Reason.NODE_AFFINITY,),
    ),
    "notTaken": Cure(
        "Read why the API server took no pod: a limit, an admission policy, or something that is "
        "missing"
    ),
    "noPriorityClass": Cure("Create the PriorityClass, or correct its name"),
    "schedulerDiffers": Cure(
        "Look at the events of the pod: an extender or a plugin of the scheduler refuses it that "
        "is not looked at here, or nothing does any more"
    ),
}
"""By the kind of a note, what is most likely right first."""

OF_UNKNOWN: Final = {
    "schedulingGroup": "See whether the other pods of its group fit: all of them have to",
    "resourceClaims": "Look at the events of the pod and at its ResourceClaims",
    OTHER_SCHEDULER: "See in the events of the pod what its scheduler says",
    RESTARTS: "Look at the events of the pod and at status.declaredFeatures of the nodes",
}
"""By the field that is not looked at, of a pod that fits by all else."""

_CONDITION: Final = "of a condition"
_ROLE: Final = "of a role"
_LEAVING: Final = "of a node that goes"
_ABSENT: Final = "on no node"
_SILENT: Final = "of nodes that have nothing"
_PAGES: Final = "huge pages on no node"
_LEFT: Final = "of a node that was cordoned"
_WANTED: Final = "of nodes that are asked for"
_OWN: Final = "to its own kind"
_FEW: Final = "too few domains"
Way: TypeAlias = tuple[AnyReason, str]
"""A reason, and in what way nodes have it where that makes a difference."""

OF_REASONS: Final[Mapping[Way, str]] = {
    (Reason.ANNOTATION, ""): "Correct the annotation: the error names the field",
    (Reason.NO_CLAIM, ""): "Create the claim, or correct its name in the pod: one of another "
    "namespace does not do",
    (Reason.UNUSABLE_CLAIM, ""): "Look at the claim: kubectl describe pvc says what became of it",
    (Reason.UNBOUND_CLAIM, ""): "Find out why the claim is not bound: kubectl describe pvc says "
    "it. Its class has to exist and have a provisioner that runs, or a volume that suits it",
    (Reason.NO_VOLUME, ""): "Have the PersistentVolume that the claim names made again",
    (Reason.VOLUME_GONE, ""): "Have the PersistentVolume made again, or restored from a backup",
    (Reason.CLAIM_IN_USE, ""): "Wait until the other pod is gone. In an update of a Deployment it "
    "never goes: set strategy: {type: Recreate}",
    (Reason.NO_NAME, ""): "Name one node in each term: no node has two names",
    (Reason.NODE_NAME, ""): "Leave spec.nodeName to the scheduler",
    (Reason.AFFINITY, ""): "Make room near the pods that it has to be near, or make the affinity "
    "preferred",
    (Reason.ANTI_AFFINITY, ""): "Add nodes without the pods that it keeps away from, or make the "
    "anti-affinity preferred",
    (Reason.ANTI_AFFINITY, _OWN): "Have fewer replicas or more domains, as each takes one for "
    "itself; or use a topology spread constraint or preferred anti-affinity instead",
    (Reason.EXISTING_ANTI_AFFINITY, ""): "Ask whose the other pods are: their rule matches the "
    "labels of this one, meant or not. Else add nodes where they are not",
    (Reason.LIMIT, ""): "Raise maxMatchingPods, or add domains",
    (Reason.EXISTING_LIMIT, ""): "Ask whose the limit is to raise maxMatchingPods, or add domains",
    (Reason.NODE_AFFINITY, ""): "Correct the node selector or node affinity, or add nodes with the "
    "labels that it asks for",
    (Reason.ENFORCED_NODE_AFFINITY, ""): "Use another scheduler profile: addedAffinity of this one "
    "keeps its pods to some nodes",
    (Reason.NOT_NAMED, ""): "Name other nodes in matchFields, or look at what refuses the named "
    "one",
    (Reason.SPREAD_LABEL, ""): "Correct the topology key, or have the nodes labelled with it; "
    "with ScheduleAnyway such nodes do as well",
    (Reason.SPREAD, _FEW): "Have nodes in more domains, or lower minDomains",
    (Reason.SPREAD, ""): "Make room in the domains that have the fewest of these pods; else raise "
    "maxSkew, or use ScheduleAnyway",
    (Reason.RESOURCES, ""): "Add a node, or lower the requests to what the pods use",
    (Reason.RESOURCES, EMPTY): "Ask for less, or add nodes that are large enough",
    (Reason.RESOURCES, _ABSENT): "Add nodes that have it. Where nodes should, what gives it out "
    "does not run there, such as a device plugin",
    (
        Reason.RESOURCES,
        _SILENT,
    ): "Find out why the kubelet there does not report what the node has: "
    "kubectl describe node, and its log",
    (Reason.RESOURCES, _PAGES): "Ask for a size of huge pages that nodes have, or have pages of "
    "this size set aside on nodes: the kubelet counts them when it starts",
    (Reason.RESOURCES, PODS): "Add a node: these have as many pods as their kubelets take",
    (Reason.RESOURCES, HELD): "Wait for the pods that are nominated there, or add a node",
    (Reason.PORTS, ""): "Leave hostPort out and use a Service, or take another port",
    (Reason.PORTS, _OWN): "Have fewer replicas or more nodes, as each takes these ports on one; or "
    "leave hostPort out and use a Service",
    (Reason.PORTS, HELD): "Wait for the pods that are nominated there, or take another port",
    (Reason.VOLUME_ELSEWHERE, ""): "Make room, or add a node, where its volume is: it cannot move",
    (Reason.VOLUME_ZONE, ""): "Make room, or add a node, where its volume is: it cannot move",
    (Reason.NO_VOLUME_TO_BIND, ""): "Have a volume made that suits the claim, or use a class whose "
    "provisioner makes them there",
    (Reason.STORAGE, ""): "Add storage, or ask for a smaller volume",
    (
        Reason.VOLUME_COUNT,
        "",
    ): "Add a node: each takes a number of volumes that its driver sets. If "
    "the pod alone brings more, have fewer in it",
    (Reason.NO_DRIVER, ""): "Have the CSI driver run on these nodes, or use others",
    (Reason.DISK, ""): "Use a disk that no other pod has, or mount it read-only in all of them",
    (Reason.TAINT, _CONDITION): "Find out what is wrong with the node: kubectl describe node says "
    "it, and the taint goes with it",
    (Reason.TAINT, ""): "Add nodes without the taint; tolerate it only if these nodes are for such "
    "pods",
    (Reason.TAINT, _LEAVING): "Add nodes: an autoscaler or the cloud is about to take these away",
    (Reason.TAINT, _LEFT): "Find out what keeps the taint on the node: it is not cordoned, and the "
    "controller of nodes takes the taint away then",
    (Reason.TAINT, _WANTED): "Have the pod tolerate the taint, if these nodes are for such pods: "
    "it asks for no others. Else add nodes that it asks for, without the taint",
    (Reason.UNSCHEDULABLE, ""): "Wait until what the node is cordoned for is done, or add a node",
    (Reason.TAINT, _ROLE): "Add nodes for workloads: these are for what runs the cluster",
}
_PUSH: Final = (
    "Move other pods off that node, or give the DaemonSet a PriorityClass above theirs: it has no "
    "other node for this pod"
)
_OF_DAEMONS: Final[Mapping[Way, str]] = {
    (Reason.RESOURCES, ""): _PUSH,
    (Reason.RESOURCES, PODS): _PUSH,
    (Reason.RESOURCES, EMPTY): "Ask for less, or keep the DaemonSet off such nodes by its node "
    "affinity",
    (Reason.RESOURCES, _ABSENT): "Have what gives it out run on that node, such as a device "
    "plugin, or keep the DaemonSet off such nodes by its node affinity",
}
"""The same of a DaemonSet's pod, which runs on one node alone."""
_AWAY: Final = (
    "Have the pods that it keeps away from moved off {}: this one can go to no other node"
)
_OF_HOSTS: Final[Mapping[Way, str]] = {
    (Reason.RESOURCES, ""): "Make room on {}, or lower the requests: the pod can go to no other "
    "node",
    (Reason.RESOURCES, EMPTY): "Ask for less: the pod can go to no other node than {}",
    (Reason.RESOURCES, PODS): "Have fewer pods on {}: this one can go to no other node",
    (Reason.VOLUME_COUNT, ""): "Have fewer pods with volumes on {}: this one can go to no other "
    "node",
    (Reason.UNSCHEDULABLE, ""): "Wait until what {} is cordoned for is done: the pod can go to no "
    "other node",
    (Reason.AFFINITY, ""): "Make the affinity preferred, if the pod may be elsewhere than on {}",
    (Reason.ANTI_AFFINITY, ""): _AWAY,
    (Reason.ANTI_AFFINITY, _OWN): _AWAY,
    (Reason.EXISTING_ANTI_AFFINITY, ""): "Have the pods whose rule keeps this one away moved off "
    "{}: this one can go to no other node",
    (Reason.PORTS, ""): "Have the pods with these ports moved off {}, or take other ports: this "
    "one can go to no other node",
}
"""The same of a pod that can go to some nodes alone, and to none that is added."""
_LATE: Final[Mapping[AnyReason, int]] = {
    Reason.TAINT: 1,
    Reason.UNSCHEDULABLE: 1,
    Reason.NODE_AFFINITY: 2,
    Reason.NOT_NAMED: 2,
}
"""Where it refuses some nodes alone, it is about nodes that are not for the pod anyway.

Nodes that the pod asks for and that are closed come before those that it does not ask for.
"""
_NEAR: Final = (Reason.AFFINITY, Reason.SPREAD, *OF_PLACE)
_ROOM: Final = ((Reason.RESOURCES, ""), (Reason.RESOURCES, PODS), (Reason.VOLUME_COUNT, ""))
"""Where a node has to be in some domains, more room elsewhere is of no use."""
_LATE_WAYS: Final = {EMPTY: 1, _SILENT: 1, _ABSENT: 2, _PAGES: 2}
_RANKS: Final = {way: number for number, way in enumerate(OF_REASONS)}


OF_SURGE: Final = frozenset(("otherRevision", "otherRevisionPort", "otherRolloutRevision"))
"""Notes whose cure is that an update removes a pod first."""
_EASED: Final = (
    "Let this update remove a pod first: with maxSurge: 0, maxUnavailable: 1 it comes to its end"
)


def what_to_do(found: Explanation, remarks: Iterable[Note], *, eased: bool = False) -> list[str]:
    """Return what is most likely right first, MOST lines of it.

    A remark about what this is says more than the reason of nodes alone. `eased` says that the
    update that has made the pod would come to its end if it removed a pod first.
    """
    kinds = {each.kind for each in remarks}
    cures = [cure for kind, cure in OF_NOTES.items() if kind in kinds]
    if found.pod.node is not None and not found.held:
        # It has its place.
        return [OF_NOTES["terminatingOnBadNode"].text] if "stuckOnBadNode" in kinds else []
    alone = next((each for each in cures if each.alone), None)
    if alone is not None:
        return [alone.text]
    told = [each.text for each in cures]
    covered = {reason for each in cures for reason in each.covers}
    if found.fits:
        told[:0] = [OF_UNKNOWN[e.field] for e in found.unknown if e.field in OF_UNKNOWN]
    else:
        told += _of_reasons(found, covered)
    in_use = any(each.reason is Reason.CLAIM_IN_USE for each in found.refusals)
    if eased and not in_use and kinds.isdisjoint({*OF_SURGE, "otherRevisions"}):
        told.insert(0, _EASED)
    return list(dict.fromkeys(told))[:MOST]


@dataclass(slots=True)
class _Weight:
    """How much of a pod's waiting is due to one cause."""

    alone: int = 0
    hits: int = 0
    of_domain: bool = False
    advice: list[str] = field(default_factory=list)


def _of_reasons(found: Explanation, covered: Collection[AnyReason]) -> Iterator[str]:
    """Yield what to do about reasons: first about what refuses all nodes, then most of them."""
    weights: dict[Way, _Weight] = {}
    ways: dict[Refusal, Way] = {}
    own = {facts.term for facts in found.terms if facts.matches_pod}
    refusing = {
        whatever_it_spares(facts.term)
        for facts in found.terms
        if facts.reason is Reason.ANTI_AFFINITY and facts.refused
    }
    for each in found.refusals:
        same = not refusing.isdisjoint(map(whatever_it_spares, each.rule.terms[:1]))
        if each.reason is Reason.EXISTING_ANTI_AFFINITY and same:
            continue  # the pod's own rule says it
        is_own = each.reason is Reason.ANTI_AFFINITY and not own.isdisjoint(each.rule.terms)
        ways[each] = way = (each.reason, _OWN) if is_own else _way_for(found, each)
        weight = weights.setdefault(way, _Weight())
        weight.alone += each.alone
        weight.hits += each.hits
        weight.of_domain |= _is_of_domain(each)
        weight.advice.append(each.rule.advice)
    nodes = len(found.names)
    hosts = _hosts(found)
    full = _is_full_where_volumes_are(found)
    deciding = {
        way
        for way, each in weights.items()
        if each.alone or each.hits >= nodes or (full and each.of_domain)
    }
    deciding |= _beside(found, ways, deciding)
    near = not hosts and any(way[0] in _NEAR for way in deciding)

    def rank(way: Way) -> tuple[int, bool, int, int, int]:
        each = weights[way]
        late = _LATE.get(way[0], _LATE_WAYS.get(way[1], 0)) if each.hits < nodes else 0
        late = 1 if full and way[0] in OF_PLACE else late
        late = 0 if way[1] is _WANTED else late
        late = 1 if near and way in _ROOM else late
        late = 2 if hosts and way[0] in {Reason.AFFINITY, *OF_PLACE} else late
        return late, each.hits < nodes, -each.alone, -each.hits, _RANKS.get(way, 0)

    of = found.pod.workload
    told = _OF_DAEMONS if of is not None and of.kind == DAEMON_SET else {}
    for way in sorted(deciding or weights, key=rank):
        # Nodes that are not for the pod anyway are no news beside what a note says of the others.
        if way[0] not in covered and not (covered and rank(way)[0]):
            if hosts and way[0] in OF_PLACE and not weights[way].advice[0]:
                continue  # its volume keeps it to nodes of which more is said
            text = weights[way].advice[0] or told.get(way)
            if not text and hosts and way in _OF_HOSTS:
                text = _OF_HOSTS[way].format(some(hosts, len(hosts)))
            text = text or OF_REASONS.get(way)
            if text is not None:
                yield text


def _beside(found: Explanation, ways: Mapping[Refusal, Way], deciding: Collection[Way]) -> set[Way]:
    """Return what refuses nodes that are asked for, where what decides is about others alone.

    Such nodes have several reasons, and none of these alone.
    """
    if not deciding or not all(
        _is_not_asked(each) for each, way in ways.items() if way in deciding
    ):
        return set()
    wanted = (each for each in found.refused.values() if not any(map(_is_not_asked, each)))
    return {ways[one] for each in {*wanted} for one in each if one in ways}


def _way_for(found: Explanation, refusal: Refusal) -> Way:
    reason, way = _way(refusal)
    if reason is Reason.PORTS and _is_of_replicas(found, refusal):
        return reason, _OWN
    if reason is Reason.TAINT and _is_wanted(found, refusal, way):
        return reason, _WANTED
    return reason, way


def _is_of_replicas(found: Explanation, refusal: Refusal) -> bool:
    own = found.pod.workload
    return own is not None and own in {*(each.workload for each in refusal.pods)}


def _hosts(found: Explanation) -> list[str]:
    """Return the only nodes that a pod may go to, where one that is added would not do either."""
    if not any(map(_keeps_to_hosts, found.refusals)):
        return []
    return sorted(
        name for name, refused in found.refused.items() if not any(map(_keeps_to_hosts, refused))
    )


def _keeps_to_hosts(refusal: Refusal) -> bool:
    rule, asks = refusal.rule, refusal.rule.asks_for
    if refusal.reason is Reason.AFFINITY:
        return rule.key == HOSTNAME
    return rule.of_host or (
        asks is not None and (asks.names is not None or HOSTNAME in asks.keys_needed)
    )


def _is_wanted(found: Explanation, taint: Refusal, way: str) -> bool:
    """Return whether nodes with a taint are the only ones that a pod asks for by all else."""
    if way not in {"", _ROLE}:
        return False
    others = [
        each
        for each in found.refused.values()
        if not any(one.reason is Reason.TAINT for one in each)
    ]
    has = [each for each in found.refused.values() if taint in each]
    if way == _ROLE and not any(_asks_for_role(each) for each in found.refusals):
        return False
    return (
        bool(others)
        and all(any(map(_is_not_asked, each)) for each in others)
        and not all(any(map(_is_not_asked, each)) for each in has)
    )


def _is_not_asked(refusal: Refusal) -> bool:
    """Return whether a pod asks for other nodes than one that is refused like this."""
    return refusal.reason in {
        Reason.NODE_AFFINITY,
        Reason.NOT_NAMED,
        Reason.AFFINITY,
        *OF_PLACE,
    } or (refusal.reason is Reason.RESOURCES and _way(refusal)[1] in {_ABSENT, _PAGES})


def _asks_for_role(refusal: Refusal) -> bool:
    asks = refusal.rule.asks_for
    return asks is not None and any(map(of_role, asks.keys_needed))


def _is_full_where_volumes_are(found: Explanation) -> bool:
    """Return whether one more node where a pod's volumes are would be of no use.

    The whole domain is refused there, and not only its nodes.
    """
    near = {
        refused
        for refused in found.refused.values()
        if not any(each.reason in OF_PLACE for each in refused)
    }
    return bool(near) and all(any(map(_is_of_domain, refused)) for refused in near)


def _is_of_domain(refusal: Refusal) -> bool:
    rule = refusal.rule
    if isinstance(rule, SkewRule):
        return rule.key != HOSTNAME
    apart = refusal.reason in _OF_PODS and refusal.domain is not None
    return apart and bool(rule.terms) and rule.terms[0].topology_key != HOSTNAME


def _way(refusal: Refusal) -> Way:
    reason, domain, rule = refusal.reason, refusal.domain, refusal.rule
    if isinstance(rule, SkewRule) and rule.count.lacks_domains:
        return reason, _FEW
    if rule.nominated or (domain == HELD and (reason, HELD) in OF_REASONS):
        return (reason, HELD) if (reason, HELD) in OF_REASONS else (reason, "")
    if isinstance(rule, RoomRule) and reason is Reason.RESOURCES:
        return reason, _of_room(rule, domain)
    return reason, _of_taints(domain) if reason is Reason.TAINT else ""


def _of_room(rule: RoomRule, domain: str | None) -> str:
    if domain == SILENT:
        return _SILENT
    if rule.resource == PODS:
        return PODS
    if domain != EMPTY:
        return ""
    if rule.largest:
        return EMPTY
    return _PAGES if rule.resource.startswith("hugepages-") else _ABSENT


def _of_taints(taints: str | None) -> str:
    if of_role(taints):
        return _ROLE
    if of_leaving(taints):
        return _LEAVING
    if of_cordoned(taints):
        return _LEFT
    return _CONDITION if of_condition(taints) else ""
