"""Nothing of it is imported until the first request, and it tells of the program that it is in."""

from __future__ import annotations

import re
import subprocess
import sys
from http import HTTPStatus

from aiohttp import ClientSession

from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
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
    own = {"section", "part", "recent"}
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
        answer = await client.post(f"{program.callbacks_url}/filter", data=b"nonsense")
        assert answer.status == HTTPStatus.BAD_REQUEST
        text = Reader(await (await client.get(f"{program.ops_url}/")).text()).text
        question = (SAMPLES / "refused.json").read_bytes()
        headers = {"Content-Type": "application/json"}
        await client.post(f"{program.callbacks_url}/filter", data=question, headers=headers)
        called = Reader(await (await client.get(f"{program.ops_url}/")).text()).text
    assert "cluster.yaml" in text
    assert f"if the urlPrefix in its configuration is {program.callbacks_url} ." in text
    assert re.search(r"\bpods in sync \d+ \d s ago\b", text)
    assert "Mode replace: scores and hard rules come from here" in text
    assert re.search(r"Running for \d s, since 20", text)
    assert re.search(r"filter \d s ago, prioritize never, bind never, preempt never", called)
