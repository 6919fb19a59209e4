"""The API server that a command's flags name, and its failures in the words of an operator."""

from __future__ import annotations

import argparse
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from extender.core.errors import ApiError, ConfigError, UnreadableError

if TYPE_CHECKING:
    from extender.core.kube.client import ApiClient
    from extender.core.kube.clientcmd import Acting

PATIENCE: Final = 60.0
"""Seconds for which a request that the API server has no time for is sent again, when it says."""
_NOT_WELL: Final = 500


@contextlib.asynccontextmanager
async def api_server(flags: argparse.Namespace) -> AsyncIterator[ApiClient]:
    """Open a client of the API server that flags name; ConfigError for none.

    UnreadableError says what to do where the server refuses or does not answer.
    """
    from extender.core.kube.client import ApiClient  # noqa: PLC0415 - 40 MB come along
    from extender.core.kube.credentials import load_credentials  # noqa: PLC0415

    acting = _acting(flags)
    kubeconfig = _usual_kubeconfig(flags.kubeconfig)
    try:
        credentials = await load_credentials(kubeconfig, flags.context, acting=acting)
    except ConfigError as error:
        advice = ""
        if isinstance(error, UnreadableError):
            advice = "; name another, or have a file instead of a live cluster with --cluster"
        raise type(error)("--kubeconfig", f"{error.message}{advice}") from error
    try:
        async with ApiClient(credentials, patience=PATIENCE) as client:
            yield client
    except UnreadableError as error:
        raise UnreadableError(f"{credentials.host}: {error}; {_advice(error)}") from error


def _advice(error: UnreadableError) -> str:
    if isinstance(error.__cause__, ssl.CertificateError):
        return "the kubeconfig has to have the certificate-authority-data of this cluster"
    match error:
        case ApiError(status=HTTPStatus.UNAUTHORIZED):
            return "the token or certificate has expired, or is another cluster's: log in again"
        case ApiError(status=HTTPStatus.FORBIDDEN):
            return "ask for that right; `kubectl auth can-i --list` has those that you have"
        case ApiError(status=status) if (
            status == HTTPStatus.TOO_MANY_REQUESTS or status >= _NOT_WELL
        ):
            return "it has too much to do, or is not well: try again later"
        case ApiError():
            return "is that the address of an API server?"
        case _:
            return "does `kubectl get nodes` work? The address is that of the kubeconfig"


def namespace_of(flags: argparse.Namespace) -> str:
    """Return the namespace that is meant: that of -n, else the context's as kubectl has it."""
    if flags.namespace or flags.cluster:
        return flags.namespace or "default"
    from extender.core.kube.credentials import namespace_of_context  # noqa: PLC0415 - 40 MB come along

    kubeconfig = _usual_kubeconfig(flags.kubeconfig)
    return namespace_of_context(kubeconfig, flags.context, acting=_acting(flags)) or "default"


def _acting(flags: argparse.Namespace) -> Acting:
    from extender.core.kube.clientcmd import Acting  # noqa: PLC0415 - 40 MB come along

    return Acting(flags.as_user, flags.as_group)


def _usual_kubeconfig(named: str | None = None) -> str | None:
    """Return the file, or files, that kubectl would take; None when there is none."""
    if named := named or os.environ.get("KUBECONFIG"):
        return named
    with contextlib.suppress(RuntimeError):  # a user without a home
        usual = Path.home() / ".kube" / "config"
        return str(usual) if usual.is_file() else None
    return None
