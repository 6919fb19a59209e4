"""Quotas come and go among all other events, and what is used of them equals a recount."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from extender.features.quota.ledger import quotas_of
from simulation.invariants.features.quota import mismatches
from tests import strategies
from tests.builders import Json, crossing, model_pod, quota, state_of
from tests.cluster import test_events_equal_recount as events
from tests.cluster.test_reservations import NODES, WEB, Binding
from tests.features.quota.limits import model_quota


class Quotas(events.EventStream):
    """Adds quotas to a stream of events."""

    @rule(quota=st.sampled_from(["q0", "q1"]).flatmap(strategies.quotas), again=st.booleans())
    def put_quota(self, quota: Json, *, again: bool) -> None:
        """Add a quota, change it, or create it again."""
        uid = f"uid-{self.generation}" if again else "uid"
        quotas_of(self.state).upsert(replace(model_quota(quota), uid=uid))

    @precondition(lambda self: len(quotas_of(self.state)) > 0)
    @rule(data=st.data(), stale=strategies.rarely(4))
    def remove_quota(self, data: st.DataObject, *, stale: bool) -> None:
        """Remove a quota; news of the end of an older one of that name changes nothing."""
        quota = quotas_of(self.state).get(data.draw(st.sampled_from(sorted(quotas_of(self.state)))))
        assert quota is not None
        quotas_of(self.state).remove(quota.key, "older" if stale else quota.uid)
        assert (quotas_of(self.state).get(quota.key) is None) is not stale

    def is_limited(self, namespace: str) -> bool:
        """Return whether more than a quota allows is in use there."""
        return quotas_of(self.state).exceeded(namespace)

    @invariant()
    def quotas_equal_a_recount(self) -> None:
        """No namespace has more or less in use than its pods are charged for."""
        assert mismatches(self.state) == []

    def teardown(self) -> None:
        """Take everything away: then nothing may be in use."""
        super().teardown()
        assert (quotas_of(self.state).pods, list(quotas_of(self.state).namespaces)) == (0, [])
        assert mismatches(self.state) == []


class AnnotatedQuotas(Quotas, events.AnnotatedEventStream):
    """The same, with rules in annotations."""


class EditedQuotas(Quotas, events.EditedEventStream):
    """The same, with annotations that are edited."""


class Binds(Binding):
    """Places that are reserved use quotas as well."""

    def __init__(self) -> None:
        super().__init__()
        self.state = state_of(NODES, [], [], [quota("q", {"pods": 1}, crossing())])
        self.state.prefilter_state(model_pod(WEB).pod_class)

    @rule(name=Binding.names, uid=Binding.uids)
    def leave_out_of_quotas(self, name: str, uid: str) -> None:
        """Judge a pod without itself: nothing of it may be in use."""
        key = f"default/{name}"
        # A pod that may turn up on several nodes uses a quota once.
        others = {(each.key, each.uid) for each in self.state.placed_pods} - {(key, uid)}
        with self.state.without(key, uid):
            assert quotas_of(self.state).pods == len(others)

    @invariant()
    def quotas_equal_a_recount(self) -> None:
        """No namespace has more or less in use than its pods are charged for."""
        assert mismatches(self.state) == []


TestQuotas = pytest.mark.thorough(Quotas.TestCase)
TestQuotas.settings = events.FURTHER
TestAnnotatedQuotas = pytest.mark.thorough(AnnotatedQuotas.TestCase)
TestAnnotatedQuotas.settings = events.FURTHER
TestEditedQuotas = pytest.mark.thorough(EditedQuotas.TestCase)
TestEditedQuotas.settings = events.FURTHER
TestBinds = pytest.mark.thorough(Binds.TestCase)
TestBinds.settings = events.FURTHER
