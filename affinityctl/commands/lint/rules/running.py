"""How the two run together: outages, timeouts, weights of scores, samples of nodes, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.setup import INTER_POD, Setup
from affinityctl.scheduler.file import seconds
from extender.core.config import Mode
from extender.core.config.features import Help, gives, more_rules, switch_of

_DEFAULT_TIMEOUT: Final = 5.0
"""Of the scheduler, also where the file says 0."""
_SHORTEST_TIMEOUT: Final = 5.0
"""The extender answers a bind within 4 s."""
_LONGEST_TIMEOUT: Final = 15.0
_SCORE_FACTOR: Final = 10
"""The scheduler multiplies an extender's scores by this and by its weight."""
_IN_TREE_RANGE: Final = 200
"""The range of the plugin: 0..100 with its default weight 2."""
_PERCENTAGE: Final = "percentageOfNodesToScore"
_EVERY_NODE: Final = 100
_DEFAULT_QPS: Final = 50.0


def _ignorable_binder(setup: Setup) -> Iterator[Spot]:
    for index, entry in enumerate(setup.scheduler.extenders or ()):
        if entry.bind_verb and entry.ignorable:
            yield Spot(f"extenders[{index}].ignorable", "true beside bindVerb")


def _ignorable_rules(setup: Setup) -> Iterator[Spot]:
    beside = setup.mode is Mode.ASSIST and more_rules(setup.config)
    if setup.mode is Mode.REPLACE or beside:
        for ours in setup.ours():
            if ours.entry.ignorable and ours.entry.filter_verb and not ours.entry.bind_verb:
                yield Spot(ours.at("ignorable"), "true, and only the extender knows the hard rules")


def _pods_wait(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW:
        for ours in setup.ours():
            if ours.entry.filter_verb and not ours.entry.ignorable:
                yield Spot(ours.at("ignorable"), f"false in mode {setup.mode}")


def _timeouts(setup: Setup) -> Iterator[tuple[str, str, float]]:
    for ours in setup.ours():
        text = ours.entry.http_timeout
        wait = None if text is None else seconds(text)
        if text is not None and wait is not None:
            yield ours.at("httpTimeout"), text, wait or _DEFAULT_TIMEOUT


def _short(setup: Setup) -> Iterator[Spot]:
    for path, text, wait in _timeouts(setup):
        if wait < _SHORTEST_TIMEOUT:
            yield Spot(path, f"{text} is less than {_SHORTEST_TIMEOUT:.0f}s")


def _long(setup: Setup) -> Iterator[Spot]:
    for path, text, wait in _timeouts(setup):
        if wait > _LONGEST_TIMEOUT:
            yield Spot(path, f"{text} is more than {_LONGEST_TIMEOUT:.0f}s")


def _no_weight(setup: Setup) -> Iterator[Spot]:
    for index, entry in enumerate(setup.scheduler.extenders or ()):
        if entry.prioritize_verb and entry.weight <= 0:
            yield Spot(f"extenders[{index}].weight", f"{entry.weight} beside prioritizeVerb")


def _other_range(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW:
        return  # it scores no node
    for ours in setup.ours():
        reach = ours.entry.weight * setup.config.prioritize.max_score * _SCORE_FACTOR
        if ours.entry.prioritize_verb and ours.entry.weight > 0 and reach != _IN_TREE_RANGE:
            maximum = setup.config.prioritize.max_score
            message = (
                f"weight {ours.entry.weight} with prioritize.maxScore {maximum} spans 0..{reach}"
            )
            yield Spot(ours.at("weight"), f"{message}, and the plugin spans 0..{_IN_TREE_RANGE}")


def _listed_twice(setup: Setup) -> Iterator[Spot]:
    for ours in list(setup.ours())[1:]:
        yield Spot(ours.at("urlPrefix"), f"{ours.entry.url_prefix} is listed before")


def _other_arguments(setup: Setup) -> Iterator[Spot]:
    if not setup.configured:
        return
    rules = setup.config.inter_pod_affinity
    expected = {
        "hardPodAffinityWeight": rules.hard_pod_affinity_weight,
        "ignorePreferredTermsOfExistingPods": rules.ignore_preferred_terms_of_existing_pods,
    }
    for path, profile in setup.scheduler.every_profile():
        index, args = profile.arguments(INTER_POD)
        for name, ours in expected.items() if setup.takes_over(INTER_POD, profile) else ():
            # Only what somebody wrote there: the plugin's own scoring may be off, arguments unused.
            if name in args and args[name] != ours:
                where = f"{path}.pluginConfig[{index}].args.{name}"
                yield Spot(where, f"{args[name]} here, {ours} in the extender's configuration")


def _every_node(setup: Setup) -> Iterator[Spot]:
    for path, percentage in _percentages(setup):
        if percentage is not None and percentage >= _EVERY_NODE:
            yield Spot(path, f"{percentage} makes the other plugins look at every node")


_NODE: Final = switch_of(Help.NODE) or ""


def _no_hints(setup: Setup) -> Iterator[Spot]:
    sampled = any((percentage or 0) < _EVERY_NODE for _, percentage in _percentages(setup))
    if setup.mode is Mode.REPLACE and sampled and not gives(setup.config, Help.NODE):
        yield Spot(_PERCENTAGE, f"the scheduler takes a sample of the nodes, and {_NODE} is false")


def _percentages(setup: Setup) -> Iterator[tuple[str, int | None]]:
    yield _PERCENTAGE, setup.scheduler.percentage_of_nodes_to_score
    for path, profile in setup.scheduler.every_profile():
        if profile.percentage_of_nodes_to_score is not None:
            yield f"{path}.{_PERCENTAGE}", profile.percentage_of_nodes_to_score


def _slow(setup: Setup) -> Iterator[Spot]:
    client = setup.scheduler.client_connection
    qps = _DEFAULT_QPS if client is None or not client.qps else client.qps
    # Below zero: no limit.
    if setup.mode is not Mode.SHADOW and 0 < qps <= _DEFAULT_QPS:
        yield Spot("clientConnection.qps", f"{qps:g} requests a second")


def _two_leaders(setup: Setup) -> Iterator[Spot]:
    election = setup.scheduler.leader_election
    if election is not None and not election.leader_elect:
        yield Spot("leaderElection.leaderElect", "false")


RULES: Final = (
    Rule(
        "ignorable-binder",
        Level.ERROR,
        "An extender that binds is ignorable.",
        "While it is down, pods are placed without its rules; when the answer to a bind is lost, "
        "the scheduler binds again itself.",
        "Set ignorable: false.",
        _ignorable_binder,
    ),
    Rule(
        "ignorable-rules",
        Level.ERROR,
        "Hard rules are the extender's alone, and it is ignorable.",
        "While it is down, pods are placed against required rules, without a trace.",
        "Set ignorable: false in mode replace, and in assist where pods carry rules beside their "
        "specs.",
        _ignorable_rules,
    ),
    Rule(
        "pods-wait-for-nothing",
        Level.WARNING,
        "In mode shadow the extender is not ignorable.",
        "While it is down, all pods wait, although it decides nothing.",
        "Set ignorable: true in mode shadow.",
        _pods_wait,
    ),
    Rule(
        "timeout-too-short",
        Level.WARNING,
        "The scheduler gives up on the extender too early.",
        "The extender answers a bind within 4 s: binds that count as failed may still be carried "
        "out.",
        "Set httpTimeout: 5s.",
        _short,
    ),
    Rule(
        "timeout-too-long",
        Level.WARNING,
        "The scheduler waits very long for the extender.",
        "An extender that hangs stops all scheduling for as long as httpTimeout, at each pod.",
        "Set httpTimeout: 5s.",
        _long,
    ),
    Rule(
        "weight-missing",
        Level.ERROR,
        "An extender has a prioritizeVerb and no positive weight.",
        "kube-scheduler does not start.",
        "Set weight: 1.",
        _no_weight,
    ),
    Rule(
        "score-range",
        Level.WARNING,
        "The extender's scores span another range than the plugin's.",
        "Preferred affinity weighs more, or less, against all other plugins than before.",
        "Set weight to 1 in the scheduler's file, prioritize.maxScore to 20 in the extender's.",
        _other_range,
    ),
    Rule(
        "extender-listed-twice",
        Level.ERROR,
        "The extender is listed twice.",
        "Each pod costs twice the calls, and its scores count twice.",
        "Remove one of the entries.",
        _listed_twice,
    ),
    Rule(
        "arguments-differ",
        Level.WARNING,
        "InterPodAffinityArgs differ from the extender's interPodAffinity.",
        "Pods are ranked by the extender's values.",
        "Use the same values in both files.",
        _other_arguments,
    ),
    Rule(
        "every-node-scored",
        Level.WARNING,
        "The scheduler looks at every node for each pod.",
        "All other plugins then take 14 to 32 ms more for each pod at 5,000 nodes, far more than "
        "the extender saves.",
        "Leave percentageOfNodesToScore out; in mode replace, hints find other nodes.",
        _every_node,
    ),
    *only_if(
        _NODE,
        Rule(
            "sample-without-hints",
            Level.WARNING,
            "In mode replace the scheduler samples nodes, and hints are off.",
            "When every node of the sample breaks a rule, the pod waits although another node "
            "would do.",
            f"Set {_NODE} to true.",
            _no_hints,
        ),
    ),
    Rule(
        "slow-api-client",
        Level.WARNING,
        "The scheduler's limit of requests to the API server is at its default.",
        "It places 50 pods a second at most, however fast it decides.",
        "Set clientConnection.qps: 200 and burst: 400.",
        _slow,
    ),
    Rule(
        "no-leader-election",
        Level.WARNING,
        "Leader election is off.",
        "Two active replicas place the same pods, and each extender knows only the binds of its "
        "own scheduler.",
        "Set leaderElection.leaderElect: true, unless there is a single replica for certain.",
        _two_leaders,
    ),
)
