"""Which pods a term is about, by its selector and label keys: none, all, or a contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.near import hint, said
from affinityctl.commands.lint.selectors import contains, contradictory, no_common_pod, within
from affinityctl.commands.lint.template import REQUIRED, NodesFor, Template, TermAt
from extender.core.model.labels import EVERYTHING, Selector
from extender.core.model.node_resources import Toleration
from extender.core.model.wording import labels_of, plural

_OS: Final = "kubernetes.io/os"
_WINDOWS: Final = "windows"
_ANY_TAINT: Final = (Toleration("", None, ""),)
_LABEL_KEYS: Final = ("matchLabelKeys", "mismatchLabelKeys")


def _label_keys(at: TermAt) -> Iterator[tuple[str, str]]:
    for name in _LABEL_KEYS:
        for index, key in enumerate(getattr(at.written, name) or ()):
            yield f"{at.path}.{name}[{index}]", key


def _absent_key(template: Template) -> Iterator[Spot]:
    if template.owner.stored:
        return
    known = {*template.labels, *template.owner.given_labels}
    for at in template.terms:
        for path, key in _label_keys(at):
            if key not in known:
                yield Spot(path, f"the pods of this {template.owner.kind} have no label {key}")


def _missing(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.written.labelSelector is None and not at.has_label_keys:
            yield Spot(f"{at.path}.labelSelector", f"missing: matches no pod, so {at.if_unmet}")


def _empty(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        pods = at.term.pods
        # Every pod of namespaces that somebody chose, those of other tenants say, may be meant.
        chosen = at.written.namespaces or (pods.namespace_selector or EVERYTHING).requirements
        if pods.selector == EVERYTHING and not chosen:
            everywhere = pods.namespace_selector is not None
            where = "of the cluster" if everywhere else "of its namespace"
            side = "stays away from" if at.against else "is drawn to"
            yield Spot(f"{at.path}.labelSelector", f"empty: {side} every pod {where}")


def _contradictory(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        key = contradictory(at.term.pods.selector.requirements)
        refused = set(at.written.matchLabelKeys or ()) & set(at.written.mismatchLabelKeys or ())
        if key is not None and key not in refused:
            yield Spot(f"{at.path}.labelSelector", f"no label {key} meets it, so {at.if_unmet}")


def _no_common_pod(template: Template) -> Iterator[Spot]:
    terms = list(template.of(against=False))
    if len(terms) > 1 and not any(map(_is_empty, terms)):
        why = no_common_pod(at.term.pods for at in terms)
        if why is not None:
            yield Spot(template.owner.list_of("podAffinity", REQUIRED), why)


def _is_empty(at: TermAt) -> bool:
    selector = at.term.pods.selector
    return selector.matches_nothing or contradictory(selector.requirements) is not None


def _against_itself(template: Template) -> Iterator[Spot]:
    for near in template.of(against=False):
        for away in template.of(against=True):
            keys = contains(away.term.topology_key, near.term.topology_key)
            keys = keys and template.holds_within(near, away)
            if keys and within(near.term.pods, away.term.pods):
                yield Spot(away.path, f"excludes what {near.path} requires")


def _no_pod(template: Template) -> Iterator[Spot]:
    terms = [at.term for at in template.of(against=False)]
    broken = any(term.pods.selector.matches_nothing for term in terms)
    if not terms or broken or no_common_pod(term.pods for term in terms) is not None:
        return  # said by rules of their own
    if all(map(template.matches_itself, terms)):
        return  # the first pod of a group may start it
    if template.around.pods is not None and not template.around.some_pod_meets(terms):
        path = template.owner.list_of("podAffinity", REQUIRED)
        found = (template.around.meant(term, template.around.pods) for term in terms)
        instead = hint(next(filter(None, found), None))
        yield Spot(path, f"no pod and no template in the cluster is one that it asks for{instead}")


def _no_pod_against(template: Template) -> Iterator[Spot]:
    """Find anti-affinity that was probably meant for the pods themselves, and keeps none away."""
    known, own = template.around.pods, template.labels
    for at in template.of(against=True):
        if known is None or _is_empty(at) or template.matches_itself(at.term):
            continue
        chosen = at.term.pods.selector.requirements
        missed = [each for each in chosen if not each.matches(own)]
        others = any(each.is_negative for each in missed) or len(missed) == len(chosen)
        if not others and not template.around.some_meets(known, [at.term]):
            asked = ",".join(labels_of(Selector.of((each,))) for each in missed)
            yield Spot(
                f"{at.path}.labelSelector",
                f"no pod and no template in the cluster is one that it keeps away: those of this "
                f"{template.owner.kind} lack {asked}",
            )


def _circle(template: Template) -> Iterator[Spot]:
    if names := template.around.circle_of(template):
        chain = ", which waits for ".join([*names[:-1], "this one"])
        yield Spot(template.owner.list_of("podAffinity", REQUIRED), f"waits for {chain}")


def _two_at_once(template: Template) -> Iterator[Spot]:
    if key := _key_at_odds(template):
        yield Spot(template.owner.path, f"no value of {key} meets node selector and node affinity")


def _key_at_odds(template: Template) -> str | None:
    """Return the label of which no node can have what is asked, None when one can."""
    keys = list(map(contradictory, template.nodes.alternatives))
    return keys[0] if all(keys) and keys else None


def _no_node(template: Template) -> Iterator[Spot]:
    if _key_at_odds(template) is None and template.around.nodes and not template.eligible_nodes():
        nodes = template.around.nodes
        kept_off = sum(NodesFor(template.nodes.required, _ANY_TAINT).judge(each) for each in nodes)
        asked = chain.from_iterable(template.nodes.alternatives)
        close = map(said, chain.from_iterable(map(template.around.node_labels.changes, asked)))
        whole = plural(len(nodes), "node")
        message = f"none of {whole} matches{hint(next(close, None))}"
        if kept_off:
            message = f"{kept_off} of {whole}, each with a taint that is not tolerated"
        yield Spot(template.owner.path, message)


def _other_system(template: Template) -> Iterator[Spot]:
    """Yield `os` where the pods may get to nodes of another; of Linux only where there are such."""
    if template.os is None:
        return
    if template.around.nodes is not None:
        nodes = template.eligible_nodes()
        bad = any(labels.get(_OS, template.os) != template.os for labels in nodes)
    else:
        asked = [{each.key for each in keys} for keys in template.nodes.alternatives] or [set()]
        bad = template.os == _WINDOWS and not all(_OS in keys for keys in asked)
    if bad:
        what = f"{template.os}, and nothing keeps the pods off nodes of another system"
        yield Spot(f"{template.owner.path}.os", what)


RULES: Final = (
    Rule(
        "label-key-absent",
        Level.WARNING,
        "The pods do not have the label of a label key.",
        "The key is skipped: the term is about more pods than was meant. Deployments' pods have "
        "pod-template-hash, those of StatefulSets and DaemonSets controller-revision-hash.",
        "Add the label to the template, or use one that the pods have.",
        _absent_key,
    ),
    Rule(
        "selector-missing",
        Level.ERROR,
        "A term has no labelSelector.",
        "It matches no pod: required affinity can never be met, any other term does nothing.",
        "Add the labelSelector; labelSelector: {} matches every pod.",
        _missing,
    ),
    Rule(
        "selector-empty",
        Level.WARNING,
        "A term is about every pod of its namespace, or of the cluster.",
        "Anti-affinity then keeps the pod off each domain with any other pod, those of DaemonSets "
        "included, and others off its own. Affinity asks for nothing.",
        "Select the pods that are meant, or narrow the term by matchLabelKeys.",
        _empty,
    ),
    Rule(
        "selector-contradictory",
        Level.ERROR,
        "A labelSelector contradicts itself.",
        "It matches no pod: required affinity can never be met, any other term does nothing.",
        "Values of one In are alternatives; requirements on the same key must all hold.",
        _contradictory,
    ),
    Rule(
        "affinity-terms-exclude-each-other",
        Level.ERROR,
        "No single pod can meet all required affinity terms.",
        "The pod waits for ever: only a pod that meets all terms counts for any.",
        "Use one term with alternatives (operator In), or prefer instead of require.",
        _no_common_pod,
    ),
    Rule(
        "affinity-against-anti-affinity",
        Level.ERROR,
        "Required anti-affinity excludes what required affinity asks for.",
        "The pod waits for ever.",
        "Remove one of the two, or ask for affinity by zone and anti-affinity by hostname.",
        _against_itself,
    ),
    Rule(
        "affinity-matches-no-pod",
        Level.ERROR,
        "Required affinity is about pods that do not exist.",
        "The pod waits until such a pod comes.",
        "Correct the selector or the namespaces; without any, a term is about its own namespace.",
        _no_pod,
    ),
    Rule(
        "anti-affinity-matches-no-pod",
        Level.WARNING,
        "Required anti-affinity is about pods that do not exist, and not quite about its own.",
        "It keeps no pod away: replicas may share a node.",
        "Select the pods by labels that they have.",
        _no_pod_against,
    ),
    Rule(
        "affinity-circle",
        Level.ERROR,
        "Required affinity of workloads goes in a circle.",
        "Each waits for a pod of the next, so none can be placed first. A pod that meets the terms "
        "of one, and is of none of them, would end that.",
        "Take one of the terms out, or prefer instead of require.",
        _circle,
    ),
    Rule(
        "node-affinity-contradictory",
        Level.ERROR,
        "Node selector and required node affinity ask for two values of one label.",
        "No node has both: the pod waits for ever.",
        "Keep one of the values; values of one In, and nodeSelectorTerms, are alternatives.",
        _two_at_once,
    ),
    Rule(
        "os-not-selected",
        Level.WARNING,
        "Pods are for one operating system (spec.os), and may get to nodes of another.",
        "The scheduler does not look at spec.os; the kubelet does, and refuses the pod.",
        "Add nodeSelector: {kubernetes.io/os: NAME}.",
        _other_system,
    ),
    Rule(
        "no-node-matches",
        Level.ERROR,
        "No node matches node selector and required node affinity, or taints keep the pods off "
        "all that do.",
        "The pod waits until such a node comes.",
        "Correct the labels, label a node, or tolerate the taint.",
        _no_node,
    ),
)
