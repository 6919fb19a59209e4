"""What all pages have in common: head, navigation, style, and the policy that allows no more."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Final

from extender import __version__
from extender.web.page.html import Html, element, joined
from extender.web.page.wording import clock_time

PAGES: Final = (
    ("/", "Overview"),
    ("/page/explain", "Explain"),
    ("/page/domains", "Rules and domains"),
    ("/page/violations", "Violations"),
    ("/page/quotas", "Quotas"),
    ("/page/activity", "Activity"),
)

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


def opening(path: str, title: str) -> Html:
    """Begin a page, up to its heading; `path` says which one of PAGES it is."""
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title if path == "/" else f"{title} · affinity-extender"),
        element("link", rel="icon", href=_ICON),
        element("style", Html(STYLE)),
    )
    links = [
        element("a", name, href=each, aria_current="page" if each == path else None)
        for each, name in PAGES
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


def links(*each: tuple[str, str]) -> Html:
    """List links, by address and text."""
    listed = (element("li", element("a", name, href=href)) for href, name in each)
    return element("ul", *listed, class_="links")
