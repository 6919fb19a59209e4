"""GenericPrometheusQuery: the result of any query to Prometheus, with an optional limit."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING

import msgspec

from clusterload.decoding import fold_case
from clusterload.measurements.base import Outcome
from clusterload.reports import Limit, Summary, perf_data
from extender.core.config.faults import convert
from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterload.measurements.base import Surroundings
    from clusterload.monitoring import Sample
    from clusterload.parameters import Parameters

logger = logging.getLogger(__name__)

NAME = "GenericPrometheusQuery"
_IN_CLUSTER = "inCluster"


class Query(msgspec.Struct, frozen=True, rename="camel"):
    """A query; each %v in it stands for the time since the start."""

    name: str
    query: str
    threshold: float | None = None
    lower_bound: bool = False
    """Whether the threshold is the least value that is allowed, not the greatest."""
    require_samples: bool = False

    @property
    def limit(self) -> Limit | None:
        if self.threshold is None:
            return None
        return Limit(self.name, self.threshold, at_least=self.lower_bound)


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """The queries that the call `start` gives."""

    metric_name: str
    metric_version: str
    unit: str
    queries: list[Query] = []
    dimensions: list[str] = []
    """The labels that tell the samples of a query apart."""


class GenericPrometheusQuery:
    """Remembers the time of `start`; `gather` sends the queries for the time since then."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._monitoring = surroundings.monitoring
        self._identifier = surroundings.identifier
        self._begin = 0.0
        self._request: Request | None = None

    async def execute(self, parameters: Parameters) -> Outcome:
        if parameters.text("prometheusClient", _IN_CLUSTER) != _IN_CLUSTER:
            raise ExtenderError("only prometheusClient inCluster is supported here")
        if not self._monitoring.prometheus_url:
            logger.warning("%s is left out: no --prometheus-url", self._identifier)
            return Outcome()
        match parameters.text("action"):
            case "start":
                self._request = read_request(parameters)
                self._begin = time.time()
                return Outcome()
            case "gather":
                violations = parameters.flag("enableViolations", default=False)
                return await self._gather(enable_violations=violations)
            case action:
                raise ExtenderError(f"unknown action {action}")

    async def dispose(self) -> None:
        """Do nothing."""

    async def _gather(self, *, enable_violations: bool) -> Outcome:
        if self._request is None:
            raise ExtenderError("it has not been started")
        request, end = self._request, time.time()
        # Rounded up, since the first second of a short test may be all of it.
        seconds = math.ceil(end - self._begin)
        answers = {}
        for each in request.queries:
            query = each.query.replace("%v", f"{seconds}s")
            answers[each.name] = await self._monitoring.query(query, end)
        limits = [limit for each in request.queries if (limit := each.limit)]
        summary = Summary(
            f"{NAME} {request.metric_name}",
            figures(request, answers),
            limits=limits if enable_violations else (),
        )
        errors = [
            each
            for query in request.queries
            for each in faults(query, answers[query.name], request.dimensions)
        ]
        error = f"{request.metric_name}: {'; '.join(errors)}" if errors else ""
        if error and not enable_violations:
            logger.warning("%s (no violation: enableViolations is false)", error)
        return Outcome([summary], error if enable_violations else "")


def read_request(parameters: Parameters) -> Request:
    document = fold_case(parameters.given, msgspec.inspect.type_info(Request))
    request, wrong = convert(document, Request)
    if request is None:
        raise wrong[0]
    return request


def figures(request: Request, answers: Mapping[str, list[Sample]]) -> dict[str, object]:
    """Return the report: the value of each query for each combination of dimensions."""
    items: dict[tuple[str, ...], dict[str, float]] = {}
    for name, samples in answers.items():
        for sample in samples:
            items.setdefault(_place(sample, request.dimensions), {}).setdefault(name, sample.number)
    return perf_data(
        request.metric_version,
        [
            (data, request.unit, dict(zip(request.dimensions, place, strict=True)))
            for place, data in items.items()
        ],
    )


def faults(query: Query, samples: list[Sample], dimensions: Sequence[str]) -> list[str]:
    """Return what is wrong with the samples of a query: missing, ambiguous or beyond its limit."""
    if not samples:
        return [f"{query.name}: no samples"] if query.require_samples else []
    found = []
    if len({_place(each, dimensions) for each in samples}) < len(samples):
        found.append(f"{query.name}: too many samples, the dimensions do not tell them apart")
    if limit := query.limit:
        found += [
            f"{query.name}: {each.number:g}, want {limit}"
            for each in samples
            if limit.broken(each.number)
        ]
    return found


def _place(sample: Sample, dimensions: Sequence[str]) -> tuple[str, ...]:
    return tuple(sample.metric.get(each, "") for each in dimensions)
