"""The command token: keeps a short-lived token of another service account in a file.

All containers of a pod have one account. A sidecar that is to have fewer rights than the pod needs
a token of its own, which no volume gives it: this asks for one beside it, and again in time.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from extender.core.command_line import DONE, Commands, command, exit_codes
from extender.core.errors import ApiError, ExtenderError
from extender.core.wire.decoding import decode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

LIFETIME_SECONDS: Final = 3600
RENEWAL_SECONDS: Final = LIFETIME_SECONDS / 2
"""As long again is left for an API server that cannot be reached."""
RETRY_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 60.0
"""Between two looks whether a token is still taken. Its Secret may be another one of the same name
by now, or the machine was suspended, and no clock of this process has gone on meanwhile."""
ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts what the pod's own account has."""

DESCRIPTION = """\
Keep a token of another service account of this namespace in a folder, with the files that a pod's
own account has there: token, ca.crt and namespace. Each is valid for an hour, and renewed after
half of it, or once it is refused. The pod's own account needs the right to create
serviceaccounts/token of that name.
"""

EPILOG = f"""\
examples:
  affinity-extender token --account affinity-extender --bound-to affinity-extender-tokens \\
      --folder /var/run/extender-token
      as in manifests/overlays/sidecar: whoever deletes that Secret revokes the tokens

{exit_codes("the program failed while it ran")}"""

_log = logging.getLogger(__name__)


class _Status(msgspec.Struct):
    token: str


class _Answer(msgspec.Struct):
    """A TokenRequest as the API server has filled it in."""

    status: _Status


_ANSWER: Final = msgspec.json.Decoder(_Answer)


def add_to(commands: Commands) -> None:
    token = command(
        commands,
        "token",
        "keep a short-lived token of another service account in a file",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    token.set_defaults(run=_token)
    token.add_argument("--account", metavar="NAME", required=True, help="the service account")
    token.add_argument(
        "--bound-to", metavar="SECRET", required=True, help="the tokens end when this Secret does"
    )
    token.add_argument(
        "--folder", metavar="DIR", required=True, type=Path, help="where the files are written"
    )


def _token(flags: argparse.Namespace) -> int:
    from extender.core import logs  # noqa: PLC0415 - help comes at once

    logs.configure(json_lines=True, verbosity=2, stream=sys.stderr)
    asyncio.run(_until_told_to_end(flags.account, flags.bound_to, flags.folder))
    return DONE


async def _until_told_to_end(account: str, secret: str, folder: Path) -> None:
    from extender.core.kube.client import ApiClient  # noqa: PLC0415 - help comes at once
    from extender.core.kube.credentials import (  # noqa: PLC0415
        in_cluster_credentials,
        load_credentials,
    )

    async def get(path: str, params: dict[str, str]) -> bytes:
        credentials = await in_cluster_credentials(token_file=str(folder / "token"))
        async with ApiClient(credentials) as theirs:
            return await theirs.get(path, params, within=ANSWER_SECONDS)

    namespace = (ACCOUNT / "namespace").read_text().strip()
    async with ApiClient(await load_credentials()) as client:
        ask = partial(client.post, within=ANSWER_SECONDS)
        is_refused = partial(is_unauthorized, get)
        keeping = keep(ask, f"{namespace}/{account}", secret, folder / "token", is_refused)
        work = asyncio.create_task(keeping)
        # As the first process of its container it gets no signal that it has not asked for.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
        await asyncio.wait((work,))
        if not work.cancelled():
            work.result()


async def keep(
    ask: Callable[[str, bytes], Awaitable[bytes]],
    account: str,
    secret: str,
    file: Path,
    is_refused: Callable[[], Awaitable[bool]],
    *,
    own: Path = ACCOUNT,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
) -> NoReturn:
    """Keep a token of `namespace/account` in a file that always holds a whole one.

    Beside it are copies of what is beside the pod's `own`. `ask` sends a body to a path of the API
    server; what goes wrong there is tried again. `is_refused` tells whether the token is no longer
    taken.
    """
    namespace, _, name = account.partition("/")
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret}
    wish = {"expirationSeconds": LIFETIME_SECONDS, "boundObjectRef": bound}
    body = msgspec.json.encode(
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": wish}
    )
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    while True:
        try:
            answer = await ask(path, body)
            token = decode(_ANSWER, answer).status.token
        except ExtenderError as error:
            _log.warning("no token of %s, the old one stays: %s", account, error)
            await sleep(RETRY_SECONDS)
            continue
        for name in ("ca.crt", "namespace"):  # a cluster may get another CA
            replace(file.with_name(name), (own / name).read_bytes())
        replace(file, token.encode())
        _log.info("wrote a token of %s, valid for %d s", account, LIFETIME_SECONDS)
        for _ in range(int(RENEWAL_SECONDS / LOOK_SECONDS)):
            await sleep(LOOK_SECONDS)
            if await is_refused():
                _log.warning("the token of %s is no longer taken", account)
                break


async def is_unauthorized(get: Callable[[str, dict[str, str]], Awaitable[bytes]]) -> bool:
    """Return whether the API server knows the caller no more; False where that is not known."""
    try:
        await get("/api", {})
    except ApiError as error:
        return error.status == HTTPStatus.UNAUTHORIZED
    except ExtenderError:
        return False
    return False


def replace(file: Path, content: bytes) -> None:
    """Write a file in one go; only its owner may read it."""
    new = file.with_name(f".{file.name}")
    new.touch(mode=0o600)
    new.write_bytes(content)
    new.replace(file)
