"""Where a term counts: topology keys with their domains, namespaces, and room for updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.near import hint
from affinityctl.commands.lint.patching import REPLACE_FIRST, Operation, add, remove, spread
from affinityctl.commands.lint.selectors import contradictory, negative
from affinityctl.commands.lint.template import Template, TermAt
from extender.core.model.labels import EVERYTHING, HOSTNAME, SUCCESSORS, TEMPLATE_HASH
from extender.core.model.wording import plural

_DEFECTIVE: Final = range(34, 37)
"""Minor versions whose scheduler takes a negative selector for one that matches everything."""


class _Apart(NamedTuple):
    """What keeps replicas apart."""

    path: str
    places: str
    """Their number with a noun."""
    what: str
    domains: int
    at: TermAt | None
    """None for host ports, which no node gives twice."""


def _apart(template: Template) -> Iterator[_Apart]:
    for at in template.of(against=True):
        key = at.term.topology_key
        domains = template.eligible_domains(key)
        if domains and template.matches_itself(at.term):
            yield _Apart(at.path, plural(domains, "domain"), f"of {key}", domains, at)
    if template.ports and (nodes := len(template.eligible_nodes())):
        ports = ", ".join(map(str, sorted(template.ports)))
        path = f"{template.owner.path}.containers"
        yield _Apart(path, plural(nodes, "node"), f"for port {ports}", nodes, None)


def _too_many(template: Template) -> Iterator[Spot]:
    replicas = template.owner.rollout.replicas or 0
    for path, places, what, domains, at in _apart(template):
        if replicas > domains:
            message = f"{replicas:,} replicas, and {places} {what}"
            yield Spot(path, message, () if at is None else _spread_instead(template, at))


def _spread_instead(template: Template, at: TermAt) -> tuple[Operation, ...]:
    selector = msgspec.to_builtins(at.written.labelSelector)
    given = {name: value for name, value in selector.items() if value is not None}
    return (*spread(template, at.term.topology_key, given, "DoNotSchedule"), remove(at.path))


def _stuck(template: Template) -> Iterator[Spot]:
    rollout = template.owner.rollout
    if not rollout.rolling or rollout.unavailable:
        return
    for path, places, what, domains, at in _apart(template):
        if rollout.replicas == domains and (at is None or template.holds_old_pods_off(at)):
            full = f"{domains:,} replicas fill all {places} {what}"
            if domains == 1:
                full = f"1 replica fills the only {places.removeprefix('1 ')} {what}"
            message = f"{full}, and maxUnavailable comes to 0: no room for a new pod"
            yield Spot(path, message, tuple(_making_room(at)))


def _making_room(at: TermAt | None) -> Iterator[Operation]:
    """Yield what lets the next update through, though older pods keep the rules that they have."""
    yield add("spec.strategy", REPLACE_FIRST)
    if at is not None:
        keys = [*(at.written.matchLabelKeys or ()), TEMPLATE_HASH]
        yield add(f"{at.path}.matchLabelKeys", keys)


def _daemons(template: Template) -> Iterator[Spot]:
    if template.owner.kind != "DaemonSet":
        return
    if template.owner.rollout.surge and template.ports:
        message = "maxSurge needs the new pod beside the old one, which has its host ports"
        strategy = add("spec.updateStrategy", REPLACE_FIRST)
        yield Spot(f"{template.owner.path}.containers", message, (strategy,))
    for at in template.of(against=True):
        key = at.term.topology_key
        if template.owner.rollout.surge and template.holds_old_pods_off(at):
            message = "maxSurge needs the new pod beside the old one, which the term excludes"
            yield Spot(at.path, message, (remove(at.path),))
        elif key != HOSTNAME and template.matches_itself(at.term) and _shared(template, key):
            message = f"one pod for each {key}, and one is wanted on each node"
            yield Spot(at.path, message, (remove(at.path),))


def _shared(template: Template, key: str) -> bool:
    """Return whether nodes share domains of a key; so they are thought to where none is known."""
    domains = template.eligible_domains(key)
    return template.around.nodes is None or (
        domains is not None and domains < len(template.eligible_nodes())
    )


def _unknown_key(template: Template) -> Iterator[Spot]:
    if not template.around.nodes:
        return
    for path, key, if_unmet in _keys(template):
        if not template.around.has_key(key):
            instead = hint(template.around.node_labels.near(key))
            yield Spot(path, f"no node has the label {key}, so {if_unmet}{instead}")


def _keys(template: Template) -> Iterator[tuple[str, str, str]]:
    """Yield where each topology key is, the key, and what comes of it where no node has it."""
    for at in template.terms:
        yield f"{at.path}.topologyKey", at.term.topology_key, at.if_unmet
    for each in template.spread:
        if each.topology_key:  # the API server refuses a constraint without one
            yield f"{each.path}.topologyKey", each.topology_key, each.if_unmet


def _partial_key(template: Template) -> Iterator[Spot]:
    for at in template.of(against=True):
        key = at.term.topology_key
        nodes, without = len(template.eligible_nodes()), template.eligible_nodes_without(key)
        if 0 < without < nodes:
            lack = "lacks" if without == 1 else "lack"
            message = f"{without} of {nodes} nodes that the pods may use {lack} the label {key}"
            yield Spot(f"{at.path}.topologyKey", message)


def _old_key(template: Template) -> Iterator[Spot]:
    for path, key, _ in _keys(template):
        if successor := SUCCESSORS.get(key):
            yield Spot(path, f"{key} is deprecated; use {successor}", (add(path, successor),))


def _unknown_namespace(template: Template) -> Iterator[Spot]:
    known = template.around.namespaces
    if known is None:
        return
    for at in template.terms:
        for index, name in enumerate(at.written.namespaces or ()):
            if name not in known:
                instead = hint(template.around.namespace_names.near(name))
                message = f"there is no namespace {name}{instead}"
                yield Spot(f"{at.path}.namespaces[{index}]", message)


def _none_chosen(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        chosen = at.term.pods.namespace_selector
        if chosen is None:
            continue
        key = contradictory(chosen.requirements)
        known = template.around.namespaces
        if key is not None:
            yield Spot(f"{at.path}.namespaceSelector", f"no label {key} meets it")
        elif known and not any(map(chosen.matches, known.values())):
            yield Spot(
                f"{at.path}.namespaceSelector", f"matches none of {plural(len(known), 'namespace')}"
            )


def _negative(template: Template) -> Iterator[Spot]:
    minor = template.around.scheduler_minor
    if minor is not None and minor not in _DEFECTIVE:
        return
    for at in template.terms:
        chosen = at.term.pods.namespace_selector
        if chosen is not None and negative(chosen):
            message = "only NotIn and DoesNotExist; schedulers 1.34 to 1.36 match every namespace"
            yield Spot(f"{at.path}.namespaceSelector", message)


def _covered(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.written.namespaces and at.term.pods.namespace_selector == EVERYTHING:
            message = "the empty namespaceSelector chooses every namespace already"
            yield Spot(f"{at.path}.namespaces", message)


RULES: Final = (
    Rule(
        "more-replicas-than-domains",
        Level.ERROR,
        "A workload keeps its replicas apart, by anti-affinity or host ports, and has more than "
        "there are domains.",
        "The replicas beyond that number wait for ever.",
        "Lower the replicas, do without host ports, prefer instead of require, or use "
        "topologySpreadConstraints. Old pods keep the anti-affinity that they have: delete those "
        "that an update waits for.",
        _too_many,
    ),
    Rule(
        "rollout-stuck",
        Level.ERROR,
        "A rolling update can never begin: old pods fill every domain, or have their host ports "
        "on every node.",
        "With maxUnavailable 0, as the default of 25 % is for up to three replicas, old pods wait "
        "for new ones, and these for room.",
        "Set maxSurge: 0 and maxUnavailable: 1, which helps an update that is stuck now as well. "
        "With matchLabelKeys: [pod-template-hash] in the term only pods of one version keep apart, "
        "but older pods keep the rules that they have: it helps from the next update on, which "
        "may then surge again. Where the extender places the pods, affinity-extender.io/revisions: "
        "Own on those that are there helps at once.",
        _stuck,
    ),
    Rule(
        "daemonset-excludes-itself",
        Level.ERROR,
        "The pods of a DaemonSet keep each other away.",
        "Those that are refused wait for ever, and an update with maxSurge never ends.",
        "Remove the term: a DaemonSet has one pod on a node anyway. With host ports, leave "
        "maxSurge at 0.",
        _daemons,
    ),
    Rule(
        "topology-key-unknown",
        Level.ERROR,
        "No node has the topology key of a term, or of a topology spread constraint.",
        "Required affinity, or a constraint with DoNotSchedule, can be met nowhere; any other "
        "does nothing.",
        "Correct the key, or label the nodes.",
        _unknown_key,
    ),
    Rule(
        "topology-key-partial",
        Level.WARNING,
        "Some nodes lack the topology key of required anti-affinity.",
        "Such a node is in no domain: all of the pods may end up on it.",
        "Label all nodes, or keep the pods to labelled ones with a node selector.",
        _partial_key,
    ),
    Rule(
        "topology-key-deprecated",
        Level.WARNING,
        "A topology key is deprecated.",
        "New nodes may come without the old label.",
        "Use the label that took its place.",
        _old_key,
    ),
    Rule(
        "namespace-unknown",
        Level.WARNING,
        "A term names a namespace that does not exist.",
        "The term is not about any pod there.",
        "Correct the name, or choose namespaces by their labels.",
        _unknown_namespace,
    ),
    Rule(
        "namespace-selector-matches-none",
        Level.WARNING,
        "A namespaceSelector chooses no namespace.",
        "The term is about no pod: beside a selector, even the pod's own namespace does not count.",
        "Correct the selector, or label the namespaces. Each has kubernetes.io/metadata.name.",
        _none_chosen,
    ),
    Rule(
        "namespace-selector-negative",
        Level.WARNING,
        "A namespaceSelector asks for nothing but absence.",
        "Schedulers 1.34 to 1.36 take it, in a pod that is to be placed, for every namespace.",
        "Add {key: kubernetes.io/metadata.name, operator: Exists}, or set schedulerVersion where "
        "no such scheduler runs.",
        _negative,
    ),
    Rule(
        "namespaces-without-effect",
        Level.WARNING,
        "A term lists namespaces beside an empty namespaceSelector.",
        "The two add up, and {} is every namespace.",
        "Remove namespaceSelector, or the list.",
        _covered,
    ),
)
