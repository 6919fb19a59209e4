"""Kubeconfig files and environments, read by this program and by client-go, in every run others.

What differs stands in docs/kubeconfig.md, and in `is_documented` and `compared` here.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from yarl import URL

from extender.core.errors import ConfigError
from extender.core.kube.proxies import proxy_for
from tests.conformance.asking import asking
from tests.conformance.drawing import look_at_each
from tests.e2e.kubeconfigs import (
    ADDRESSES,
    Material,
    cases,
    environments,
    joined_paths,
    ours,
)
from tests.e2e.original import CLIENT_GO, original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

CASES_PER_QUESTION = 0.15
"""`--questions` is 2,000 in a usual run: 300 cases."""


@pytest.fixture(scope="module")
def client_go(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Return what asks client-go, built on the first run."""
    with asking(original(built, "clientcmd", "client-go's clientcmd", CLIENT_GO)) as asked:
        yield asked


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--questions") * CASES_PER_QUESTION)


OVERRIDDEN = "will override"
"""Refused by client-go: something both embedded and in a file, of which the first is taken here."""
NO_MODE = "interactiveMode must be specified"
"""Refused by client-go, and IfAvailable here."""
NO_SERVER = "http://localhost:8080"
"""Asked by kubectl where no server is named, and refused here."""


def is_documented(theirs: dict[str, Any], mine: dict[str, Any]) -> bool:
    """Return whether one of both refuses, and why is known."""
    if "error" in theirs:
        return any(reason in theirs["error"] for reason in (OVERRIDDEN, NO_MODE))
    host = theirs["host"].rstrip("/")
    return (
        host == NO_SERVER
        or "is no http:// or https:// address" in mine["error"]
        or "supported are http:// and https://" in mine["error"]
        or "the address of a proxy" in mine["error"]
        or host.startswith("http://")  # nothing but the address is looked at
    )


def compared(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be the same."""
    plugin = answer.get("exec")
    headers = [each.partition(": ") for each in answer["headers"] or ()]
    found = {
        "host": answer["host"].rstrip("/"),
        "namespace": answer["namespace"],
        "proxy": answer["proxy"],
        "headers": sorted(f"{name.lower()}: {value.strip()}" for name, _, value in headers),
    }
    if found["host"].startswith("http://"):
        # client-go sends no credentials there; this program does.
        found["headers"] = [one for one in found["headers"] if not one.startswith("authorization")]
        return found
    found |= {
        name: answer[name] or None for name in ("ca", "cert", "key", "insecure", "serverName")
    }
    if plugin:
        names = ("command", "args", "env", "cluster")
        found["exec"] = {name: plugin.get(name) or None for name in names}
    return found


class Comparison:
    """Puts cases to both, and counts what came of them."""

    def __init__(self, client_go: Ask, folder: Path, patched: pytest.MonkeyPatch) -> None:
        self._client_go = client_go
        self._folder = folder
        self._patched = patched
        self.material = Material.made()
        self.material.write(folder)
        self.tally = {"the same": 0, "both refuse": 0, "documented": 0}

    def look(self, case: dict[str, Any]) -> None:
        """Fail where the answers differ, and no document says so."""
        for old in self._folder.rglob("config"):
            old.unlink()
        for name, text in case["files"].items():
            (self._folder / name).write_text(text)
        environment = case["environment"] | {"KUBECONFIG": joined_paths(case, self._folder)}
        theirs = self._client_go({**case["flags"], "environment": environment})
        mine = asyncio.run(ours(case, self._folder, self._patched))
        if "error" in theirs and "error" in mine:
            self.tally["both refuse"] += 1
        elif "error" in theirs or "error" in mine:
            self.tally["documented"] += 1
            assert is_documented(theirs, mine), (theirs, mine)
        else:
            self.tally["the same"] += 1
            if theirs.get("cluster") is not None:
                theirs["exec"]["cluster"] = told(theirs["cluster"])
            assert compared(mine) == compared(theirs)


@pytest.fixture
def comparison(client_go: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Compare in a folder of its own."""
    return Comparison(client_go, tmp_path, monkeypatch)


def test_kubeconfigs_are_read_as_client_go_reads_them(
    comparison: Comparison, start: int, examples: int, say: Callable[[str], None]
) -> None:
    drawn = cases(comparison.material)
    look_at_each(drawn, comparison.look, start=start, examples=examples)
    say(f"kubeconfigs: {comparison.tally}")
    assert min(comparison.tally.values()) > examples / 100, comparison.tally


def told(cluster: dict[str, Any]) -> dict[str, Any]:
    """Return client-go's own type as a plugin gets it."""
    names = {
        "Server": "server",
        "TLSServerName": "tls-server-name",
        "InsecureSkipTLSVerify": "insecure-skip-tls-verify",
        "CertificateAuthorityData": "certificate-authority-data",
        "ProxyURL": "proxy-url",
        "DisableCompression": "disable-compression",
        "Config": "config",
    }
    return {names[name]: value for name, value in cluster.items() if value}


def test_proxies_are_chosen_as_go_chooses_them(client_go: Ask, start: int, examples: int) -> None:
    found = set()

    def look(case: dict[str, Any]) -> None:
        theirs = client_go(case)
        try:
            mine = proxy_for(URL(case["url"]), case["environment"]) or ""
        except ConfigError as error:
            mine = str(error)
        assert mine == theirs["proxy"]
        found.add(bool(mine))

    drawn = st.fixed_dictionaries({"url": ADDRESSES, "environment": environments()})
    look_at_each(drawn, look, start=start, examples=examples)
    assert found == {True, False}
