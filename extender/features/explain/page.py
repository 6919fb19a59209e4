"""Why a pod waits: a form, the pods that do, and an explanation in the words of `explain`."""

from __future__ import annotations

from itertools import chain
from typing import Final

from extender.callbacks.refused_pods import RefusedPods
from extender.cluster.state import ClusterState
from extender.features.explain.answer import Explain
from extender.features.explain.waiting import waiting
from extender.model.wording import plural
from extender.verbs.explaining.explanation import Explanation, TermFacts
from extender.verbs.explaining.notes import noting
from extender.verbs.explaining.steps import taking_apart
from extender.verbs.explaining.telling import (
    MOST_BEST,
    MOST_DOMAINS,
    NODE_HEAD,
    best_title,
    domain_row,
    headline,
    highest_first,
    is_by,
    is_stated,
    most_nodes_first,
    nearest,
    node_row,
    other_rules,
    score_head,
    scores_of,
    summary,
    term_rows,
    term_title,
)
from extender.web.page.html import Html, code, element, joined
from extender.web.page.layout import POD_PAGE, definitions, heading, soft
from extender.web.page.tables import (
    Asked,
    Column,
    Steps,
    choosing,
    field,
    numbers,
    paged,
    search,
    table,
    texts,
)
from extender.wire.explanation import Explained

MOST_TERMS: Final = 20
"""Terms that are shown one by one, those that refuse most nodes first."""

DOMAINS: Final = (*texts("Domain"), *numbers("Nodes"), *texts("Why"))
NODES: Final = tuple(
    Column(
        title.capitalize(),
        number=title in {"SCORE", "RULES"},
        kind="short" if title == "FITS" else "",
    )
    for title in NODE_HEAD
)


def _form(asked: Asked) -> Html:
    """Ask for a pod."""
    return element(
        "form",
        field("namespace", "Namespace", asked.get("namespace") or "default"),
        field("pod", "Pod", asked.get("pod"), required=True),
        field("node", "Node (all, if empty)", asked.get("node")),
        element("button", "Explain", type="submit"),
        method="get",
        action=POD_PAGE,
    )


async def explanation(
    explain: Explain, refused: RefusedPods | None, asked: Asked, now: float
) -> Steps:
    """Return the page: about a pod, or about those that wait."""
    if not asked.get("pod"):
        return chain((_form(asked),), waiting(explain, refused, asked, now))
    pod = explain.known(asked.get("namespace") or "default", asked.get("pod"))
    names = [asked.get("node")] if asked.get("node") else None
    found = await explain.explanation(Explained(pod, names))
    return chain(_explained(explain.state, found, asked), taking_apart(found))


def _explained(state: ClusterState, found: Explanation, asked: Asked) -> Steps:
    """Yield the page about a pod."""
    yield _form(asked)
    yield element("h2", code(found.pod.key), f" {headline(found)}")
    yield None
    yield element("p", summary(found))
    yield None
    remarks = yield from noting(state, found)
    if remarks:
        yield element("ul", *(element("li", f"{each.text}.") for each in remarks))
    terms = yield from choosing(found.terms, lambda _: True, lambda each: -each.refused, 1)
    for place, facts in enumerate(terms.rows[:MOST_TERMS]):
        yield from _term(found, facts, f"term-{place}")
    if terms.found > MOST_TERMS:
        yield soft(f"And {terms.found - MOST_TERMS:,} more terms, which refuse fewer nodes.")
    yield None
    others = yield from choosing(found.refusals, is_stated, most_nodes_first, 1)
    for title, said in (
        ("Other rules", list(other_rules(others.rows, others.found))),
        ("Nearest: it would fit on", nearest(found)),
    ):
        if said:
            yield joined(heading(title), element("ul", *(element("li", each) for each in said)))
    yield from _best(found)
    yield from _nodes(found, asked)


def _term(found: Explanation, facts: TermFacts, name: str) -> Steps:
    yield heading(term_title(facts))
    yield definitions([(title.capitalize(), said) for title, said in term_rows(found, facts)])
    by_term = choosing(found.refusals, lambda each: is_by(each, facts), most_nodes_first, 1)
    refusals = yield from by_term
    if not refusals.found:
        return
    caption = f"Refused in {plural(refusals.found, 'domain')}, those of most nodes first"
    if refusals.found > MOST_DOMAINS:
        caption += f"; {MOST_DOMAINS} of them"
    rows = (domain_row(each) for each in refusals.rows[:MOST_DOMAINS])
    yield from table(name, caption, DOMAINS, rows)


def _best(found: Explanation) -> Steps:
    if not found.fits:
        return
    yield heading(best_title(found))
    titles = ("NODE", *score_head(found))
    columns = [
        Column(title.capitalize() if title.isupper() else title, number=place > 0)
        for place, title in enumerate(titles)
    ]
    best = yield from choosing(found.fits, lambda _: True, highest_first(found), 1)
    rows = (scores_of(found, name) for name in best.rows[:MOST_BEST])
    yield from table("best", f"The best of {plural(len(found.fits), 'node')}", columns, rows)


def _nodes(found: Explanation, asked: Asked) -> Steps:
    wanted = asked.get("q")
    yield heading("All nodes")
    yield search(asked, "Part of a node's name", "namespace", "pod", "node")
    page = yield from choosing(found.names, lambda name: wanted in name, None, asked.page)
    caption = f"{page.found:,} of {plural(len(found.names), 'node')}"
    rows = (node_row(found, name) for name in page.rows)
    yield from paged(asked, "nodes", caption, NODES, rows, page=page)
