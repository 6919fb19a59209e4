"""The page for people: one look tells whether this program is fit to answer.

Plain HTML with one style sheet inside; no script, nothing loaded from anywhere.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

from extender import __version__


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects that answers depend on."""

    name: str

    synced: bool
    """Whether all of them have been listed."""

    objects: int

    last_event: float | None = None
    """When the API server was last heard of about them, in seconds since the epoch."""


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """What the page shows, at one moment."""

    mode: str

    source: str
    """Where objects come from: the API server's address, or names of files."""

    callbacks: str
    """URL for the scheduler's configuration."""

    started: float
    """In seconds since the epoch."""

    resources: tuple[Resource, ...]

    calls: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    """When the scheduler last called each verb, in seconds since the epoch; None before it did."""


MODES: Final = {
    "assist": "scores come from here, the scheduler keeps the hard rules",
    "replace": "scores and hard rules come from here",
    "shadow": "answers change nothing, differences are counted and logged",
}

LINKS: Final = (
    ("/readyz?verbose", "Readiness", "every check, and why one fails"),
    ("/livez?verbose", "Liveness", "when it fails, the kubelet restarts"),
    ("/metrics", "Metrics", "for Prometheus"),
    ("/configz", "Configuration", "every setting in effect"),
    ("/domains", "Domains", "rules in force, and where they apply"),
    ("/violations", "Violations", "rules that are broken, and what becomes of the pods"),
)

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5;
  --paper: #f4f6f8; --card: #fff; --link: #0b57c2; --good: #17693a; --good-bg: #e2f4e8;
  --bad: #9a3412; --bad-bg: #fdeee3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #2e3743;
  --paper: #12171e; --card: #1a212b; --link: #7db4ff; --good: #7fd6a0; --good-bg: #16301f;
  --bad: #ffb27a; --bad-bg: #3a2416; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { margin: 0; font-size: 1.5rem; letter-spacing: -0.01em; }
h2 { margin: 2rem 0 .6rem; font-size: 1rem; }
p { margin: 0; }
a { color: var(--link); }
a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem; }
header p, .soft { color: var(--soft); }
.state { margin: 1.25rem 0; padding: .9rem 1.1rem; border-radius: 10px; background: var(--bad-bg);
  border: 1px solid var(--bad); overflow-wrap: anywhere; }
.state strong { color: var(--bad); font-size: 1.1rem; }
.state.good { background: var(--good-bg); border-color: var(--good); }
.state.good strong { color: var(--good); }
.state ul { margin: .35rem 0 0; padding-left: 1.2rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  overflow: hidden; }
dl { margin: 0; display: grid; grid-template-columns: max-content 1fr; }
dt, dd { margin: 0; padding: .55rem 1.1rem; }
dt { color: var(--soft); }
dl > :nth-child(n + 3) { border-top: 1px solid var(--line); }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .55rem 1.1rem; text-align: left; white-space: nowrap; }
th { font-weight: 500; }
thead th { color: var(--soft); font-size: .9rem; }
tbody > tr > * { border-top: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.yes { color: var(--good); } .no { color: var(--bad); }
.empty { padding: 1rem 1.1rem; color: var(--soft); }
nav { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .75rem; }
nav a { display: block; padding: .75rem 1.1rem; text-decoration: none; }
nav a:hover { border-color: var(--link); }
nav span { display: block; color: var(--soft); font-size: .875rem; }
footer { margin-top: 2rem; color: var(--soft); font-size: .875rem; }
@media (max-width: 34rem) { main { padding: 1.25rem .9rem 2rem; } dl { display: block; }
  dl > dd { border-top: 0; padding-top: 0; } dl > dt { padding-bottom: 0; }
  dl > dt:nth-child(n + 3) { border-top: 1px solid var(--line); }
  dl > dd:nth-child(n + 3) { border-top: 0; }
  table, tbody { display: block; } thead { display: none; }
  tr { display: grid; grid-template-columns: 1fr auto; padding: .55rem 1.1rem; }
  tr + tr { border-top: 1px solid var(--line); } tbody > tr > * { border: 0; padding: 0; }
  .objects { color: var(--soft); text-align: left; } .objects::after { content: " objects"; }
  .yes, .no { text-align: right; } .heard { color: var(--soft); }
  .heard::before { content: "heard "; } }
"""

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='5' cy='8' r='4' fill='%230b57c2'/%3E%3Ccircle cx='11' cy='8' r='4' "
    "fill='%2317a05a' fill-opacity='.75'/%3E%3C/svg%3E"
)

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def render(status: Status, failures: Mapping[str, str], now: float) -> str:
    """Write the page; `failures` has the reasons of readiness checks that do not pass."""
    facts = (
        ("Mode", f"{escape(status.mode)} <span class=soft>— {_meaning(status.mode)}</span>"),
        ("Callbacks", f"<code>{escape(status.callbacks)}</code>"),
        ("Objects from", f"<code>{escape(status.source)}</code>"),
        ("Running for", f"{duration(now - status.started)}, since {_time(status.started)}"),
    )
    return _document(
        _state(failures, status, now),
        f"<dl class=card>{''.join(f'<dt>{name}</dt><dd>{fact}</dd>' for name, fact in facts)}</dl>",
        "<h2>What answers are based on</h2>",
        _resources(status.resources, now),
        _links(),
        f"<footer>As of {_time(now)}. Reload to update.</footer>",
    )


def render_fault() -> str:
    """Write the page for when the state cannot be told."""
    return _document(
        "<section class=state role=status><strong>This page failed</strong>"
        "<p>The log says why. The links below still work.</p></section>",
        _links(),
    )


def duration(seconds: float) -> str:
    """Say a duration in its two largest units: 3 d 4 h, 5 min 6 s."""
    rest = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number or parts or unit == "s":
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def _document(*parts: str) -> str:
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f'<title>affinity-extender</title><link rel=icon href="{_ICON}">'
        f"<style>{STYLE}</style></head><body><main>"
        f"<header><h1>affinity-extender</h1><p>version {escape(__version__)}</p></header>"
        f"{''.join(parts)}</main></body></html>\n"
    )


def _meaning(mode: str) -> str:
    return escape(MODES.get(mode, ""))


def _state(failures: Mapping[str, str], status: Status, now: float) -> str:
    if not failures:
        return (
            '<section class="state good" role=status><strong>Ready</strong>'
            f"<p>{_calls(status, now)}</p></section>"
        )
    reasons = "".join(
        f"<li><code>{escape(name)}</code>: {escape(reason)}</li>"
        for name, reason in failures.items()
    )
    return (
        f"<section class=state role=status><strong>Not ready</strong><ul>{reasons}</ul></section>"
    )


def _calls(status: Status, now: float) -> str:
    """Say what the scheduler asked, and when; ready is not the same as used."""
    if not any(status.calls.values()):
        return (
            "No callback has come yet. The scheduler calls when a pod waits for a node, if the "
            f"urlPrefix in its configuration is <code>{escape(status.callbacks)}</code>."
        )
    told = (
        f"{escape(verb)} {'never' if at is None else f'{duration(now - at)} ago'}"
        for verb, at in status.calls.items()
    )
    return f"Last callbacks from the scheduler: {', '.join(told)}."


def _resources(resources: Iterable[Resource], now: float) -> str:
    rows = "".join(_row(one, now) for one in resources)
    if not rows:
        return "<p class='card empty'>Nothing is watched yet; this takes a moment at the start.</p>"
    return (
        "<div class=card><table><thead><tr><th scope=col>Resource<th scope=col>State"
        "<th scope=col class=number>Objects<th scope=col class=number>Last heard</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(resource: Resource, now: float) -> str:
    state = "<td class=yes>complete" if resource.synced else "<td class=no>being listed"
    if resource.last_event is None:
        heard = "<td class=number>—"
    else:
        heard = f'<td class="number heard">{duration(now - resource.last_event)} ago'
    return (
        f"<tr><th scope=row>{escape(resource.name)}{state}"
        f'<td class="number objects">{resource.objects:,}{heard}</tr>'
    )


def _links() -> str:
    cards = "".join(
        f'<a class=card href="{href}">{name}<span>{purpose}</span></a>'
        for href, name, purpose in LINKS
    )
    return f"<h2>More</h2><nav>{cards}</nav>"


def _time(at: float) -> str:
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    return f"<time datetime={moment:%Y-%m-%dT%H:%M:%SZ}>{moment:%Y-%m-%d %H:%M:%S} UTC</time>"
