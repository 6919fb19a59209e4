"""Every query of the dashboard returns data from a real Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import ClientConnectionError, ClientSession

from extender.core.config.features import features as declared
from extender.runtime import Running, running
from tests.builders import HOST, node, pod, selector, term
from tests.deploy.places import MONITORING, read_yaml
from tests.features.every import switched_on
from tests.kube.program import live
from tests.kube.rig import Rig
from tests.missing import missing

pytestmark = pytest.mark.thorough

WAIT = 120.0
BOTH = ["InterPodAffinity", "CrossNamespacePodAffinity"]
NODES = ["a", "b"]
INCOMING = pod("new").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
QUESTION = {"Pod": INCOMING, "Nodes": None, "NodeNames": NODES}


def queries() -> dict[str, str]:
    """Return the dashboard's queries by panel, with its variables filled in."""
    board = json.loads((MONITORING / "dashboard.json").read_text())
    return {
        f"{panel['title']} {target['refId']}": re.sub(
            r"\$__rate_interval", "10s", target["expr"].replace("$instance", ".*")
        )
        for panel in board["panels"]
        if panel["type"] != "row"
        for target in panel["targets"]
    }


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.asynccontextmanager
async def prometheus(folder: Path, targets: list[str]) -> AsyncIterator[str]:
    """Run a Prometheus with our rules that scrapes each second; yield its URL."""
    program = shutil.which("prometheus")
    if program is None:
        missing("prometheus is not installed (Debian: apt-get install prometheus)")
    rules = read_yaml(MONITORING / "prometheusrule.yaml")["spec"]
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    scrape = {"job_name": "affinity-extender", "static_configs": [{"targets": targets}]}
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    settings = {"global": every, "rule_files": ["rules.yaml"], "scrape_configs": [scrape]}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        await process.wait()


async def keep_calling(session: ClientSession, programs: list[Running]) -> None:
    """Ask each program again and again, as a scheduler does."""
    trust = ssl.create_default_context()
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    while True:
        for program in programs:
            for verb in ("filter", "prioritize"):
                url = f"{program.callbacks_url}/{verb}"
                async with session.post(url, json=QUESTION, ssl=trust) as answer:
                    assert answer.status == 200
        await asyncio.sleep(0.1)


async def unanswered(session: ClientSession, server: str, asked: dict[str, str]) -> dict[str, Any]:
    """Return the queries for which there is no data yet, with what was said instead."""
    found: dict[str, Any] = {}
    for name, query in asked.items():
        async with session.get(f"{server}/api/v1/query", params={"query": query}) as response:
            body = await response.json()
        if not body.get("data", {}).get("result"):
            found[name] = body
    return found


async def test_every_query_returns_data(rig: Rig, tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "tls.pem"))
    files = {name: str(tmp_path / "tls.pem") for name in ("tlsCertFile", "tlsPrivateKeyFile")}
    secured = {"port": 0, "opsPort": 0, **files}
    for name in NODES:
        rig.api.collection("/api/v1/nodes").put(node(name, {HOST: name}))
    rig.api.collection("/api/v1/pods").put(pod("waits"))
    asked = queries()
    waiting: dict[str, Any] = dict(asked)
    async with (
        running(live(rig, tmp_path, mode="replace", plugins=BOTH, serving=secured)) as replace,
        running(live(rig, tmp_path, mode="shadow", plugins=BOTH)) as shadow,
        contextlib.AsyncExitStack() as features,
        ClientSession() as session,
    ):
        programs = [replace, shadow]
        for each in declared():
            fields = switched_on(each.name)
            programs.append(
                await features.enter_async_context(running(live(rig, tmp_path, **fields)))
            )
        targets = [each.ops_url.removeprefix("http://") for each in programs]
        server = await features.enter_async_context(prometheus(tmp_path, targets))
        calling = asyncio.create_task(keep_calling(session, [replace, shadow]))
        deadline = asyncio.get_running_loop().time() + WAIT
        while waiting and asyncio.get_running_loop().time() < deadline and not calling.done():
            with contextlib.suppress(ClientConnectionError):
                waiting = await unanswered(session, server, {name: asked[name] for name in waiting})
            await asyncio.wait({calling}, timeout=0.5)
        assert not calling.done(), "the program has answered every call"
        calling.cancel()
    assert waiting == {}
