"""Serves pages: from templates, within a deadline, and with an answer whatever happens."""

from __future__ import annotations

import base64
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.runtime import Context

from extender import __version__
from extender.core.model.keys import name_of, namespace_of
from extender.core.ports import Check
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.web.health import failing
from extender.core.web.offered import Asked, Request, Response, Section, View
from extender.core.web.turns import QueryError
from extender.core.wire.validation import LONGEST_KEY
from extender.features.page import activity, domains, words
from extender.features.page.address import Address
from extender.features.page.overview import LINKS, overview
from extender.features.page.status import Shown

MOST_BYTES: Final = 2 << 20
HERE: Final = Path(__file__).parent

_log = logging.getLogger(__name__)


class Templates(Environment):
    """Renders templates and leaves no circles of objects: see `extender.core.collecting`."""

    class context_class(Context):  # noqa: N801 - so Jinja calls it
        def __init__(self, environment: Templates, *args: Any, **options: Any) -> None:
            super().__init__(environment, *args, **options)
            environment.contexts.append(self)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.contexts: list[Context] = []
        """Of the page that is rendered. Macros refer to theirs, and it to them."""

    def rendered(self, template: Template, values: Mapping[str, Any]) -> str:
        try:
            return template.render(values)
        finally:
            while self.contexts:
                self.contexts.pop().vars.clear()


def environment() -> Templates:
    """Make what renders templates: all values are escaped, and a value that lacks is an error."""
    made = Templates(
        loader=FileSystemLoader([HERE / "templates", HERE.parent]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=words.shown,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.tests["long"] = words.is_long
    made.filters |= {
        each.__name__: each
        for each in (words.duration, words.latency, words.rate, words.moment, words.number)
    }
    made.filters["whole"] = words.Whole
    made.globals |= {"address": _address, "longest_key": LONGEST_KEY}
    return made


def _address(path: str, **query: str) -> words.Whole:
    return words.address(path, query)


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages have around them."""

    path: str
    title: str
    """In the navigation and in the window."""
    pages: Iterable[tuple[str, str]]
    explaining: str | None
    """The page that names of pods lead to."""
    now: float
    version: str = __version__

    def about(self, key: str) -> words.Whole | None:
        """Return the address of the page about a pod."""
        if self.explaining is None or words.is_long(key):
            return None
        query = {"namespace": namespace_of(key), "pod": name_of(key)}
        return words.address(self.explaining, query)


class Pages:
    """Answers GET / and GET /page/..."""

    def __init__(
        self, shown: Shown, readiness: Mapping[str, Check], others: Iterable[Section] = ()
    ) -> None:
        """`others` are those of other features."""
        self._shown = shown
        self._readiness = readiness
        self._log = LogThrottle(_log, seconds=CALL_LOG_SECONDS)
        self._templates = environment()
        for name in self._templates.list_templates(("html",)):
            if not name.startswith(HERE.name):
                self._templates.get_template(name)
        sections = [
            Section("/", "Overview", 0, self._overview),
            self._own(domains, "Rules and domains", 20, domains.domains),
            self._own(activity, "Activity", 50, activity.activity),
            *others,
        ]
        sections.sort(key=lambda each: each.place)
        self._sections = {each.path: each for each in sections}
        self._links = (*LINKS, *chain.from_iterable(each.links for each in sections))
        self._explaining = next((each.path for each in sections if each.explains_pods), None)
        self._headers = {"Content-Security-Policy": self._policy()}

    def _own(
        self, of: ModuleType, title: str, place: int, show: Callable[[Shown, Address], View]
    ) -> Section:
        return Section(of.PATH, title, place, partial(show, self._shown), of.PARAMETERS)

    def _policy(self) -> str:
        """Allow the style sheet that is in each page, and nothing else."""
        style = self._templates.rendered(self._templates.get_template("style.css"), {})
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        )

    async def get(self, request: Request) -> Response:
        """Answer a request."""
        status, body = await self.answer(request.path, request.query)
        return Response(
            status=status,
            body=body,
            headers=self._headers,
            content_type="text/html",
            charset="utf-8",
        )

    async def answer(self, path: str, query: Mapping[str, str]) -> tuple[HTTPStatus, bytes]:
        turns, section = self._shown.turns, self._sections[path]
        why = ""
        try:
            async with turns.waiting():
                asked = Address.checked(path, query, section.parameters)
                view = section.show(asked)
                if isinstance(view, Awaitable):
                    view = await view
                body = self._rendered(section, view.template, {**view.values, "asked": asked})
                if len(body) <= MOST_BYTES:
                    return HTTPStatus.OK, body
                status, why = HTTPStatus.INSUFFICIENT_STORAGE, "this page is too long"
        except QueryError as error:
            status, why = error.status, str(error)
        except Exception as error:  # noqa: BLE001 - a page that failed says so
            kind = type(error).__name__
            self._log.log(logging.ERROR, kind, "a page cannot be shown", exc_info=error)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        values = {"why": why, "links": self._links}
        return status, self._rendered(section, "problem.html", values)

    def _rendered(self, section: Section, template: str, values: Mapping[str, Any]) -> bytes:
        pages = [(each.path, each.title) for each in self._sections.values()]
        frame = Frame(section.path, section.title, pages, self._explaining, time.time())
        made = self._templates.get_template(template)
        whole = self._templates.rendered(made, {**values, "frame": frame})
        return whole.encode("utf-8", "replace")

    async def _overview(self, _: Asked) -> View:
        tiles = [tile for each in self._sections.values() for tile in each.tiles()]
        failures = failing(self._readiness)
        recent = await self._shown.recent.read()
        return await overview(
            self._shown, recent, failures, tiles, links=self._links, explaining=self._explaining
        )
