"""What else an explanation has to say: why a rule means what it means, and what can be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.exclusive import unwritten
from extender.core.model.labels import (
    HOSTNAME,
    SUCCESSORS,
    TEMPLATE_HASH,
    WRITTEN_AT_BIND,
    Labels,
    Operator,
    Requirement,
)
from extender.core.model.node_resources import (
    CORDONED,
    KNOWN_SCHEDULERS,
    Taint,
    Toleration,
)
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import NOT_CREATED, Pod
from extender.core.model.pod_affinity import WrittenTerm
from extender.core.model.verdict import Reason
from extender.core.model.wording import (
    MOST_NAMED,
    MOST_SAID,
    amount_of,
    plural,
    plural_of,
    pods_of,
    short,
    some,
)
from extender.core.model.workload import DAEMON_SET, MARKS, ROLLOUT_HASH, STATIC, Identity
from extender.core.verbs.plugins import MAX_NODE_SCORE
from extender.core.verbs.rules import MOST_LOOKED_AT, Refusal, Rule
from extender.diagnosis.verbs.explanation import (
    MOST_BLOCKERS,
    Explanation,
    TermFacts,
    event_of,
    whatever_it_spares,
)
from extender.diagnosis.verbs.facts import MOST_WAITING
from extender.diagnosis.verbs.filters import (
    DELETED,
    GATES,
    NO_NODE,
    ORDER,
    OTHER_SCHEDULER,
    PAUSED,
    no_class,
)
from extender.diagnosis.verbs.node_room import (
    EMPTY,
    NOTHING_YET,
    RoomRule,
    is_lasting,
    misses,
    named_node,
    of_condition,
)
from extender.diagnosis.verbs.telling import quoted, waits_for
from extender.diagnosis.verbs.topology_spread import SkewRule
from extender.diagnosis.verbs.waiting import is_not_made

_HASHES: Final = {TEMPLATE_HASH: "Deployment", ROLLOUT_HASH: "Rollout"}
"""By the label that tells revisions: who makes the ReplicaSets."""
_NOT_TOLD: Final = dict.fromkeys((*_HASHES, *WRITTEN_AT_BIND, *MARKS), "")
"""Labels in which replicas differ."""

_MOST_PODS: Final = 20_000
"""Placed pods that are looked at for one note."""
_MOST_NODES: Final = 1000
"""Nodes whose pods are looked at for one note."""
_LONGEST_NAME: Final = 253
"""Letters of a scheduler's name that are compared with others."""
OF_PLACE: Final = frozenset((Reason.VOLUME_ELSEWHERE, Reason.VOLUME_ZONE))
"""A volume is where the node is not."""
_NOT_SELECTED: Final = frozenset((Reason.NODE_AFFINITY, Reason.ENFORCED_NODE_AFFINITY))
_KEEPS_APART: Final = (Reason.ANTI_AFFINITY, Reason.EXISTING_ANTI_AFFINITY)
HELD: Final = {
    GATES: ("gated", "the scheduler leaves the pod alone until they are removed"),
    OTHER_SCHEDULER: ("otherScheduler", "another one, which may have other rules"),
    DELETED: ("deleting", "its controller makes another pod, if it has one"),
    NO_NODE: ("noSuchNode", "it waits until there is a node of that name, or is deleted"),
    ORDER: (
        "notItsTurn",
        "with podManagementPolicy OrderedReady a StatefulSet makes its pods one after the other",
    ),
    PAUSED: ("paused", "it makes no pods of a new revision"),
}
"""The kinds of notes about what holds a pod, and what there is to say."""


IN_SHORT: Final = frozenset(
    (
        "countsOtherRevision",
        "daemonsTakeRest",
        "domainDown",
        "everyPod",
        "groupElsewhere",
        "labelsLost",
        "makesRoom",
        "matchWaits",
        "namedNodeGone",
        "nearNotSelected",
        "noPriorityClass",
        "noSuchValue",
        "offeredInstead",
        "opposed",
        "otherNamespace",
        "otherRevision",
        "otherRevisionPort",
        "otherRevisions",
        "otherRolloutRevision",
        "otherWorkload",
        "preemption",
        "preemptsNone",
        "sharedHostname",
        "superseded",
        "taintedDomain",
        "terminating",
        "terminatingOnBadNode",
        "toleration",
        "unselectedDomain",
        "victims",
        "volumeNotSelected",
        "waitForEachOther",
    )
)
"""Kinds of notes that say what holds a pod up, where many pods are listed."""


@dataclass(frozen=True, slots=True)
class Note:
    kind: str
    """For programs; stays the same."""
    text: str


def notes(state: ClusterState, explanation: Explanation) -> list[Note]:
    """Return what there is to remark on rules; O(terms + label keys + refusals)."""
    own = state.class_of(explanation.pod)
    found = [
        *_verdict(state, explanation),
        *_profile(explanation),
        *_sitting(explanation),
        *_weights(explanation),
        *_annotations(state, explanation),
        *_exclusive(explanation.pod),
        *_affinity(state, explanation),
        *_node_labels(state, explanation),
        *_labels_lost(state, explanation),
        *_tolerations(state, explanation),
        *_hostnames(state, explanation),
        *_whom_it_is_about(explanation),
        *_opposed(explanation),
        *_near_not_selected(explanation),
        *_superseded(explanation),
        *_older_revision(explanation),
        *_older_with_port(explanation),
        *_other_workload(explanation),
        *_spread(state, explanation),
        *_spread_over_revisions(state, explanation),
        *_sizes(state, explanation),
        *_offered_instead(state, explanation),
        *_of_volume(state, explanation),
        *_group(explanation),
        *_going(state, explanation),
        *_preempted(explanation),
        *_evicts_none(state, explanation),
        *_evicts_here_alone(explanation),
        *_beyond(explanation),
        *_said(explanation),
    ]
    written = own.written
    every = (*written.required, *written.required_anti, *(term for term, _ in written.preferred))
    for term in every:
        found += _written(term, own.labels)
    return found


def _verdict(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    pod = explanation.pod
    if explanation.indeterminate is not None:
        yield Note("unclear", f"the extender cannot judge it: {explanation.indeterminate}")
    if named_node(state, pod) is not None:
        yield Note("named", f"spec.nodeName puts the pod on {pod.node}: no scheduler is asked")
    elif is_not_made(pod):
        yield Note("notMade", "its controller has not made it yet; it would be judged like this")
    elif pod.node is not None and pod.node in state.nodes:
        going = ", and is being deleted" * pod.status.deleting
        text = f"the pod is on {pod.node} already{going}; this is what would be said if it were"
        yield Note("placed", f"{text} placed now")
    if explanation.score_fault is not None:
        yield Note("scores", f"nothing is scored: {explanation.score_fault}")


def _profile(explanation: Explanation) -> Iterator[Note]:
    """Say of a waiting pod whose profile leaves it to the scheduler, or should, which that is."""
    pod, left = explanation.pod, sorted(explanation.left)
    if pod.node is not None:
        return
    if explanation.is_left:
        yield Note(
            "leftToScheduler",
            f"its profile {pod.spec.requirements.scheduler} leaves it to the scheduler with all of "
            "its plugins; the extender checks the rules once more when it binds the pod",
        )
    elif left and pod.spec.group is not None and explanation.indeterminate is not None:
        yield Note(
            "groupInOtherProfile",
            "it waits until all pods of its group are created again with the schedulerName "
            f"{some(left, len(left))}: that of a pod cannot be changed",
        )


def _sitting(explanation: Explanation) -> Iterator[Note]:
    sits = explanation.sitting
    better = None if sits is None else sits.better
    if sits is not None and better is not None:
        stays = "" if sits.stays is None else f"; it would not be moved for that: {sits.stays}"
        yield Note(
            "sitsWorse",
            f"it sits worse than it has to by preferred rules: node {better.target} would suit it "
            f"better, by {better.own} in the weights of its own terms ({better.total} with those "
            f"of other pods){stays}",
        )
    elif sits is not None and len(explanation.names) > 1:
        yield Note(
            "sitsWell",
            "it sits as well as it can by preferred rules: no node that would take it suits it "
            "better",
        )


def _weights(explanation: Explanation) -> Iterator[Note]:
    """Remark on preferences of two kinds that pull apart: their weights do not compare."""
    pulling = [each for each in explanation.scores if MAX_NODE_SCORE in each.normalised.values()]
    if len(pulling) > 1:
        best = [
            {name for name, raw in each.raw.items() if each.normalised[raw] == MAX_NODE_SCORE}
            for each in pulling
        ]
        if not set.intersection(*best):
            names = " and ".join(each.plugin for each in pulling)
            yield Note(
                "weightsApart",
                f"no node is best for {names} alike. Each counts from 0 to {MAX_NODE_SCORE} over "
                "the nodes that fit, whatever the weights in the pod: a weight tells terms of one "
                "kind from each other, and no more",
            )


def _annotations(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    pod, scope = explanation.pod, state.scope
    namespace = pod.pod_class.namespace
    if pod.spec.unannotated is None:
        return
    if not scope.covers(namespace):
        yield Note(
            "annotationIgnored",
            f"the rules in its annotations are ignored: {scope.field} of the configuration does "
            f"not select the namespace {namespace}",
        )
    elif pod.node is not None and pod.pod_class.later:
        yield Note(
            "annotationLater",
            "its annotation is not the one that it was placed by, as far as is on record, so the "
            "rules in it hold for the pod itself and keep nobody away",
        )
    else:
        yield from (
            Note(*limit.note(namespace))
            for limit in scope.limits
            if not limit.reaches_out(namespace)
        )


def _exclusive(pod: Pod) -> Iterator[Note]:
    """Say that an annotation does nothing, since no policy has written its terms into the spec."""
    spec = pod.pod_class.of_spec.affinity
    text = pod.spec.exclusive
    if text is not None and (
        what := unwritten(text, pod.pod_class.labels, spec.required, spec.required_anti)
    ):
        yield Note(
            "exclusiveNotWritten",
            f"the annotation affinity-extender.io/exclusive does nothing: {what}",
        )


def _affinity(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Explain required affinity where no placed pod meets it, or none meets all of it."""
    terms = [each for each in explanation.terms if each.reason is Reason.AFFINITY]
    for each in terms:
        if not state.nodes.has_key(each.term.topology_key):
            key = each.term.topology_key
            text = f"no node has the label {key}, which your affinity is over"
            yield Note("noSuchKey", text + _successor(state, key))
    if not terms or explanation.matching_all is None:
        return
    keys = sorted({each.term.topology_key for each in terms})
    labels = f"the label{'s' * (len(keys) > 1)} {' and '.join(keys)}"
    nobody = "no placed pod matches your required affinity"
    if explanation.matching_all and not explanation.matching_somewhere:
        nobody = (
            "the placed pods that match your required affinity are in no topology domain, and do "
            f"not count: their nodes are unknown, or do not have {labels}"
        )
        if not explanation.is_first:
            yield Note("noDomain", nobody)
    if explanation.is_first:
        yield Note(
            "firstPod",
            f"{nobody}. This pod matches it itself, so it may be the first of its group, on any "
            f"node that has {labels}",
        )
    elif explanation.circle:
        yield Note("waitForEachOther", _circle([pod.key for pod in explanation.circle]))
    elif not explanation.matching_all:
        yield from _nobody(state, explanation.pod, terms)


def _circle(names: Sequence[str]) -> str:
    if len(names) == 1:
        return (
            f"{names[0]} waits as well: each has a required affinity to the other, so neither can "
            "be placed first"
        )
    chain = ", which waits for ".join(names)
    return (
        f"it waits for {chain}, which waits for this pod: each has a required affinity to the "
        "next, so none can be placed first"
    )


def _node_labels(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    for refusal in explanation.refusals:
        asks_for = refusal.rule.asks_for
        for key in () if asks_for is None else islice(asks_for.keys_needed, MOST_SAID):
            if not state.nodes.has_key(key):
                yield Note("noSuchLabel", f"no node has the label {key}{_successor(state, key)}")
        names = None if asks_for is None else asks_for.names
        if names and names.isdisjoint(state.nodes):
            there = "there is no such node" if len(names) == 1 else "there are no such nodes"
            named = some(sorted(names), len(names))
            yield Note("namedNodeGone", f"its node affinity names {named} alone, and {there}")
        if asks_for is not None and not state.node_rules.judge(asks_for).matching:
            yield from _values(state, asks_for)


def _values(state: ClusterState, asks_for: NodeRule) -> Iterator[Note]:
    """Say which values nodes have of a label, where none has one that is asked for."""
    terms = (term.conditions for term, _ in asks_for.terms)
    asked = dict.fromkeys(chain(asks_for.common, chain.from_iterable(terms)))
    for each in islice(asked, MOST_SAID):
        if isinstance(each, Requirement) and each.operator is Operator.IN:
            there = {state.nodes.labels(name).get(each.key) for name in state.nodes} - {None}
            if there and there.isdisjoint(each.values):
                have = sorted(filter(None, there))
                wanted = sorted(each.values)
                yield Note(
                    "noSuchValue",
                    f"no node has {each.key} {some(wanted, len(wanted))}; nodes have "
                    f"{some(have, len(have), MOST_SAID)}{_of_that_name(state, each)}",
                )


def _of_that_name(state: ClusterState, asked: Requirement) -> str:
    """Say which node is meant by its name where its label is asked for."""
    name = min(asked.values)
    if asked.key != HOSTNAME or name not in state.nodes:
        return ""
    return f". The node {name} has {state.nodes.labels(name).get(HOSTNAME) or 'no such label'}"


def _successor(state: ClusterState, key: str) -> str:
    new = SUCCESSORS.get(key)
    if new is None or not state.nodes.has_key(new):
        return ""
    return f"; {new} has taken its place"


def _labels_lost(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on nodes with pods of the same kind that they would not get today."""
    own = explanation.pod
    asked = {each.rule.asks_for for each in explanation.refusals} - {None}
    if explanation.fits or own.workload is None or not asked:
        return
    names = (
        name
        for name, refused in explanation.refused.items()
        if any(each.reason is Reason.NODE_AFFINITY for each in refused)
    )
    for pod in islice(chain.from_iterable(map(state.pods_on, names)), _MOST_PODS):
        selection = pod.node_selection if pod.workload == own.workload else None
        if selection is not None and asked.intersection(selection.required_rules):
            yield Note(
                "labelsLost",
                f"{pod.key} has the same node selector and node affinity, and is on {pod.node}, "
                "which they do not match",
            )
            return


def _tolerations(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on tolerations that seem to be meant for a taint, and do not cover it."""
    for each in explanation.refusals if not explanation.fits else ():
        if each.reason is Reason.TAINT:
            for taint in state.node_resources.allocatable(each.first).taints:
                asks = explanation.pod.spec.requirements
                near = next((one for one in asks.tolerations if misses(one, taint)), None)
                if near is not None and not asks.covers(taint):
                    yield Note("toleration", _differs(near, taint))


def _differs(near: Toleration, taint: Taint) -> str:
    """Say in what a toleration differs from a taint."""
    written = f"{near.key}:{near.effect}" if near.effect else near.key
    if near.key != taint.key:
        return f"it tolerates {written}, and {taint.key} has taken the place of that taint"
    if near.value not in {None, taint.value}:
        has = f"'{taint.value}'" if taint.value else "none"
        return f"it tolerates {near.key} with the value '{near.value}', and the taint has {has}"
    return f"it tolerates {written}, and the effect of the taint is {taint.effect}"


def _hostnames(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on nodes that are one domain by mistake, as they call themselves the same."""
    told: set[str] = set()
    for each in explanation.refusals:
        apart = each.reason in _KEEPS_APART or isinstance(each.rule, SkewRule)
        if apart and each.rule.key == HOSTNAME and each.domain is not None and each.hits > 1:
            told.add(each.domain)
    for host in sorted(told)[:1]:
        names = [name for name in state.nodes if state.nodes.labels(name).get(HOSTNAME) == host]
        yield Note(
            "sharedHostname",
            f"{some(sorted(names), len(names))} all have {HOSTNAME} {host}, and so count as one "
            "node",
        )


def _opposed(explanation: Explanation) -> Iterator[Note]:
    """Remark on rules that ask for the same pods near and far: after the first there is no more."""
    near = [each for each in explanation.terms if each.reason is Reason.AFFINITY and each.refused]
    for facts in near:
        term, key = facts.term, short(facts.term.topology_key)
        same = whatever_it_spares(term)
        if any(
            each.reason is Reason.ANTI_AFFINITY
            and each.refused
            and whatever_it_spares(each.term) == same
            for each in explanation.terms
        ):
            yield Note(
                "opposed",
                f"your affinity on {key} asks for the very pods that your anti-affinity on {key} "
                "keeps away from",
            )
        elif facts.matches_pod and any(
            isinstance(each.rule, SkewRule)
            and each.rule.key == term.topology_key
            and each.rule.count.selector == term.pods.selector
            for each in explanation.refusals
        ):
            yield Note(
                "opposed",
                f"your affinity on {key} keeps these pods in one {key}, and your topology spread "
                "wants as many of them in others",
            )


def _whom_it_is_about(explanation: Explanation) -> Iterator[Note]:
    """Remark on anti-affinity that is about more pods than may be meant."""
    own = explanation.pod.pod_class.namespace
    for facts in explanation.terms:
        if facts.reason is not Reason.ANTI_AFFINITY or not facts.refused:
            continue
        key = short(facts.term.topology_key)
        selector = facts.term.pods.selector
        if not selector.requirements and not selector.matches_nothing:
            yield Note(
                "everyPod",
                f"your anti-affinity on {key} has an empty labelSelector: it is about every pod, "
                "whatever its labels",
            )
            continue
        pods = [
            pod
            for each in explanation.refusals
            if each.reason is facts.reason and facts.term in each.rule.terms and not each.unnamed
            for pod in each.pods
        ]
        if facts.matches_pod and pods and all(pod.pod_class.namespace != own for pod in pods):
            names = sorted({pod.key for pod in pods})
            are = "is in another namespace" if len(names) == 1 else "are in other namespaces"
            yield Note(
                "otherNamespace",
                f"{some(names, len(names))} {are}: your anti-affinity on {key} has namespaces or a "
                "namespaceSelector, and so is not about the pod's own alone",
            )


def _spread(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on domains that count in a spread constraint, and that the pod cannot go to."""
    allocatable = state.node_resources.allocatable
    covers = explanation.pod.spec.requirements.covers
    unselected = {
        name
        for name, refused in explanation.refused.items()
        if any(each.reason in _NOT_SELECTED for each in refused)
    }
    told: set[Rule] = set()
    for each in explanation.refusals:
        rule = each.rule
        key = rule.key or ""
        if each.reason is Reason.SPREAD_LABEL and not state.nodes.has_key(key):
            text = f"no node has the label {key}, which your topology spread is over"
            if new := _successor(state, key):
                yield Note("noSuchKey", text + new)
        if not isinstance(rule, SkewRule) or rule in told:
            continue
        told.add(rule)
        closed = rule.closed(lambda name: all(map(covers, allocatable(name).taints)))
        if closed and not rule.count.constraint.honors_taints:
            down = {
                taint
                for name, domain in rule.count.eligible.items()
                for taint in (allocatable(name).taints if domain in closed else ())
                if not covers(taint)
            }
            if CORDONED not in down and not any(map(is_lasting, down)):
                every = "every node in " * (key != HOSTNAME)
                wrong = f"{every}{some(closed, len(closed))} has something wrong with it"
                yield Note("domainDown", wrong)
            yield Note(
                "taintedDomain",
                f"{rule.what} counts {some(closed, len(closed))}, where the pod tolerates the "
                "taints of no node: such domains keep the allowed number low",
            )
        elif closed := rule.closed(lambda name: name not in unselected):
            yield Note(
                "unselectedDomain",
                f"{rule.what} counts {some(closed, len(closed))}, where the pod's node selector or "
                "node affinity matches no node: such domains keep the allowed number low",
            )


def _spread_over_revisions(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on pods of an older revision without which a spread constraint would allow nodes."""
    skewed: dict[SkewRule, set[str | None]] = {}
    for each in explanation.refusals:
        if isinstance(each.rule, SkewRule):
            skewed.setdefault(each.rule, set()).add(each.domain)
    for rule, domains in skewed.items():
        on = islice(chain.from_iterable(map(state.pods_on, rule.count.eligible)), _MOST_PODS)
        older = [pod for pod in on if _is_other_revision(pod, explanation.pod)]
        if older and rule.allowed_without(older) & (domains - {None}):
            yield Note(
                "countsOtherRevision",
                f"{rule.what} counts the pods of the older revision as well ({_hash_key(older[0])})"
                ", and would allow the pod without them",
            )


def _sizes(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Remark on nodes too small for a pod beside what each of them has, and of unknown size."""
    own = explanation.pod.workload
    silent = sorted(
        name
        for name, refused in islice(explanation.refused.items(), _MOST_PODS)
        if any(each.reason is Reason.RESOURCES for each in refused)
        and state.node_resources.allocatable(name).amounts == NOTHING_YET
    )
    if silent:
        have = "has" if len(silent) == 1 else "have"
        yield Note(
            "nothingAllocatable",
            f"{some(silent, len(silent))} {have} no status.allocatable: the kubelet there has not "
            "reported what it has for pods",
        )
    if explanation.fits or (own is not None and own.kind == DAEMON_SET):
        return
    for resource, amount in explanation.pod.spec.requests:
        names = [
            name
            for name, refused in explanation.refused.items()
            if any(_lacks(each, resource) for each in refused)
        ]
        left = 0
        for name in names[:_MOST_NODES]:
            beside = sum(_asks(pod, resource) for pod in state.pods_on(name) if _is_on_each(pod))
            has = state.node_resources.allocatable(name).amounts.get(resource, 0)
            if not beside or has - beside >= amount:
                break
            left = max(left, has - beside)
        else:
            if names:
                rest = amount_of(resource, left) if left else "no"
                yield Note(
                    "daemonsTakeRest",
                    f"the pods that DaemonSets have on each node leave {rest} {resource} at most, "
                    f"and the pod asks for {amount_of(resource, amount)}: one more node of this "
                    "size is of no use",
                )


def _lacks(refusal: Refusal, resource: str) -> bool:
    rule = refusal.rule
    return isinstance(rule, RoomRule) and rule.resource == resource and refusal.domain != EMPTY


def _is_on_each(pod: Pod) -> bool:
    return pod.workload is not None and pod.workload.kind in {DAEMON_SET, STATIC}


def _asks(pod: Pod, resource: str) -> int:
    return dict(pod.spec.requests).get(resource, 0)


def _offered_instead(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Say what nodes offer of a vendor's that has no node with what is asked for."""
    for each in explanation.refusals:
        rule = each.rule
        if not isinstance(rule, RoomRule) or each.domain != EMPTY or rule.largest:
            continue
        vendor, slash, _ = rule.resource.partition("/")
        amounts = (state.node_resources.allocatable(name).amounts for name in state.nodes)
        offered = {
            name
            for has in amounts
            for name, amount in has.items()
            if slash and amount and name.startswith(f"{vendor}/") and name != rule.resource
        }
        if offered:
            named = some(sorted(offered), len(offered))
            yield Note("offeredInstead", f"nodes offer {named}, and none offers {rule.resource}")


def _near_not_selected(explanation: Explanation) -> Iterator[Note]:
    """Remark on a pod that has to be near pods on nodes which it does not ask for."""
    near = {
        name: refused
        for name, refused in explanation.refused.items()
        if not any(each.reason is Reason.AFFINITY for each in refused)
    }
    elsewhere = len(near) < len(explanation.refused)
    if near and elsewhere and not explanation.fits and all(map(_is_not_selected, near.values())):
        names = some(sorted(near), len(near))
        yield Note(
            "nearNotSelected",
            f"the pods that it has to be near leave it {names}, and its node selector or node "
            f"affinity does not match {'that node' if len(near) == 1 else 'these nodes'}",
        )


def _is_not_selected(refused: Sequence[Refusal]) -> bool:
    return not _NOT_SELECTED.isdisjoint(each.reason for each in refused)


def _group(explanation: Explanation) -> Iterator[Note]:
    """Remark on pods that have started the pod's group where its volume is not."""
    reasons = {each.reason for each in explanation.refusals}
    own = [each for each in explanation.terms if each.reason is Reason.AFFINITY]
    holders = explanation.anchors
    apart = Reason.AFFINITY in reasons and not reasons.isdisjoint(OF_PLACE)
    if apart and holders and all(each.matches_pod for each in own) and not explanation.fits:
        names = [each.key for each in holders]
        yield Note(
            "groupElsewhere",
            f"{some(names, explanation.matching_all or 0)} hold{'s' * (len(names) == 1)} the group "
            "that it has to be near, and its volume is elsewhere",
        )


def _of_volume(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    """Say which nodes could have a pod's volume, where few or none could."""
    hits = sum(each.hits for each in explanation.refusals if each.reason in OF_PLACE)
    some_nodes = len(explanation.names) == 1 < len(state.nodes)
    if explanation.fits or not hits or some_nodes:
        return
    near = {
        name: refused
        for name, refused in explanation.refused.items()
        if not any(each.reason in OF_PLACE for each in refused)
    }
    if not near and _are_apart(explanation):
        text = "its volumes are in different places, and no node can have all of them"
        yield Note("volumesApart", text)
    elif not near:
        yield Note("noNodeForVolume", "there is no node where its volume is")
    elif all(map(_is_not_selected, near.values())):
        yield Note(
            "volumeNotSelected",
            f"its volume allows {some(sorted(near), len(near))} alone, and its node selector or "
            f"node affinity does not match {'that node' if len(near) == 1 else 'these nodes'}",
        )
    elif len(near) <= MOST_NAMED:
        told = (f"{name} ({event_of(refused)})" for name, refused in sorted(near.items()))
        yield Note("nodesForVolume", f"its volume allows {', '.join(told)} alone")


def _are_apart(explanation: Explanation) -> bool:
    """Return whether each volume of a pod is where some node is."""
    hits: Counter[Rule] = Counter()
    for each in explanation.refusals:
        if each.reason in OF_PLACE:
            hits[each.rule] += each.hits
    return len(hits) > 1 and max(hits.values()) < len(explanation.names)


def _nobody(state: ClusterState, pod: Pod, terms: Sequence[TermFacts]) -> Iterator[Note]:
    if len(terms) > 1 and all(each.matched for each in terms):
        counts = " and ".join(f"{each.matched:,} by term {n}" for n, each in enumerate(terms, 1))
        yield Note(
            "noSinglePod",
            f"placed pods are matched one term at a time ({counts}), but none by all of them: the "
            "same pod has to match every required affinity term",
        )
        return
    missing = next(each for each in terms if not each.matched)
    if missing.term.pods.selector.matches_nothing:
        text = f"the affinity on {short(missing.term.topology_key)} has no labelSelector, so no pod"
        yield Note("noPod", f"{text} matches it")
        return
    about = missing.term.pods
    text = f"there are no placed {pods_of(about)}"
    lacking = sorted({*about.namespaces} - state.namespaces.keys()) if state.namespaces else []
    if lacking and not about.namespace_selector:
        named = "namespace" if len(lacking) == 1 else "namespaces"
        text += f", and there is no {named} {some(lacking, len(lacking))}"
    elif state.namespaces and not any(about.covers(*each) for each in state.namespaces.items()):
        text += ", and no namespace is one of them"
    unmet = next((each for each in terms if not each.matches_pod), None)
    if unmet is not None:
        itself = "is not one of them either"
        if unmet is not missing:
            itself = f"itself is not one of the {pods_of(unmet.term.pods)}"
        text += f"; {pod.key} {itself}, so it cannot be the first of its group"
    waiting = sorted(
        other.key
        for other in islice(state.waiting_pods, MOST_WAITING)
        if other.uid != pod.uid
        and not other.status.deleting
        and other.pod_class.namespace == pod.pod_class.namespace
        and state.is_about(missing.term, state.class_of(other))
    )
    if waiting:
        wait = "waits for a node as well" if len(waiting) == 1 else "wait for nodes as well"
        yield Note("matchWaits", f"{some(waiting, len(waiting))} would be near it, and {wait}")
    yield Note("noPod", text)


def _superseded(explanation: Explanation) -> Iterator[Note]:
    of = explanation.pod.workload
    if explanation.superseded and of is not None and not explanation.fits:
        yield Note(
            "superseded",
            f"{of.kind} {of.name} has another template by now, and replaces the pod only once it "
            "is ready",
        )


def _older_revision(explanation: Explanation) -> Iterator[Note]:
    """Remark on replicas of another revision in the way: a rolling update that gets stuck."""
    older = {
        pod.key: _hash_of(pod)
        for each, pod in _in_the_way(explanation)
        if each.reason in _KEEPS_APART and _is_other_revision(pod, explanation.pod)
    }
    if older:
        names = sorted(older)
        hashes, key = sorted({*older.values()}), _hash_key(explanation.pod)
        text = (
            f"{some(names, len(names))} belong{'s' * (len(names) == 1)} to another revision of "
            f"the same {_HASHES[key]} ({key} {some(hashes, len(hashes))})"
        )
        least = min(each.count for each in explanation.refusals if each.reason in _KEEPS_APART)
        if least == 1:
            yield Note("otherRevision" if key == TEMPLATE_HASH else "otherRolloutRevision", text)
        else:
            yield Note("otherRevisions", f"{text}, and no domain has fewer than {least} pods to go")


def _older_with_port(explanation: Explanation) -> Iterator[Note]:
    """Remark on pods that an update is to replace, and that have a host port of the new ones."""
    own = explanation.pod
    older = {
        pod.key
        for each, pod in _in_the_way(explanation)
        if each.reason is Reason.PORTS and (_is_other_revision(pod, own) or _is_daemon(pod, own))
    }
    if older:
        kind = "Deployment" if own.workload is None else own.workload.kind
        are = "is an older pod" if len(older) == 1 else "are older pods"
        text = f"{some(sorted(older), len(older))} {are} of the same {kind}, with the same ports"
        yield Note("otherRevisionPort", text)


def _is_daemon(other: Pod, own: Pod) -> bool:
    """Return whether both are of one DaemonSet, which has two on a node in an update alone."""
    workload = own.workload
    return workload is not None and workload.kind == DAEMON_SET and other.workload == workload


def _other_workload(explanation: Explanation) -> Iterator[Note]:
    """Remark on pods of other workloads that a rule between replicas matches by their labels."""
    own = _maker(explanation.pod)
    between = {each.term for each in explanation.terms if each.matches_pod}
    others = {
        pod.key: pod
        for each, pod in _in_the_way(explanation)
        if each.reason is Reason.ANTI_AFFINITY
        and between.intersection(each.rule.terms)
        and None not in {own, _maker(pod)}
        and _maker(pod) != own
        and pod.pod_class.namespace == explanation.pod.pod_class.namespace
    }
    if others and own is not None:
        names = sorted(others)
        makers = map(_maker, others.values())
        made = sorted({f"{each.kind} {each.name}" for each in makers if each is not None})
        be = "is" if len(names) == 1 else "are"
        yield Note(
            "otherWorkload",
            f"{some(names, len(names))} {be} of {some(made, len(made))}, not of {own.kind} "
            f"{own.name}: your anti-affinity matches the labels of both"
            f"{_apart(explanation.pod, others.values())}",
        )


def _apart(own: Pod, others: Collection[Pod]) -> str:
    """Say by which labels a pod is told from all of some others."""
    keys = [
        key
        for key, value in sorted(own.pod_class.labels.items())
        if key not in _NOT_TOLD and all(o.pod_class.labels.get(key) != value for o in others)
    ]
    if not keys:
        return ", and no label tells them apart"
    return f"; {some(keys, len(keys))} tell{'s' * (len(keys) == 1)} them apart"


def _in_the_way(explanation: Explanation) -> Iterator[tuple[Refusal, Pod]]:
    for group in explanation.groups:
        for each in group.refusals[:MOST_LOOKED_AT]:
            for pod in each.pods:
                yield each, pod


def _hash_key(pod: Pod) -> str:
    labels = pod.pod_class.labels
    return ROLLOUT_HASH if ROLLOUT_HASH in labels and TEMPLATE_HASH not in labels else TEMPLATE_HASH


def _hash_of(pod: Pod) -> str:
    return pod.pod_class.labels.get(_hash_key(pod), "")


def _maker(pod: Pod) -> Identity | None:
    """Return a pod's workload; of an Argo Rollout that, and not one of its ReplicaSets."""
    of, suffix = pod.workload, f"-{pod.pod_class.labels.get(ROLLOUT_HASH, '')}"
    if of is not None and of.kind == "ReplicaSet" and suffix != "-" and of.name.endswith(suffix):
        return Identity(of.namespace, _HASHES[ROLLOUT_HASH], of.name.removesuffix(suffix))
    return of


def _is_other_revision(other: Pod, own: Pod) -> bool:
    before, now = map(_hash_of, (other, own))
    if not before or now in {"", before}:
        return False
    if other.workload is not None:
        return _maker(other) == _maker(own)
    # Nobody has read who made them. Labels tell as well, but for those that a bind adds.
    (there, here) = ({**each.pod_class.labels, **_NOT_TOLD} for each in (other, own))
    same = other.pod_class.namespace == own.pod_class.namespace and there == here
    return same and here.keys() > _NOT_TOLD.keys()


def _going(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    own = explanation.pod
    has = state.node_resources.allocatable(own.node or "").taints if own.status.deleting else ()
    bad = sorted({each.key for each in has if not is_lasting(each)})
    if bad:
        yield Note(
            "stuckOnBadNode",
            f"the pod is being deleted where the node has {some(bad, len(bad))}: it goes once the "
            "kubelet there answers, or the node is deleted, and is made anew after that",
        )
    going = {pod.key for _, pod in _in_the_way(explanation) if pod.status.deleting}
    if going:
        count = "counts until it is" if len(going) == 1 else "count until they are"
        be = "is" if len(going) == 1 else "are"
        text = f"{some(sorted(going), len(going))} {be} being deleted, and {count} gone"
        yield Note("terminating", text)
    for taints, pods in sorted(_held_by_nodes(explanation).items()):
        names = sorted(pods - going)
        if names:
            one = len(names) == 1
            yield Note(
                "terminatingOnBadNode",
                f"{some(names, len(names))} {'is' if one else 'are'} being deleted where the node "
                f"has {taints}, and {'counts until it is' if one else 'count until they are'} gone",
            )

    for each in explanation.making_room:
        be = "is" if each.count == 1 else "are"
        text = f"{each.who} on {each.node} {be} being deleted; there is room for this pod then"
        yield Note("makesRoom", text)


def _held_by_nodes(explanation: Explanation) -> Mapping[str, set[str]]:
    """Return pods being deleted that alone are in the way on nodes with which something is wrong.

    By the taints of these nodes.
    """
    held: dict[str, set[str]] = {}
    for refused in {*explanation.refused.values()}:
        bad = [
            each for each in refused if each.reason is Reason.TAINT and of_condition(each.domain)
        ]
        others = [each for each in refused if each not in bad]
        if bad and all(_only_leaving(each) for each in others):
            names = held.setdefault(bad[0].domain or "", set())
            names.update(pod.key for each in others for pod in each.pods)
    return held


def _only_leaving(refusal: Refusal) -> bool:
    """Return whether only pods that are being deleted are behind a refusal."""
    pods = refusal.pods
    return 0 < len(pods) == refusal.count and all(pod.status.deleting for pod in pods)


def _preempted(explanation: Explanation) -> Iterator[Note]:
    if explanation.awaited is not None:
        told = waits_for(explanation.awaited)
        yield Note("victims", f"it {told}; no other pod is evicted for it until then")
        return
    chosen = explanation.preemption
    found = [each for each in explanation.near_misses if each.preempted_on is not None]
    if chosen is not None:
        names = [pod.key + " (being deleted)" * pod.status.deleting for pod in chosen.victims]
        beyond = ", beyond what disruption budgets allow" if chosen.violations else ""
        yield Note(
            "preemption",
            f"the scheduler would evict {some(names, len(names), MOST_BLOCKERS)} from "
            f"{chosen.node} for this pod, which has the higher priority{beyond}",
        )
    elif found:
        first = found[0]
        more = f", and likewise on {plural(len(found) - 1, 'other node')}" if found[1:] else ""
        yield Note(
            "preemption",
            f"{first.in_the_way} on {first.preempted_on} would be preempted for this pod, "
            f"which has the higher priority{more}",
        )
    elif explanation.may_preempt:
        yield Note(
            "mayPreempt",
            "less important pods are placed, and the scheduler may evict some for this one; "
            "`affinity-extender explain` from the command line says whom",
        )


def _evicts_none(state: ClusterState, explanation: Explanation) -> Iterator[Note]:
    spec = explanation.pod.spec
    if spec.priority_class and not explanation.fits:
        yield Note("noPriorityClass", no_class(spec.priority_class))
    if explanation.fits or explanation.pod.node is not None or spec.may_preempt:
        return
    if state.has_less_important(spec.priority):
        yield Note(
            "preemptsNone",
            "its preemptionPolicy is Never: no pod is evicted for it, though some are less "
            "important",
        )


def _evicts_here_alone(explanation: Explanation) -> Iterator[Note]:
    """Say why less important pods stay that are in the way from other nodes."""
    spec = explanation.pod.spec
    if explanation.fits or explanation.preemption is not None or not spec.may_preempt:
        return
    for each in explanation.near_misses:
        elsewhere = {pod.node for pod in each.pods}.isdisjoint(each.nodes)
        less = all(pod.spec.priority < spec.priority for pod in each.pods)
        if each.pods and not each.unnamed and elsewhere and less:
            are = "is" if each.count == 1 else "are"
            yield Note(
                "otherNode",
                f"{each.in_the_way} {are} less important, but not on the node that would fit then: "
                "the scheduler evicts only from the node that it tries",
            )
            return


def _written(each: WrittenTerm, labels: Labels) -> Iterator[Note]:
    """Remark on a term that is written in a way that does not do what it seems to."""
    keys = (*each.match_label_keys, *each.mismatch_label_keys)
    if keys and each.term.pods.selector.matches_nothing:
        yield Note(
            "labelKeysWithoutSelector",
            f"the term on {short(each.term.topology_key)} has label keys ({', '.join(keys)}) "
            "and no labelSelector: the API server refuses such a pod",
        )
        return
    absent = [key for key in keys if key not in labels]
    if absent:
        yield Note(
            "labelKeyAbsent",
            f"the term on {short(each.term.topology_key)} has the label "
            f"{plural_of('key', absent)} {some(absent, len(absent))}, and the pod has no such "
            "label: the term is about pods with any value",
        )


def _beyond(explanation: Explanation) -> Iterator[Note]:
    """Remark on what keeps a pod from being scheduled at all, wherever it fits."""
    for each in explanation.held:
        kind, more = HELD[each.field]
        yield Note(kind, f"{each.text}: {more}{_misspelt(explanation.pod, each.field)}")


def _said(explanation: Explanation) -> Iterator[Note]:
    """Quote what a scheduler has said, where a verdict is not led by that."""
    said, quote = explanation.said, quoted(explanation)
    if explanation.fits and said is not None and said.reason == NOT_CREATED:
        yield Note("notTaken", "there is no pod to place until the API server takes one")
    elif explanation.fits and quote is not None:
        yield Note(
            "schedulerDiffers",
            "what the scheduler did not place it for is not looked at here, as an extender or a "
            "plugin of its own, or is over, and it has not tried again",
        )
    elif quote is not None and said is not None and said.message:
        yield Note("schedulerSaid", quote.rstrip("."))


def _misspelt(pod: Pod, field: str) -> str:
    asked = pod.spec.requirements.scheduler[:_LONGEST_NAME]
    close = get_close_matches(asked, KNOWN_SCHEDULERS) if field == OTHER_SCHEDULER else ()
    if not close:
        return ""
    return f". If {close[0]} is meant, make the pod anew: the name cannot be changed"
