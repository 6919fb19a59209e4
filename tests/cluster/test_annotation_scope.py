"""Whom rules in annotations keep away: those that a pod was placed by, where they count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.diagnosis.verbs.violations import patrol
from simulation.invariants.recount import mismatches
from tests.annotating import REQUIRED, annotated, digest_of, stored
from tests.beside import covering
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    empty_state,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    term,
)
from tests.features.every import usual_plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

NODES = [node(name, {HOST: name, ZONE: zone}) for name, zone in zip("abc", "xyz", strict=True)]
CHOSEN = Selector.of((Requirement("rules", Operator.IN, frozenset(("on",))),))
FURTHER = tuple(replace(each, of_annotations=True) for each in usual_plugins())
PLUGINS = (InterPodAffinity(), *FURTHER)
IN_ASSIST = (InterPodAffinity(of_annotations=True), *FURTHER)

EVERYBODY = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(), namespaceSelector={})]}}
"""Keeps everybody out of the zone, whatever namespace they are in."""
BATCH = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="batch"), namespaceSelector={})]}}
VICTIM = pod("victim", "kube-system")
JOB = pod("job", "jobs").labels(app="batch")
PLAIN = [pod(f"plain-{name}", "tenant").on(name) for name in "abc"]


def state_of(
    *pods: Mapping[str, Any],
    annotations: Selector | None = EVERYTHING,
) -> ClusterState:
    """Return a cluster of three zones, with rules in annotations where that says."""
    return filled(empty_state(scope=covering(annotations)), *pods)


def filled(state: ClusterState, *pods: Mapping[str, Any]) -> ClusterState:
    """Put three zones, three namespaces and these pods into a state."""
    for raw in NODES:
        state.upsert_node(model_node(raw))
    for name in ("tenant", "jobs", "kube-system"):
        state.upsert_namespace(model_namespace(namespace(name)))
    for each in pods:
        state.upsert_pod(model_pod(each))
    return state


def fits(state: ClusterState, incoming: Mapping[str, Any], *, plugins: Any = PLUGINS) -> str:
    """Return the nodes that a pod may go to; counters are sound whenever somebody asks."""
    assert mismatches(state) == []
    names = state.nodes.asked(list("abc"))
    return "".join(judge(state, model_pod(incoming), names, plugins).fits.names)


def placed(state: ClusterState, waiting: Mapping[str, Any], name: str) -> None:
    """Have a pod asked about, and shown on a node with its record, as the extender places it."""
    state.upsert_pod(model_pod(stored(waiting)))
    state.note_asked(model_pod(waiting))
    state.upsert_pod(model_pod(on(waiting, name)))


def on(raw: Mapping[str, Any], name: str, record: Mapping[str, Any] | None = None) -> Pod:
    """Return a pod on its node, placed as it is or as another one is."""
    return stored(Pod(raw).on(name), raw if record is None else record)


def bare(name: str) -> Pod:
    """Return a pod of the tenant."""
    return pod(f"plain-{name}", "tenant")


@pytest.mark.parametrize("plugins", [PLUGINS, IN_ASSIST], ids=["replace", "assist"])
@pytest.mark.parametrize("restarted", [False, True], ids=["watched", "after a restart"])
def test_running_pods_keep_nobody_away_by_an_edit(*, plugins: Any, restarted: bool) -> None:
    before = [] if restarted else [stored(each) for each in PLAIN]
    state = state_of(*before)
    for each in PLAIN:
        state.upsert_pod(model_pod(stored(annotated(each, EVERYBODY))))
    assert fits(state, VICTIM, plugins=plugins) == "abc"
    assert fits(state, pod("own", "tenant"), plugins=plugins) == "abc"


def test_rules_count_that_a_pod_was_placed_by() -> None:
    rules = annotated(bare("a"), BATCH)
    state = state_of()
    placed(state, rules, "a")
    assert fits(state, JOB) == "bc"
    # Nobody but us knows yet: nothing is on record.
    state = state_of(stored(rules))
    state.note_asked(model_pod(rules))
    state.upsert_pod(model_pod(stored(Pod(rules).on("a"))))
    assert fits(state, JOB) == "bc"
    # As of a manifest, whose rules were there all along.
    assert fits(state_of(Pod(rules).on("a")), JOB) == "bc"
    # After a restart by what is on record.
    assert fits(state_of(on(rules, "a")), JOB) == "bc"
    assert fits(state_of(stored(Pod(rules).on("a"))), JOB) == "abc"


def test_an_edit_ends_what_a_rule_is_to_others_until_it_is_undone() -> None:
    rules, other = annotated(bare("a"), BATCH), annotated(bare("a"), EVERYBODY)
    state = state_of()
    placed(state, rules, "a")
    state.upsert_pod(model_pod(on(other, "a", record=rules)))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("abc", "abc")
    state.upsert_pod(model_pod(on(rules, "a")))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("bc", "abc")


def test_a_label_that_a_label_key_names_cannot_aim_a_rule_at_others_later() -> None:
    aimed = term(ZONE, selector(), namespaceSelector={}, matchLabelKeys=["app"])
    rules = {"podAntiAffinity": {REQUIRED: [aimed]}}
    harmless = annotated(bare("a").labels(app="nobody"), rules)
    edited = annotated(bare("a").labels(app="batch"), rules)
    assert digest_of(harmless) != digest_of(edited)
    for state in (state_of(on(harmless, "a")), state_of()):
        state.upsert_pod(model_pod(on(edited, "a", record=harmless)))
        assert fits(state, JOB) == "abc"


def test_an_edit_while_a_pod_waits_counts_once_it_is_judged_by_it() -> None:
    harmless, edited = annotated(bare("a"), BATCH), annotated(bare("a"), EVERYBODY)
    state = state_of(stored(harmless))
    state.note_asked(model_pod(harmless))
    # Placed by another scheduler's word, between filter and bind.
    state.upsert_pod(model_pod(stored(edited)))
    state.upsert_pod(model_pod(stored(Pod(edited).on("a"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("abc", "abc")
    state = state_of(stored(harmless), stored(edited))
    state.note_asked(model_pod(edited))
    state.upsert_pod(model_pod(stored(Pod(edited).on("a"))))
    assert fits(state, VICTIM) == "bc"
    state = state_of(stored(edited))
    state.note_asked(model_pod(edited))
    state.note_asked(model_pod(bare("a")))
    state.upsert_pod(model_pod(stored(Pod(edited).on("a"))))
    assert fits(state, VICTIM) == "abc"


def test_an_edit_while_a_bind_is_under_way_is_nothing_to_others() -> None:
    harmless, edited = annotated(bare("a"), BATCH), annotated(bare("a"), EVERYBODY)
    state = state_of(stored(harmless))
    state.reserve(model_pod(stored(harmless)), "a", 10)
    state.upsert_pod(model_pod(stored(edited)))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("bc", "abc")
    state.upsert_pod(model_pod(stored(Pod(edited).on("a"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("abc", "abc")
    state.upsert_pod(model_pod(stored(Pod(harmless).on("a"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("bc", "abc")


def test_an_edit_while_a_node_is_held_for_a_pod_is_nothing_to_others() -> None:
    harmless, edited = annotated(bare("a"), BATCH), annotated(bare("a"), EVERYBODY)
    state = state_of(stored(harmless))
    state.note_asked(model_pod(harmless))
    state.upsert_pod(model_pod(stored(Pod(harmless).nominated("a"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("bc", "abc")
    state.note_asked(model_pod(edited))
    state.upsert_pod(model_pod(stored(Pod(edited).nominated("a"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("abc", "abc")
    # Seen first with the edit, as after a restart.
    assert fits(state_of(stored(Pod(edited).nominated("a"))), VICTIM) == "abc"
    assert fits(state_of(Pod(edited).nominated("a")), VICTIM) == "bc"
    # A pod that is placed after all is placed by what it has then.
    state.upsert_pod(model_pod(on(edited, "a")))
    assert fits(state, VICTIM) == "bc"


@pytest.mark.parametrize("first", ["the edit", "the move", "both at once"])
def test_a_node_is_held_anew_by_what_was_asked_about_when_the_nomination_moves(first: str) -> None:
    rules, edited = annotated(bare("a"), BATCH), annotated(bare("a"), EVERYBODY)
    state = state_of(stored(rules))
    state.note_asked(model_pod(rules))
    state.upsert_pod(model_pod(stored(Pod(rules).nominated("a"))))
    if first == "the edit":
        state.upsert_pod(model_pod(stored(Pod(edited).nominated("a"))))
        assert (fits(state, JOB), fits(state, VICTIM)) == ("abc", "abc")
    elif first == "the move":
        state.upsert_pod(model_pod(stored(Pod(rules).nominated("b"))))
        assert (fits(state, JOB), fits(state, VICTIM)) == ("ac", "abc")
        state.upsert_pod(model_pod(stored(Pod(rules).nominated("c"))))
    state.note_asked(model_pod(edited))
    state.upsert_pod(model_pod(stored(Pod(edited).nominated("b"))))
    assert (fits(state, JOB), fits(state, VICTIM)) == ("ac", "ac")


def test_a_rule_of_a_later_edit_holds_for_the_pod_itself() -> None:
    edited = annotated(bare("a"), EVERYBODY)
    state = state_of(stored(PLAIN[0]), stored(pod("near", "jobs").on("a")))
    assert [each for found in patrol(state, 100) for each in found] == []
    state.upsert_pod(model_pod(stored(Pod(edited).on("a"))))
    assert [each.domain for found in patrol(state, 100) for each in found] == ["x"]
    assert fits(state, VICTIM) == "abc"


@pytest.mark.parametrize("limit", [{}, {"maxMatchingPods": 1}], ids=["none", "a limit"])
def test_a_rule_is_broken_only_where_it_counts(limit: dict[str, Any]) -> None:
    webs = [pod(name, "tenant").labels(app="web").on("a") for name in ("ruled", "one", "two")]
    apart = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="web"), **limit)]}}
    pods = [stored(annotated(webs[0], apart)), *map(stored, webs[1:])]
    state = state_of(*pods, annotations=CHOSEN)
    for rules, domains in (("off", []), ("on", ["x"])):
        state.upsert_namespace(model_namespace(namespace("tenant", {"rules": rules})))
        assert [each.domain for found in patrol(state, 100) for each in found] == domains


@pytest.mark.parametrize("plugins", [PLUGINS, IN_ASSIST], ids=["replace", "assist"])
def test_annotations_count_where_the_labels_of_their_namespace_say(*, plugins: Any) -> None:
    rules, incoming = annotated(bare("a"), BATCH), annotated(bare("new"), EVERYBODY)
    state = state_of(on(rules, "a"), annotations=CHOSEN)
    broken = annotated(bare("broken"), {"podAffinity": []})
    state.upsert_pod(model_pod(stored(broken)))
    on_and_off = (namespace("tenant", {"rules": "on"}), namespace("tenant", {"rules": "off"}))
    moved = []
    for labels in (*on_and_off, *on_and_off):
        version = state.version
        places = [(each.pod_class, dict(each.on_nodes)) for each in state.placed_classes]
        state.upsert_namespace(model_namespace(labels))
        assert state.version > version
        assert [(each.pod_class, dict(each.on_nodes)) for each in state.placed_classes] == places
        moved.append(fits(state, JOB, plugins=plugins))
        is_on = labels["metadata"]["labels"]["rules"] == "on"
        assert fits(state, incoming, plugins=plugins) == ("bc" if is_on else "abc")
        assert len(state.broken_rules) == is_on
        assert state.broken_rules.ignored == (0 if is_on else 2)
    assert moved == ["bc", "abc", "bc", "abc"]
    state.remove_namespace("tenant")
    assert fits(state, JOB, plugins=plugins) == "abc"


def test_by_default_annotations_count_nowhere() -> None:
    state = ClusterState()
    assert not state.scope.is_anywhere
    repelling = annotated(bare("a").anti_affinity(term(HOST, selector(app="db"))), EVERYBODY)
    state = state_of(Pod(annotated(repelling, EVERYBODY)).on("a"), annotations=None)
    assert fits(state, VICTIM) == "abc"
    # What is in the spec counts.
    assert fits(state, pod("db", "tenant").labels(app="db")) == "bc"
    assert list(state.broken_rules.ignored_in) == [("tenant", 1)]


def aimed(app: str) -> Any:
    """Return a pod of the tenant that keeps those away that have its own label, by a label key."""
    about_own = term(ZONE, selector(), namespaceSelector={}, matchLabelKeys=["app"])
    return annotated(bare("a").labels(app=app), {"podAntiAffinity": {REQUIRED: [about_own]}})


def test_label_keys_merged_anew_do_not_pass_for_the_rules_that_a_pod_was_placed_by() -> None:
    harmless = aimed("nobody")
    state = state_of()
    placed(state, harmless, "a")
    # Taken out, put back with other labels, and these put back then.
    for edited in (bare("a").labels(app="batch"), aimed("batch"), harmless):
        state.upsert_pod(model_pod(on(edited, "a", record=harmless)))
        assert fits(state, JOB) == "abc"


@pytest.mark.parametrize("reserved", [False, True], ids=["assist", "replace"])
def test_labels_of_a_later_edit_are_not_on_record_for_rules_made_of_earlier_ones(
    *, reserved: bool
) -> None:
    nobody = pod("nobody", "jobs").labels(app="nobody")
    harmless, relabelled = aimed("nobody"), aimed("batch")
    state = state_of(stored(harmless), stored(relabelled))
    if reserved:
        state.reserve(state.pods["tenant/plain-a"], "a", 10)
    else:
        state.note_asked(model_pod(stored(relabelled)))
    state.upsert_pod(model_pod(stored(Pod(relabelled).on("a"))))
    assert (fits(state, JOB), fits(state, nobody)) == ("abc", "bc")
    # A restarted extender makes the rules of the labels that it sees; nobody was judged by those.
    judged = state.pods["tenant/plain-a"].status.judged
    restarted = model_pod(stored(Pod(relabelled).on("a")))
    state = state_of()
    state.upsert_pod(restarted.with_status(record=judged))
    assert (fits(state, JOB), fits(state, nobody)) == ("abc", "abc")
