"""HTML whose texts cannot turn into code, and show what they are.

Names come from the cluster: anybody may have written them. So whatever is no Html yet is escaped
when it is put in, and characters that are not seen, or that turn the text around, are spelled out.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final, TypeAlias
from unicodedata import category
from urllib.parse import urlencode

MOST_CHARACTERS: Final = 600
"""Of a text from the cluster; a name has 253, and a selector may have thousands."""

VOID: Final = frozenset(("br", "input", "link", "meta"))

MARKS: Final = frozenset(("Mn", "Me"))
"""Categories of characters that stand on others: hundreds of them would cover the whole page."""
BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing."""


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
    return Html(escape(seen(cut(content)), quote=False))


def cut(content: str) -> str:
    """Return a text, or its beginning and its length."""
    if len(content) <= MOST_CHARACTERS:
        return content
    return f"{content[:MOST_CHARACTERS]}… ({len(content):,} characters)"


def address(path: str, query: Mapping[str, str]) -> str:
    """Return the address of a page with parameters."""
    return f"{path}?{urlencode(query, errors='replace')}" if query else path


def named(name: str, path: str, query: Mapping[str, str]) -> Html:
    """Show a name that leads to a page; one that no API server would take leads nowhere."""
    if len(name) > MOST_CHARACTERS:
        return code(name)
    return element("a", code(name), href=address(path, query))


def code(content: str) -> Html:
    """Show a name, a selector or the like as it is spelled."""
    return element("code", content)


def seen(content: str) -> str:
    """Return a text with those characters spelled out that are not seen, or reach beyond it."""
    if content.isascii() and content.isprintable():
        return content
    return "".join(each if _is_plain(each) else _spelled(each) for each in content)


def _is_plain(character: str) -> bool:
    return character.isprintable() and category(character) not in MARKS and character not in BLANKS


def _spelled(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004
