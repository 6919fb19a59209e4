"""Which rules a question reaches: those without which its answer would be another.

Each rule is a change to the question that takes the rule's cause away, or turns it round. Where the
naive evaluator then answers differently, a plugin that breaks the rule would have been caught.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests import oracle
from tests.conformance import changes, node_changes
from tests.conformance.asked import Asked
from tests.conformance.terms import PREFERRED, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conformance.changes import Change

ENOUGH = 5
"""Questions after which a rule counts as reached; it is not looked at any more then."""

_EXISTS = {"operator": "Exists"}
_OWN = {"namespaceSelector": None}

RULES: Mapping[str, Change] = {
    "a finished pod does not count": changes.finished_run_on,
    "a pod being deleted counts": changes.vanishing_are_gone,
    "a pod without a node does not count": changes.waiting_are_bound,
    "a pod on an unknown node does not count": changes.unknown_nodes_are_known,
    "a nominated pod holds its place": changes.nobody_is_nominated,
    "only against pods of no higher priority": changes.nominated_are_important,
    "pods count wherever they are, asked about or not": changes.only_asked_nodes_count,
    "no labelSelector matches nothing": changes.terms_where(
        lambda term: "labelSelector" not in term, labelSelector={}
    ),
    "an empty labelSelector matches everything": changes.terms_where(
        lambda term: changes.says_nothing(term.get("labelSelector")), labelSelector=None
    ),
    "matchLabels": changes.match_labels_dropped,
    "In": changes.requirements("In", []),
    "NotIn": changes.requirements("NotIn", []),
    "NotIn matches a missing key": changes.requirements(
        "NotIn", [{"operator": "NotIn", "values": ["other"]}, _EXISTS]
    ),
    "Exists": changes.requirements("Exists", [{"operator": "DoesNotExist"}]),
    "DoesNotExist": changes.requirements("DoesNotExist", []),
    "matchLabelKeys": changes.terms_where(changes.has("matchLabelKeys"), matchLabelKeys=None),
    "mismatchLabelKeys": changes.terms_where(
        changes.has("mismatchLabelKeys"), mismatchLabelKeys=None
    ),
    "label keys keep the values of the time of creation": changes.merged_keys_follow_labels,
    "namespaces": changes.terms_where(changes.has("namespaces"), namespaces=None),
    "no namespaces and no selector mean the owner's": changes.terms_where(
        lambda term: not term.get("namespaces") and "namespaceSelector" not in term,
        namespaceSelector={},
    ),
    "an empty namespaceSelector means all": changes.terms_where(
        changes.namespaces(changes.says_nothing), **_OWN
    ),
    "a namespaceSelector": changes.terms_where(changes.namespaces(bool), **_OWN),
    "a purely negative namespaceSelector": changes.terms_where(
        changes.namespaces(changes.purely_negative), **_OWN
    ),
    "namespaces and a selector add up": changes.terms_where(
        lambda term: bool(term.get("namespaces")) and "namespaceSelector" in term, namespaces=None
    ),
    "an unknown namespace has no labels": changes.unknown_namespaces_have_labels,
    "own required affinity": changes.own_rules_dropped("podAffinity", REQUIRED),
    "own required anti-affinity": changes.own_rules_dropped("podAntiAffinity", REQUIRED),
    "existing pods' required anti-affinity": changes.existing_rules_dropped(
        "podAntiAffinity", REQUIRED
    ),
    "each of several required affinity terms": changes.one_affinity_term,
    "the first pod of a group may start it": changes.group_has_begun,
    "a node without the key is in no domain": changes.no_key_is_a_domain,
    "a domain is a key with a value": changes.domains_are_values,
    "own preferred affinity": changes.own_rules_dropped("podAffinity", PREFERRED),
    "own preferred anti-affinity": changes.own_rules_dropped("podAntiAffinity", PREFERRED),
    "existing pods' preferred affinity": changes.existing_rules_dropped("podAffinity", PREFERRED),
    "existing pods' preferred anti-affinity": changes.existing_rules_dropped(
        "podAntiAffinity", PREFERRED
    ),
    "existing pods' required affinity attracts": changes.existing_rules_dropped(
        "podAffinity", REQUIRED
    ),
    "weights": changes.equal_weights,
    "hardPodAffinityWeight": changes.arguments(hard_pod_affinity_weight=1),
    "hardPodAffinityWeight 0": changes.arguments(hard_pod_affinity_weight=0),
    "ignorePreferredTermsOfExistingPods": changes.arguments(
        ignore_preferred_terms_of_existing_pods=False
    ),
    **node_changes.RULES,
}
"""What semantics and the scheduler's documentation promise, and the change that would break it."""


class Reached:
    """Counts, for each rule, the questions that reach it, up to ENOUGH."""

    def __init__(self) -> None:
        self.questions = 0
        self._counts: Counter[str] = Counter(dict.fromkeys(RULES, 0))
        self._last = ""

    def add(self, case: Mapping[str, Any]) -> None:
        cluster, args = oracle.Cluster.from_json(case["cluster"]), case["args"]
        for question in case["questions"]:
            self.questions += 1
            asked = Asked(
                cluster,
                question["pod"],
                tuple(question["names"]),
                oracle.Args.from_json(args),
                args.get("addedAffinity") or {},
            )
            missing = [rule for rule, count in self._counts.items() if count < ENOUGH]
            before = asked.answer() if missing else None
            for rule in missing:
                if RULES[rule](asked).answer() != before:
                    self._counts[rule] += 1
                    self._last = f"{rule} (question {self.questions})"

    @property
    def unreached(self) -> list[str]:
        """The rules that no question has reached."""
        return [rule for rule, count in self._counts.items() if not count]

    def __str__(self) -> str:
        often = sum(count == ENOUGH for count in self._counts.values())
        return (
            f"{self.questions} questions; {often} of {len(self._counts)} rules decided {ENOUGH} or "
            f"more of them, the last to do so: {self._last}"
        )
