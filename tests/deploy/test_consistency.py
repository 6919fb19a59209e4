"""Names, versions, files and settings that occur in two places are the same in both."""

from __future__ import annotations

import re

import pytest

from extender import __version__
from extender.core.config.checks import faults
from extender.core.config.document import decode, effective, parse
from extender.core.config.options import all_options
from extender.core.model.node_resources import KNOWN_SCHEDULERS
from tests.deploy.kustomize import render
from tests.deploy.places import SIDECARS
from tests.deploy.pods import (
    GetPod,
    containers,
    extender,
    in_every_pod,
    second_scheduler,
    shipped_config,
)
from tests.features.every import shipped_with


@in_every_pod
def test_the_image_is_this_version(get_pod: GetPod) -> None:
    assert extender(get_pod())["image"] == f"affinity-extender:{__version__}"


@in_every_pod
def test_flags_exist(get_pod: GetPod) -> None:
    container = extender(get_pod())
    command, *flags = container["args"]
    assert command == "serve"
    assert {flag.removeprefix("--").split("=")[0] for flag in flags} <= {
        option.flag for option in all_options()
    }


in_every_mode = pytest.mark.parametrize("mode", SIDECARS)


@in_every_mode
def test_the_configuration_loads_and_is_for_the_mode_of_the_scheduler(mode: str) -> None:
    rendered = next(
        one
        for one in render(SIDECARS[mode])
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("affinity-extender")
    )
    config = decode(parse(rendered["data"]["config.yaml"], "config.yaml"))
    assert list(faults(config)) == []
    flags = [flag for flag in extender(second_scheduler(mode))["args"] if "--mode" in flag]
    assert flags == ([] if mode == config.mode else [f"--mode={mode}"])
    # What only one mode has is in a file of that mode.
    beside = {"mode": mode, **shipped_with(mode)}
    assert effective(config) | beside == effective(shipped_config()) | beside


@in_every_pod
def test_named_files_are_mounted(get_pod: GetPod) -> None:
    for container in containers(get_pod()):
        folders = [mount["mountPath"] for mount in container["volumeMounts"]]
        arguments = [*container.get("command", []), *container.get("args", [])]
        files = [found for one in arguments for found in re.findall(r"=(/.*)$", one)]
        assert files
        assert all(any(f"{file}/".startswith(f"{folder}/") for folder in folders) for file in files)


@in_every_mode
def test_volumes_are_the_generated_ones(mode: str) -> None:
    objects = render(SIDECARS[mode])
    generated = {one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"}
    volumes = second_scheduler(mode)["spec"]["volumes"]
    assert {one["configMap"]["name"] for one in volumes if "configMap" in one} == generated
    assert all(re.search(r"-[a-z0-9]{10}$", name) for name in generated)


@in_every_mode
def test_the_second_scheduler_gets_the_file_of_its_mode(mode: str) -> None:
    overlay = SIDECARS[mode]
    (rendered,) = (
        one["data"]["config.yaml"]
        for one in render(overlay)
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("affinity-scheduler")
    )
    assert rendered == (overlay / "scheduler-config.yaml").read_text()
    first, *_ = parse(rendered, "config.yaml")["profiles"]
    assert first["schedulerName"] in KNOWN_SCHEDULERS
