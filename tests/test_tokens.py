"""A short-lived token of another account is in the file, whole, and renewed in time."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.errors import ApiError, ExtenderError
from extender.core.kube.failures import NoAnswerError
from extender.tokens import (
    LIFETIME_SECONDS,
    LOOK_SECONDS,
    RENEWAL_SECONDS,
    RETRY_SECONDS,
    is_unauthorized,
    keep,
)

if TYPE_CHECKING:
    from pathlib import Path

PATH = "/api/v1/namespaces/scheduling/serviceaccounts/affinity-extender/token"


def answer(token: str) -> bytes:
    return json.dumps({"status": {"token": token}}).encode()


class Rig:
    """An API server that answers in turn, and a clock that notes what is in the file meanwhile."""

    def __init__(self, file: Path, *answers: bytes | ExtenderError) -> None:
        self.file = file
        self.own = file.parent / "own"
        self.own.mkdir()
        for name in ("ca.crt", "namespace"):
            (self.own / name).write_text(f"old {name}")
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []
        self.slept: list[tuple[float, str | None]] = []
        self.refused: set[str] = set()
        """Tokens that the API server does not take any more."""

    async def ask(self, path: str, body: bytes) -> bytes:
        """Take a request, and answer or fail as the next one is to."""
        self.asked.append((path, json.loads(body)))
        found = self.answers.pop(0)
        if not self.answers:
            (self.own / "ca.crt").write_text("new ca.crt")
        if isinstance(found, ExtenderError):
            raise found
        return found

    async def sleep(self, seconds: float) -> None:
        """Note how long, and what is in the file; end after the last answer."""
        held = self.file.read_text() if self.file.exists() else None
        if self.slept and self.slept[-1][1] == held is not None and seconds == LOOK_SECONDS:
            seconds += self.slept.pop()[0]
        self.slept.append((seconds, held))
        if not self.answers and seconds >= RENEWAL_SECONDS:
            raise EOFError

    async def is_refused(self) -> bool:
        return self.file.read_text() in self.refused

    async def run(self) -> None:
        """Keep the token until there are no more answers."""
        account = "scheduling/affinity-extender"
        with pytest.raises(EOFError):
            await keep(
                *(self.ask, account, "bond", self.file, self.is_refused),
                own=self.own,
                sleep=self.sleep,
            )


async def test_it_asks_for_an_hour_bound_to_the_secret(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "token", answer("a"))
    await rig.run()
    ((path, body),) = rig.asked
    assert path == PATH
    assert body["spec"] == {
        "expirationSeconds": LIFETIME_SECONDS,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "bond"},
    }


async def test_it_renews_in_time_and_keeps_what_holds_while_that_fails(tmp_path: Path) -> None:
    no_text = b'{"status": {"token": null}}', b'{"status": {"token": "\xff"}}'
    broken = b"<html>", b"{}", b"[]", *no_text, ExtenderError("no answer")
    rig = Rig(tmp_path / "token", *broken[:1], answer("a"), *broken, answer("b"))
    await rig.run()
    assert rig.slept == [
        (RETRY_SECONDS, None),
        (RENEWAL_SECONDS, "a"),
        *[(RETRY_SECONDS, "a")] * len(broken),
        (RENEWAL_SECONDS, "b"),
    ]
    assert RENEWAL_SECONDS + 10 * RETRY_SECONDS < LIFETIME_SECONDS


async def test_one_that_is_no_longer_taken_is_replaced_within_a_minute(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "token", answer("a"), ExtenderError("no such Secret"), answer("b"))
    rig.refused = {"a"}
    await rig.run()
    assert rig.slept == [(LOOK_SECONDS, "a"), (RETRY_SECONDS, "a"), (RENEWAL_SECONDS, "b")]


@pytest.mark.parametrize(
    ("failure", "refused"),
    [
        pytest.param(None, False, id="taken"),
        pytest.param(ApiError(401, "Unauthorized", "no"), True, id="not taken"),
        pytest.param(ApiError(403, "Forbidden", "no"), False, id="taken, without that right"),
        pytest.param(NoAnswerError("silence"), False, id="no answer"),
    ],
)
async def test_whether_a_token_is_taken_is_asked_with_it(
    failure: ExtenderError | None, *, refused: bool
) -> None:
    async def get(path: str, _: dict[str, str]) -> bytes:
        assert path == "/api"
        if failure is not None:
            raise failure
        return b"{}"

    assert await is_unauthorized(get) is refused


async def test_only_its_owner_reads_it_and_nobody_a_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    rig = Rig(file, answer("a" * 2000), answer("b"))
    await rig.run()
    assert file.stat().st_mode & 0o777 == 0o600
    files = sorted(os.listdir(tmp_path))  # noqa: PTH208
    assert files == ["ca.crt", "namespace", "own", "token"], "they are renamed into place"


async def test_a_new_ca_comes_with_a_new_token(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "token", answer("a"), answer("b"))
    await rig.run()
    contents = [(tmp_path / name).read_text() for name in ("ca.crt", "namespace", "token")]
    assert contents == ["new ca.crt", "old namespace", "b"]
