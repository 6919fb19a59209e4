"""`serve --validate-only` looks into every file that the configuration names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from affinityctl import cli
from tests.builders import node, pod

HEADER = {
    "apiVersion": "affinity-extender.io/v1",
    "kind": "AffinityExtenderConfiguration",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with certificates, kubeconfigs and a cluster."""
    monkeypatch.chdir(tmp_path)
    authority = trustme.CA()
    authority.cert_pem.write_to_path("ca.pem")
    for name in ("one", "two"):
        made = authority.issue_cert("127.0.0.1")
        made.private_key_pem.write_to_path(f"{name}.key")
        made.cert_chain_pems[0].write_to_path(f"{name}.pem")
    Path("text").write_text("this is no certificate")
    objects = {"kind": "List", "items": [node("n"), pod("p")]}
    Path("cluster.json").write_text(json.dumps(objects))
    Path("empty.json").write_text("")
    return tmp_path


def kubeconfig(user: dict[str, Any] | None = None, **changes: Any) -> Path:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path = Path("kubeconfig")
    path.write_text(yaml.safe_dump(document | changes))
    return path


def validate(capsys: pytest.CaptureFixture[str], **fields: Any) -> tuple[int, list[str]]:
    """Return the exit code and what is wrong."""
    Path("c.yaml").write_text(yaml.safe_dump(HEADER | fields))
    code = cli.main(["serve", "--config", "c.yaml", "--validate-only"])
    captured = capsys.readouterr()
    assert captured.out.startswith("ok: ") == (code == 0)
    prefix, suffix = "affinity-extender: ", "; see affinity-extender serve --help"
    return code, [
        line.removeprefix(prefix).removesuffix(suffix) for line in captured.err.splitlines()
    ]


TLS = {"tlsCertFile": "one.pem", "tlsPrivateKeyFile": "one.key"}


@pytest.mark.parametrize(
    ("fields", "code", "expected"),
    [
        pytest.param({"serving": TLS | {"clientCAFile": "ca.pem"}}, 0, [], id="good TLS files"),
        pytest.param({"clusterFiles": ["cluster.json"]}, 0, [], id="a good cluster file"),
        pytest.param(
            {
                "serving": {
                    "tlsCertFile": "no.pem",
                    "tlsPrivateKeyFile": "no.key",
                    "clientCAFile": "no.ca",
                },
                "clusterFiles": ["no.json", "cluster.json"],
            },
            3,
            [
                "clusterFiles[0]: no.json: No such file or directory",
                "serving.tlsCertFile: cannot read no.pem: No such file or directory",
                "serving.tlsPrivateKeyFile: cannot read no.key: No such file or directory",
                "serving.clientCAFile: cannot read no.ca: No such file or directory",
            ],
            id="files that are not there, all of them",
        ),
        pytest.param(
            {"serving": TLS | {"tlsPrivateKeyFile": "two.key"}},
            2,
            ["serving.tlsCertFile: one.pem with the key two.key: key values mismatch"],
            id="a key of another certificate",
        ),
        pytest.param(
            {"serving": TLS | {"tlsCertFile": "text"}},
            2,
            ["serving.tlsCertFile: text with the key one.key: "],
            id="no certificate",
        ),
        pytest.param(
            {"serving": TLS | {"clientCAFile": "text"}},
            2,
            ["serving.clientCAFile: text: "],
            id="no CA",
        ),
        pytest.param(
            {"clusterFiles": ["empty.json"]},
            2,
            ["clusterFiles[0]: empty.json: there is no object in it; expected "],
            id="an empty cluster file",
        ),
        pytest.param(
            {"clientConnection": {"kubeconfig": "nowhere"}},
            3,
            ["clientConnection.kubeconfig: no such file: nowhere"],
            id="no kubeconfig",
        ),
        pytest.param(
            {"clientConnection": {"kubeconfig": "/dev/zero"}},
            3,
            ["clientConnection.kubeconfig: cannot read /dev/zero: larger than 16 MiB"],
            id="a kubeconfig without end",
        ),
        pytest.param(
            {"clientConnection": {"kubeconfig": "cluster.json"}},
            2,
            [
                (
                    "clientConnection.kubeconfig: cluster.json: found a List, expected a "
                    "kubeconfig (kind: Config)"
                )
            ],
            id="a cluster file for a kubeconfig",
        ),
        pytest.param(
            {
                "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
                "crossNamespacePodAffinity": {"admissionControlConfigFile": "no.yaml"},
            },
            3,
            [
                (
                    "c.yaml: crossNamespacePodAffinity.admissionControlConfigFile: cannot read "
                    "no.yaml: No such file or directory"
                )
            ],
            id="no admission file",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_files_are_looked_into(
    fields: dict[str, Any], code: int, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found, said = validate(capsys, **fields)
    assert (found, len(said)) == (code, len(expected))
    assert [
        one for one, start in zip(said, expected, strict=True) if not one.startswith(start)
    ] == []


@pytest.mark.parametrize(
    ("user", "changes", "context", "expected"),
    [
        pytest.param({"token": "t"}, {}, None, "", id="good"),
        pytest.param(
            {"client-certificate": "one.pem", "client-key": "one.key"}, {}, "c", "", id="with files"
        ),
        pytest.param(
            {},
            {},
            "other",
            "contexts: no context is called 'other'; known: c",
            id="no such context",
        ),
        pytest.param(
            {}, {"current-context": ""}, None, "current-context: missing", id="no context at all"
        ),
        pytest.param(
            {}, {"clusters": []}, None, "clusters: no cluster is called 'k'", id="no such cluster"
        ),
        pytest.param({}, {"users": []}, None, "users: no user is called 'u'", id="no such user"),
        pytest.param(
            {"client-certificate": "no.pem", "client-key": "one.key"},
            {},
            None,
            "no.pem",
            id="a certificate that is not there",
        ),
        pytest.param(
            {"client-certificate": "one.pem", "client-key": "two.key"},
            {},
            None,
            "KEY_VALUES_MISMATCH",
            id="a key of another certificate",
        ),
        pytest.param(
            {
                "exec": {
                    "command": "no-such-plugin",
                    "apiVersion": "client.authentication.k8s.io/v1",
                }
            },
            {},
            None,
            "users[u].user.exec: no 'no-such-plugin'",
            id="a plugin that is not there",
        ),
        pytest.param(
            {"exec": {"command": "false", "apiVersion": "client.authentication.k8s.io/v1"}},
            {},
            None,
            "",
            id="a plugin, which is not run",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_kubeconfig_is_looked_into(
    user: dict[str, Any],
    changes: dict[str, Any],
    context: str | None,
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connection = {"kubeconfig": str(kubeconfig(user, **changes))}
    if context is not None:
        connection["context"] = context
    code, said = validate(capsys, clientConnection=connection)
    assert (code == 0) == (not expected)
    if expected:
        [fault] = said
        assert fault.startswith("clientConnection.kubeconfig: ")
        assert expected in fault
