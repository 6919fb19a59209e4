"""Where the measurements of a run take place: both sides, on the same clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.intree.driver import Cycles
from bench.servers import Server, extender_server
from bench.workloads import write_list
from tests.conformance.programs import FAST_PATH

_CONFIG = """\
apiVersion: affinity-extender.io/v1
kind: AffinityExtenderConfiguration
filter: {resolvable: true}   # in-tree's lists
prioritize: {maxScore: 100}  # in-tree's scale
"""


def by_fast_path(cluster: str) -> str:
    """Return the name under which the plugin knows a cluster with its fast path switched on."""
    return f"{cluster}, fast path"


@dataclass(frozen=True, slots=True)
class Workshop:
    cycles: Cycles
    echo: Server
    directory: Path
    """For files that are read once."""
    progress: Callable[[str], None]

    def load(self, stack: ExitStack, name: str, items: Iterable[Mapping[str, Any]]) -> Server:
        """Let the plugin know a cluster, as it is and by its fast path; start an extender on it.

        The extender is set up so that its answers compare with in-tree's to the last digit.
        """
        cluster, config = self.directory / "cluster.json", self.directory / "config.yaml"
        write_list(cluster, items)
        config.write_text(_CONFIG, encoding="utf-8")
        self.cycles.load(name, cluster)
        self.cycles.load(by_fast_path(name), cluster, FAST_PATH)
        return stack.enter_context(extender_server(name, cluster, "--config", str(config)))
