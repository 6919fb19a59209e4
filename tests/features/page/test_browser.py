"""The page in a real browser: accessible, inside the window, and deaf to what names say.

Everything is asked of Chromium by Playwright; axe-core judges what assistive technology would find.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from tests.builders import HOST, ZONE
from tests.features.every import pages, shown_over
from tests.features.page.clusters import of_hostile_names, of_many_nodes
from tests.missing import missing
from tests.web.hostile import HOSTILE
from tests.web.showing import app_of

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.thorough]

PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
WIDTHS: Final = (360, 390, 768)
"""Of small and usual phones, and of a tablet."""
DESKTOP: Final[ViewportSize] = {"width": 1280, "height": 900}
AXE: Final = (
    "rules => axe.run(document, {resultTypes: ['violations'], iframes: false, "
    "...(rules.length ? {runOnly: rules} : {})}).then(found => found.violations.flatMap("
    "rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 200)}`)))"
)
INJECTED: Final = f"{AXE_SCRIPT};0"
"""It has no value; that of axe-core's script is all of axe-core."""
LOOKS: Final = (
    *("color-contrast", "link-in-text-block", "meta-viewport"),
    *("scrollable-region-focusable", "target-size"),
)
"""The rules about what colours and the window's width can change; all others are about elements."""
FIRST_ROWS: Final = "document.querySelectorAll('tbody tr:nth-child(n+11)').forEach(e => e.remove())"
FOCUSABLE: Final = (
    "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, "
    '[tabindex="0"]\')].length'
)
CUT: Final = """() => [...document.querySelectorAll('.scroll, caption, th, td')].filter(each => {
  const at = each.getBoundingClientRect(), out = at.left < 0 || at.right > innerWidth;
  return at.width && (out || each.scrollWidth > each.clientWidth + 1);
}).map(each => each.outerHTML.slice(0, 200))"""
FOCUSED: Final = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  at.dataset.seen = (at.dataset.seen || 0) * 1 + 1;
  return [at.tagName, at.dataset.seen, style.outlineStyle, at.getBoundingClientRect().width];
}"""


def _query(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}"


HOSTILE_PAGES: Final = {
    "overview": "/",
    "who waits": "/page/explain",
    "an explanation": _query(
        "/page/explain", namespace=HOSTILE[0], pod=f"waits{HOSTILE[0]}", q=HOSTILE[1]
    ),
    "an explanation of a name from right to left": _query(
        "/page/explain", namespace=HOSTILE[1], pod=f"waits{HOSTILE[1]}"
    ),
    "rules": "/page/domains",
    "a rule": "/page/domains?term=1",
    "a topology": _query("/page/domains", key=ZONE),
    "a domain": _query("/page/domains", key=HOST, value=HOSTILE[0]),
    **{f"{path} of hostile names": path for path in pages()},
    "activity": _query("/page/activity", q="", kind=""),
    "an error": _query("/page/domains", key="<script>pwned=1</script>", value=HOSTILE[2]),
}
LARGE_PAGES: Final = {
    "overview": "/",
    "who waits": "/page/explain?page=2",
    "an explanation": "/page/explain?namespace=team-1&pod=waits-7&page=3",
    "rules": "/page/domains?sort=carriers&page=2",
    "a topology": _query("/page/domains", key=HOST, page="25"),
    **{f"{path} of many": path for path in pages()},
    "activity": "/page/activity?page=3",
}


class Tab:
    """A page of the browser, with what went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.complaints: list[str] = []
        page.on("console", lambda each: self.complaints.append(each.text))
        page.on("pageerror", lambda each: self.complaints.append(str(each)))
        page.on("request", lambda each: self._check(each.url))

    def _check(self, url: str) -> None:
        if not url.startswith((self.base, "data:")):
            self.complaints.append(f"asks {url}")

    async def axe(self, *rules: str) -> list[str]:
        """Return what axe-core finds wrong, by all of its rules or by some."""
        return list(await self.page.evaluate(AXE, rules))

    async def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(await self.page.evaluate(script))

    async def cut(self) -> list[str]:
        """Return tables and cells that reach out of the window, or whose content does not fit."""
        return list(await self.page.evaluate(CUT))


@asynccontextmanager
async def opened(browser: Browser, site: str, path: str) -> AsyncIterator[Tab]:
    """Load a page in a wide window and in light colours; in the end nothing has gone wrong."""
    page = await browser.new_page(viewport=DESKTOP, color_scheme="light")
    tab = Tab(page, site)
    await page.goto(f"{site}{path}")
    await page.evaluate(INJECTED)
    yield tab
    await page.close()
    # The browser itself says so of a page that answers 404.
    assert [each for each in tab.complaints if "404" not in each] == []


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run the browser, of which there has to be one on this machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing("chromium is not installed (Debian: apt-get install chromium)")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program)
        try:
            yield browser
        finally:
            await browser.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Run the browser for all tests."""
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sites() -> AsyncIterator[dict[str, str]]:
    """Serve both clusters."""
    servers = {
        name: TestServer(app_of(seen, parts=shown_over(seen)))
        for name, seen in (("hostile", of_hostile_names()), ("large", of_many_nodes()))
    }
    for server in servers.values():
        await server.start_server()
    yield {name: str(server.make_url("")).rstrip("/") for name, server in servers.items()}
    for server in servers.values():
        await server.close()


@pytest.mark.parametrize("name", HOSTILE_PAGES)
async def test_everybody_can_use_it(name: str, sites: dict[str, str], browser: Browser) -> None:
    """Axe-core finds nothing: in light colours and a wide window, in dark ones and on a phone."""
    async with opened(browser, sites["hostile"], HOSTILE_PAGES[name]) as tab:
        assert await tab.axe() == []
        await tab.page.emulate_media(color_scheme="dark")
        await tab.page.set_viewport_size(PHONE)
        assert await tab.axe(*LOOKS) == []
        assert await tab.overflow() <= 0
        assert await tab.page.evaluate("window.pwned") is None


@pytest.mark.parametrize("name", LARGE_PAGES)
async def test_a_large_cluster_on_a_phone(
    name: str, sites: dict[str, str], browser: Browser
) -> None:
    async with opened(browser, sites["large"], LARGE_PAGES[name]) as tab:
        await tab.page.set_viewport_size(PHONE)
        await tab.page.emulate_media(color_scheme="dark")
        assert await tab.overflow() <= 0
        # For axe-core, which takes seconds for a hundred rows, the first ten are as good.
        await tab.page.evaluate(FIRST_ROWS)
        assert await tab.axe() == []


@pytest.mark.parametrize(
    ("site", "name"),
    [("hostile", name) for name in HOSTILE_PAGES] + [("large", name) for name in LARGE_PAGES],
)
async def test_no_table_is_cut_on_a_phone(
    site: str, name: str, sites: dict[str, str], browser: Browser
) -> None:
    path = (HOSTILE_PAGES if site == "hostile" else LARGE_PAGES)[name]
    async with opened(browser, sites[site], path) as tab:
        for width in WIDTHS:
            await tab.page.set_viewport_size({"width": width, "height": 844})
            assert (await tab.cut(), max(0, await tab.overflow())) == ([], 0)


@pytest.mark.parametrize("name", ["overview", "an explanation", "activity"])
async def test_the_tab_key_reaches_everything(
    name: str, sites: dict[str, str], browser: Browser
) -> None:
    page = await browser.new_page(viewport=PHONE)
    await page.goto(sites["hostile"] + HOSTILE_PAGES[name])
    number = await page.evaluate(FOCUSABLE)
    for place in range(number):
        await page.keyboard.press("Tab")
        kind, seen, outline, width = await page.evaluate(FOCUSED)
        assert (kind != "BODY", seen, outline != "none", width > 0) == (True, "1", True, True), (
            place
        )
    assert number > 10
    await page.close()


async def test_the_first_tab_skips_to_the_content(sites: dict[str, str], browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(sites["hostile"])
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "main"
    await page.close()


async def test_it_works_without_scripts(sites: dict[str, str], browser: Browser) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(sites["large"])
    await page.get_by_role("link", name="Explain", exact=True).click()
    await page.get_by_label("Namespace", exact=True).fill("team-1")
    await page.get_by_label("Pod", exact=True).fill("waits-3")
    await page.get_by_role("button", name="Explain").click()
    assert "team-1/waits-3 fits on" in await page.inner_text("main")
    await page.get_by_role("link", name="Rules and domains").click()
    await page.get_by_label("Labels, namespaces").fill("app-15)")
    await page.get_by_role("button", name="Search").click()
    assert "Terms that placed pods carry: 2 that match" in await page.inner_text("main")
    await page.get_by_role("link", name="Carriers").click()
    heads = page.locator("th[aria-sort=descending]")
    assert await heads.all_inner_texts() == ["Carriers"]
    await context.close()


async def test_the_judge_finds_what_is_wrong(browser: Browser) -> None:
    page = await browser.new_page()
    await page.set_content("<p style='color: #bbb; width: 4000px'>Pale</p><input>")
    tab = Tab(page, "")
    await page.evaluate(INJECTED)
    every = {each.partition(":")[0] for each in await tab.axe()}
    assert {"color-contrast", "document-title", "html-has-lang", "label"} <= every
    assert {each.partition(":")[0] for each in await tab.axe(*LOOKS)} == {"color-contrast"}
    assert await tab.overflow() > 0
    await page.set_content("<table><tr><td><div style='width: 4000px'>Wide</div></table>")
    assert await tab.cut()
    await page.close()
