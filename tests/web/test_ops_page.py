"""What the page shows, and that nothing in it can turn into code."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser

import pytest

from extender.web import page
from extender.web.page import Resource, Status

NOW = 1_700_000_000.0
VOID = {"meta", "link"}
CLOSED_BY_NEXT = {"th", "td"}


class Reader(HTMLParser):
    """Collects words, links and tags, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add(tag)
        if tag == "a":
            self.links.append(str(dict(attrs)["href"]))
        if tag in CLOSED_BY_NEXT and self._open[-1] in CLOSED_BY_NEXT:
            self._open.pop()
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag, which has to be the one that is open."""
        if tag == "tr" and self._open[-1] in CLOSED_BY_NEXT:
            self._open.pop()
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text for people."""
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        """What a person reads."""
        return " ".join(" ".join(self.words).split())


def status(*resources: Resource, mode: str = "assist", source: str = "cluster.yaml") -> Status:
    return Status(mode, source, "http://127.0.0.1:10280", NOW - 93_784, resources)


def read(shown: Status, failures: dict[str, str] | None = None) -> Reader:
    return Reader(page.render(shown, failures or {}, NOW))


def test_ready() -> None:
    shown = status(
        Resource("nodes", synced=True, objects=5000, last_event=NOW - 2),
        Resource("pods", synced=True, objects=148_213, last_event=NOW - 100),
    )
    text = read(shown).text
    assert "Ready No callback has come yet." in text
    assert "nodes complete 5,000 2 s ago pods complete 148,213 1 min 40 s ago" in text
    assert "Running for 1 d 2 h, since 2023-11-13 20:10:16 UTC" in text
    assert "Callbacks http://127.0.0.1:10280" in text


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param(
            {"filter": None, "prioritize": None},
            "Ready No callback has come yet. The scheduler calls when a pod waits for a node, if "
            "the urlPrefix in its configuration is http://127.0.0.1:10280 .",
            id="nobody has asked",
        ),
        pytest.param(
            {"filter": NOW - 2, "prioritize": NOW - 100, "bind": None},
            "Ready Last callbacks from the scheduler: filter 2 s ago, prioritize 1 min 40 s ago, "
            "bind never.",
            id="some have come",
        ),
    ],
)
def test_whether_anybody_asks_is_said(calls: dict[str, float | None], expected: str) -> None:
    assert expected in read(dataclasses.replace(status(), calls=calls)).text


def test_being_listed() -> None:
    text = read(status(Resource("pods", synced=False, objects=0)), {"a/b": "soon"}).text
    assert "Not ready a/b : soon" in text
    assert "pods being listed 0 —" in text


def test_nothing_yet() -> None:
    assert "Nothing is watched yet" in read(status()).text


@pytest.mark.parametrize("mode", sorted(page.MODES))
def test_the_mode_is_explained(mode: str) -> None:
    assert f"{mode} — {page.MODES[mode]}" in read(status(mode=mode)).text


def test_links() -> None:
    expected = ["/readyz?verbose", "/livez?verbose", "/metrics", "/configz", "/domains"]
    expected.append("/violations")
    assert read(status()).links == expected
    assert Reader(page.render_fault()).links == expected


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def test_whatever_is_shown_is_text() -> None:
    shown = Status(
        mode=HOSTILE,
        source=HOSTILE,
        callbacks=HOSTILE,
        started=NOW,
        resources=(Resource(HOSTILE, synced=True, objects=1),),
    )
    read_back = read(shown, {HOSTILE: HOSTILE})
    assert read_back.tags.isdisjoint({"script", "img"})
    assert read_back.text.count("".join(HOSTILE)) == 6


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    text = page.render(status(), {}, NOW)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in styles]
    assert len(hashes) == 1
    assert f"style-src 'sha256-{hashes[0]}'" in page.CONTENT_SECURITY_POLICY
    assert not re.search(r"\sstyle=|\son\w+=|<script", text)
    assert "url(" not in text


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = page.render(status(source=""), {}, NOW)
    targets = re.findall(r"(?:src|href)=\"?([^\s\">]*)", text)
    assert len(targets) == len(page.LINKS) + 1, "the links, and the icon"
    assert [one for one in targets if not re.match(r"/(?!/)|data:", one)] == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(-1, "0 s", id="a clock that went back"),
        pytest.param(0.9, "0 s", id="just now"),
        pytest.param(59, "59 s", id="seconds"),
        pytest.param(60, "1 min 0 s", id="a minute"),
        pytest.param(3_599, "59 min 59 s", id="minutes"),
        pytest.param(3_661, "1 h 1 min", id="hours"),
        pytest.param(86_400, "1 d 0 h", id="days"),
        pytest.param(8_640_000, "100 d 0 h", id="many days"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert page.duration(seconds) == expected
