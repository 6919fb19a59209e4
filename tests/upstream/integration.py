"""The scheduler's integration suites, with a scheduler that is configured for the extender."""

from __future__ import annotations

from pathlib import Path

from tests.upstream.copying import Suite, replaced, with_import

_SCHEDULER = "test/integration/scheduler"
_HELPERS = "test/integration/util"
SUITES = (
    f"{_SCHEDULER}",
    f"{_SCHEDULER}/filters",
    f"{_SCHEDULER}/scoring",
    f"{_SCHEDULER}/preemption",
    f"{_SCHEDULER}/preemption/misc",
    f"{_SCHEDULER}/preemption/nominatednodename",
    f"{_SCHEDULER}/nominated_node_name",
    f"{_SCHEDULER}/extender",
    f"{_SCHEDULER}/bind",
    f"{_SCHEDULER}/queueing",
)


def _edit(path: str, text: str) -> str:
    """Let the helpers run an extender on each API server, and configure each scheduler for it."""
    if path != f"{_HELPERS}/util.go":
        return text
    # Registered later, it ends before the API server, which would wait a minute for its watches.
    cleaned = "\t\tCleanupTest(t, testCtx)\n\t})\n"
    own = "\topts = append(opts, scheduler.WithKubeConfig(testCtx.KubeConfig))\n"
    text = replaced(text, cleaned, f"{cleaned}\tbeside.Start(t, testCtx.KubeConfig)\n")
    configured = "\topts = beside.Configured(t, testCtx.KubeConfig, opts)\n"
    return with_import(replaced(text, own, f"{own}{configured}"), "upstream/beside")


INTEGRATION = Suite(
    "integration",
    [_HELPERS, *SUITES],
    _edit,
    __file__,
    Path(__file__).parents[2] / "bench" / "scheduler_perf" / "beside",
)
