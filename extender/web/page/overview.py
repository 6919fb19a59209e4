"""The first page: is it in sync, who is refused and why, what is slow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.callbacks.refused_pods import RefusedPod
from extender.web.offered import Tile
from extender.web.page.html import Html, code, element, joined
from extender.web.page.layout import (
    POD_PAGE,
    ago,
    clock_time,
    definitions,
    duration,
    explain_link,
    heading,
    latency,
    links,
    notice,
    rate,
    soft,
)
from extender.web.page.status import MODES, Recent, ResourceStatus, Shown, Status
from extender.web.page.tables import Column, numbers, table, texts

MOST_REFUSED: Final = 10
"""Refused pods that are shown here; the page about them has more."""
SLOW_SECONDS: Final = 0.1
"""A callback that takes longer holds up the scheduler, which asks for one pod after the other."""

LINKS: Final = (
    ("/readyz?verbose", "Readiness"),
    ("/livez?verbose", "Liveness"),
    ("/metrics", "Metrics"),
    ("/configz", "Configuration"),
    ("/domains", "Domains as JSON"),
)

WATCHES: Final = (
    *texts("Resource"),
    Column("State", kind="short"),
    *numbers("Objects", "Last heard"),
)
CALLS: Final = (
    *texts("Callback"),
    *numbers("Rate", "Half within", "99 % within", "Not answered", "Since the start", "Last"),
)
REFUSED: Final = (*texts("Pod", "Why"), *numbers("Times", "For", "Last asked"))


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page shows, at one moment."""

    shown: Shown
    status: Status
    failures: Mapping[str, str]
    """Reasons of readiness checks that do not pass."""
    recent: Recent
    refused: Sequence[RefusedPod] | None
    """None in modes in which filter refuses nothing."""
    now: float
    tiles: Sequence[Tile] = ()
    """Those of features."""
    links: Sequence[tuple[str, str]] = LINKS


def overview(page: Overview) -> Iterator[Html]:
    """Yield the page."""
    yield _state(page)
    yield _tiles(page)
    yield from _refused(page)
    yield joined(Html('<div class="two"><div>'), heading("Watches"))
    yield from table(
        "watches",
        "Objects that answers are based on",
        WATCHES,
        (_watch(each, page) for each in page.status.resources),
    )
    yield joined(Html("</div><div>"), heading("This program"), _facts(page.status, page.now))
    yield Html("</div></div>")
    yield heading("Callbacks")
    yield from _callbacks(page)
    yield joined(heading("For programs"), links(*page.links))


def _state(page: Overview) -> Html:
    if not page.failures:
        return notice("Ready", element("p", _last_calls(page)), good=True)
    reasons = (element("li", code(name), f": {why}") for name, why in page.failures.items())
    return notice("Not ready", element("ul", *reasons))


def _last_calls(page: Overview) -> Html:
    """Say what the scheduler asked, and when; ready is not the same as used."""
    calls = page.status.calls
    if not any(calls.values()):
        return joined(
            "No callback has come yet. The scheduler calls when a pod waits for a node, if the "
            "urlPrefix in its configuration is ",
            code(page.status.callbacks),
            ".",
        )
    told = (f"{verb} {'never' if at is None else ago(page.now - at)}" for verb, at in calls.items())
    return joined(f"Last callbacks from the scheduler: {', '.join(told)}.")


def _tiles(page: Overview) -> Html:
    shown, recent = page.shown, page.recent
    errors = int(recent.latest.attempts.get("error", 0))
    acts = len(shown.history.latest())
    what = "hints, preemptions and evictions in the last hour"
    said = f"errors in the last {duration(recent.seconds)}"
    tiles = [
        *page.tiles,
        Tile(20, "/page/activity", acts, what),
        Tile(30, POD_PAGE, len(shown.state.waiting_pods), "pods wait for a node"),
        Tile(40, None, len(shown.state.reservations), "pods assumed on a node"),
        Tile(50, None, errors, said, bad=errors > 0),
    ]
    if page.refused is not None:
        number = len(page.refused)
        tiles.append(Tile(0, POD_PAGE, number, "pods refused on every node", number > 0))
    if number := len(shown.state.broken_annotations):
        tiles.append(Tile(70, "/page/domains", number, "pods with a broken annotation", bad=True))
    tiles.sort(key=lambda each: each.place)
    return element("ul", *map(_tile, tiles), class_="tiles", aria_label="In numbers")


def _tile(tile: Tile) -> Html:
    said = tile.what if tile.href is None else element("a", tile.what, href=tile.href)
    number = element("b", f"{tile.number:,}")
    return element("li", number, said, class_="bad" if tile.bad else None)


def _refused(page: Overview) -> Iterator[Html]:
    yield heading("Refused pods")
    refused, mode = page.refused, page.status.mode
    if not refused:
        if refused is not None:
            yield soft("No pod that waits was refused on every node.")
            return
        why = element("a", "what pods wait for", href=POD_PAGE)
        yield soft(f"In mode {mode} the scheduler refuses nodes. See ", why, ".")
        return
    rows = (_refused_row(each, page.now) for each in refused[:MOST_REFUSED])
    yield from table("refused", "Refused on every node, the latest first", REFUSED, rows)
    if len(refused) > MOST_REFUSED:
        more = f"and {len(refused) - MOST_REFUSED:,} more"
        yield element("p", element("a", more, href=POD_PAGE))


def why_refused(each: RefusedPod) -> str:
    """Say for which reasons how many nodes were refused."""
    return "; ".join(f"{number:,} {reason}" for reason, number in each.reasons)


def _refused_row(each: RefusedPod, now: float) -> Sequence[str]:
    """Say whom filter refused, why and for how long."""
    return (
        explain_link(each.key),
        why_refused(each),
        f"{each.times:,}",
        duration(now - each.since),
        ago(now - each.last),
    )


def _watch(resource: ResourceStatus, page: Overview) -> Sequence[str]:
    silent = None if resource.last_event is None else page.now - resource.last_event
    limit = page.status.stale_after
    if not resource.synced:
        state = element("span", "being listed", class_="bad")
    elif silent is not None and limit is not None and silent > limit:
        state = element("span", "stale", class_="bad")
    else:
        state = element("span", "in sync", class_="good")
    heard = "-" if silent is None else ago(silent)
    return resource.name, state, f"{resource.objects:,}", heard


def _callbacks(page: Overview) -> Iterator[Html]:
    if not page.status.calls:
        yield soft("None is served yet.")
        return
    span = duration(page.recent.seconds)
    rows = (_callback(verb, at, page) for verb, at in page.status.calls.items())
    yield from table("callbacks", f"Of the last {span}, by this process", CALLS, rows)
    attempts = page.recent.latest.attempts
    said = ", ".join(f"{int(number):,} {result}" for result, number in attempts.items())
    yield soft(f"Attempts to place a pod in that time: {said or 'none'}.")


def _callback(verb: str, at: float | None, page: Overview) -> Sequence[str]:
    recent = page.recent
    fine, failed = recent.latest.of(verb, fine=True), recent.latest.of(verb, fine=False)
    slowest = fine.quantile(0.99)
    said: str = latency(slowest)
    if slowest is not None and slowest > SLOW_SECONDS:
        said = element("span", said, class_="bad")
    lost = f"{failed.count:,}"
    return (
        verb,
        rate(fine.count, recent.seconds),
        latency(fine.quantile(0.5)),
        said,
        element("span", lost, class_="bad") if failed.count else lost,
        f"{recent.all.of(verb).count:,}",
        "never" if at is None else ago(page.now - at),
    )


def _facts(status: Status, now: float) -> Html:
    facts = (
        ("Mode", joined(status.mode, f": {MODES.get(status.mode, '')}")),
        ("Callbacks", code(status.callbacks)),
        ("Objects from", code(status.source)),
        (
            "Running for",
            joined(duration(now - status.started), ", since ", clock_time(status.started)),
        ),
    )
    return definitions(facts)
