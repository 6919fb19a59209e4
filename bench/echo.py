"""The yardstick: an HTTP server of the same make that answers each callback at once."""

from __future__ import annotations

import sys

from aiohttp import web

_NAMES = b'"NodeNames":'
_LARGEST_BODY = 64 << 20


async def filter_all(request: web.Request) -> web.Response:
    """Send the names of the request back, unread."""
    body = await request.read()
    names = body[body.rindex(_NAMES) : body.rindex(b"]") + 1]
    return _json(b'{%s,"FailedNodes":{},"FailedAndUnresolvableNodes":{}}' % names)


async def prioritize_none(request: web.Request) -> web.Response:
    """Score nothing."""
    await request.read()
    return _json(b"[]")


async def ready(_request: web.Request) -> web.Response:
    """Say that the server is up."""
    return web.Response(text="ok")


def main() -> None:
    """Serve on the port given as the only argument."""
    app = web.Application(client_max_size=_LARGEST_BODY)
    app.router.add_post("/filter", filter_all)
    app.router.add_post("/prioritize", prioritize_none)
    app.router.add_get("/readyz", ready)
    web.run_app(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        print=None,
        access_log=None,
        keepalive_timeout=120,
    )


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


if __name__ == "__main__":
    main()
