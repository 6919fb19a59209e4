"""Run the program and print what there is of it: `python -m tests.features.census FIELDS...`.

For each FIELDS, those of a configuration as JSON, it serves the sample cluster in replace mode, and
asks each verb. It prints a list, in JSON.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from affinityctl.commands.lint.rights import needed_rights
from extender.core.config.document import decode, effective
from extender.core.config.features import enabled
from extender.core.config.schema import API_VERSION, KIND
from extender.runtime import running

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "extender/samples"
ANSWERS = {"filter": "FailedNodes", "preempt": "NodeNameToMetaVictims", "bind": "Error"}
PAGES = (
    *("", "metrics", "configz", "readyz?verbose", "domains", "violations", "page/violations"),
    *("page/explain", "explain?pod=db-3&namespace=data", "page/domains", "page/quotas"),
    "page/activity",
)


def _ask(url: str, body: bytes | None = None) -> str:
    request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - on loopback
    with urlopen(request) as answer:  # noqa: S310
        text: str = answer.read().decode()
        return text


def _questions() -> dict[str, bytes]:
    asked = (SAMPLES / "refused.json").read_bytes()
    pod = json.loads(asked)["Pod"]
    preempt = {"Pod": pod, "NodeNameToMetaVictims": {}}
    bind = {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n"}
    others = {"preempt": preempt, "bind": bind}
    encoded = {verb: json.dumps(body).encode() for verb, body in others.items()}
    return {"filter": asked, "prioritize": asked, **encoded}


async def census(fields: dict[str, Any]) -> dict[str, Any]:
    """Return what there is."""
    config = decode(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "mode": "replace",
            "serving": {"port": 0, "opsPort": 0},
            "clusterFiles": [str(SAMPLES / "cluster.yaml")],
            **fields,
        }
    )
    async with running(config) as program:
        answers = {}
        for verb, body in _questions().items():
            url = f"{program.callbacks_url}/{verb}"
            with suppress(HTTPError):  # a mode may be without the verb
                answers[verb] = json.loads(await asyncio.to_thread(_ask, url, body))
        pages = {}
        for page in PAGES:
            with suppress(HTTPError):  # its feature may not be there
                pages[page] = await asyncio.to_thread(_ask, f"{program.ops_url}/{page}")
        tasks = sorted(each.get_name() for each in asyncio.all_tasks())
    return {
        "answers": {
            verb: verb in answers and ANSWERS.get(verb, "") in str(answers[verb])
            for verb in _questions()
        },
        "pages": sorted(f"/{page}" for page, text in pages.items() if text),
        "metrics": sorted(set(re.findall(r"^# HELP (\S+)", pages["metrics"], re.MULTILINE))),
        "fields": sorted(effective(config)),
        "rights": sorted(map(str, needed_rights(config))),
        "features": [each.name for each in enabled(config)],
        "tasks": [name for name in tasks if not re.match(r"Task-|starlette", name)],
        "modules": sorted(name for name in sys.modules if name.startswith("extender.features.")),
    }


if __name__ == "__main__":
    every = [asyncio.run(census(json.loads(fields))) for fields in sys.argv[1:]]
    print(json.dumps(every))  # noqa: T201
