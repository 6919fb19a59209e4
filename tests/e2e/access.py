"""Put the shipped RBAC objects into the cluster, and ask what they allow."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from extender.core.config.features import features
from tests.e2e.api import Api, ApiError

if TYPE_CHECKING:
    from tests.e2e.controlplane.credentials import User
    from tests.e2e.objects import JSON

_MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"
_SHIPPED = (
    *(
        _MANIFESTS / folder / "rbac.yaml"
        for folder in (
            *("base", "components/quota"),
            "components/moving",
            *(f"components/{each.component}" for each in features() if each.rights),
        )
    ),
    # What it keeps the extender from doing, no test may need.
    _MANIFESTS / "components/write-policy/policy.yaml",
)
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PATHS = {
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "Role": f"{_RBAC}/namespaces/kube-system/roles",
    "RoleBinding": f"{_RBAC}/namespaces/kube-system/rolebindings",
    "ValidatingAdmissionPolicy": f"{_ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_ADMISSION}/validatingadmissionpolicybindings",
}
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def grant_shipped_role(api: Api, user: User) -> None:
    """Create roles and policy, unless they are there, and return once the roles are in force."""
    things = [thing for file in _SHIPPED for thing in yaml.safe_load_all(file.read_text())]
    for thing in things:
        try:
            await api.create(_PATHS[thing["kind"]], thing)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
    async with asyncio.timeout(10):
        # The authorizer follows the objects by a watch of its own that nobody can await.
        for verb, resource in (
            *(("watch", "pods"), ("delete", "pods"), ("watch", "resourcequotas")),
            *(("create", "pods/eviction"), ("patch", "pods")),
        ):
            while not await is_allowed(api, user, verb, resource):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def token_of(api: Api, account: str, pod: str, seconds: int) -> str:
    """Return a token of the account at a path, as a kubelet gets one: it ends with the pod."""
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod}
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds, "boundObjectRef": bound},
    }
    return str((await api.create(f"{account}/token", asked))["status"]["token"])


async def is_allowed(api: Api, user: User, verb: str, resource: str, namespace: str = "") -> bool:
    """Ask the API server whether this user may do this in a namespace, or in all of them."""
    name, _, part = resource.partition("/")
    wish: JSON = {
        "user": user.name,
        "groups": [*user.groups, "system:authenticated"],
        "resourceAttributes": {
            "verb": verb,
            "resource": name,
            "subresource": part,
            "namespace": namespace,
        },
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": wish}
    answer = await api.create(_REVIEWS, review)
    return bool(answer["status"]["allowed"])
