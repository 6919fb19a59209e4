"""The fields of an AffinityExtenderConfiguration; each says its unit, reason and consequence.

In the file every name is camelCase (`hardPodAffinityWeight`); a name that is left out, or is null,
keeps the default written here.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta

from extender.core.config.connections import Block, ClientConnection, Serving
from extender.core.model.verdict import INTER_POD_AFFINITY, NODE_AFFINITY
from extender.core.wire.affinity import Gates

B = TypeVar("B", bound=Block)

API_VERSION: Final = "affinity-extender.io/v1"
OLD_API_VERSION: Final = "affinity-extender.io/v1alpha1"
"""Read as well, with a warning: it has the same fields."""
KIND: Final = "AffinityExtenderConfiguration"

BY_DEFAULT: Final = (INTER_POD_AFFINITY,)
OF_SCHEDULER: Final = frozenset((INTER_POD_AFFINITY, NODE_AFFINITY))
"""Plugins that the scheduler has as well, but for what pods carry beside their specs."""

SCHEDULER_VERSIONS: Final = tuple(f"1.{minor}" for minor in range(33, 39))
_SINCE = 38
"""The minor version from which preempt may answer a node without victims, and from which the
scheduler takes an empty selector for one of every pod."""


class Mode(enum.StrEnum):
    """Who decides about inter-pod affinity: kube-scheduler, both, or this program."""

    SHADOW = "shadow"
    ASSIST = "assist"
    REPLACE = "replace"


class LogFormat(enum.StrEnum):
    """The shape of a log line."""

    TEXT = "text"
    JSON = "json"


class InterPodAffinityArgs(Block, frozen=True, kw_only=True):
    """As in the scheduler's InterPodAffinityArgs. Use the same values in both."""

    hard_pod_affinity_weight: Annotated[int, Meta(ge=0, le=100)] = 1
    """Score that a placed pod's *required* affinity adds to the domains it is in; 0 turns that off.
    1 is the scheduler's own default."""

    ignore_preferred_terms_of_existing_pods: bool = False
    """True scores by the incoming pod's terms only, which is cheaper."""

    weight: Annotated[int, Meta(ge=1, le=100)] = 2
    """As this plugin's weight in the scheduler's profile, where 2 is the default: the best node
    gets weight / 2 of prioritize.maxScore."""


class Filter(Block, frozen=True, kw_only=True):
    """How refusals are reported to the scheduler."""

    resolvable: bool | None = None
    """True puts anti-affinity refusals into FailedNodes, for which the scheduler may preempt;
    schedulers up to 1.37 can then retry in a tight loop. False puts every refusal into
    FailedAndUnresolvableNodes. Unset is true from schedulerVersion 1.38 on, else false."""


class Prioritize(Block, frozen=True, kw_only=True):
    """How much the extender's scores count beside those of the scheduler's own plugins."""

    max_score: Annotated[int, Meta(ge=1, le=100)] = 20
    """Score that one plugin of weight 2 gives the best node; the scores of several are added. The
    scheduler multiplies it by ten and by the weight in its file: with weight 1, 20 gives each
    plugin the range 0..200 that it has in-tree, in steps of 10."""


class FeatureGates(
    Gates,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={
        "match_label_keys": "MatchLabelKeysInPodAffinity",
        "namespace_selector": "PodAffinityNamespaceSelector",
    },
):
    """Behaviour that Kubernetes has, or had, behind gates of these names. Set them as there.

    In current releases both are on and cannot be switched off.
    """

    match_label_keys: bool = True
    """Merge matchLabelKeys and mismatchLabelKeys in manifests, as the API server does. False
    ignores them."""

    namespace_selector: bool = True
    """Read namespaceSelector of a term. False is as before 1.21: a term without `namespaces`
    applies to its owner's namespace."""


class Logging(Block, frozen=True, kw_only=True):
    """Log lines, on standard error."""

    format: LogFormat = LogFormat.TEXT
    """text for people, json for log collectors (with the keys of Kubernetes components)."""

    verbosity: Annotated[int, Meta(ge=0, le=10)] = 2
    """0 faults and milestones, 2 production, 3 watched changes, 4 debugging, 5 each decision and
    request, which is too much for production."""


class Config(Block, frozen=True, kw_only=True):
    """What the core is told; `features.whole` adds the blocks and plugins of features."""

    api_version: Literal["affinity-extender.io/v1"]
    """Version of this format."""

    kind: Literal["AffinityExtenderConfiguration"]
    """Name of this format."""

    mode: Mode = Mode.ASSIST
    """assist: the extender scores nodes, the scheduler checks hard rules. replace: the extender
    checks hard rules and binds as well, and pods wait while it is down. shadow: the extender only
    compares. The scheduler's file must be the one for the same mode."""

    plugins: tuple[str, ...] = BY_DEFAULT
    """Plugins that are enabled, in the order in which their refusals are reported. InterPodAffinity
    and NodeAffinity refuse nodes only in mode replace. What they do here has to be off in the
    scheduler's file."""

    scheduler_version: str = "1.37"
    """Minor version of the kube-scheduler that calls, in quotes: 1.33 to 1.38. From 1.38 on, the
    scheduler preempts for refusals of the extender, so unless set, filter.resolvable is true and
    the extender does not preempt itself; nodes without victims stay in the answer of preempt, which
    up to 1.37 would fail the whole preemption; and an empty labelSelector of a topology spread
    constraint, or selector of a disruption budget in preemption, means every pod of the namespace,
    up to 1.37 none."""

    inter_pod_affinity: InterPodAffinityArgs = InterPodAffinityArgs()
    filter: Filter = Filter()
    prioritize: Prioritize = Prioritize()
    feature_gates: FeatureGates = FeatureGates()
    serving: Serving = Serving()
    client_connection: ClientConnection = ClientConnection()
    logging: Logging = Logging()

    cluster_files: tuple[Path, ...] = ()
    """Files with Kubernetes objects to serve instead of a live cluster. With any of them, no API
    server is contacted."""

    def section(self, kind: type[B]) -> B:
        """Return the block of a feature; its defaults in a configuration without features."""
        found = (getattr(self, each) for each in self.__struct_fields__)
        return next((each for each in found if isinstance(each, kind)), None) or kind()

    def listed(self, kind: type[B]) -> tuple[B, ...]:
        """Return a feature's list of blocks."""
        found = (getattr(self, each) for each in self.__struct_fields__)
        lists = (each for each in found if isinstance(each, tuple) and each)
        return next((each for each in lists if isinstance(each[0], kind)), ())

    @property
    def resolves_refusals(self) -> bool:
        """Whether anti-affinity refusals are reported so that the scheduler may preempt."""
        resolvable = self.filter.resolvable
        return self.scheduler_takes_empty_victims if resolvable is None else resolvable

    @property
    def enforces_specs(self) -> bool:
        """Whether required rules about other pods, in specs, are the extender's to enforce."""
        return self.mode is Mode.REPLACE and INTER_POD_AFFINITY in self.plugins

    @property
    def scheduler_takes_empty_victims(self) -> bool:
        """Whether preempt may answer a node from which no pod has to be evicted."""
        return int(self.scheduler_version.removeprefix("1.")) >= _SINCE

    @property
    def empty_selects_all(self) -> bool:
        """Whether empty selectors of spread constraints and budgets mean every pod, not none."""
        return self.scheduler_takes_empty_victims
