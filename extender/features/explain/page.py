"""Why a pod waits: the pods that do, or an explanation in the words of `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extender.core.cluster.state import ClusterState
from extender.core.model.wording import plural
from extender.core.web.offered import Asked, View
from extender.diagnosis.verbs.explanation import Explanation, TermFacts
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.remedies import what_to_do
from extender.diagnosis.verbs.telling import (
    MOST_BEST,
    MOST_DOMAINS,
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
from extender.features.explain.answer import Explain

MOST_TERMS: Final = 20
"""Terms that are shown one by one, those that refuse most nodes first."""


async def explanation(explain: Explain, asked: Asked) -> View:
    """Return the page about a pod."""
    pod = explain.known(asked.get("namespace") or "default", asked.get("pod"))
    names = [asked.get("node")] if asked.get("node") else None

    def told(found: Explanation) -> View:
        return View("explain/templates/pod.html", _values(explain.state, found, asked))

    return await explain.explained(pod, told, names)


def _values(state: ClusterState, found: Explanation, asked: Asked) -> Mapping[str, Any]:
    wanted = asked.get("q")
    terms = sorted(found.terms, key=lambda each: -each.refused)
    others = sorted(filter(is_stated, found.refusals), key=most_nodes_first)
    chosen = asked.choose(found.names, lambda name: wanted in name)
    titles = (t.capitalize() if t.isupper() else t for t in ("NODE", *score_head(found)))
    remarks = notes(state, found)
    best = [] if found.held else sorted(found.fits, key=highest_first(found))
    return {
        "key": found.pod.key,
        "headline": headline(found),
        "summary": summary(found),
        "remarks": [each.text for each in remarks],
        "to_do": what_to_do(found, remarks),
        "terms": [_term(found, each) for each in terms[:MOST_TERMS]],
        "more_terms": len(terms) - MOST_TERMS,
        "other_rules": list(other_rules(others, len(others))),
        "nearest": nearest(found),
        "best_title": best_title(found),
        "best_heads": tuple(titles),
        "best": [scores_of(found, name) for name in best[:MOST_BEST]],
        "fits": plural(len(found.fits), "node"),
        "nodes": plural(len(found.names), "node"),
        "chosen": chosen,
        "rows": [node_row(found, name) for name in chosen.rows],
    }


def _term(found: Explanation, facts: TermFacts) -> Mapping[str, Any]:
    refusals = sorted((e for e in found.refusals if is_by(e, facts)), key=most_nodes_first)
    caption = f"Refused in {plural(len(refusals), 'domain')}, those of most nodes first"
    if len(refusals) > MOST_DOMAINS:
        caption += f"; {MOST_DOMAINS} of them"
    return {
        "title": term_title(facts),
        "rows": [(title.capitalize(), said) for title, said in term_rows(found, facts)],
        "caption": caption,
        "domains": [domain_row(each) for each in refusals[:MOST_DOMAINS]],
    }
