"""Filter calls about nodes that the cluster does not have, as an autoscaler would make them.

Each node is judged by its own labels against what is counted, one in a step. No call is remembered:
the pod is not in flight afterwards, no helper hears of it, and no node is entered anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from extender.callbacks.requests import Requests
from extender.cluster.counts.nodes import NodeList, TemplateNode
from extender.errors import ObjectError
from extender.model.objects import Pod
from extender.model.verdict import Reason
from extender.verbs.plugins import FilterResult
from extender.warm_up import OverBudgetError
from extender.wire.objects import read_labels

MOST_SECONDS: Final = 3.0
"""For one call, with the turns that it waits for; callers give up after 5 s."""
MOST_BYTES: Final = 2 << 20
"""Of one node, which is read in one step: more than an API server stores."""


async def judge_templates(
    requests: Requests,
    pod: Pod,
    nodes: Mapping[str, msgspec.Raw],
    judge: Callable[[NodeList], FilterResult],
) -> FilterResult:
    """Judge each of some nodes as if the cluster had it; the pod's question is prepared.

    ObjectError names a node that cannot be read; OverBudgetError if there are too many.
    """
    fits: list[str] = []
    refused: dict[Reason, list[str]] = {}
    steps = (judge(template) for template in _read(nodes))
    async for verdicts in requests.in_turns(pod, steps, MOST_SECONDS):
        fits += verdicts.fits.names
        for reason, names in verdicts.refused:
            refused.setdefault(reason, []).extend(names)
    judged = len(fits) + sum(map(len, refused.values()))
    if judged < len(nodes):
        raise OverBudgetError(
            f"only {judged} of {len(nodes)} nodes that the cluster does not have could be judged "
            f"within {MOST_SECONDS:g} s: ask about fewer at a time"
        )
    return FilterResult(NodeList(fits, (), {}, -1), [*refused.items()])


def _read(nodes: Mapping[str, msgspec.Raw]) -> Iterator[TemplateNode]:
    for index, (name, raw) in enumerate(nodes.items()):
        field = f"Nodes.items[{index}]"
        if len(memoryview(raw)) > MOST_BYTES:
            raise ObjectError(field, f"larger than {MOST_BYTES} bytes")
        yield TemplateNode(name, read_labels(raw, field))
