"""What is read of pods' volumes, and of claims and volumes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.scheduler.volumes.manifests import (
    read_attachment,
    read_claim,
    read_csi_node,
    read_storage_class,
    read_volume,
)
from affinityctl.scheduler.volumes.objects import ClaimsAndDisks, ClaimUse, volumes_in
from extender.core.errors import ObjectError
from extender.core.model.keys import Key
from extender.core.wire.objects import PodReader
from extender.diagnosis.wire.workloads import read_workload
from tests.builders import Pod, pod, workload
from tests.volumes import READER, bound, claim, using, volume, with_volumes

POD = Key("shop/web-1")


def volumes_of(raw: Pod, reader: PodReader = READER) -> ClaimsAndDisks | None:
    return volumes_in(reader.read(json.dumps(raw).encode()))


def encoded(raw: Any) -> bytes:
    return json.dumps(raw).encode()


def test_pods_with_the_same_claims_share_what_is_read() -> None:
    first, second = volumes_of(using("data", name="a")), volumes_of(using("data", name="b"))
    assert first is second
    assert first == ClaimsAndDisks((ClaimUse("data"),))


def test_only_who_asks_for_volumes_reads_them() -> None:
    reader = PodReader(requirements=True)
    assert volumes_of(using("data"), reader) is None
    assert not reader.read(encoded(using("data"))).spec.requirements.is_plain


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"nfs": {"server": "a", "path": "/"}}, id="a network share"),
        pytest.param({"csi": {"driver": "a"}}, id="inline CSI"),
        pytest.param({"persistentVolumeClaim": None, "emptyDir": {}}, id="null is none"),
    ],
)
def test_volumes_for_which_no_node_is_refused(source: dict[str, Any]) -> None:
    assert volumes_of(with_volumes(source)) == ClaimsAndDisks()


def test_the_claims_of_a_pod_alone_and_of_a_set_have_the_name_of_the_pod() -> None:
    [own] = (volumes_of(with_volumes({"ephemeral": {}})) or ClaimsAndDisks()).claims
    template = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1"}}}}
    raw = workload("StatefulSet", "db", volumeClaimTemplates=[template])
    made = read_workload("StatefulSet", encoded(raw)).make_pod(READER)
    [of_set] = (volumes_in(made) or ClaimsAndDisks()).claims
    assert (own.key_for(POD), of_set.key_for(POD)) == ("shop/web-1-v0", "shop/data-web-1")
    assert (of_set.template and of_set.template.request) == 1


def test_a_claim_that_names_its_class_in_the_old_annotation() -> None:
    raw = claim("data")
    raw = {
        **raw,
        "metadata": raw["metadata"]
        | {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
    }
    found = read_claim(encoded(raw))
    assert (found.storage_class, found.bound, found.spec.request) == ("old", False, 1 << 30)
    assert read_claim(encoded(bound("data", "v"))).bound


def test_a_volume_without_a_status_is_available_unless_somebody_has_it() -> None:
    free = {key: value for key, value in volume("v").items() if key != "status"}
    taken = {**free, "spec": free["spec"] | {"claimRef": {"name": "data"}}}
    assert read_volume(encoded(free)).available
    assert not read_volume(encoded(taken)).available


def test_a_disk_that_a_driver_has_taken_over_is_known_by_it() -> None:
    found = read_volume(encoded(volume("v", gcePersistentDisk={"pdName": "disk"})))
    assert (found.plugin, found.attached_as) == (
        "kubernetes.io/gce-pd",
        ("pd.csi.storage.gke.io", "disk"),
    )


def test_a_class_without_a_mode_binds_at_once() -> None:
    assert not read_storage_class(b'{"metadata":{"name":"c"},"provisioner":"p"}').waits


def test_a_driver_without_a_limit_has_none() -> None:
    drivers = [{"name": "a", "allocatable": {"count": 3}}, {"name": "b", "allocatable": {}}]
    found = read_csi_node(encoded({"metadata": {"name": "n"}, "spec": {"drivers": drivers}}))
    assert (found.limits, [*found.topology_keys]) == ({"a": 3}, ["a", "b"])


@pytest.mark.parametrize(
    ("read", "raw", "path"),
    [
        pytest.param(
            read_claim,
            claim("c", size="much"),
            "spec.resources.requests.storage",
            id="what a claim asks for",
        ),
        pytest.param(
            read_volume, volume("v", size="x"), "spec.capacity.storage", id="how large a volume is"
        ),
        pytest.param(
            read_attachment, {"metadata": {"name": "a"}}, "spec", id="an attachment without a spec"
        ),
    ],
)
def test_what_is_broken_is_named(read: Any, raw: Any, path: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read(encoded(raw))
    assert caught.value.path == path


def test_a_broken_volume_of_a_pod_is_named() -> None:
    made = pod("new")
    made["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": 3}}]
    with pytest.raises(ObjectError) as caught:
        READER.read(encoded(made))
    assert caught.value.path.startswith("spec.volumes[0].persistentVolumeClaim")
