"""What a command judges by: the scheduler's plugins, with the arguments of a configuration file."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.plugins import MAX_NODE_SCORE, Plugins, ScorePlugins
from extender.verbs.quota import CrossNamespacePodAffinity
from extender.wire.affinity import EVERY_GATE_ON, Gates

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Judging:
    """All three plugins, whichever of them an extender is to run."""

    plugins: Plugins
    """What refuses nodes, in the scheduler's order."""
    scoring: ScorePlugins
    max_score: int
    gates: Gates


def judging(path: Path | None) -> Judging:
    """Read the arguments from an extender's configuration file; without one, the defaults.

    ConfigError says what is wrong with the file. Where it says the cluster is, is not looked at.
    """
    if path is None:
        return _judging(InterPodAffinity(), NodeAffinityPlugin(), CrossNamespacePodAffinity())
    from extender import config, enabled, files, source  # noqa: PLC0415 - the whole server

    loaded = config.load(Namespace(config=str(path)), {}, files.read_text)
    return _judging(
        enabled.inter_pod_affinity(loaded),
        enabled.node_affinity(loaded),
        CrossNamespacePodAffinity(loaded.cross_namespace_pod_affinity.limited_by_default),
        max_score=loaded.prioritize.max_score,
        gates=source.gates_of(loaded),
    )


def _judging(
    affinity: InterPodAffinity,
    nodes: NodeAffinityPlugin,
    quota: CrossNamespacePodAffinity,
    *,
    max_score: int = MAX_NODE_SCORE,
    gates: Gates = EVERY_GATE_ON,
) -> Judging:
    return Judging((nodes, affinity, quota), (affinity, nodes), max_score, gates)
