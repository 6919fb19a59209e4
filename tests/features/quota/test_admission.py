"""What kube-apiserver's admission file says about quotas becomes part of the configuration."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import pytest

from extender.core import config
from extender.core.config import layers
from extender.core.errors import ConfigError
from extender.features.quota.section import CrossNamespaceArgs

OURS = """
apiVersion: affinity-extender.io/v1
kind: AffinityExtenderConfiguration
plugins: [InterPodAffinity, CrossNamespacePodAffinity]
"""
FIELD = "crossNamespacePodAffinity.admissionControlConfigFile"
FLAG = "--admission-control-config-file"

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
LIMITS = """\
apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources:
- resource: pods
  matchScopes:
  - scopeName: CrossNamespacePodAffinity
    operator: Exists
"""


def admission(limits: str) -> str:
    """Build an AdmissionConfiguration with the quota plugin's part in it."""
    inner = limits.replace("\n", "\n    ")
    return f"{HEAD}plugins:\n- name: Other\n- name: ResourceQuota\n  configuration:\n    {inner}"


def load(files: Mapping[str, str]) -> config.Config:
    """Load a configuration that points to the first of some files."""

    def read(path: Path) -> str:
        if str(path) == "ours.yaml":
            return OURS
        try:
            return files[str(path)]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory") from None

    flags = argparse.Namespace(config="ours.yaml", admission_control_config_file="etc/a.yaml")
    return layers.load(flags, read)


@pytest.mark.parametrize(
    ("files", "limited"),
    [
        pytest.param({"etc/a.yaml": admission(LIMITS)}, True, id="it limits the scope"),
        pytest.param(
            {"etc/a.yaml": admission(LIMITS.replace("PodAffinity", "Affinity"))},
            True,
            id="by the proposal's name",
        ),
        pytest.param(
            {"etc/a.yaml": admission(LIMITS.replace("    operator: Exists\n", ""))},
            True,
            id="without an operator",
        ),
        pytest.param(
            {"etc/a.yaml": admission(LIMITS.replace("resource: pods", "resource: services"))},
            True,
            id="kube-apiserver does not look at the resource, either",
        ),
        pytest.param(
            {"etc/a.yaml": admission(LIMITS.replace("CrossNamespacePodAffinity", "BestEffort"))},
            False,
            id="it limits another scope",
        ),
        pytest.param({"etc/a.yaml": HEAD}, False, id="it has no plugins"),
        pytest.param(
            {"etc/a.yaml": f"{HEAD}plugins:\n- name: ResourceQuota\n  path: quota.yaml\n",
             "etc/quota.yaml": LIMITS},
            True,
            id="in a file of its own, beside it",
        ),
    ],
)  # fmt: skip
def test_what_an_admission_file_limits(files: Mapping[str, str], limited: bool) -> None:
    assert load(files).section(CrossNamespaceArgs).limited_by_default is limited


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, "cannot read etc/a.yaml: No such file or directory", id="no such file"),
        pytest.param(
            {"etc/a.yaml": "kind: Pod"},
            "etc/a.yaml: kind: 'Pod' is not AdmissionConfiguration",
            id="something else",
        ),
        pytest.param(
            {"etc/a.yaml": admission("kind: Pod")},
            "etc/a.yaml: kind: 'Pod' is not ResourceQuotaConfiguration",
            id="something else inside",
        ),
        pytest.param(
            {"etc/a.yaml": admission("kind: ResourceQuotaConfiguration\nlimitedResources: 7")},
            "etc/a.yaml: limitedResources: Expected `array | null`, got `int`",
            id="a wrong type",
        ),
        pytest.param({"etc/a.yaml": "- a"}, "etc/a.yaml: not a mapping", id="no mapping"),
        pytest.param(
            {"etc/a.yaml": f"{HEAD}plugins:\n- name: ResourceQuota\n  path: /gone.yaml\n"},
            "cannot read /gone.yaml: No such file or directory",
            id="the file that it points to is gone",
        ),
    ],
)
def test_an_admission_file_that_cannot_be_used(files: Mapping[str, str], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(files)
    assert str(caught.value).startswith(f"{FIELD}: {expected}")
    assert str(caught.value).endswith(f"(from {FLAG})")
