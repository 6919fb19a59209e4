"""What a command judges by: the scheduler's plugins, with the arguments of a configuration file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from affinityctl.scheduler.arguments import SchedulerArguments, Taken, read_profiles
from affinityctl.scheduler.default_spread.plugin import ConfiguredTopologySpread
from affinityctl.scheduler.default_spread.selectors import Selectors
from affinityctl.scheduler.profiles import BY_DEFAULT, Profile
from extender.core.cluster.state import ClusterState
from extender.core.command_line import DONE, NOT_FINE, UNKNOWN, complain
from extender.core.config import Config
from extender.core.config.features import defaults, features, left_to_scheduler, scope
from extender.core.enabled import of_features
from extender.core.errors import ConfigError
from extender.core.model.node_selection import NodeSelection
from extender.core.model.objects import Pod
from extender.core.model.verdict import INTER_POD_AFFINITY, NODE_AFFINITY, Verdict
from extender.core.model.wording import plural
from extender.core.verbs.node_selection import of_nodes
from extender.core.verbs.plugins import MAX_NODE_SCORE, Plugins
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from extender.diagnosis.verbs.node_room import NodeResourcesFit

EXIT: Final[Mapping[Verdict, int]] = {
    Verdict.FITS: DONE,
    Verdict.REFUSED: NOT_FINE,
    Verdict.UNKNOWN: UNKNOWN,
}


def _of_features(config: Config) -> Plugins:
    """Return the plugins of features, whether an extender is to run them or not."""
    return tuple(of_features(config, features()).values())


def _by_default() -> Profile:
    return replace(BY_DEFAULT, further=_of_features(defaults()))


@dataclass(frozen=True, slots=True)
class Judging:
    """All plugins, whichever of them an extender is to run."""

    profile: Profile = field(default_factory=_by_default)
    max_score: int = MAX_NODE_SCORE
    gates: Gates = EVERY_GATE_ON
    selectors: Selectors = field(default_factory=Selectors)
    """What selects pods, which is known with the cluster."""
    has_defaults: bool = False
    """The scheduler has default topology spread constraints, which go by that."""
    config: Config = field(default_factory=defaults)
    """What features are told."""
    taken: Taken | None = None
    """What the extender runs in the scheduler's place; None where that is not known."""

    def empty_state(self) -> ClusterState:
        """Return a state in which nothing is yet; rules beside specs count by the configuration."""
        return ClusterState(
            scope=scope(self.config, features()), empty_selects_all=self.config.empty_selects_all
        )

    def of_scheduler(self, profiles: Mapping[str, SchedulerArguments]) -> Judging:
        made = {name: self._profile(each) for name, each in profiles.items()}
        profile = replace(self.profile, by_scheduler=made)
        return replace(
            self,
            profile=profile,
            has_defaults=any(each.constraints for each in profiles.values()),
        )

    def _profile(self, of: SchedulerArguments) -> Profile:
        """Take each argument from who goes by it: the scheduler, or the extender in its place."""
        ours, taken = self.profile, of.taken
        at_filter = ours.nodes if NODE_AFFINITY in taken.at_filter else of
        at_score = ours.nodes if NODE_AFFINITY in taken.at_score else of
        added = NodeSelection(at_filter.added.required, at_score.added.preferred)
        affinity = ours.affinity
        if INTER_POD_AFFINITY not in taken.at_score:
            affinity = replace(
                affinity,
                hard_pod_affinity_weight=of.hard_weight,
                ignore_preferred_terms_of_existing_pods=of.ignores_preferred,
            )
        return replace(
            ours,
            nodes=replace(ours.nodes, added=added),
            affinity=affinity,
            spread=ConfiguredTopologySpread(by_default=of.constraints, selectors=self.selectors),
            room=NodeResourcesFit(of.ignored, of.ignored_groups),
            off=of.off,
            unscored=of.unscored,
        )


def judging(
    path: Path | None, scheduler: Path | None = None, as_default: Collection[str] = ()
) -> Judging:
    """Read the arguments from configuration files of an extender and of a scheduler.

    Without one, the defaults. ConfigError says what is wrong with a file. Where an extender's says
    the cluster is, is not looked at. Pods of schedulers `as_default` are read as the default's, so
    that no profile of theirs would be found.
    """
    by = Judging() if path is None else _of_extender(path)
    if scheduler is None:
        return by
    profiles = read_profiles(scheduler, by.taken)
    if named := profiles.keys() & set(as_default):
        why = f"its pods go by the profile default-scheduler of {scheduler}, not by {min(named)}"
        raise ConfigError("--scheduler-name", why)
    return by.of_scheduler(profiles)


def _of_extender(path: Path) -> Judging:
    from extender.core import config, enabled, files  # noqa: PLC0415 - the whole server
    from extender.core.config import layers  # noqa: PLC0415

    loaded = layers.load(Namespace(config=str(path)), files.read_text)
    further = _of_features(loaded)
    left = left_to_scheduler(loaded)
    affinity = enabled.inter_pod_affinity(loaded)
    profile = Profile(of_nodes(further), affinity, further, left=left)
    return Judging(
        profile,
        loaded.prioritize.max_score,
        loaded.feature_gates,
        config=loaded,
        taken=Taken(
            frozenset(loaded.plugins if loaded.mode is config.Mode.REPLACE else ()),
            frozenset(() if loaded.mode is config.Mode.SHADOW else loaded.plugins),
            left,
        ),
    )


def note_ignored_rules(
    state: ClusterState, given: Iterable[Pod] = (), pods: int | None = None
) -> None:
    """Say that rules in annotations were left out, and how to have them counted.

    `given` are the pods of manifests, one of each; `pods` is the number of others, those of the
    state unless given.
    """
    manifests = sum(
        each.spec.unannotated is not None and not state.scope.covers(each.pod_class.namespace)
        for each in given
    )
    pods = state.broken_rules.ignored if pods is None else pods
    counts = ((pods, "pod"), (manifests, "manifest"))
    ignored = " and ".join(plural(count, what) for count, what in counts if count)
    if ignored:
        complain(
            f"note: rules in annotations of {ignored} are ignored; "
            f"they count in the namespaces that {state.scope.field} of a "
            "configuration selects (--config FILE)"
        )
