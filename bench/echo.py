"""The yardstick: an HTTP server of the same make that answers each callback at once."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from functools import cache

import uvloop
from aiohttp import web

from bench.workloads import node_name

_NAMES = b'"NodeNames":'
_POD_NAME = b'"name":"'
_LARGEST_BODY = 64 << 20


async def filter_all(request: web.Request) -> web.Response:
    """Send the names of the request back, unread."""
    body = await request.read()
    names = body[body.rindex(_NAMES) : body.rindex(b"]") + 1]
    return _json(b'{%s,"FailedNodes":{},"FailedAndUnresolvableNodes":{}}' % names)


async def prioritize_some(request: web.Request) -> web.Response:
    """Score as many hosts as the query asks for, always with the same, prepared answer."""
    await request.read()
    return _json(_scores(int(request.query["hosts"])))


@cache
def _scores(hosts: int) -> bytes:
    scores = [{"Host": node_name(number), "Score": 10} for number in range(hosts)]
    return json.dumps(scores, separators=(",", ":")).encode()


class Prepared:
    """Answers that were collected from a real server, to be given again without a thought.

    They are found by the name of the pod, which Go writes near the start of a call.
    """

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, bytes], bytes] = {}

    async def prepare(self, request: web.Request) -> web.Response:
        """Keep answers: for each set, verb and pod one."""
        for chosen, verb, pod, answer in json.loads(await request.read()):
            self._answers[chosen, verb, pod.encode()] = answer.encode()
        return web.Response()

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        start = body.index(_POD_NAME) + len(_POD_NAME)
        pod = body[start : body.index(b'"', start)]
        info = request.match_info
        return _json(self._answers[info["set"], info["verb"], pod])


async def ready(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


def application() -> web.Application:
    app = web.Application(client_max_size=_LARGEST_BODY)
    app.router.add_post("/filter", filter_all)
    app.router.add_post("/prioritize", prioritize_some)
    prepared = Prepared()
    app.router.add_post("/prepare", prepared.prepare)
    app.router.add_post("/{set}/{verb}", prepared.answer)
    app.router.add_get("/readyz", ready)
    return app


def main() -> None:
    """Serve on the port given as the only argument."""
    app = application()
    gc.collect()
    gc.freeze()
    uvloop.run(_serve(app, int(sys.argv[1])))


async def _serve(app: web.Application, port: int) -> None:
    """Serve in the same way as the extender does, so that only the thinking differs."""
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


if __name__ == "__main__":
    main()
