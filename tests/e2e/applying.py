"""Apply manifests as they lie in a file, and take them away again."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import yaml

from tests.e2e.api import Api, ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Any

    from tests.e2e.objects import JSON

_APPLY = "application/apply-patch+yaml"
_CORE, _ADMISSION = "/api/v1", "/apis/admissionregistration.k8s.io/v1"
_STORAGE = "/apis/storage.k8s.io/v1"
_COLLECTIONS = {
    "Namespace": f"{_CORE}/namespaces",
    "Node": f"{_CORE}/nodes",
    "StorageClass": f"{_STORAGE}/storageclasses",
    "CSIDriver": f"{_STORAGE}/csidrivers",
    "CSINode": f"{_STORAGE}/csinodes",
    "CSIStorageCapacity": f"{_STORAGE}/namespaces/{{namespace}}/csistoragecapacities",
    "VolumeAttachment": f"{_STORAGE}/volumeattachments",
    "PersistentVolumeClaim": f"{_CORE}/namespaces/{{namespace}}/persistentvolumeclaims",
    "PersistentVolume": f"{_CORE}/persistentvolumes",
    "Pod": f"{_CORE}/namespaces/{{namespace}}/pods",
    "Service": f"{_CORE}/namespaces/{{namespace}}/services",
    "ResourceQuota": f"{_CORE}/namespaces/{{namespace}}/resourcequotas",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{namespace}/statefulsets",
    "ValidatingAdmissionPolicy": f"{_ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_ADMISSION}/validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": f"{_ADMISSION}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{_ADMISSION}/mutatingadmissionpolicybindings",
}


@asynccontextmanager
async def applied(api: Api, *files: Path) -> AsyncIterator[list[JSON]]:
    """Create what is in the files, in their order; delete it afterwards, but for namespaces.

    A namespace takes seconds to go, and an empty one changes nothing.
    """
    things = [thing for file in files for thing in yaml.safe_load_all(file.read_text())]
    made = []
    try:
        for thing in things:
            await _create(api, thing)
            made.append(thing)
        yield things
    finally:
        for thing in reversed(made):
            if thing["kind"] != "Namespace":
                await api.delete(f"{collection(thing)}/{thing['metadata']['name']}")


async def apply(api: Api, thing: JSON, **options: Any) -> JSON:
    """Apply an object of any kind on the server's side; it refuses fields that it does not know."""
    return await api.request(
        "PATCH",
        await path_of(api, thing),
        thing,
        content_type=_APPLY,
        fieldManager="overlays",
        force="true",  # what the sandbox has granted is there already
        fieldValidation="Strict",
        **options,
    )


async def path_of(api: Api, thing: JSON) -> str:
    """Ask the API server where it has an object of any kind."""
    version = thing["apiVersion"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    listed = await api.get(group)
    (resource,) = (
        one
        for one in listed["resources"]
        if one["kind"] == thing["kind"] and "/" not in one["name"]
    )
    place = f"/namespaces/{thing['metadata']['namespace']}" if resource["namespaced"] else ""
    return f"{group}{place}/{resource['name']}/{thing['metadata']['name']}"


async def _create(api: Api, thing: JSON) -> None:
    try:
        await api.create(collection(thing), thing)
    except ApiError as error:
        # Namespaces are left over from earlier tests.
        if error.status != HTTPStatus.CONFLICT or thing["kind"] != "Namespace":
            raise


def collection(thing: JSON) -> str:
    """Return the collection that an object belongs to."""
    return _COLLECTIONS[thing["kind"]].format(namespace=thing["metadata"].get("namespace", ""))
