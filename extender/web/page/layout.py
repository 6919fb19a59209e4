"""What all pages share: head, navigation, style, policy, and how numbers and times are written."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from extender import __version__
from extender.model.keys import name_of, namespace_of
from extender.web.page.html import Html, element, joined, named

POD_PAGE: Final = "/page/explain"
"""About the pods that wait, or about one: names of pods lead there."""

STYLE: Final = Path(__file__).with_name("style.css").read_text(encoding="utf-8")

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='5' cy='8' r='4' fill='%230b57c2'/%3E%3Ccircle cx='11' cy='8' r='4' "
    "fill='%2317a05a' fill-opacity='.75'/%3E%3C/svg%3E"
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


def ago(seconds: float) -> str:
    """Say how long ago something was."""
    return f"{duration(seconds)} ago"


def latency(seconds: float | None) -> str:
    """Say how long something takes, with two digits: 850 µs, 1.2 ms, 3.4 s."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds < 100 * size
                else f"{seconds / size:.0f} {unit}"
            )
    return f"{seconds * 1e6:.0f} µs"


def rate(number: float, seconds: float) -> str:
    """Say how often something happens a second, or a minute if that is seldom."""
    if not number:
        return "0"
    each = number / max(seconds, 1.0)
    return f"{each:,.1f}/s" if each >= 1.0 else f"{each * 60:,.1f}/min"


def clock_time(at: float) -> Html:
    """Write a moment, given in seconds since the epoch, down to the second."""
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    return element(
        "time", f"{moment:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    )


def opening(path: str, title: str, pages: Iterable[tuple[str, str]]) -> Html:
    """Begin a page, up to its heading; `path` says which of all pages it is."""
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title if path == "/" else f"{title} · affinity-extender"),
        element("link", rel="icon", href=_ICON),
        element("style", Html(STYLE)),
    )
    links = [
        element("a", name, href=each, aria_current="page" if each == path else None)
        for each, name in pages
    ]
    return joined(
        Html('<!doctype html><html lang="en"><head>'),
        head,
        Html("</head><body>"),
        element("a", "Skip to the content", class_="skip", href="#main"),
        Html("<header>"),
        element("p", element("b", "affinity-extender"), f" {__version__}", class_="brand"),
        element("nav", *links, aria_label="Pages"),
        Html('</header><main id="main" tabindex="-1">'),
        element("h1", title),
    )


def closing(now: float) -> Html:
    """End a page."""
    said = joined("As of ", clock_time(now), ". Reload to update.")
    return joined(Html("</main>"), element("footer", element("p", said)), Html("</body></html>\n"))


def heading(title: str) -> Html:
    """Begin a part of a page."""
    return element("h2", title)


def soft(*content: str) -> Html:
    """Say something that is not what people look for first."""
    return element("p", *content, class_="soft")


def notice(title: str, content: Html, *, good: bool = False) -> Html:
    """Say how things are, first of all."""
    kind = "state good" if good else "state"
    return element("div", element("strong", title), content, class_=kind, role="status")


def links(*each: tuple[str, str]) -> Html:
    """List links, by address and text."""
    listed = (element("li", element("a", name, href=href)) for href, name in each)
    return element("ul", *listed, class_="links")


def explain_link(key: str) -> Html:
    """Link a pod to its explanation."""
    query = {"namespace": namespace_of(key), "pod": name_of(key)}
    return named(key, POD_PAGE, query)


def definitions(facts: Sequence[tuple[str, str]]) -> Html:
    """List names with what they stand for."""
    return element(
        "dl", *(part for name, fact in facts for part in (element("dt", name), element("dd", fact)))
    )
