"""What the configuration file may say, and how a wrong one is refused."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from extender.core import config
from extender.core.config import layers, schema
from extender.core.config.connections import ClientConnection
from extender.core.config.features import features
from extender.core.errors import ConfigError
from extender.core.model.verdict import INTER_POD_AFFINITY
from extender.core.source import empty_state
from tests.beside import needs_rules

FILE = "/etc/extender.yaml"
HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"

# The file of the documentation, every field at its default.
DOCUMENTED = f"""{HEADER}
mode: assist
plugins: [InterPodAffinity]
schedulerVersion: "1.37"
interPodAffinity:
  hardPodAffinityWeight: 1
  ignorePreferredTermsOfExistingPods: false
  weight: 2
filter:
  resolvable: null
prioritize:
  maxScore: 20
featureGates: {{}}
serving: {{}}
clientConnection: {{}}
"""


PLUGINS = ", ".join([INTER_POD_AFFINITY, *(each.plugin for each in features() if each.plugin)])


def load_text(text: str) -> config.Config:
    flags = argparse.Namespace(config=FILE)
    return layers.load(flags, lambda _: text)


def load_fields(fields: dict[str, Any]) -> config.Config:
    return load_text(HEADER + yaml.safe_dump(fields))


def nested(path: str, value: object) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def test_the_documented_file_holds_the_defaults() -> None:
    assert load_text(DOCUMENTED) == layers.load(argparse.Namespace(), _no_file)


def _no_file(path: Path) -> str:
    pytest.fail(f"no file was asked for, but {path} was read")


def test_defaults() -> None:
    actual = config.effective(load_text(HEADER))
    for each in features():
        blocks, lists = each.fields[: len(each.blocks)], each.fields[len(each.blocks) :]
        for name, block in zip(blocks, each.blocks.values(), strict=True):
            default = msgspec.to_builtins(block()).items()
            assert actual.pop(name) == {key: value for key, value in default if value is not None}
        assert [actual.pop(name) for name in lists] == [[] for _ in each.lists]
    assert actual == {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "mode": "assist",
        "plugins": ["InterPodAffinity"],
        "schedulerVersion": "1.37",
        "interPodAffinity": {
            "hardPodAffinityWeight": 1,
            "ignorePreferredTermsOfExistingPods": False,
            "weight": 2,
        },
        "filter": {},
        "prioritize": {"maxScore": 20},
        "featureGates": {
            "MatchLabelKeysInPodAffinity": True,
            "PodAffinityNamespaceSelector": True,
        },
        "serving": {
            "bindAddress": "127.0.0.1",
            "insecureServing": False,
            "port": 10280,
            "opsBindAddress": "127.0.0.1",
            "opsPort": 10281,
            "allowedClientNames": [],
            "allowedHosts": [],
            "namePodsOfAllNamespaces": False,
            "handshakeTimeoutSeconds": 10,
            "headerTimeoutSeconds": 10,
            "bodyTimeoutSeconds": 15,
            "idleTimeoutSeconds": 180,
            "maxBodyBytes": 67108864,
            "shutdownDelaySeconds": 0,
            "shutdownTimeoutSeconds": 5,
        },
        "clientConnection": {"qps": 200, "burst": 400, "staleAfterSeconds": 180},
        "logging": {"format": "text", "verbosity": 2},
        "clusterFiles": [],
    }


def test_every_field_reaches_its_attribute() -> None:
    actual = load_fields(
        {
            "mode": "replace",
            "schedulerVersion": "1.38",
            "interPodAffinity": {
                "hardPodAffinityWeight": 0,
                "ignorePreferredTermsOfExistingPods": True,
                "weight": 7,
            },
            "filter": {"resolvable": True},
            "prioritize": {"maxScore": 10},
            "serving": {
                "bindAddress": "::1",
                "port": 0,
                "opsBindAddress": "0.0.0.0",
                "opsPort": 9,
                "tlsCertFile": "tls.crt",
                "tlsPrivateKeyFile": "tls.key",
                "clientCAFile": "ca.crt",
                "allowedClientNames": ["system:kube-scheduler"],
                "allowedHosts": ["extender.example.com"],
                "insecureServing": True,
                "handshakeTimeoutSeconds": 1,
                "headerTimeoutSeconds": 2,
                "bodyTimeoutSeconds": 3,
                "idleTimeoutSeconds": 100,
                "maxConnections": 7,
                "maxBodyBytes": 1 << 20,
                "shutdownDelaySeconds": 5,
                "shutdownTimeoutSeconds": 2.5,
            },
            "clientConnection": {"kubeconfig": "k", "context": "c", "qps": 0.5, "burst": 1},
            "logging": {"format": "json", "verbosity": 5},
            "clusterFiles": ["a.json", "b.yaml.gz"],
        }
    )
    assert actual.mode is config.Mode.REPLACE
    assert actual.scheduler_version == "1.38"
    assert actual.inter_pod_affinity == schema.InterPodAffinityArgs(
        hard_pod_affinity_weight=0, ignore_preferred_terms_of_existing_pods=True, weight=7
    )
    assert actual.filter == schema.Filter(resolvable=True)
    assert actual.prioritize == schema.Prioritize(max_score=10)
    assert actual.serving == config.Serving(
        bind_address="::1",
        port=0,
        ops_bind_address="0.0.0.0",
        ops_port=9,
        tls_cert_file=Path("tls.crt"),
        tls_private_key_file=Path("tls.key"),
        client_ca_file=Path("ca.crt"),
        allowed_client_names=("system:kube-scheduler",),
        allowed_hosts=("extender.example.com",),
        insecure_serving=True,
        handshake_timeout_seconds=1,
        header_timeout_seconds=2,
        body_timeout_seconds=3,
        idle_timeout_seconds=100,
        max_connections=7,
        max_body_bytes=1 << 20,
        shutdown_delay_seconds=5,
        shutdown_timeout_seconds=2.5,
    )
    assert actual.client_connection == ClientConnection(
        kubeconfig=Path("k"), context="c", qps=0.5, burst=1
    )
    assert actual.logging == schema.Logging(format=config.LogFormat.JSON, verbosity=5)
    assert actual.cluster_files == (Path("a.json"), Path("b.yaml.gz"))


def test_a_configuration_cannot_be_changed() -> None:
    loaded = load_text(HEADER)
    with pytest.raises(AttributeError):
        loaded.serving.port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        pytest.param({}, "127.0.0.1", id="unset is loopback"),
        pytest.param(
            {"bindAddress": "0.0.0.0", "insecureServing": True},
            "127.0.0.1",
            id="unset does not follow bindAddress",
        ),
        pytest.param({"opsBindAddress": "::"}, "::", id="set stands for itself"),
    ],
)
def test_address_of_the_operations_port(serving: dict[str, Any], expected: str) -> None:
    assert load_fields({"serving": serving}).serving.ops_bind_address == expected


PAIR = {"tlsCertFile": "a", "tlsPrivateKeyFile": "b"}


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1"])
@pytest.mark.parametrize(
    ("tls", "missing"),
    [
        pytest.param(
            {}, "serving.tlsCertFile, serving.tlsPrivateKeyFile, serving.clientCAFile", id="no TLS"
        ),
        pytest.param(PAIR, "serving.clientCAFile", id="TLS without client certificates"),
    ],
)
def test_off_loopback_callers_have_to_be_known(
    address: str, tls: dict[str, Any], missing: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_fields({"serving": {"bindAddress": address, **tls}})
    assert caught.value.path == "serving.bindAddress"
    assert caught.value.message == (
        f"{address} is not loopback, so callers have to show a certificate: set {missing}; or let "
        "anybody in with --insecure-serving (serving.insecureServing: true)"
    )
    for settled in ({"clientCAFile": "c", **PAIR}, {"insecureServing": True, **tls}):
        load_fields({"serving": {"bindAddress": address, **settled}})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_on_loopback_nothing_is_asked_for(address: str) -> None:
    load_fields({"serving": {"bindAddress": address}})


@pytest.mark.parametrize(
    ("version", "takes_them"),
    [
        pytest.param("1.36", False, id="the last one measured"),
        pytest.param("1.37", False, id="the last one that fails"),
        pytest.param("1.38", True, id="the first one that does not"),
    ],
)
def test_which_schedulers_take_candidates_without_victims_and_empty_selectors_for_all(
    version: str, *, takes_them: bool
) -> None:
    loaded = load_fields({"schedulerVersion": version})
    assert loaded.scheduler_takes_empty_victims is takes_them
    assert empty_state(loaded).empty_selects_all is takes_them


def test_a_block_with_only_comments_keeps_its_defaults() -> None:
    assert load_text(f"{HEADER}serving:\n  # port: 1\n  port: null\n") == load_text(HEADER)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        pytest.param("mode", "fast", "'fast' is not one of shadow, assist, replace", id="an enum"),
        pytest.param("mode", 3, "3 is not one of shadow, assist, replace", id="a number for one"),
        pytest.param("plugins", "InterPodAffinity", "'InterPodAffinity' is not a list", id="list"),
        pytest.param(
            "schedulerVersion", 1.38, "1.38 is not a string", id="a version without quotes"
        ),
        pytest.param("schedulerVersion", "v1.36.3", "'v1.36.3' is not like '1.37'", id="a patch"),
        pytest.param(
            "schedulerVersion", "1.36\n", "'1.36\\n' is not like '1.37'", id="a line's end"
        ),
        pytest.param(
            "interPodAffinity.hardPodAffinityWeight", 150, "150 is not in 0..100", id="too high"
        ),
        pytest.param(
            "interPodAffinity.hardPodAffinityWeight", -1, "-1 is not in 0..100", id="too low"
        ),
        pytest.param(
            "interPodAffinity.hardPodAffinityWeight",
            "1",
            "'1' is not a whole number in 0..100",
            id="a quoted number",
        ),
        pytest.param(
            "interPodAffinity.hardPodAffinityWeight",
            True,
            "true is not a whole number in 0..100",
            id="a truth value for a number",
        ),
        pytest.param("interPodAffinity.weight", 0, "0 is not in 1..100", id="weight"),
        pytest.param("interPodAffinity", [1], "a list is not a mapping of fields", id="a list"),
        pytest.param(
            "interPodAffinity.ignorePreferredTermsOfExistingPods",
            "no thanks",
            "'no thanks' is not true or false",
            id="a text for a truth value",
        ),
        pytest.param("prioritize.maxScore", 101, "101 is not in 1..100", id="max score too high"),
        pytest.param("prioritize.maxScore", 0, "0 is not in 1..100", id="max score too low"),
        pytest.param(
            "serving.port", {"a": 1}, "a mapping is not a whole number in 0..65535", id="a block"
        ),
        pytest.param("serving.port", 65536, "65536 is not in 0..65535", id="a port"),
        pytest.param("serving.opsPort", -1, "-1 is not in 0..65535", id="an ops port"),
        pytest.param(
            "serving.bindAddress",
            "localhost",
            "'localhost' is not an IP address, such as 127.0.0.1",
            id="a host name for an address",
        ),
        pytest.param(
            "serving.opsBindAddress",
            "0.0.0",
            "'0.0.0' is not an IP address, such as 127.0.0.1",
            id="half an address",
        ),
        pytest.param("serving.tlsCertFile", "", "'' is not the name of a file", id="empty name"),
        pytest.param("serving.tlsCertFile", 1, "1 is not the name of a file", id="a number"),
        pytest.param(
            "serving.shutdownTimeoutSeconds",
            0,
            "0 is not a number above 0 and up to 300",
            id="no time at all",
        ),
        pytest.param(
            "serving.shutdownDelaySeconds", 301, "301 is not a number in 0..300", id="too long"
        ),
        pytest.param("serving.maxBodyBytes", 10, "10 is not in 1048576..1073741824", id="body"),
        pytest.param("clientConnection.context", 5, "5 is not a string", id="a number for a text"),
        pytest.param(
            "clientConnection.qps",
            10_001.5,
            "10001.5 is not a number above 0 and up to 10000",
            id="too fast",
        ),
        pytest.param("logging.format", "xml", "'xml' is not one of text, json", id="log format"),
        pytest.param("logging.verbosity", 11, "11 is not in 0..10", id="verbosity"),
        pytest.param(
            "featureGates.PodAffinityNamespaceSelector",
            "maybe",
            "'maybe' is not true or false",
            id="a gate that is a text",
        ),
        pytest.param("apiVersion", "v1", "'v1' is not affinity-extender.io/v1", id="version"),
        pytest.param("kind", "Pod", "'Pod' is not AffinityExtenderConfiguration", id="kind"),
    ],
)
def test_a_bad_value_is_named_by_its_path(path: str, value: object, expected: str) -> None:
    document = {**yaml.safe_load(HEADER), **nested(path, value)}
    with pytest.raises(ConfigError) as caught:
        load_text(yaml.safe_dump(document))
    assert str(caught.value) == f"{FILE}: {path}: {expected}"
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{HEADER}serving: {{prot: 1}}",
            "serving.prot: no such field, did you mean port?",
            id="a slip in a block",
        ),
        pytest.param(
            f"{HEADER}prioritise: {{}}",
            "prioritise: no such field, did you mean prioritize?",
            id="a slip at the top",
        ),
        pytest.param(
            f"{HEADER}serving: {{clientCaFile: x}}",
            "serving.clientCaFile: no such field, did you mean clientCAFile?",
            id="a wrong capital",
        ),
        pytest.param(
            f"{HEADER}filter: {{zzz: 1}}",
            "filter.zzz: no such field; known: resolvable",
            id="nothing like it",
        ),
        pytest.param(
            f"{HEADER}featureGates: {{AllAlpha: true}}",
            "featureGates.AllAlpha: no such field; known: MatchLabelKeysInPodAffinity, "
            "PodAffinityNamespaceSelector",
            id="a gate nobody knows",
        ),
        pytest.param(
            f"{HEADER}plugins: [InterPodAffinity, Nope]",
            f"plugins[1]: 'Nope' is not one of {PLUGINS}",
            id="an unknown plugin",
        ),
        pytest.param(
            "kind: AffinityExtenderConfiguration\n",
            "apiVersion: missing; expected affinity-extender.io/v1",
            id="no version",
        ),
        pytest.param(
            "apiVersion: affinity-extender.io/v1\n",
            "kind: missing; expected AffinityExtenderConfiguration",
            id="no kind",
        ),
        pytest.param(
            f"{HEADER}mode: assist\nmode: replace\n",
            "/etc/extender.yaml, line 4: the key 'mode' comes twice",
            id="a key twice",
        ),
        pytest.param(
            f"{HEADER}serving:\n  port: 1\n  port: 1\n",
            "/etc/extender.yaml, line 5: the key 'port' comes twice",
            id="a key twice in a block",
        ),
        pytest.param(
            f"{HEADER}featureGates: {{1: true}}",
            "/etc/extender.yaml, line 3: the key 1 is not a string",
            id="a key that is a number",
        ),
        pytest.param(
            "a: [1\nb: 2",
            "/etc/extender.yaml, line 2: expected ',' or ']', but got ':'",
            id="broken YAML",
        ),
        pytest.param(
            "a: !!python/name:os.system",
            "/etc/extender.yaml, line 1: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/name:os.system'",
            id="a tag that would run code",
        ),
        pytest.param(
            "",
            "/etc/extender.yaml: not a mapping of fields; expected apiVersion, kind and so on",
            id="an empty file",
        ),
        pytest.param(
            f"{HEADER}---\n{HEADER}",
            "/etc/extender.yaml, line 3: but found another document",
            id="two documents",
        ),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    # What is no YAML has no field to name, just a line.
    named = expected if expected.startswith(FILE) else f"{FILE}: {expected}"
    assert str(caught.value) == named


def test_control_characters_are_refused_on_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^/etc/extender.yaml: not YAML: [^\n]*$"):
        load_text("a: \x00")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"plugins": []}, "plugins: no plugin is enabled", id="no plugin"),
        pytest.param(
            {"plugins": ["InterPodAffinity", "InterPodAffinity"]},
            "plugins[1]: InterPodAffinity comes twice",
            id="a plugin twice",
        ),
        pytest.param(
            {"serving": {"opsPort": 10280}},
            "serving.opsPort: 10280 is serving.port as well",
            id="one port for both",
        ),
        pytest.param(
            {"serving": {"port": 1, "opsPort": 1, "opsBindAddress": "0.0.0.0"}},
            "serving.opsPort: 1 is serving.port as well",
            id="one port for both, once on every address",
        ),
        pytest.param(
            {"serving": {"tlsCertFile": "a"}},
            "serving.tlsPrivateKeyFile: missing; tlsCertFile needs it",
            id="a certificate without key",
        ),
        pytest.param(
            {"serving": {"tlsPrivateKeyFile": "a"}},
            "serving.tlsCertFile: missing; tlsPrivateKeyFile needs it",
            id="a key without certificate",
        ),
        pytest.param(
            {"serving": {"clientCAFile": "a"}},
            "serving.clientCAFile: needs tlsCertFile and tlsPrivateKeyFile as well",
            id="client certificates without TLS",
        ),
        pytest.param(
            {"serving": {"allowedClientNames": ["a"]}},
            "serving.allowedClientNames: has no effect without clientCAFile, which knows clients",
            id="names of clients that show no certificate",
        ),
    ],
)
def test_fields_that_contradict_each_other(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_fields(fields)
    assert str(caught.value) == f"{FILE}: {expected}"


@pytest.mark.parametrize(
    "serving",
    [
        pytest.param({"port": 0, "opsPort": 0}, id="two free ports"),
        pytest.param(
            {"port": 1, "opsPort": 1, "opsBindAddress": "127.0.0.2"}, id="one port, two addresses"
        ),
    ],
)
def test_ports_that_do_not_collide(serving: dict[str, Any]) -> None:
    assert load_fields({"serving": serving}).serving.port == serving["port"]


@needs_rules
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"matchLabel": {}}, "annotations.namespaceSelector", id="unknown field"),
        pytest.param(True, "annotations.namespaceSelector", id="wrong type"),
        pytest.param(
            {"matchLabels": {"team ": "a"}},
            "annotations.namespaceSelector.matchLabels: 'team ' is not a label key",
            id="a key that no label can have",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a b"]}]},
            "annotations.namespaceSelector.matchExpressions[0]: 'a b' is not a label value",
            id="a value that no label can have",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "In"}]},
            "annotations.namespaceSelector.matchExpressions[0].values: operator In takes at least",
            id="no values",
        ),
    ],
)
def test_what_selects_no_namespaces_for_annotations_is_refused(
    selector: object, expected: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        load_fields({"annotations": {"namespaceSelector": selector}})
