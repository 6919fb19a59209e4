"""Bugs to plant in what pages are made by, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "while causes are counted no call is answered",
        "features.page.waiting",
        "    for place, each in enumerate(await causes(state)):\n        if place % STEP == 0:",
        "    for place, each in enumerate(await causes(state)):\n        if place < 0:",
        "features/page/test_waiting.py::test_calls_are_answered_between_any_few_causes",
    ),
    Bug(
        "values of templates are not escaped",
        "features.page.pages",
        "autoescape=True",
        "autoescape=False",
        "features/page/test_page_parts.py::test_texts",
    ),
    Bug(
        "a value that lacks is nothing",
        "features.page.pages",
        "undefined=StrictUndefined,",
        "",
        "features/page/test_page_parts.py::test_a_value_that_lacks_is_an_error",
    ),
    Bug(
        "rows are sorted a page at a time",
        "features.page.address",
        "found.sort(key=orders[sort])",
        "pass",
        "features/page/test_page_parts.py::test_a_page_of_a_table_is_that_of_the_whole_in_order",
    ),
    Bug(
        "a text of a pod becomes a series",
        "features.page.waiting",
        "return next(found, OTHER)",
        "return next(found, self.reason)",
        "features/page/test_waiting.py::test_no_text_of_a_pod_becomes_a_series",
    ),
    Bug(
        "macros of a page and what they see keep each other",
        "features.page.pages",
        "self.contexts.pop().vars.clear()",
        "self.contexts.pop()",
        "web/test_circles.py::test_an_answer_is_freed_when_it_is_sent",
    ),
)
