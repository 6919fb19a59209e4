"""Reads a page back: what a person sees, and whether every element is closed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "input", "br"}


class Reader(HTMLParser):
    """Collects words, links, tags and ids, and checks that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.attributes |= values.keys()
        if tag == "a":
            self.links.append(str(values["href"]))
        if "id" in values:
            self.ids.append(str(values["id"]))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag, which has to be the one that is open."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """What a person reads."""
        return " ".join(" ".join(self.words).split())


async def read_page(client: Any, path: str, expected: int = 200) -> str:
    """Return what a person reads on a page, and check the page."""
    response = await client.get(path)
    text = await response.text()
    assert (response.status, response.content_type) == (expected, "text/html")
    found = Reader(text)
    assert len(set(found.ids)) == len(found.ids)
    assert {"script", "img", "iframe"}.isdisjoint(found.tags)
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]
    assert [each for each in found.links if not re.match(r"/(?!/)|[?#]", each)] == []
    return found.text
