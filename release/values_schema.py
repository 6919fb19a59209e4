"""Write into the chart's values.schema.json what the values that we read ourselves may hold.

So Helm refuses a field that the program would not start with, or that Kubernetes does not have.
`make reference` runs it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.json import schema_components

from extender.core.config.features import whole
from extender.core.config.rules import NamespaceSelector
from extender.core.wire.manifests import PodAffinity
from extender.core.wire.node_terms import NodeAffinityManifest
from release.chart import CHART

FILE = CHART / "values.schema.json"
_SAYS_NOTHING = ("title", "description", "default")


def written() -> str:
    """Return the file with the schema of today's configuration, one definition a line."""
    document = json.loads(FILE.read_text())
    document["properties"]["config"] = {"$ref": "#/definitions/Config"}
    document.pop("definitions", None)
    _, definitions = schema_components(
        (whole(), PodAffinity, NodeAffinityManifest, NamespaceSelector),
        schema_hook=_path,
        ref_template="#/definitions/{name}",
    )
    del definitions["Config"]["required"]  # the chart writes these
    lines = (
        f"    {json.dumps(name)}: {json.dumps(_bare(definitions[name]))}"
        for name in sorted(definitions)
    )
    head = json.dumps(document, indent=2).removesuffix("\n}")
    return head + ',\n  "definitions": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def _path(kind: type) -> dict[str, Any]:
    """Describe the one type that msgspec does not know."""
    if kind is not Path:
        raise NotImplementedError(kind)
    return {"type": "string", "minLength": 1}


def _bare(of: Any) -> Any:
    """Return a schema without what only people read."""
    match of:
        case list():
            return [_bare(one) for one in of]
        case {"properties": fields}:
            bare = {name: _bare(field) for name, field in fields.items()}
            needed = {"required": of["required"]} if of.get("required") else {}
            return {"type": "object", "properties": bare, "additionalProperties": False, **needed}
        case dict():
            return {name: _bare(one) for name, one in of.items() if name not in _SAYS_NOTHING}
        case _:
            return of


if __name__ == "__main__":
    FILE.write_text(written())
