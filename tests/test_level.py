"""What the program keeps is in proportion to what there is, whatever came and went before."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Final

import pytest

from extender.core.controllers.upkeep import FORGET_SECONDS
from tests.builders import HOST, ZONE, model_namespace, model_node, namespace, node
from tests.kube.virtual_loop import run_virtually
from tests.unbound import MARK, NODES, Program, everything, kinds, lengths

ROUNDS: Final = 3
SETTLED_S: Final = 2 * FORGET_SECONDS + 10.0
BOUNDED: Final = {"PodReader._names", "RecordFirst._recorded", "RefusedPods._pods"}
"""What has the latest alone: 15,000 names, 2,048 pods and 256 KiB."""


async def churn(program: Program, rounds: range) -> Counter[str]:
    """Let pods of all kinds come, be placed or refused, and go; no name or label comes twice."""
    for number in rounds:
        space = f"space-{number}"
        program.state.upsert_namespace(model_namespace(namespace(space, {"n": space})))
        for each, name in enumerate(NODES):
            labels = {HOST: name, ZONE: "ab"[each % 2], "round": f"{number}-{each}"}
            program.state.upsert_node(model_node(node(name, labels, {"pods": "110"})))
        for index, make in enumerate(kinds(program.config).values()):
            raw = make(f"{MARK}-{number}-{index}")
            raw = {**raw, "metadata": {**raw["metadata"], "namespace": space}}
            with program.known(raw):
                answer, scores = await program.schedule(raw)
                if scores is None:
                    await program.preempt(raw)
                elif "nodeName" not in raw["spec"]:
                    await program.bind(raw, answer["NodeNames"][0])
                await asyncio.sleep(1.0)
        program.state.remove_namespace(space)
        program.taken.clear()
    await asyncio.sleep(SETTLED_S)
    found = lengths(program.roots)
    found["tasks"] = len(asyncio.all_tasks())
    return found


def test_three_times_as_much_leaves_no_more(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    async def run() -> None:
        async with Program.running(everything("replace")) as program:
            once = await churn(program, range(ROUNDS))
            thrice = await churn(program, range(ROUNDS, 3 * ROUNDS))
            assert {
                name: (once[name], number)
                for name, number in thrice.items()
                if number > once[name] and name not in BOUNDED
            } == {}

    run_virtually(run())
