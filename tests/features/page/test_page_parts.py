"""What pages are made of: elements, tables, words for numbers, and the policy."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from extender.core.metrics import Metrics
from extender.core.metrics.latencies import NONE, Latencies
from extender.core.metrics.table import USUAL_CODES
from extender.core.web.turns import QueryError
from extender.features.page import words
from extender.features.page.address import ROWS, Address
from extender.features.page.pages import environment
from extender.features.page.recent import RecentCalls
from extender.features.page.words import duration, latency, rate
from tests.deploy.places import ROOT
from tests.web.reading import Reader
from tests.web.showing import app_of, shown

TEMPLATES = sorted((ROOT / "extender/features").glob("*/templates/*.html"))
LINK = environment().from_string('<a href="{{ value | whole }}">{{ content }}</a>')


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("<b>&", "&lt;b&gt;&amp;", id="code"),
        pytest.param("a\x00\x1b[31m\nb", "a\\u0000\\u001b[31m\\u000ab", id="control characters"),
        pytest.param("\u202eabc\u200b", "\\u202eabc\\u200b", id="direction and no width"),
        pytest.param("e\u0301\u0301", "e\\u0301\\u0301", id="marks that stand on others"),
        pytest.param("a\u3164b\u00a0", "a\\u3164b\\u00a0", id="blanks"),
        pytest.param("\U000e0041", "\\U000e0041", id="tags"),
        pytest.param("\ud800", "\\ud800", id="half a character"),
        pytest.param("שלום", "שלום", id="letters from right to left"),
        pytest.param("x" * 60_000, "x" * 600 + "… (60,000 characters)", id="a long name"),
    ],
)
def test_texts(content: str, expected: str) -> None:
    assert environment().from_string("{{ content }}").render(content=content) == expected


@given(st.text(), st.text())
def test_no_text_turns_into_code(content: str, value: str) -> None:
    found = re.fullmatch(
        r'<a href="([^"]*)">([^<>]*)</a>', LINK.render(content=content, value=value), re.DOTALL
    )
    assert found is not None
    assert html.unescape(found[1]) == html.unescape(html.escape(value))
    if words.spelled(words.cut(content)) == content:
        assert html.unescape(found[2]) == html.unescape(html.escape(content))


def test_a_value_that_lacks_is_an_error() -> None:
    for template in ("{{ lacks }}", "{{ there.lacks }}", "{% if lacks %}{% endif %}"):
        with pytest.raises(UndefinedError):
            environment().from_string(template).render(there={})


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_nothing_is_taken_for_html_that_no_template_has_written(path: Path) -> None:
    assert not re.search(r"\|\s*safe|autoescape|Markup|forceescape", path.read_text())


def test_html_is_in_templates_alone() -> None:
    tag = re.compile(r"</?(a|code|dd|div|form|h2|li|p|span|t[dhr]|ul)\b[^>\n]*>")
    sources = [*(ROOT / "extender").rglob("*.py")]
    assert [str(each) for each in sources if tag.search(each.read_text())] == []
    assert [path.name for path in TEMPLATES if not tag.search(path.read_text())] == []


async def test_the_policy_allows_this_style_and_nothing_else(aiohttp_client: Any) -> None:
    client = await aiohttp_client(app_of(shown()))
    answer = await client.get("/")
    whole = await answer.text()
    (style,) = re.findall(r"<style>(.*?)</style>", whole, re.DOTALL)
    assert style == (ROOT / "extender/features/page/templates/style.css").read_text()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert dict(each.split(" ", 1) for each in policy.split("; ")) == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    assert "url(" not in style
    assert "@import" not in style
    assert {"script", "iframe", "img", "object"}.isdisjoint(Reader(whole).tags)
    other = (await client.get("/metrics")).headers["Content-Security-Policy"]
    assert (other[:19], "style" in other) == ("default-src 'none';", False)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers()), max_size=4 * ROWS), st.integers(1, 6))
def test_a_page_of_a_table_is_that_of_the_whole_in_order(
    rows: list[tuple[int, int]], number: int
) -> None:
    fitting = sorted((each for each in rows if each[0]), key=lambda each: each[1])
    asked = Address("/", {"page": f"{number}"})
    page = asked.choose(rows, lambda each: each[0] > 0, {"value": lambda each: each[1]})
    start = (number - 1) * ROWS
    assert list(page.rows) == fitting[start : start + ROWS]
    assert (page.found, page.last) == (len(fitting), max(1, -(-len(fitting) // ROWS)))


def test_without_an_order_rows_stay_as_they_are() -> None:
    page = Address("/", {"page": "2"}).choose(range(1000, 0, -1), lambda each: each % 2 == 0)
    assert list(page.rows) == list(range(800, 600, -2))


@pytest.mark.parametrize("value", ["0", "-1", "x", "1" * 10, "\u0661"])
def test_a_number_that_is_none(value: str) -> None:
    with pytest.raises(QueryError, match="page: not a whole number"):
        Address("/", {"page": value}).number("page", 1)


def test_a_link_changes_what_it_is_told_to_and_keeps_an_empty_label() -> None:
    asked = Address("/page/domains", {"key": "k", "value": "", "page": "3"})
    assert asked.link(sort="name", page="") == "/page/domains?key=k&value=&sort=name"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(-1, "0 s", id="a clock that went back"),
        pytest.param(0.9, "0 s", id="just now"),
        pytest.param(60, "1 min 0 s", id="a minute"),
        pytest.param(3_661, "1 h 1 min", id="hours"),
        pytest.param(8_640_000, "100 d 0 h", id="many days"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "-"),
        (0.000_05, "50 µs"),
        (0.000_999_6, "1000 µs"),
        (0.001_23, "1.2 ms"),
        (0.25, "250 ms"),
        (6.55, "6.5 s"),
    ],
)
def test_latencies(seconds: float | None, expected: str) -> None:
    assert latency(seconds) == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0"), (30, "6.0/min"), (300, "1.0/s"), (600_000, "2,000.0/s")]
)
def test_rates(number: float, expected: str) -> None:
    assert rate(number, 300.0) == expected


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        pytest.param((), 0.5, None, id="no such series"),
        pytest.param((0, 0, 0), 0.5, None, id="nothing observed"),
        pytest.param((4, 8, 8), 0.5, 1.0, id="at a bound"),
        pytest.param((4, 8, 8), 0.75, 1.5, id="between two bounds"),
        pytest.param((4, 4, 8), 0.99, 2.0, id="beyond the last bound"),
    ],
)
def test_quantiles(counts: tuple[float, ...], share: float, expected: float | None) -> None:
    upper = (1.0, 2.0, float("inf"))[: len(counts)]
    assert Latencies(upper, counts).quantile(share) == expected


async def test_only_what_came_lately_counts_as_recent() -> None:
    now, metrics = [0.0], Metrics()
    recent = RecentCalls(metrics, lambda: now[0])
    metrics.requests.begin(("filter",), USUAL_CODES)
    for _ in range(3):
        metrics.requests.observe(0.003, "filter", "200")
    metrics.attempts.count("feasible")
    found = await recent.read()
    assert (found.latest.of("filter").count, found.latest.attempts["feasible"]) == (3, 1.0)
    for _ in range(30):
        now[0] += 15
        await recent.take()
    metrics.requests.observe(0.006, "filter", "200")
    metrics.requests.observe(6.0, "filter", "499")
    now[0] += 1
    found = await recent.read()
    fine = found.latest.of("filter", fine=True)
    assert (fine.count, found.latest.of("filter", fine=False).count) == (1, 1)
    assert (found.all.of("filter").count, found.seconds) == (5, 286.0)
    assert found.latest.attempts["feasible"] == 0.0
    assert fine.quantile(0.5) == pytest.approx(0.0048)
    assert found.latest.of("nobody") == NONE
