"""Real answers, collected to be given again by a server that does not think."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.request import Request, urlopen

from bench.connection import Connection
from bench.servers import Server
from bench.workloads import Question


def prepare(echo: Server, chosen: str, extender: Server, questions: Sequence[Question]) -> str:
    """Let the echo server answer these questions as the extender does; return its URL for them."""
    answers = []
    with Connection(extender.port) as connection:
        for question in questions:
            filtered = _call(connection, "/filter", question, question.names)
            names = json.loads(filtered)["NodeNames"]
            scores = _call(connection, "/prioritize", question, names)
            pod = question.pod["metadata"]["name"]
            answers += [(chosen, "filter", pod, filtered), (chosen, "prioritize", pod, scores)]
    body = json.dumps(answers).encode()
    with urlopen(Request(f"{echo.url}/prepare", body)):  # noqa: S310 # a URL of ours, on loopback
        return f"{echo.url}/{chosen}"


def _call(connection: Connection, path: str, question: Question, names: list[str]) -> str:
    body = json.dumps(question.about(names), separators=(",", ":")).encode()
    return connection.post(path, body).decode()
