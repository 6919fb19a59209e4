"""Requests: what goes out, what each answer becomes, and what never gets out of the package."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest
import trustme
from aiohttp import web
from kubernetes_asyncio.client import Configuration

from extender import __version__
from extender.core.errors import ExtenderError
from extender.core.kube.calls import kept_alive_socket
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import Credentials
from extender.core.kube.failures import (
    BrokenAnswerError,
    NoAnswerError,
    NotSentAgainError,
    NotSentError,
    StatusError,
)
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.limits import RequestSeconds, Timeouts
from extender.core.kube.pacing import Timing
from extender.core.logs import TRACE
from tests.kube.fake_api import (
    CUT,
    Answer,
    FakeApi,
    answering,
    dropping,
    failure,
    hanging,
    saying,
    status,
)
from tests.kube.pulse import Pulse
from tests.kube.rig import PATH, RecordingObserver, Rig, credentials_for, thing


async def test_request_names_us_and_carries_parameters(rig: Rig) -> None:
    async with rig.client() as client:
        await client.get(PATH, {"fieldSelector": "status.phase!=Failed,a!=b"})
    (seen,) = rig.api.seen
    assert seen.params == {"fieldSelector": "status.phase!=Failed,a!=b"}
    assert seen.headers["User-Agent"] == f"affinity-extender/{__version__}"
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in seen.headers


async def test_each_answer_is_observed(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(TRACE, "extender.core.kube.client")
    rig.things.lists.append(answering(lambda: failure(503, "Unavailable", "no")))
    async with rig.client() as client:
        with pytest.raises(StatusError):
            await client.get(PATH, {})
        await client.get(PATH, {})
        await rig.api.stop()
        with pytest.raises(NoAnswerError):
            await client.get(PATH, {})
    host = f"127.0.0.1:{rig.api.port}"
    assert rig.observer.requests == [
        ("GET", host, "503"),
        ("GET", host, "200"),
        ("GET", host, "<error>"),
    ]
    lines = [record.getMessage() for record in caplog.records if record.levelno == TRACE]
    assert [line.split(" in ")[0] for line in lines] == [
        f"GET {PATH}: 503",
        f"GET {PATH}: 200",
        f"GET {PATH}: <error>",
    ]


async def test_base_address_may_have_a_path(rig: Rig) -> None:
    rig.api.collection(f"/k8s/clusters/c-1{PATH}")
    async with ApiClient(credentials_for(f"{rig.api.url}/k8s/clusters/c-1")) as client:
        await client.get(PATH, {})
    assert rig.api.seen[0].path == f"/k8s/clusters/c-1{PATH}"


STATUSES = [
    pytest.param(
        answering(lambda: failure(429, "TooManyRequests", "slow", headers={"Retry-After": "3"})),
        (429, "TooManyRequests", 3.0),
        id="429 with the time to wait",
    ),
    pytest.param(
        answering(lambda: failure(410, "Expired", "too old")), (410, "Expired", None), id="410"
    ),
    pytest.param(
        answering(lambda: failure(401, "Unauthorized", "no")),
        (401, "Unauthorized", None),
        id="401 that no new token cures",
    ),
    pytest.param(
        answering(lambda: web.Response(status=502, text="<html>secret: hunter2</html>")),
        (502, "Bad Gateway", None),
        id="502 with a page for people",
    ),
    pytest.param(
        answering(lambda: web.Response(status=500, body=b"\xff" * (1 << 20))),
        (500, "Internal Server Error", None),
        id="500 with a mebibyte of anything",
    ),
    pytest.param(
        answering(lambda: web.Response(status=302, headers={"Location": "/elsewhere"})),
        (302, "Found", None),
        id="a redirect is not followed",
    ),
    pytest.param(
        answering(
            lambda: web.json_response(
                status(504, "Timeout", "late", retryAfterSeconds=2), status=504
            )
        ),
        (504, "Timeout", 2.0),
        id="504 with the time to wait in its Status",
    ),
]


@pytest.mark.parametrize(("answer", "expected"), STATUSES)
async def test_status_other_than_success_is_an_error(
    rig: Rig, answer: Answer, expected: tuple[int, str, float | None]
) -> None:
    rig.things.lists.append(answer)
    async with rig.client() as client:
        with pytest.raises(StatusError) as caught:
            await client.get(PATH, {})
    error = caught.value
    assert (error.status, error.reason, error.retry_after) == expected
    assert "hunter2" not in str(error)
    assert len(str(error)) < 600
    assert len(rig.api.seen) == 1


@pytest.mark.parametrize(("answer", "expected"), STATUSES)
async def test_status_other_than_success_never_opens_a_stream(
    rig: Rig, answer: Answer, expected: tuple[int, str, float | None]
) -> None:
    rig.things.lists.append(answer)
    async with rig.client() as client:
        with pytest.raises(StatusError) as caught:
            async with client.stream(PATH, {}):
                pytest.fail("the stream opened")
    assert caught.value.status == expected[0]


async def test_failure_without_end_is_not_read_to_its_end(rig: Rig) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        while True:
            await response.write(b"x" * 4096)

    rig.things.lists.append(endless)
    async with rig.client() as client:
        with pytest.raises(StatusError, match="500"):
            await client.get(PATH, {})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(dropping, NoAnswerError, id="the connection is closed before an answer"),
        pytest.param(hanging(headers=False), NoAnswerError, id="no answer comes"),
        pytest.param(hanging(b"{"), BrokenAnswerError, id="the answer stands still half way"),
        pytest.param(saying(b'{"a":', CUT), BrokenAnswerError, id="the answer is cut off half way"),
    ],
)
async def test_broken_connections_speak_our_own_language(
    rig: Rig, answer: Answer, expected: type[ExtenderError]
) -> None:
    # aiohttp itself asks a second time when a connection drops before an answer.
    rig.things.lists.extend([answer, answer])
    async with rig.client(timeouts=Timeouts(read=0.05)) as client:
        with pytest.raises(expected):
            await client.get(PATH, {})


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://127.0.0.1:1", id="nobody listens"),
        pytest.param("https://127.0.0.1:{port}", id="no TLS spoken there"),
        pytest.param("http://no-such-host.invalid", id="a name that nobody has"),
        pytest.param("nonsense", id="no address at all"),
    ],
)
async def test_unreachable_server_is_no_answer(rig: Rig, url: str) -> None:
    async with ApiClient(credentials_for(url.format(port=rig.api.port))) as client:
        with pytest.raises(NoAnswerError):
            await client.get(PATH, {})


async def test_server_that_accepts_and_never_speaks_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        async with ApiClient(credentials_for(url), timeouts=Timeouts(idle=0.05)) as client:
            with pytest.raises(NoAnswerError):
                async with client.stream(PATH, {}):
                    pytest.fail("the stream opened")


async def test_connections_are_kept_alive_by_the_kernel(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []

    def remember(address: aiohttp.AddrInfoType) -> socket.socket:
        made.append(kept_alive_socket(address))
        return made[-1]

    monkeypatch.setattr("extender.core.kube.client.kept_alive_socket", remember)
    async with rig.client() as client:
        await client.get(PATH, {})
        (connection,) = made
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30


async def test_requests_keep_to_their_rate(rig: Rig) -> None:
    limit = FlowControl(10.0, 1, rig.time.timing)
    async with rig.client(limit=limit) as client:
        for _ in range(3):
            await client.get(PATH, {})
    assert rig.time.slept == pytest.approx([0.1, 0.1])


async def test_client_that_was_not_entered_says_so(rig: Rig) -> None:
    with pytest.raises(RuntimeError, match="entered"):
        await rig.client().get(PATH, {})


# Tokens


class Tokens:
    """Credentials whose loads take a scripted course."""

    def __init__(self, url: str, *tokens: str) -> None:
        self.loads = 0
        self.now = 0.0
        self.failing = False
        self.hanging = False
        self.released = asyncio.Event()
        self._tokens = list(tokens)
        self._configuration = Configuration(host=url)
        self._next()
        self.credentials = Credentials(self._configuration, self._load, clock=lambda: self.now)

    async def _load(self, *, forced: bool) -> None:
        del forced
        self.loads += 1
        await asyncio.sleep(0)
        if self.hanging:
            await self.released.wait()
        if self.failing:
            raise ValueError("the plugin failed")
        self._next()

    def _next(self) -> None:
        token = self._tokens.pop(0) if len(self._tokens) > 1 else self._tokens[0]
        self._configuration.api_key["BearerToken"] = f"Bearer {token}\n"


async def test_refused_token_is_renewed_once_for_all_who_were_refused(rig: Rig) -> None:
    rig.api.tokens = {"new"}
    tokens = Tokens(rig.api.url, "old", "new", "newer")
    async with ApiClient(tokens.credentials) as client:
        await asyncio.gather(*(client.get(PATH, {}) for _ in range(5)))
    assert tokens.loads == 1


async def test_token_that_stays_refused_is_an_error_after_one_renewal(rig: Rig) -> None:
    rig.api.tokens = {"other"}
    tokens = Tokens(rig.api.url, "old", "new")
    async with ApiClient(tokens.credentials) as client:
        with pytest.raises(StatusError, match="401 Unauthorized"):
            await client.get(PATH, {})
    assert tokens.loads == 1
    assert len(rig.api.seen) == 2


def unfinished(status: int) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        await response.write(b"{")
        await asyncio.Event().wait()
        raise AssertionError

    return answer


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(503, id="while it says why it failed"),
        pytest.param(401, id="while the token is renewed"),
    ],
)
async def test_a_call_that_is_given_up_after_the_status_keeps_no_connection(
    rig: Rig, status: int
) -> None:
    rig.things.lists.append(unfinished(status))
    tokens = Tokens(rig.api.url, "old", "new")
    tokens.hanging = True
    connector = aiohttp.TCPConnector()
    session = aiohttp.ClientSession(connector=connector)
    async with ApiClient(tokens.credentials, session=lambda: session) as client:
        with pytest.raises(NoAnswerError) as failure:
            await client.get(PATH, {}, within=0.1)
        assert not connector._acquired
    tokens.released.set()
    assert "no answer in 0.1 s" in str(failure.value)


async def test_stream_opens_with_the_renewed_token(rig: Rig) -> None:
    rig.api.tokens = {"new"}
    rig.things.put(thing("a"))
    tokens = Tokens(rig.api.url, "old", "new")
    async with (
        ApiClient(tokens.credentials) as client,
        client.stream(PATH, {"watch": "true", "resourceVersion": "0"}) as lines,
    ):
        assert b'"ADDED"' in await anext(lines)


async def test_token_is_read_again_when_it_is_a_minute_old(rig: Rig) -> None:
    tokens = Tokens(rig.api.url, "first", "second")
    async with ApiClient(tokens.credentials) as client:
        for now in (0.0, 59.0, 60.0, 61.0):
            tokens.now = now
            await client.get(PATH, {})
    assert [seen.headers["Authorization"] for seen in rig.api.seen] == [
        "Bearer first",
        "Bearer first",
        "Bearer second",
        "Bearer second",
    ]


async def test_token_that_is_old_is_read_again_once_for_all(rig: Rig) -> None:
    tokens = Tokens(rig.api.url, "first", "second", "third")
    tokens.now = 60.0
    async with ApiClient(tokens.credentials) as client:
        await asyncio.gather(*(client.get(PATH, {}) for _ in range(5)))
    assert tokens.loads == 1
    assert {seen.headers["Authorization"] for seen in rig.api.seen} == {"Bearer second"}


async def test_reading_that_hangs_is_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extender.core.kube.credentials.WITHIN", RequestSeconds(credentials=0.05))
    tokens = Tokens(rig.api.url, "first", "second")
    tokens.hanging, tokens.now = True, 60.0
    async with ApiClient(tokens.credentials) as client:
        await client.get(PATH, {})
    assert tokens.loads == 1
    assert rig.api.seen[0].headers["Authorization"] == "Bearer first"


@pytest.mark.parametrize(
    ("old", "known"),
    [
        pytest.param(True, {"first", "second"}, id="a token that is old"),
        pytest.param(False, {"second"}, id="a token that was refused"),
    ],
)
async def test_reading_goes_on_when_whoever_waits_for_it_has_no_more_time(
    rig: Rig, old: bool, known: set[str]
) -> None:
    rig.api.tokens = known
    tokens = Tokens(rig.api.url, "first", "second")
    tokens.hanging, tokens.now = True, 60.0 if old else 0.0
    async with ApiClient(tokens.credentials) as client:
        for _ in range(3):
            with pytest.raises(NotSentError):
                await client.get(PATH, {}, within=0.05)
        tokens.released.set()
        await asyncio.sleep(0.01)
        tokens.hanging = False
        await client.get(PATH, {}, within=5.0)
    assert tokens.loads == 1
    assert rig.api.seen[-1].headers["Authorization"] == "Bearer second"


@pytest.mark.parametrize(
    ("within", "kind", "seen"),
    [
        pytest.param(0.0, NotSentError, 0, id="it was never sent"),
        pytest.param(5.0, NotSentAgainError, 1, id="it was turned away"),
    ],
)
async def test_what_is_not_sent_tells_whether_it_was_turned_away_before(
    rig: Rig, within: float, kind: type[NotSentError], seen: int
) -> None:
    now = 0.0

    async def too_long(_: float) -> None:
        nonlocal now
        now = 60.0

    rig.things.lists.append(
        answering(lambda: failure(429, "TooManyRequests", "busy", headers={"Retry-After": "1"}))
    )
    timing = Timing(clock=lambda: now, sleep=too_long)
    async with ApiClient(credentials_for(rig.api.url), timing=timing) as client:
        with pytest.raises(NotSentError) as found:
            await client.get(PATH, {}, within=within)
    assert type(found.value) is kind
    assert len(rig.api.seen) == seen


async def test_failed_reading_keeps_the_old_token_and_is_tried_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(rig.api.url, "first", "second")
    async with ApiClient(tokens.credentials) as client:
        tokens.now, tokens.failing = 60.0, True
        await client.get(PATH, {})
        await client.get(PATH, {})
        assert tokens.loads == 1
        tokens.now, tokens.failing = 120.0, False
        await client.get(PATH, {})
    assert [seen.headers["Authorization"] for seen in rig.api.seen] == [
        "Bearer first",
        "Bearer first",
        "Bearer second",
    ]
    assert "the plugin failed; keeping what we have" in caplog.text


# Proxies


@pytest.mark.parametrize(
    ("settings", "host", "through"),
    [
        pytest.param({"kubeconfig": "{proxy}"}, "api.test", True, id="the kubeconfig's"),
        pytest.param({"http_proxy": "{proxy}"}, "api.test", True, id="the environment's"),
        pytest.param(
            {"kubeconfig": "{proxy}", "http_proxy": "http://127.0.0.1:1"},
            "api.test",
            True,
            id="the kubeconfig's before the environment's",
        ),
        pytest.param(
            {"http_proxy": "{proxy}", "no_proxy": "api.test"},
            "api.test",
            False,
            id="none for a host that is excepted",
        ),
        pytest.param({"http_proxy": "{proxy}"}, "127.0.0.1:1", False, id="none for loopback"),
        pytest.param({"http_proxy": "{proxy}"}, "localhost:1", False, id="none for localhost"),
        pytest.param({"https_proxy": "{proxy}"}, "api.test", False, id="none of another scheme"),
    ],
)
async def test_proxy(
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    host: str,
    through: bool,
) -> None:
    settings = {name: value.format(proxy=rig.api.url) for name, value in settings.items()}
    configured = settings.pop("kubeconfig", None)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    async with ApiClient(credentials_for(f"http://{host}", proxy=configured)) as client:
        if through:
            await client.get(PATH, {})
            assert rig.api.seen[0].headers["Host"] == host
        else:
            with pytest.raises(NoAnswerError):
                await client.get(PATH, {})
            assert rig.api.seen == []


@pytest.mark.parametrize(
    ("token", "header"),
    [
        pytest.param("abc", "Bearer abc", id="in place of a token"),
        pytest.param(None, None, id="where no token is"),
    ],
)
async def test_password_in_netrc_is_never_sent(
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    token: str | None,
    header: str | None,
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with ApiClient(credentials_for(rig.api.url, token)) as client:
        await client.get(PATH, {})
    assert rig.api.seen[0].headers.get("Authorization") == header


# TLS


def server_context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """Build the server's side."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("options", "works"),
    [
        pytest.param({}, True, id="a server of the named authority"),
        pytest.param({"ssl_ca_cert": "other"}, False, id="a server of another authority"),
        pytest.param(
            {"ssl_ca_cert": "other", "verify_ssl": False}, True, id="any server when told so"
        ),
        pytest.param({"tls_server_name": "kube.test"}, True, id="a server by its other name"),
        pytest.param({"tls_server_name": "else.test"}, False, id="a server without the name"),
    ],
)
async def test_server_is_verified(tmp_path: Path, options: dict[str, object], works: bool) -> None:
    authority = trustme.CA()
    files = {"own": tmp_path / "own.pem", "other": tmp_path / "other.pem"}
    authority.cert_pem.write_to_path(str(files["own"]))
    trustme.CA().cert_pem.write_to_path(str(files["other"]))
    options = {"ssl_ca_cert": "own", **options}
    async with FakeApi(Pulse(), tls=server_context(authority, "127.0.0.1", "kube.test")) as api:
        api.collection(PATH)
        configuration = Configuration(host=api.url)
        for name, value in options.items():
            setattr(configuration, name, files.get(str(value), value))

        async def load(*, forced: bool) -> None:
            del forced

        observer = RecordingObserver(Pulse())
        async with ApiClient(Credentials(configuration, load), observer=observer) as client:
            if works:
                await client.get(PATH, {})
            else:
                with pytest.raises(NoAnswerError, match="certificate of the server is not trusted"):
                    await client.get(PATH, {})
