"""The blocks of the configuration, and what the core has to know of them while they are off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta

from extender.core.config.conditions import ALWAYS, WRITING
from extender.core.config.connections import Block
from extender.core.config.features import (
    Feature,
    Help,
    LeaseName,
    Maturity,
    Right,
    Want,
    gives,
    switch_of,
)
from extender.core.config.rules import NamespaceSelector
from extender.core.config.schema import Config, Mode
from extender.core.errors import ConfigError, ObjectError
from extender.core.model.labels import Selector

PERCENTAGE: Final = re.compile(r"(100|[1-9]?[0-9])%", re.ASCII)


class RequiredDuringExecution(Block, frozen=True, kw_only=True):
    """Evicting pods whose rules stopped holding after they were placed; in shadow, a dry run."""

    enabled: bool = False
    """True looks after rules that hold during execution. Needs the rights of
    manifests/components/moving."""

    dry_run: bool = True
    """True does all but evict: the eviction is sent as a dry run, counted, logged and told in an
    Event."""

    evictions_per_minute: Annotated[int, Meta(ge=1, le=6000)] = 10
    """Evictions in any minute, in the whole cluster and by all replicas together; limits the damage
    of a wrong label. Of each controller's pods one is moved at a time, and the next once its
    successor is ready."""

    grace_period_seconds: Annotated[float, Meta(ge=0, le=86400)] = 60
    """Seconds for which a rule has to be broken before a pod is evicted."""

    max_affected: str = "10%"
    """Share of all pods that have a node. While more than that would have to go, no pod is evicted,
    until the cause is undone or acknowledged by an annotation of the Lease. If more than half of
    that number are in one namespace, no pod of that namespace is. One pod is never too many."""

    plain_rules: NamespaceSelector = NamespaceSelector()
    """Selector of namespaces in which required rules in specs hold during execution as well, not
    only those of the annotation. `{}` is nowhere."""

    lease_namespace: Annotated[str, Meta(min_length=1)] | None = None
    """Namespace of the Lease by which one of several replicas evicts. Unset means that of the pod's
    service account or of the kubeconfig's context, and kube-system if neither names one."""

    lease_name: Annotated[str, Meta(min_length=1)] = "affinity-extender"
    """Name of that Lease, the same for all replicas."""

    @property
    def share(self) -> float:
        """Share of all pods beyond which none is evicted; ObjectError for what is no share."""
        if PERCENTAGE.fullmatch(self.max_affected) is None:
            path = "requiredDuringExecution.maxAffected"
            raise ObjectError(path, f"{self.max_affected!r} is not a percentage such as 10%")
        return int(self.max_affected.removesuffix("%")) / 100

    @property
    def plain(self) -> Selector | None:
        """Where ordinary rules hold as well, None for nowhere; ObjectError if it cannot be read."""
        chosen = self.plain_rules
        return None if chosen.empty else chosen.read("requiredDuringExecution.plainRules")


class PreferredDuringExecution(Block, frozen=True, kw_only=True):
    """Moving pods that sit worse than they have to by preferred rules; modes assist and replace.

    Lease, evictionsPerMinute (half of it) and maxAffected (in any hour) are those of
    requiredDuringExecution, which need not be enabled.
    """

    enabled: bool = False
    """True moves a pod where another node suits it better and would take it, with the rights of
    manifests/components/moving. The default leaves running pods alone."""

    dry_run: bool = True
    """True does all but evict: it is counted and told in an Event, once a day a controller."""

    min_gain: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """Weight that a pod's own preferred terms have to gain by a move, and all terms together."""

    settle_seconds: Annotated[float, Meta(ge=0, le=86400)] = 300
    """Seconds for which a better place has to be there before a pod is moved."""

    rest_seconds: Annotated[float, Meta(ge=1, le=86400)] = 60
    """Seconds for which no further pod of a controller is moved after one whose successor is ready;
    four times as long after each move that missed, up to a day."""


def _on(config: Config) -> bool:
    blocks = config.section(RequiredDuringExecution), config.section(PreferredDuringExecution)
    return any(each.enabled for each in blocks)


def _lease(config: Config) -> LeaseName:
    settings = config.section(RequiredDuringExecution)
    return LeaseName(settings.lease_namespace, settings.lease_name)


def _check(config: Config) -> Iterator[ConfigError]:
    settings = config.section(RequiredDuringExecution)
    preferred = config.section(PreferredDuringExecution)
    if preferred.enabled and config.mode is Mode.REPLACE and not gives(config, Help.NODE):
        why = "preferredDuringExecution has successors nominated to better nodes"
        switch = switch_of(Help.NODE)
        if switch is None:
            yield ConfigError("preferredDuringExecution.enabled", f"{why}, which nothing here does")
        else:
            yield ConfigError(switch, f"{why}: true in replace")
    for read in (lambda: settings.plain, lambda: settings.share):
        try:
            read()
        except ObjectError as error:
            yield ConfigError(error.path, error.message)


FEATURE = Feature(
    name="moving",
    maturity=Maturity.BETA,
    sections={
        "required_during_execution": RequiredDuringExecution,
        "preferred_during_execution": PreferredDuringExecution,
    },
    enabled=_on,
    effects={
        "requiredDuringExecution": ALWAYS,
        "requiredDuringExecution.dryRun": WRITING,
        "preferredDuringExecution": WRITING,
    },
    check=_check,
    lease=_lease,
    wants=frozenset((Want.OWNERS, Want.LEASE, Want.HOLDS)),
    # A dry run asks the API server as well, which refuses that without the right.
    rights=(
        Right("", "pods/eviction", "create"),
        *(Right("", kind, "get") for kind in ("pods", "nodes", "namespaces")),
        *(Right("policy", "poddisruptionbudgets", verb) for verb in ("list", "watch")),
        Right("events.k8s.io", "events", "create"),
    ),
    places="places",
    words=(
        r"features\.moving|(?<!scheduling)(required|preferred)_?during_?execution|moves_pods"
        r"|(?<!Taint)(Eviction|Repair)(Controller|Limits)|rule_?watch|successions?\b|pods/eviction"
        r"|evictions_(paused|stopped|leader)|(repairs|repairable|execution_violating)_"
    ),
)
