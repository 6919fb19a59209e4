"""What released schedulers get wrong, taken out of a question before they are asked it.

In 1.34 to 1.36 a term of the incoming pod whose namespaceSelector is purely negative matches pods
of every namespace: docs/development/releases.md. The selector is replaced by the
names of the namespaces that it chooses, which is what the plugin means to do itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.asking import Release
from tests.conformance.terms import terms_of, with_terms
from tests.oracle import Cluster, name_of, namespace_of, selector_matches

if TYPE_CHECKING:
    from collections.abc import Mapping

_MISREADING = range(34, 37)
"""Minor versions of Kubernetes with the fault."""

_NOWHERE = "a-namespace-that-nobody-has"
"""An empty list would mean the pod's own namespace."""


def as_meant(pod: Mapping[str, Any], cluster: Cluster, release: Release) -> Mapping[str, Any]:
    """Return the incoming pod as this release's plugins have to be asked about it.

    A namespace that is in no list has no labels for the extender, so a purely negative selector
    chooses it. The other releases look for it in the list, and no API server has pods of such a
    namespace: there the names are spelled out as well.
    """
    spell = misreads(release) or _unlisted_namespaces(pod, cluster)
    return spelled_out(pod, cluster) if spell else pod


def misreads(release: Release) -> bool:
    """Return whether a release has the fault."""
    return release.minor in _MISREADING


def meets_fault(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod, as the incoming one, has a term that is misread."""
    return any(_is_misread(term) for term in terms_of(pod))


def spelled_out(pod: Mapping[str, Any], cluster: Cluster) -> dict[str, Any]:
    """Return the incoming pod with names in the place of each selector that is misread."""
    known = {name_of(namespace) for namespace in cluster.namespaces}
    names = known | {namespace_of(other) for other in (*cluster.pods, pod)}

    def spell_out(term: dict[str, Any]) -> None:
        if _is_misread(term):
            selector = term.pop("namespaceSelector")
            chosen = {
                name for name in names if selector_matches(selector, cluster.namespace_labels(name))
            }
            term["namespaces"] = sorted(chosen.union(term.get("namespaces", ()))) or [_NOWHERE]

    return with_terms(pod, spell_out)


def _unlisted_namespaces(pod: Mapping[str, Any], cluster: Cluster) -> bool:
    """Return whether some pod's namespace is not in the list of namespaces."""
    known = {name_of(namespace) for namespace in cluster.namespaces}
    return not {namespace_of(other) for other in (*cluster.pods, pod)} <= known


def _is_misread(term: Mapping[str, Any]) -> bool:
    """Return whether a namespaceSelector only says what must not be there."""
    selector = term.get("namespaceSelector")
    return bool(selector) and selector_matches(selector, {})
