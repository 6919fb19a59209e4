"""Metrics of the scheduler's callbacks, and of what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from extender.metrics.collectors import Collectors
from extender.metrics.latencies import Calls, read_counter, read_histogram
from extender.model.verdict import OF_NODES, Reason

PLUGIN_BUCKETS: Final = tuple(10e-6 * 1.5**k for k in range(20))
"""10 µs to 22 ms, as kube-scheduler's histogram of the same name, so that both compare."""

REQUEST_BUCKETS: Final = tuple(0.1e-3 * 2**k for k in range(17))
"""0.1 ms to 6.6 s: past the 5 s after which the scheduler gives up on a call."""

HOLD_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.02, 0.025, 0.05)

ATTEMPTS: Final = ("feasible", "unschedulable", "error")
BINDS: Final = ("bound", "refused", "unclear", "error")
HINTS: Final = (
    *("set", "renewed", "taken", "elsewhere", "gone"),
    *("refused", "withdrawn", "preempted", "woken", "failed", "skipped"),
)
PREEMPTIONS: Final = ("started", "bound", "elsewhere", "gone", "overtaken", "useless", "failed")
EVICTIONS: Final = ("evicted", "gone", "failed")
MOVES: Final = (*EVICTIONS, "refused", "dryRun", "unconfirmed", "changed")
"""What comes of evictions by the Eviction API."""
HUNG_UP: Final = 499
"""The code under which calls are counted whose client did not wait for the answer, as proxies do.
It is no fault of ours: kube-scheduler hangs up after its httpTimeout, and when it ends."""
USUAL_CODES: Final = (200, 400, 403, 413, 415, HUNG_UP)
"""Of answers to callbacks: fine, no such request, asked by a page in a browser, a body that is too
large, one that is no JSON or packed, and none."""
MALFORMED: Final = "malformed"
"""The verb of requests that are no HTTP, which are answered 400."""


class CallbackMetrics:
    """What came of filter, prioritize, preempt and bind, and how long they took."""

    def __init__(self, make: Collectors) -> None:
        self._plugin = make.histograms(
            "plugin_execution_duration_seconds",
            "Time that a plugin took at an extension point of one scheduling cycle.",
            PLUGIN_BUCKETS,
            *("plugin", "extension_point", "status"),
        )
        self._request = make.histograms(
            "request_duration_seconds",
            "Time from a callback's last byte to its answer. code 499: the client hung up.",
            REQUEST_BUCKETS,
            *("verb", "code"),
        )
        self._in_flight = make.gauge(
            "requests_in_flight", "Callbacks that have begun and have no answer yet.", "verb"
        )
        self._attempts = make.counters(
            "schedule_attempts",
            "Filter calls by result; prioritize calls if the scheduler does not call filter.",
            "result",
        )
        self._filtered = make.counters("nodes_filtered", "Nodes refused, by reason.", "reason")
        self._quota_refusals = make.counters(
            "quota_refusals",
            "Calls in which a quota refused a pod with cross-namespace affinity.",
            "extension_point",
        )
        self._differences = make.counters(
            "shadow_disagreements",
            "Nodes that the scheduler accepted and the extender would have refused.",
            *("plugin", "reason", "cause"),
        )
        self._binds = make.counters("bind", "Bind calls, by result.", "result")
        self._hints = make.counters(
            "hints", "Hints: nodes nominated for refused pods, by result.", "result"
        )
        self._preemptions = make.counters(
            "preemptions",
            "Pods that less important ones were evicted for by the extender, by result.",
            "result",
        )
        self._evictions = make.counters(
            "evictions", "Pods evicted by the extender, by result.", *("plugin", "result")
        )
        self._affected = make.gauge(
            "execution_violating_pods",
            "Pods that break a rule which holds during execution, by what becomes of them.",
            "outcome",
        )
        self._paused = make.gauge(
            "evictions_paused", "1 while more pods than maxAffected would have to go."
        )
        self._paused_namespaces = make.gauge(
            "evictions_paused_namespaces",
            "Namespaces in which evictions are paused, for more than half of maxAffected of their "
            "pods would have to go.",
        )
        self._leads = make.gauge("evictions_leader", "1 while this replica is the one that evicts.")
        self._holds = make.histogram(
            "filter_hold_seconds",
            "How long a filter call waited for pods in flight that conflict with its pod.",
            HOLD_BUCKETS,
        )
        self._slices = make.counter(
            "question_slices", "Slices in which costly affinity rules were compared with pods."
        )
        self._over_budget = make.counter(
            "questions_over_budget",
            "Calls that got an error because the pod's affinity rules take too long to compare.",
        )
        for counters, values in (
            (self._attempts, ATTEMPTS),
            (self._filtered, [reason.value for reason in Reason if reason not in OF_NODES]),
            (self._quota_refusals, ("Filter", "Bind")),
            (self._binds, BINDS),
            (self._hints, HINTS),
            (self._preemptions, PREEMPTIONS),
        ):
            for value in values:
                counters.begin(value)

    def begin_plugin(self, plugin: str, extension_point: str, statuses: Iterable[str]) -> None:
        """Have the series of a plugin that runs at an extension point, by its possible statuses."""
        for status in statuses:
            self._plugin.begin(plugin, extension_point, status)

    def observe_plugin(
        self, plugin: str, extension_point: str, status: str, seconds: float
    ) -> None:
        """Note one run of a plugin."""
        self._plugin[plugin, extension_point, status].observe(seconds)

    def begin_verb(self, verb: str, codes: Iterable[int] = USUAL_CODES) -> None:
        """Have the series of a callback that is served."""
        for code in codes:
            self._request.begin(verb, str(code))

    def track_in_flight(self, verb: str, count: Callable[[], int]) -> None:
        """Ask at each scrape, from another thread, how many calls of a verb are in flight."""
        self._in_flight.labels(verb).set_function(lambda: float(count()))

    def observe_request(self, verb: str, code: int, seconds: float) -> None:
        """Note one answered callback."""
        self._request[verb, str(code)].observe(seconds)

    def calls(self) -> Calls:
        """Read back what came of callbacks; about a millisecond, so call it in a thread."""
        # Copies: a series may be added meanwhile.
        requests, attempts = dict(self._request), dict(self._attempts)
        return Calls(
            {(verb, code): read_histogram(each) for (verb, code), each in requests.items()},
            {result: read_counter(each) for (result,), each in attempts.items()},
        )

    def count_attempt(self, result: str) -> None:
        """Count an attempt to place a pod, once; `result` is one of ATTEMPTS."""
        self._attempts[result,].inc()

    def count_filtered(self, reason: str, number: int) -> None:
        """Count nodes refused for one of the fixed reasons."""
        self._filtered[reason,].inc(number)

    def count_quota_refusal(self, extension_point: str) -> None:
        """Count a call that a quota refused; `extension_point` is Filter or Bind."""
        self._quota_refusals[extension_point,].inc()

    def count_disagreements(self, plugin: str, reason: str, cause: str, number: int) -> None:
        """Count nodes that only we would have refused; `cause` is rule or lag."""
        self._differences[plugin, reason, cause].inc(number)

    def count_bind(self, result: str) -> None:
        """Count a bind call; `result` is one of BINDS."""
        self._binds[result,].inc()

    def count_hint(self, result: str, number: int = 1) -> None:
        """Count what became of a hint; `result` is one of HINTS."""
        self._hints[result,].inc(number)

    def count_preemption(self, result: str) -> None:
        """Count the start or the end of a set of victims; `result` is one of PREEMPTIONS."""
        self._preemptions[result,].inc()

    def begin_evictions(self, plugin: str) -> None:
        """Have the series of a plugin that pods are evicted for."""
        for result in EVICTIONS:
            self._evictions.begin(plugin, result)

    def begin_moves(self, plugin: str, outcomes: Iterable[str]) -> None:
        """Have the series of evictions for rules that hold during execution."""
        for result in MOVES:
            self._evictions.begin(plugin, result)
        for outcome in outcomes:
            self._affected.labels(outcome)

    def set_moves(self, pods: Mapping[str, int]) -> None:
        """Note how many pods break rules that hold during execution, by what becomes of them."""
        for outcome, number in pods.items():
            self._affected.labels(outcome).set(number)

    def set_eviction_state(self, *, paused: bool, paused_namespaces: int, leads: bool) -> None:
        """Note for whom evictions are paused, and whether it is this replica that evicts."""
        self._paused.set(paused)
        self._paused_namespaces.set(paused_namespaces)
        self._leads.set(leads)

    def count_eviction(self, plugin: str, result: str) -> None:
        """Count an eviction; `result` is one of EVICTIONS or, by the Eviction API, of MOVES."""
        self._evictions[plugin, result].inc()

    def count_slice(self) -> None:
        """Count a slice of a costly question."""
        self._slices.inc()

    def count_over_budget(self) -> None:
        """Count a call whose question took too long."""
        self._over_budget.inc()

    def observe_hold(self, seconds: float) -> None:
        """Note how long a filter call was held; calls that did not have to wait are not noted."""
        self._holds.observe(seconds)
