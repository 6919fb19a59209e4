"""Over which topologies the pods of a class keep apart from each other."""

from __future__ import annotations

from operator import attrgetter

from extender.core.cluster.view import ClusterView
from extender.core.model.labels import HOSTNAME
from extender.core.model.objects import PodClass


def topologies(state: ClusterView, pod_class: PodClass) -> list[str]:
    """Return over what pods of a class keep apart from each other.

    Topology keys of required terms and of high weights come before others, but hostnames last.
    """
    affinity = pod_class.affinity
    preferred = (each for each in affinity.preferred if each.weight < 0)
    by_weight = sorted(preferred, key=attrgetter("weight"))
    terms = (*affinity.required_anti, *affinity.limits, *(each.term for each in by_weight))
    keys = dict.fromkeys(term.topology_key for term in terms if state.is_about(term, pod_class))
    return sorted(keys, key=HOSTNAME.__eq__)
