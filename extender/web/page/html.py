"""HTML whose texts cannot turn into code, and show what they are.

Names come from the cluster: anybody may have written them. So whatever is no Html yet is escaped
when it is put in, and characters that are not seen, or that turn the text around, are spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Final, TypeAlias
from urllib.parse import urlencode

MOST_CHARACTERS: Final = 600
"""Of a text from the cluster; a name has 253, and a selector may have thousands."""

VOID: Final = frozenset(("br", "input", "link", "meta"))

_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U000e0000-\U000e0fff]"
)
"""Control characters, marks of direction, spaces and letters without width, tags, and halves of
characters."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | Html"


def element(tag: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    """Make an element; an attribute is left out if None or False, and has no value if True.

    Underscores stand for hyphens, and one at the end for nothing: `class_`, `aria_label`.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{joined(*content)}</{tag}>")


def joined(*content: Content) -> Html:
    """Put texts and elements one after the other."""
    return Html("".join(map(text, content)))


def text(content: Content) -> Html:
    """Escape a text; what is Html stays as it is."""
    if isinstance(content, Html):
        return content
    return Html(escape(_UNSEEN.sub(_spelled, cut(content)), quote=False))


def cut(content: str) -> str:
    """Return a text, or its beginning and its length."""
    if len(content) <= MOST_CHARACTERS:
        return content
    return f"{content[:MOST_CHARACTERS]}… ({len(content):,} characters)"


def address(path: str, query: Mapping[str, str]) -> str:
    """Return the address of a page with parameters."""
    return f"{path}?{urlencode(query, errors='replace')}" if query else path


def code(content: str) -> Html:
    """Show a name, a selector or the like as it is spelled."""
    return element("code", content)


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004
