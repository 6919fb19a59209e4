"""Certificates, users with their tokens, and kubeconfig files for a throw-away cluster."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trustme
import yaml

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class User:
    """Somebody the API server knows by a token."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16))


ADMIN = User("e2e-admin", ("system:masters",))
CONTROLLER_MANAGER = User("e2e-controllers", ("system:masters",))
"""All controllers in one: the role of its usual name covers only what they share."""
SCHEDULER = User("system:kube-scheduler")


class Credentials:
    """What the API server is started with and what its clients need."""

    def __init__(self, folder: Path, users: list[User]) -> None:
        self.folder = folder
        authority = trustme.CA()
        server = authority.issue_cert("127.0.0.1", "localhost")
        self.ca = folder / "ca.pem"
        self.server_certificate = folder / "server.pem"
        self.server_key = folder / "server-key.pem"
        self.tokens = folder / "tokens.csv"
        authority.cert_pem.write_to_path(self.ca)
        server.cert_chain_pems[0].write_to_path(self.server_certificate)
        server.private_key_pem.write_to_path(self.server_key)
        lines = [f'{u.token},{u.name},{u.name},"{",".join(u.groups)}"' for u in users]
        self.tokens.write_text("\n".join(lines) + "\n")

    def kubeconfig(self, user: User, server: str) -> Path:
        """Write the file with which this user reaches that server."""
        authority = base64.b64encode(self.ca.read_bytes()).decode()
        cluster = {"server": server, "certificate-authority-data": authority}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": user.name, "user": {"token": user.token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user.name}}],
            "current-context": "e2e",
        }
        name = f"{user.name.replace(':', '-')}-{urlsplit(server).port}"
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return path
