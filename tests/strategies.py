"""Hypothesis strategies: clusters, pods and streams of events, as Kubernetes JSON.

Names, labels and topologies come from pools so small that things collide all the time: that is
where the rules have something to say. Everything shrinks towards fewer and plainer objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

from hypothesis import strategies as st

from extender.core.wire.limits import OF_RULES
from tests import builders
from tests.builders import HOST, ZONE, Json, Pod
from tests.oracle import Args, Cluster

RACK = "rack"
CORES = "cores"
"""No topology, but a number, mostly."""
TOPOLOGY_KEYS = (HOST, ZONE, RACK)

NODE_NAMES = ("node-0", "node-1", "node-2", "node-3", "node-4")
UNKNOWN_NODE = "node-unknown"
PRIORITIES = (-1, 1, 2)
NAMESPACE_NAMES = ("alpha", "beta", "gamma")
UNKNOWN_NAMESPACE = "unknown"

POD_LABELS: Mapping[str, tuple[str, ...]] = {"app": ("web", "db", "web"), "tier": ("a", "b")}
NAMESPACE_LABELS: Mapping[str, tuple[str, ...]] = {"team": ("red", "blue"), "env": ("prod",)}
QUOTA_SCOPES: tuple[list[dict[str, Any]], ...] = (
    [{"scopeName": "Terminating"}],
    [{"scopeName": "NotBestEffort"}],
    [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}],
    [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}],
)
# Rack and zone share a value, hostnames may be shared or belong to another node: domains are pairs.
NODE_LABELS: Mapping[str, tuple[str, ...]] = {
    ZONE: ("x", "y", "x", "y"),
    RACK: ("x", "r"),
    HOST: NODE_NAMES,
    CORES: ("4", "8", "08", "many"),
}


def labels(pool: Mapping[str, tuple[str, ...]]) -> st.SearchStrategy[dict[str, str]]:
    """Draw most of the keys of a pool, each with one of its values."""
    drawn = st.tuples(*(st.sampled_from([*values, None]) for values in pool.values()))
    return drawn.map(lambda values: {k: v for k, v in zip(pool, values, strict=True) if v})


def requirements(pool: Mapping[str, tuple[str, ...]]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw an expression of a selector, with any operator, over the keys of a pool."""
    return st.sampled_from(sorted(pool)).flatmap(lambda key: _requirement(key, pool[key]))


def _requirement(key: str, values: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(st.sampled_from([*values, "other"]), min_size=1, max_size=2, unique=True)
    with_values = st.builds(
        lambda operator, chosen: builders.requirement(key, operator, *chosen),
        st.sampled_from(["In", "NotIn"]),
        some,
    )
    plain = st.builds(
        lambda operator: builders.requirement(key, operator),
        st.sampled_from(["Exists", "DoesNotExist"]),
    )
    return with_values | plain


@st.composite
def selectors(draw: st.DrawFn, pool: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Draw a LabelSelector; an empty one now and then."""
    key = draw(st.sampled_from([None, *sorted(pool)]))
    pairs = {} if key is None else {key: draw(st.sampled_from(pool[key]))}
    expressions = draw(st.lists(requirements(pool), max_size=2)) if draw(rarely(3)) else []
    return builders.selector(*expressions, **pairs)


@st.composite
def negative_selectors(draw: st.DrawFn, pool: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Draw a LabelSelector that says only what must not be there."""
    key = draw(st.sampled_from(sorted(pool)))
    value = draw(st.sampled_from([None, *pool[key]]))
    if value is None:
        return builders.selector(builders.requirement(key, "DoesNotExist"))
    return builders.selector(builders.requirement(key, "NotIn", value))


def rarely(one_in: int) -> st.SearchStrategy[bool]:
    """Draw True about once in so many times; shrinks towards False."""
    return st.sampled_from(range(one_in)).map(lambda drawn: drawn == one_in - 1)


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a PodAffinityTerm."""
    built = builders.term(draw(st.sampled_from(TOPOLOGY_KEYS)))
    if not draw(rarely(10)):
        built["labelSelector"] = draw(selectors(POD_LABELS))
    if draw(rarely(2)):
        built |= draw(_namespace_choices())
    if draw(rarely(3)):
        built |= draw(_label_keys())
    return built


@st.composite
def _namespace_choices(draw: st.DrawFn) -> dict[str, Any]:
    built: dict[str, Any] = {}
    if not draw(rarely(3)):
        chosen = negative_selectors if draw(rarely(4)) else selectors
        built["namespaceSelector"] = draw(chosen(NAMESPACE_LABELS))
    if draw(rarely(3)):
        built["namespaces"] = draw(st.lists(namespace_names(), max_size=2, unique=True))
    return built


def _label_keys() -> st.SearchStrategy[dict[str, Any]]:
    keys = st.lists(st.sampled_from([*POD_LABELS, "absent"]), max_size=2, unique=True)
    return st.fixed_dictionaries({}, optional={"matchLabelKeys": keys, "mismatchLabelKeys": keys})


@st.composite
def templates(draw: st.DrawFn) -> Pod:
    """Draw what the replicas of a workload share; its name and namespace are to be replaced."""
    template = builders.pod("template").labels(draw(labels(POD_LABELS)))
    drawn: list[dict[str, Any]] = []

    def some_terms(counts: list[int]) -> Iterator[dict[str, Any]]:
        for _ in range(draw(st.sampled_from(counts))):
            # The same term twice, perhaps in two roles or with two weights, counts twice.
            again = bool(drawn) and draw(rarely(5))
            drawn.append(draw(st.sampled_from(drawn)) if again else draw(terms()))
            yield drawn[-1]

    few, more = [0, 0, 0, 0, 1, 2], [0, 0, 1, 2]
    weights = st.sampled_from([1, 2, 50, 100])
    template = template.affinity(*some_terms(few)).anti_affinity(*some_terms(more))
    for term in some_terms(more):
        template = template.prefers(draw(weights), term)
    for term in some_terms(more):
        template = template.avoids(draw(weights), term)
    if draw(rarely(12)) and drawn:
        number: int = draw(st.sampled_from([9, 17, OF_RULES.terms - 8]))
        # Eight at most are drawn already: beyond the limit, terms of placed pods count nowhere.
        every = _varied(drawn, number)
        if draw(rarely(2)):
            return template.avoids(draw(weights), *every)
        return template.anti_affinity(*every)
    return template


def _varied(drawn: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    """Yield `number` different terms that match the same pods as those that were drawn."""
    for at, term in zip(range(number), cycle(drawn)):
        selector = term.get("labelSelector")
        if selector is not None:
            others = [*selector.get("matchExpressions", ())]
            others.append(builders.requirement("app", "NotIn", f"nobody-{at}"))
            term = {**term, "labelSelector": {**selector, "matchExpressions": others}}  # noqa: PLW2901
        yield term


def named(template: Pod, name: str, namespace: str, uid: str | None = None) -> Pod:
    """Make a template into a pod of its own."""
    made = builders.pod(name, namespace).uid(uid or f"{namespace}-{name}")
    found = template["metadata"].get("labels", {})
    made = made.labels(found)
    for field in ("affinity", "nodeSelector", "topologySpreadConstraints"):
        if field in template["spec"]:
            made["spec"][field] = template["spec"][field]
    return made


@st.composite
def node_terms(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a NodeSelectorTerm; an empty one now and then, which matches nothing."""
    expressions = [draw(_node_requirements()) for _ in range(draw(st.sampled_from([1, 1, 2, 0])))]
    names = {
        operator: draw(st.sampled_from(NODE_NAMES))
        for operator in draw(st.sampled_from([(), (), (), ("In",), ("NotIn",)]))
    }
    return builders.node_term(*expressions, **names)


@st.composite
def _node_requirements(draw: st.DrawFn) -> dict[str, Any]:
    if draw(rarely(3)):
        operator = draw(st.sampled_from(["Gt", "Lt"]))
        return builders.requirement(CORES, operator, draw(st.sampled_from(["3", "8", "12"])))
    return draw(requirements(NODE_LABELS))


@st.composite
def with_node_affinity(draw: st.DrawFn, made: Pod) -> Pod:
    """Give a pod a node selector, required and preferred node affinity, or some of it."""
    if draw(rarely(4)):
        key = draw(st.sampled_from(sorted(NODE_LABELS)))
        made = made.selects(**{key: draw(st.sampled_from(NODE_LABELS[key]))})
    some = st.lists(node_terms(), min_size=1, max_size=3)
    if draw(rarely(2)):
        made = made.requires_nodes(*draw(some))
    if draw(rarely(2)):
        for each in draw(some):
            made = made.prefers_nodes(draw(st.sampled_from([1, 2, 50, 100])), each)
    return made


@st.composite
def added_affinities(draw: st.DrawFn) -> dict[str, Any] | None:
    """Draw the argument of the plugin NodeAffinity, mostly none."""
    if not draw(rarely(3)):
        return None
    drawn = draw(with_node_affinity(builders.pod("x")))
    found: dict[str, Any] | None = drawn["spec"].get("affinity", {}).get("nodeAffinity")
    return found


def namespace_names() -> st.SearchStrategy[str]:
    """Draw a namespace's name; it need not exist."""
    return st.sampled_from([*["alpha"] * 4, "beta", "beta", "gamma", UNKNOWN_NAMESPACE])


@st.composite
def fates(draw: st.DrawFn, made: Pod) -> Pod:
    """Put a pod on a node, mostly; some wait, are finished, vanish or are on no known node."""
    place = draw(st.sampled_from([*NODE_NAMES[:3] * 3, *NODE_NAMES[3:], UNKNOWN_NODE, None, None]))
    if place is not None:
        made = made.on(place)
        made = made.phase(
            draw(st.sampled_from(["Running"] * 5 + ["Pending", "Succeeded", "Failed"]))
        )
    elif not draw(rarely(3)):
        made = made.nominated(draw(st.sampled_from([*NODE_NAMES, UNKNOWN_NODE])))
    if draw(rarely(3)):
        made = made.priority(draw(st.sampled_from(PRIORITIES)))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        made = made.requests(cpu=draw(st.sampled_from(["100m", "2"])), memory="1Gi")
    if draw(rarely(4)):
        made = made.deadline(60)
    if draw(rarely(4)):
        made = made.priority_class("high")
    return made.being_deleted() if draw(st.integers(0, 7)) == 7 else made


@st.composite
def nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw a node: mostly with its own hostname, sometimes without any label."""
    if draw(rarely(12)):
        return builders.node(name)
    found = draw(labels(NODE_LABELS))
    return builders.node(name, found if draw(rarely(4)) else found | {HOST: name})


@st.composite
def namespaces(draw: st.DrawFn, name: str) -> dict[str, Any]:
    return builders.namespace(name, draw(labels(NAMESPACE_LABELS)))


@st.composite
def quotas(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw a quota on cross-namespace affinity, narrowed by another scope now and then."""
    hard = draw(
        st.dictionaries(
            st.sampled_from(["pods", "count/pods", "cpu", "requests.memory", "limits.cpu"]),
            st.sampled_from(["0", "1", "2", "3Gi"]),
        )
    )
    narrower = draw(st.sampled_from([[], [], *QUOTA_SCOPES]))
    # One that loses the scope is about other pods from then on, and of no interest.
    wide = [] if draw(rarely(6)) else [builders.crossing()]
    return builders.quota(name, hard, *wide, *narrower, namespace_name=draw(namespace_names()))


@st.composite
def clusters(draw: st.DrawFn, most_pods: int = 10) -> Cluster:
    """Draw a cluster of a few nodes with pods of a few workloads."""
    node_names = NODE_NAMES[: draw(st.sampled_from([3, 4, 5, 5, 2, 1]))]
    known_namespaces = NAMESPACE_NAMES[: draw(st.sampled_from([3, 0, 1, 2, 3]))]
    workloads = [draw(templates()) for _ in range(draw(st.sampled_from([1, 2, 3])))]
    count = most_pods - draw(st.sampled_from(range(most_pods + 1)))
    pods = [
        draw(fates(named(draw(st.sampled_from(workloads)), f"pod-{i}", draw(namespace_names()))))
        for i in range(count)
    ]
    return Cluster(
        [draw(nodes(name)) for name in node_names],
        [draw(namespaces(name)) for name in known_namespaces],
        pods,
    )


@st.composite
def incoming_pods(draw: st.DrawFn, cluster: Cluster, *, placed: bool = True) -> Json:
    """Draw a pod to be placed: a new one, one more replica, or one that is placed already."""
    kinds = ["new", "replica", *(["placed"] if placed else [])]
    kind = draw(st.sampled_from(kinds)) if cluster.pods else "new"
    if kind == "new":
        new = named(draw(templates()), "incoming", draw(namespace_names()))
        return new.priority(draw(st.sampled_from(PRIORITIES))) if draw(rarely(3)) else new
    existing: Any = draw(st.sampled_from(cluster.pods))
    if kind == "placed":
        there: Json = existing
        return there
    return named(existing, "incoming", existing["metadata"]["namespace"])


@st.composite
def asked_names(draw: st.DrawFn, cluster: Cluster) -> list[str]:
    """Draw the node names of a question: a sample in any order, perhaps with a stranger."""
    known = [node["metadata"]["name"] for node in cluster.nodes]
    asked = draw(st.permutations(known))
    if draw(rarely(4)):
        asked = asked[: draw(st.integers(0, len(asked)))]
    return [*asked, UNKNOWN_NODE] if draw(rarely(8)) else list(asked)


def plugin_args() -> st.SearchStrategy[Args]:
    return st.builds(
        Args,
        hard_pod_affinity_weight=st.sampled_from([1, 0, 5, 100]),
        ignore_preferred_terms_of_existing_pods=st.booleans(),
    )
