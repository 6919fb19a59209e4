"""Nothing of it is imported until the first request, and it tells of the program that it is in."""

from __future__ import annotations

import re
import subprocess
import sys

from aiohttp import ClientSession

from extender.config.document import decode
from extender.config.schema import API_VERSION, KIND
from extender.runtime import running
from tests.deploy.places import SAMPLES
from tests.web.reading import Reader

CODE = """
import sys
import extender.runtime
import extender.features.page.part
print(*sys.modules)
"""


def test_it_is_imported_by_the_first_request() -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own = {"part", "recent"}
    loaded = {*done.stdout.split()}
    package = "extender.features.page"
    assert {each for each in loaded if each.startswith(f"{package}.")} == {
        f"{package}.{name}" for name in own
    }
    assert loaded.isdisjoint({"jinja2", "markupsafe"})


async def test_it_tells_of_the_program() -> None:
    config = decode(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "mode": "replace",
            "serving": {"port": 0, "opsPort": 0},
            "clusterFiles": [str(SAMPLES / "cluster.yaml")],
        }
    )
    async with running(config) as program, ClientSession() as client:
        answer = await client.get(f"{program.ops_url}/")
        text = Reader(await answer.text()).text
    assert f"if the urlPrefix in its configuration is {program.callbacks_url} ." in text
    assert re.search(r"\bpods in sync \d+ \d s ago\b", text)
    assert "Mode replace: scores and hard rules come from here" in text
    assert "Running for 0 s, since 20" in text
