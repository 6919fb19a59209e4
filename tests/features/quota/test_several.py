"""A namespace with several quotas over several resources: each of them counts, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.model.verdict import AnyReason, Reason
from extender.core.parts import Context, build_parts
from extender.core.source import Source, StillPicture
from extender.core.warm_up import WarmUp
from extender.features.quota.ledger import quotas_of, use_of
from extender.features.quota.part import Quotas
from extender.features.quota.rules import QuotaReason
from simulation.invariants.features.quota import mismatches
from tests.annotating import annotated
from tests.builders import (
    crossing,
    empty_state,
    model_namespace,
    model_pod,
    namespace,
    pod,
    quota,
)
from tests.cluster.test_annotation_scope import BATCH, CHOSEN, bare, on
from tests.features.quota.limits import model_quota
from tests.features.quota.test_reach import state_of

SPACE = "tenant"
RESOURCES = ("pods", "requests.cpu", "requests.memory")


class World:
    """One namespace, and what may happen there."""

    def __init__(self, seed: int, *, limited: bool) -> None:
        self.chance = Random(seed)
        self.limited = limited
        self.state: ClusterState = state_of(annotations=CHOSEN, limited=limited)
        self.events: list[Callable[[], None]] = [
            *(self.put_quota, self.put_quota, self.end_quota, self.relabel),
            *(self.put_pod, self.put_pod, self.end_pod, self.reserve, self.reserve),
        ]

    def put_quota(self) -> None:
        hard = {
            each: str(self.chance.randrange(4)) for each in RESOURCES if self.chance.random() < 0.6
        }
        scopes = [crossing()] if self.chance.random() < 0.9 else []
        made = quota(f"q{self.chance.randrange(3)}", hard, *scopes, namespace_name=SPACE)
        quotas_of(self.state).upsert(model_quota(made))

    def end_quota(self) -> None:
        for key in sorted(quotas_of(self.state))[:1]:
            found = quotas_of(self.state).get(key)
            assert found is not None
            quotas_of(self.state).remove(key, found.uid)

    def relabel(self) -> None:
        labels = {"rules": "on"} if self.chance.random() < 0.7 else {}
        self.state.upsert_namespace(model_namespace(namespace(SPACE, labels)))

    def put_pod(self) -> None:
        number = self.chance.randrange(5)
        made = bare(f"p{number}").requests(cpu=f"{number % 2}", memory=f"{number % 3}")
        self.state.upsert_pod(model_pod(on(annotated(made, BATCH), self.chance.choice("abc"))))

    def end_pod(self) -> None:
        for each in sorted(self.state.pods.values(), key=lambda pod: pod.key)[:1]:
            self.state.remove_pod(each.key, each.uid)

    def reserve(self) -> None:
        waiting = model_pod(annotated(bare("w").requests(cpu="1", memory="1"), BATCH))
        for each in self.state.reservations.of(waiting.key, waiting.uid):
            for claim in [*each.claims]:
                self.state.release(claim)
            return
        self.state.reserve(waiting, "a", 180.0)

    def allowed(self) -> bool:
        """Return whether all quotas of the namespace allow what is used, counted anew."""
        known = quotas_of(self.state)
        quotas = [each.quota for each in known.of(SPACE)]
        used = [(each.hard, use_of(each, known.charges(SPACE))) for each in quotas]
        within = all(amount <= hard[name] for hard, use in used for name, amount in use.items())
        return within and (bool(quotas) or not self.limited)


@pytest.mark.parametrize("limited", [False, True])
def test_rules_reach_out_as_all_quotas_allow_whatever_has_happened(*, limited: bool) -> None:
    met: set[str] = set()
    for seed in range(10):
        it = World(seed, limited=limited)
        it.relabel()
        reach = quotas_of(it.state).reaches_out(SPACE)
        for _ in range(60):
            before = it.state.version
            event = it.chance.choice(it.events)
            event()
            assert mismatches(it.state) == []
            now = quotas_of(it.state).reaches_out(SPACE)
            assert now is it.allowed()
            if now is not reach:
                assert it.state.version > before
                met.add(event.__name__)
            reach = now
    assert met == {each.__name__ for each in World(0, limited=limited).events}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_refusal_by_a_quota_is_counted_wherever_it_stands_among_others(place: int) -> None:
    plugins = ["CrossNamespacePodAffinity", "InterPodAffinity"]
    config = decode({"apiVersion": API_VERSION, "kind": KIND, "plugins": plugins})
    registry = CollectorRegistry()
    state, metrics = empty_state(), Metrics(registry, "test")
    files = Source("files", StillPicture({}, {}))
    shared = Context(config, files, state, metrics, lambda: None, WarmUp(state, metrics), History())
    (part,) = (each for each in build_parts(shared) if isinstance(each, Quotas))
    refused: list[tuple[AnyReason, list[str]]] = [
        (Reason.UNKNOWN_NODE, ["a"]),
        (Reason.AFFINITY, ["b"]),
    ]
    refused.insert(place, (QuotaReason.QUOTA, ["c"]))
    part.refused(model_pod(pod("new")), refused)
    part.refused(model_pod(pod("new")), [each for each in refused if each[1] != ["c"]])
    name = "affinity_extender_quota_refusals_total"
    assert registry.get_sample_value(name, {"extension_point": "Filter"}) == 1
