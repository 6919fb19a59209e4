"""Is this program alive, and ready? Checks by name, reported in the words of Kubernetes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping

from extender.core.ports import Check, Remark
from extender.core.web.limits import WITHIN


def ping() -> str | None:
    """Pass: that there is an answer at all is what it shows."""
    return None


def _nobody(name: str, passed: bool) -> None:  # noqa: FBT001 - an observer
    del name, passed


def has_passed(reason: str | None) -> bool:
    return reason is None or isinstance(reason, Remark)


def report(
    name: str,
    checks: Mapping[str, Check],
    *,
    verbose: bool,
    excluded: Collection[str] = (),
    observe: Callable[[str, bool], None] = _nobody,
) -> tuple[bool, str]:
    """Run checks and return whether all passed, with the text that Kubernetes' endpoints have.

    A failure is always told in full, with its reason: this text is for operators, unlike that of
    the API server, which withholds reasons. `observe` hears of each check that was made.
    """
    lines = []
    passed = True
    for check_name, check in checks.items():
        if check_name in excluded:
            lines.append(f"[+]{check_name} excluded: ok")
            continue
        reason = run(check)
        observe(check_name, has_passed(reason))
        if reason is None:
            lines.append(f"[+]{check_name} ok")
        elif isinstance(reason, Remark):
            lines.append(f"[+]{check_name} ok: {reason}")
        else:
            passed = False
            lines.append(f"[-]{check_name} failed: {reason}")
    if unknown := sorted(set(excluded) - checks.keys()):
        quoted = ", ".join(f'"{one}"' for one in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    if passed and not verbose:
        return True, "ok"
    return passed, "\n".join((*lines, f"{name} check {'passed' if passed else 'failed'}", ""))


def failing(checks: Mapping[str, Check]) -> dict[str, str]:
    reasons = {name: run(check) for name, check in checks.items()}
    return {name: why for name, why in reasons.items() if why and not has_passed(why)}


def run(check: Check) -> str | None:
    """Run one check; one that breaks has failed."""
    try:
        reason = check()
    except Exception as error:  # noqa: BLE001 - whatever it was, the probe needs an answer
        reason = f"the check itself failed: {type(error).__name__}: {error}"
    if reason is None:
        return None
    return type(reason)(" ".join(reason.split()))


class LoopLag:
    """Measures how late the event loop is, by a timer that should fire every `interval` seconds.

    While the loop stands still no request is answered, so the last measurement is kept for the
    check; every measurement goes to `observe`.
    """

    def __init__(
        self,
        observe: Callable[[float], None],
        *,
        interval: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._observe = observe
        self._interval = interval
        self._clock = clock
        self._due = clock() + interval
        self._late = 0.0

    def check(self) -> str | None:
        """Fail while the timer is late, or was so when it fired last."""
        late = max(self._late, self._clock() - self._due)
        if late < WITHIN.loop_lag:
            return None
        return f"the event loop is {late:.1f} s late"

    def tick(self) -> None:
        now = self._clock()
        self._late = max(0.0, now - self._due)
        self._due = now + self._interval
        self._observe(self._late)

    async def run(self) -> None:
        self._due = self._clock() + self._interval
        while True:
            await asyncio.sleep(self._interval)
            self.tick()
