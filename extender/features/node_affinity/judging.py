"""The plugin, with its arguments."""

from __future__ import annotations

from extender.core.config import Config
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.wire.node_selection import read_node_selection
from extender.features.node_affinity.section import NodeAffinityArgs


def plugin(config: Config) -> NodeSelectionPlugin:
    """Build the plugin, with what every pod has to meet besides its own."""
    arguments = config.section(NodeAffinityArgs)
    added, _ = read_node_selection(arguments.added_affinity.as_json())
    return NodeSelectionPlugin(added, weight=arguments.weight)
