"""Kubeconfig files, flags and environments drawn at random, and what this program makes of them."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trustme
import yaml
from hypothesis import strategies as st
from kubernetes_asyncio.client import Configuration
from yarl import URL

from extender.core.errors import ConfigError
from extender.core.kube import kubeconfig as kubeconfigs
from extender.core.kube.clientcmd import Acting, Chosen
from extender.core.kube.credentials import (
    Credentials,
    kubeconfig_credentials,
    namespace_of_context,
)
from extender.core.kube.kubeconfig_file import Exec
from extender.core.kube.plugin import cluster_info
from extender.core.kube.proxies import proxy_for
from extender.core.kube.tls_material import Embedded, read_material

if TYPE_CHECKING:
    import pytest
    from hypothesis.strategies import SearchStrategy

JSON = dict[str, Any]

FOLDERS = ("", "one", "two")
"""Where kubeconfig files lie, each with files of the same names and another content beside it."""


@dataclass(frozen=True)
class Material:
    """PEM to name, or to carry: a CA, and certificates with their keys."""

    authorities: list[bytes]
    pairs: list[tuple[bytes, bytes]]

    @classmethod
    def made(cls) -> Material:
        """Make some for each folder."""
        made = [trustme.CA() for _ in FOLDERS]
        issued = [authority.issue_cert("client@test") for authority in made]
        return cls(
            [authority.cert_pem.bytes() for authority in made],
            [(one.cert_chain_pems[0].bytes(), one.private_key_pem.bytes()) for one in issued],
        )

    def write(self, folder: Path) -> None:
        """Put the files where kubeconfig files may name them."""
        for number, name in enumerate(FOLDERS):
            place = folder / name
            (place / "sub").mkdir(parents=True, exist_ok=True)
            (place / "ca.pem").write_bytes(self.authorities[number])
            (place / "sub" / "tls.crt").write_bytes(self.pairs[number][0])
            (place / "sub" / "tls.key").write_bytes(self.pairs[number][1])
            (place / "token").write_text(f"token-of-{name}\n")
            (place / "empty").write_text("")


def _data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _one_of(*values: Any) -> SearchStrategy[Any]:
    return st.sampled_from(values)


RARE = 5
"""Any but the ends of a range, which are drawn more often."""


def _rarely(value: SearchStrategy[Any], usual: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Draw one in eight from the first."""
    return st.integers(0, 7).flatmap(lambda number: value if number == RARE else usual)


def _some(**fields: SearchStrategy[Any]) -> SearchStrategy[JSON]:
    """Draw each field in half of the cases; _ stands for -."""
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return st.fixed_dictionaries({}, optional=named)


NAMES = _rarely(st.just("c"), _one_of("a", "b"))
SERVERS = _one_of(
    "https://10.0.0.1:6443",
    "https://api.test",
    "https://api.test:8443/base/",
    "https://[fd00::1]:6443",
    "http://127.0.0.1:8001",
)
PROXIES = _one_of("http://proxy.test:3128", "https://me:secret@proxy.test", "")
ODD_PROXIES = _one_of("socks5://proxy.test:1080", "ftp://proxy.test", "proxy.test:3128", "http://")
GONE = st.just("gone")
MODES = _one_of("Never", "IfAvailable")
API = "client.authentication.k8s.io/"


def _clusters(material: Material) -> SearchStrategy[JSON]:
    trust = st.one_of(
        st.just({}),
        st.fixed_dictionaries({"certificate-authority": _rarely(GONE, st.just("ca.pem"))}),
        st.just({"certificate-authority-data": _data(material.authorities[0])}),
        _rarely(
            st.just(
                {
                    "certificate-authority": "ca.pem",
                    "certificate-authority-data": _data(material.authorities[1]),
                    "insecure-skip-tls-verify": True,
                }
            ),
            st.just({"insecure-skip-tls-verify": True}),
        ),
    )
    server = st.fixed_dictionaries(
        {"server": _rarely(_one_of("", None, "api.test:6443"), SERVERS)},
    )
    further = _some(
        tls_server_name=_one_of("kube.test", ""),
        proxy_url=_rarely(ODD_PROXIES, PROXIES),
        disable_compression=st.booleans(),
        extensions=st.just([{"name": API + "exec", "extension": {"audience": "here"}}]),
    )
    return st.tuples(trust, server, further).map(_joined)


def _joined(parts: tuple[JSON, ...]) -> JSON:
    return {name: value for part in parts for name, value in part.items()}


def _users(material: Material) -> SearchStrategy[JSON]:
    pair = material.pairs[0]
    plugin = st.fixed_dictionaries(
        {
            "command": _rarely(
                _one_of("", None), _one_of("plugin", "./plugin", "sub/plugin", "/p")
            ),
            "apiVersion": _rarely(
                _one_of("", "v1", API + "v2"), _one_of(API + "v1", API + "v1beta1")
            ),
        },
        optional={
            "args": _one_of([], ["get", "token"], None),
            "env": _rarely(st.just([{"value": "x"}]), _one_of([{"name": "A", "value": "b"}], None)),
            "interactiveMode": _rarely(_one_of("Often", ""), MODES),
            "provideClusterInfo": st.booleans(),
        },
    )
    provider = st.fixed_dictionaries(
        {
            "name": _rarely(_one_of("azure", ""), st.just("oidc")),
            "config": st.just(
                {"idp-issuer-url": "https://idp.test", "client-id": "x", "id-token": _jwt()}
            ),
        }
    )
    methods = [
        st.fixed_dictionaries({"token": _one_of("secret", "other", "")}),
        st.fixed_dictionaries({"tokenFile": _rarely(_one_of("gone", "empty"), st.just("token"))}),
        _some(username=_one_of("jo", ""), password=_one_of("pw", "")),
        st.fixed_dictionaries(
            {"client-certificate": _rarely(GONE, st.just("sub/tls.crt"))},
            optional={"client-key": st.just("sub/tls.key")},
        ),
        st.just({"client-certificate-data": _data(pair[0]), "client-key-data": _data(pair[1])}),
        st.fixed_dictionaries({"exec": plugin}),
        st.fixed_dictionaries({"auth-provider": provider}),
    ]
    acting: SearchStrategy[JSON] = st.one_of(
        st.just({}),
        st.just({}),
        _some(
            **{"as": _one_of("robot", "")},
            as_uid=st.just("7"),
            as_groups=_one_of(["dev"], ["dev", "ops"], []),
            as_user_extra=_one_of({"Reason/é%": ["x", "z"]}, {}),
        ),
    )
    chosen = st.lists(st.one_of(methods), min_size=1, max_size=2).map(tuple).map(_joined)
    return st.tuples(chosen, acting).map(_joined)


def _jwt() -> str:
    parts: tuple[JSON, ...] = ({"alg": "none"}, {"exp": 4_000_000_000}, {})
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    )


def _named(kind: str, entries: SearchStrategy[JSON]) -> SearchStrategy[list[JSON]]:
    entry = st.fixed_dictionaries({"name": NAMES, kind: entries})
    both = st.tuples(entries, entries).map(
        lambda pair: [{"name": name, kind: one} for name, one in zip("ab", pair, strict=True)]
    )
    unique = st.lists(entry, max_size=2, unique_by=lambda each: each["name"])
    return _rarely(st.one_of(unique, unique, st.lists(entry, max_size=2)), both)


def _files(material: Material) -> SearchStrategy[str]:
    contexts = st.fixed_dictionaries(
        {"cluster": NAMES, "user": NAMES}, optional={"namespace": _one_of("shop", "")}
    )
    document = st.fixed_dictionaries(
        {
            "clusters": _named("cluster", _clusters(material)),
            "users": _named("user", _users(material)),
            "contexts": _named("context", contexts),
            "current-context": _rarely(_one_of("c", "", None), _one_of("a", "b")),
        },
        optional={
            "kind": _rarely(_one_of("List", "", "Config", "Config"), st.just("Config")),
            "apiVersion": _rarely(_one_of("v2", "", "v1", "v1"), st.just("v1")),
        },
    ).map(yaml.safe_dump)
    odd = _one_of(
        "", "# nothing\n", "[]", "a: [b", "current-context: 7", "users: null", "kind: List"
    )
    return _rarely(odd, document)


SETTINGS = {
    "HTTPS_PROXY": _one_of("http://proxy.test:3128", "proxy.test:3128", "https://proxy.test", ""),
    "https_proxy": _one_of("http://lower.test:3128", ""),
    "HTTP_PROXY": _one_of("http://plain.test:3128"),
    "ALL_PROXY": st.just("http://all.test:3128"),
}
_EXCEPTED = _one_of(
    *("*", "10.0.0.0/8", "10.0.0.1/32", "10.0.0.1", "10.0.0.1:6443", "10.0.0.1:443", "10.0.0"),
    *(
        "fd00::/8",
        "fd00::1",
        "[fd00::1]:6443",
        "[fd00::1]",
        "::ffff:10.0.0.1",
        "10.0.0.0/255.0.0.0",
    ),
    *(
        "api.test",
        ".test",
        "*.test",
        "test:8443",
        "API.TEST:443",
        "pi.test",
        ".api.test",
        "*.",
        ":443",
    ),
    *(
        "",
        ":",
        "*:443",
        "a/b",
        "010.0.0.1",
        "10.0.0.0/33",
        "127.0.0.0/8",
        "[]:443",
        "*test",
        "test.",
    ),
)
ADDRESSES = _one_of(
    *("https://10.0.0.1:6443", "https://10.0.0.1", "http://10.0.0.1", "https://[fd00::1]:6443"),
    *(
        "https://api.test",
        "https://api.test:8443",
        "https://API.test",
        "http://test",
        "https://x.y.test",
    ),
    *("https://localhost:6443", "https://127.0.0.9", "https://[::1]", "https://[::ffff:10.0.0.1]"),
    *("https://[::ffff:127.0.0.1]:6443", "https://kubernetes.default.svc", "https://api.test."),
)


def environments() -> SearchStrategy[dict[str, str]]:
    """Draw what an environment says about proxies."""
    excepted = st.lists(_EXCEPTED, max_size=3).map(", ".join)
    return st.fixed_dictionaries(
        {}, optional={**SETTINGS, "NO_PROXY": excepted, "no_proxy": excepted}
    )


def cases(material: Material) -> SearchStrategy[JSON]:
    """Draw files, the flags and the environment."""
    names = [str(Path(folder) / "config") for folder in FOLDERS]
    files = st.dictionaries(st.sampled_from(names), _files(material), min_size=1)
    flags = _some(
        context=_rarely(_one_of("gone", "c"), _one_of("a", "b")),
        **{"as": st.just("flag"), "asGroups": _one_of(["flagged"], [])},
    )
    further = st.lists(st.sampled_from([*names, "", "gone", "one"]), max_size=1)
    whole = st.fixed_dictionaries({"files": files, "flags": flags, "environment": environments()})
    return st.tuples(whole, further).flatmap(
        lambda drawn: st.permutations([*drawn[0]["files"], *drawn[1]]).map(
            lambda paths: {**drawn[0], "paths": paths}
        )
    )


async def ours(case: JSON, folder: Path, patched: pytest.MonkeyPatch) -> JSON:
    """Return what this program makes of a case, in the words of main.go."""
    paths = joined_paths(case, folder)
    flags = case["flags"]
    acting = Acting(flags.get("as"), flags.get("asGroups", ()))
    ran: list[tuple[Exec, Chosen]] = []

    async def run(plugin: Exec, chosen: Chosen) -> JSON:
        ran.append((plugin, chosen))
        return {"token": "of-the-plugin"}

    patched.setattr(kubeconfigs, "run_plugin", run)
    try:
        credentials = await kubeconfig_credentials(paths, flags.get("context"), acting=acting)
        proxy = credentials.proxy or proxy_for(URL(credentials.host), case["environment"])
    except ConfigError as error:
        return {"error": str(error)}
    plugin = ran[-1] if ran else None
    configuration, embedded = Configuration(host="http://x"), Embedded()
    loader = kubeconfigs.Kubeconfig(paths, flags.get("context"), configuration, embedded, acting)
    await loader.load(forced=False)
    tls = read_material(configuration, embedded)
    namespace = namespace_of_context(paths, flags.get("context"), acting=acting)
    return {
        "host": credentials.host,
        "namespace": namespace or "default",
        "headers": await _headers(credentials, with_authorization=plugin is None),
        "ca": _encoded(None if tls is None else tls.ca),
        "cert": _encoded(None if tls is None else tls.certificate),
        "key": _encoded(None if tls is None else tls.key),
        "insecure": tls is not None and not tls.verify,
        "serverName": credentials.tls_server_name or "",
        "proxy": proxy or "",
        "exec": plugin and _exec(*plugin),
    }


def joined_paths(case: JSON, folder: Path) -> str:
    """Return $KUBECONFIG of a case."""
    return os.pathsep.join(str(folder / name) if name else "" for name in case["paths"])


async def _headers(credentials: Credentials, *, with_authorization: bool) -> list[str]:
    headers = [*credentials.impersonation]
    authorization = await credentials.authorization()
    if with_authorization and authorization:
        headers.append(("Authorization", authorization))
    return sorted(f"{name.lower()}: {value}" for name, value in headers)


def _encoded(content: bytes | None) -> str | None:
    return base64.b64encode(content).decode() if content else None


def _exec(plugin: Exec, chosen: Chosen) -> JSON:
    return {
        "command": plugin.command,
        "args": plugin.args or [],
        "env": [{"name": each.name, "value": each.value or ""} for each in plugin.env or ()],
        "cluster": cluster_info(chosen) if plugin.provide_cluster_info else None,
    }
