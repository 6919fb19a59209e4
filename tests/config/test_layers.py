"""Flags over environment over file over defaults."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from extender import config
from extender.errors import ConfigError

HEADER = "apiVersion: affinity-extender.io/v1alpha1\nkind: AffinityExtenderConfiguration\n"


def load(
    flags: dict[str, object] | None = None,
    environ: dict[str, str] | None = None,
    file: str | None = None,
) -> config.Config:
    given = dict(flags or {})
    if file is not None:
        given["config"] = "extender.yaml"
    return config.load(argparse.Namespace(**given), environ or {}, lambda _: HEADER + (file or ""))


@pytest.mark.parametrize(
    ("flags", "environ", "file", "expected"),
    [
        pytest.param({}, {}, None, 10280, id="the default"),
        pytest.param({}, {}, "serving: {port: 1}", 1, id="the file over the default"),
        pytest.param(
            {},
            {"AFFINITY_EXTENDER_PORT": "2"},
            "serving: {port: 1}",
            2,
            id="the environment over the file",
        ),
        pytest.param(
            {"port": "3"},
            {"AFFINITY_EXTENDER_PORT": "2"},
            "serving: {port: 1}",
            3,
            id="the flag over everything",
        ),
        pytest.param(
            {"port": None}, {"AFFINITY_EXTENDER_PORT": "2"}, None, 2, id="a flag not given is none"
        ),
        pytest.param(
            {}, {"AFFINITY_EXTENDER_PORT": ""}, None, 10280, id="an empty variable is none"
        ),
        pytest.param(
            {},
            {"AFFINITY_EXTENDER_PORT": "tcp://10.96.0.7:80"},
            "serving: {port: 1}",
            1,
            id="the kubelet's variable for a Service of our name is none",
        ),
        pytest.param({"port": "3"}, {}, "serving:", 3, id="a flag over an empty block"),
    ],
)
def test_precedence(
    flags: dict[str, object], environ: dict[str, str], file: str | None, expected: int
) -> None:
    assert load(flags, environ, file).serving.port == expected


GOOD_VALUES: dict[str, tuple[str, object]] = {
    "kubeconfig": ("/k", Path("/k")),
    "context": ("prod", "prod"),
    "mode": ("replace", config.Mode.REPLACE),
    "bind-address": ("::1", "::1"),
    "port": ("81", 81),
    "ops-bind-address": ("127.0.0.9", "127.0.0.9"),
    "ops-port": ("82", 82),
    "insecure-serving": ("true", True),
    "tls-cert-file": ("crt", Path("crt")),
    "tls-private-key-file": ("key", Path("key")),
    "client-ca-file": ("ca", Path("ca")),
    "logging-format": ("json", config.LogFormat.JSON),
    "v": ("4", 4),
}
NEEDED = {
    "tls-cert-file": {"tls_private_key_file": "x"},
    "tls-private-key-file": {"tls_cert_file": "x"},
    "client-ca-file": {"tls_cert_file": "x", "tls_private_key_file": "x"},
}


def find(loaded: config.Config, path: str) -> object:
    value: object = config.effective(loaded)
    for name in path.split("."):
        assert isinstance(value, dict)
        value = value.get(name)
    return value


@pytest.mark.parametrize("flag", GOOD_VALUES)
def test_a_setting_is_the_same_as_flag_and_as_variable(flag: str) -> None:
    option = next(one for one in config.OPTIONS if one.flag == flag)
    text, expected = GOOD_VALUES[flag]
    needed: dict[str, object] = dict(NEEDED.get(flag, {}))
    by_flag = load({**needed, option.dest: text})
    by_variable = load(needed, {option.variable: text})
    spelled = str(expected) if isinstance(expected, Path) else expected
    assert find(by_flag, option.path) == find(by_variable, option.path) == spelled
    assert by_flag == by_variable
    assert find(load(), option.path) != spelled, "a default would prove nothing"


def test_every_setting_has_been_tried() -> None:
    apart = {"config", "cluster", "feature-gates", "admission-control-config-file"}
    assert {option.flag for option in config.OPTIONS} == apart | GOOD_VALUES.keys()


def test_names_of_the_variables() -> None:
    assert {option.variable for option in config.OPTIONS} >= {
        "AFFINITY_EXTENDER_OPS_PORT",
        "AFFINITY_EXTENDER_TLS_PRIVATE_KEY_FILE",
        "AFFINITY_EXTENDER_V",
    }


@pytest.mark.parametrize(
    ("flags", "environ", "file"),
    [
        pytest.param({"cluster": ["a", "b"]}, {}, None, id="the flag, repeated"),
        pytest.param(
            {}, {"AFFINITY_EXTENDER_CLUSTER": f"a{os.pathsep}b"}, None, id="the variable, as PATH"
        ),
        pytest.param({}, {}, "clusterFiles: [a, b]", id="the file"),
        pytest.param(
            {"cluster": ["a", "b"]},
            {"AFFINITY_EXTENDER_CLUSTER": "c", "AFFINITY_EXTENDER_KUBECONFIG": "k"},
            "clusterFiles: [d, e, f]",
            id="the flag instead of the lower layers, not added to them",
        ),
    ],
)
def test_cluster_files(flags: dict[str, object], environ: dict[str, str], file: str | None) -> None:
    assert load(flags, environ, file).cluster_files == (Path("a"), Path("b"))


def test_the_configuration_file_can_come_from_the_environment() -> None:
    asked = []

    def read(path: Path) -> str:
        asked.append(path)
        return HEADER + "mode: replace"

    loaded = config.load(argparse.Namespace(), {"AFFINITY_EXTENDER_CONFIG": "/c"}, read)
    assert asked == [Path("/c")]
    assert loaded.mode is config.Mode.REPLACE


@pytest.mark.parametrize(
    ("flags", "environ", "file", "expected"),
    [
        pytest.param(
            {"port": "x"},
            {},
            None,
            "serving.port: 'x' is not a whole number in 0..65535 (from --port)",
            id="a flag that is no number",
        ),
        pytest.param(
            {},
            {"AFFINITY_EXTENDER_PORT": "99999"},
            "serving: {port: 1}",
            "serving.port: 99999 is not in 0..65535 (from AFFINITY_EXTENDER_PORT)",
            id="a variable out of range",
        ),
        pytest.param(
            {"v": "-1"},
            {},
            None,
            "logging.verbosity: -1 is not in 0..10 (from -v)",
            id="the flag of one letter",
        ),
        pytest.param(
            {"ops_port": "1"},
            {},
            "serving: {port: true}",
            "extender.yaml: serving.port: true is not a whole number in 0..65535",
            id="a mistake in the file, beside a flag",
        ),
        pytest.param(
            {"port": "1"},
            {},
            "serving: 5",
            "extender.yaml: serving: 5 is not a mapping of fields",
            id="a flag over a broken block",
        ),
        pytest.param(
            {"cluster": ["a", ""]},
            {},
            None,
            "clusterFiles[1]: '' is not the name of a file (from --cluster)",
            id="an empty file name",
        ),
        pytest.param(
            {"feature_gates": "PodAffinityNamespaceSelector"},
            {},
            None,
            "--feature-gates: 'PodAffinityNamespaceSelector' is not NAME=true or NAME=false",
            id="a gate without value",
        ),
        pytest.param(
            {"feature_gates": "Nope=true"},
            {},
            None,
            "featureGates.Nope: no such field; known: MatchLabelKeysInPodAffinity, "
            "PodAffinityNamespaceSelector (from --feature-gates)",
            id="an unknown gate",
        ),
    ],
)
def test_an_error_says_where_the_value_came_from(
    flags: dict[str, object], environ: dict[str, str], file: str | None, expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags, environ, file)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            FileNotFoundError(2, "No such file or directory"),
            "c.yaml: cannot read the configuration file: No such file or directory",
            id="no such file",
        ),
        pytest.param(
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            "c.yaml: cannot read the configuration file: 'utf-8' codec can't decode byte 0xff in "
            "position 0: invalid start byte",
            id="no text",
        ),
    ],
)
def test_a_file_that_cannot_be_read(error: Exception, expected: str) -> None:
    def read(_: Path) -> str:
        raise error

    with pytest.raises(ConfigError) as caught:
        config.load(argparse.Namespace(config="c.yaml"), {}, read)
    assert str(caught.value) == expected


def test_gates_are_merged_one_by_one() -> None:
    file = "featureGates: {PodAffinityNamespaceSelector: false, MatchLabelKeysInPodAffinity: false}"
    flags: dict[str, object] = {
        "feature_gates": "PodAffinityNamespaceSelector=True, MatchLabelKeysInPodAffinity=true"
    }
    assert load(flags, file=file).feature_gates == load().feature_gates


def test_variables_that_are_no_settings() -> None:
    environ = {
        "AFFINITY_EXTENDER_OPSPORT": "1",
        "AFFINITY_EXTENDER_ZZZZZZZZ": "1",
        "AFFINITY_EXTENDER_OPS_PORT": "1",
        "AFFINITY_EXTENDER_SERVICE_HOST": "10.0.0.1",
        "AFFINITY_EXTENDER_SERVICE_PORT_CALLBACKS": "1",
        "AFFINITY_EXTENDER_PORT_10280_TCP_ADDR": "10.0.0.1",
        "AFFINITY_EXTENDER_METRICS_PORT": "tcp://10.0.0.1:1",
        "PATH": "/bin",
    }
    assert config.unknown_variables(environ) == [
        "AFFINITY_EXTENDER_OPSPORT is no setting, did you mean AFFINITY_EXTENDER_OPS_PORT?",
        "AFFINITY_EXTENDER_ZZZZZZZZ is no setting",
    ]
