"""Runs one test: makes its namespaces, runs its steps, gathers figures, cleans up."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from clusterload.measurements import METHODS, Measurement, Outcome, Surroundings
from clusterload.namespaces import OwnNamespaces
from clusterload.parameters import Parameters
from clusterload.phases import Phases
from clusterload.reports import Case
from clusterload.schema import Config, Step
from clusterload.schema import Measurement as Call
from clusterload.tuning import Pacing
from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from clusterload.progress import Progress
    from clusterload.reports import Summary
    from clusterload.schema import Params
    from clusterload.templates import Templates, Values


@dataclass(frozen=True, slots=True)
class Test:
    path: Path
    identifier: str
    """The identifier of its scenario in a suite, or ""."""
    config: Config
    templates: Templates
    values: Values

    @property
    def name(self) -> str:
        return self.identifier or self.config.name

    @property
    def file_part(self) -> str:
        return "_".join(filter(None, (self.config.name, self.identifier)))


@dataclass(slots=True)
class Result:
    """The errors, cases and figures of a test that has ended."""

    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Substep:
    """The errors of the measurements of one call."""

    name: str
    seconds: float
    errors: list[str]
    critical: bool


class Run:
    def __init__(self, test: Test, surroundings: Surroundings, progress: Progress) -> None:
        self._test = test
        self._surroundings = surroundings
        self._progress = progress
        self._measurements: dict[tuple[str, str], Measurement] = {}
        self._result = Result()
        self._phases = Phases(
            objects=surroundings.objects,
            templates=test.templates,
            values=test.values,
            prefix=test.config.namespace.prefix,
            pacing=Pacing(test.config.tuning_sets, test.templates.chance),
            progress=progress,
        )

    async def whole(self) -> Result:
        """Run the test and clean up, whatever happens; return how it ended."""
        result, begin = self._result, time.monotonic()
        namespaces = OwnNamespaces(
            self._surroundings.client,
            self._surroundings.objects,
            self._test.config.namespace,
            self._progress,
        )
        try:
            self._progress.step("make the namespaces")
            await namespaces.prepare()
            await self._steps()
        except ExtenderError as error:
            result.errors.append(str(error))
        finally:
            for measurement in self._measurements.values():
                await measurement.dispose()
            self._progress.step("remove the namespaces and what is in them")
            await namespaces.remove()
        result.seconds = time.monotonic() - begin
        overall = f"{self._test.name} overall ({self._test.path})"
        result.cases.insert(0, Case(overall, result.seconds, result.errors))
        return result

    async def _steps(self) -> None:
        for number, step in enumerate(self._test.config.steps, 1):
            name = f"[step: {number:02d}] {step.name or 'without a name'}"
            self._progress.step(name)
            critical = await self._step(step, name)
            if critical:
                return

    async def _step(self, step: Step, name: str) -> bool:
        """Run phases and measurements of a step side by side; tell whether the test must end."""
        begin = time.monotonic()
        substeps, phases = await asyncio.gather(
            asyncio.gather(*starmap(self._substep, enumerate(step.measurements))),
            asyncio.gather(*map(self._phases.run, step.phases)),
        )
        errors = [error for found in phases for error in found]
        if step.phases:
            self._add_case(name, time.monotonic() - begin, errors)
        for substep in substeps:
            self._add_case(f"{name} {substep.name}", substep.seconds, substep.errors)
            errors += substep.errors
        self._result.errors += errors
        self._progress.step_ended(ok=not errors)
        return any(substep.critical for substep in substeps)

    async def _substep(self, index: int, call: Call) -> _Substep:
        begin = time.monotonic()
        outcomes = await asyncio.gather(*self._instances(call))
        return _Substep(
            f"[{index:02d}] - {call.identifier}",
            time.monotonic() - begin,
            [outcome.error for outcome in outcomes if outcome.error],
            critical=any(outcome.critical for outcome in outcomes),
        )

    def _add_case(self, name: str, seconds: float, errors: Sequence[str]) -> None:
        self._result.cases.append(Case(f"{self._test.name}: {name}", seconds, list(errors)))

    def _instances(self, call: Call) -> list[Awaitable[Outcome]]:
        if call.identifier:
            return [self._measure(call.method, call.identifier, call.params)]
        return [
            self._measure(call.method, each.identifier, call.params | each.params)
            for each in call.instances
        ]

    async def _measure(self, method: str, identifier: str, params: Params) -> Outcome:
        key = (method, identifier)
        if key not in self._measurements:
            surroundings = dataclasses.replace(
                self._surroundings,
                identifier=identifier,
                waiting=partial(self._progress.waiting, identifier),
            )
            self._measurements[key] = METHODS[method](surroundings)
        try:
            outcome = await self._measurements[key].execute(Parameters(params))
        except ExtenderError as failure:
            outcome = Outcome(error=str(failure))
        self._result.summaries += outcome.summaries
        if outcome.error:
            error = f"measurement call {method} - {identifier} error: {outcome.error}"
            outcome = dataclasses.replace(outcome, error=error)
            self._progress.say(error)
        return outcome
