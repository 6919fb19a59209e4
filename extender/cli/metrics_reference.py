"""Writes the reference of metrics from the collectors that the program makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extender.metrics import Family, Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INTRO: Final = (
    "Every metric at `/metrics` on the operations port. No label holds the name of a pod, node or "
    "namespace. Where the values of a label are known beforehand they are listed, and their "
    "series are there from the start, at 0. `rest_client_*` are the names that all Kubernetes "
    "components use for their requests to the API server. Besides these there are "
    "`process_*` and `python_*`, and at `/metrics/slis` the `kubernetes_healthcheck` and "
    "`kubernetes_healthchecks_total` of Kubernetes components. [monitoring.md](../monitoring.md) "
    "shows what to look at.\n\n"
    "Source: `extender/metrics/`.\n"
)


def metrics(made: str) -> str:
    """Write the page; `made` is what a generated page says of itself."""
    all_metrics = Metrics()
    all_metrics.track_quotas(lambda: 0, lambda: 0)
    values = all_metrics.values()
    entries = "".join(
        "".join(_entry(family, values))
        for family in sorted(all_metrics.families, key=lambda family: family.name)
    )
    return f"# Metrics reference\n\n{made}{_INTRO}{entries}"


def _entry(family: Family, values: Mapping[tuple[str, str], set[str]]) -> Iterator[str]:
    yield f"\n## `{family.name}`\n\n{family.text}\n\n- Type: {family.kind}\n"
    for label in family.labels:
        known = sorted(values.get((family.name, label), ()))
        listed = ": " + ", ".join(f"`{value}`" for value in known) if known else ""
        yield f"- Label `{label}`{listed}\n"
    if family.buckets:
        first, *_, last = family.buckets
        yield f"- Buckets: {len(family.buckets)}, from {_time(first)} to {_time(last)}\n"


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
