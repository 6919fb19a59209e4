"""The list of names that a request asks about."""

from __future__ import annotations

import pytest
from msgspec import Raw

from extender.core.errors import ObjectError
from extender.core.wire.extender_args import read_names


@pytest.mark.parametrize("raw", [b'"a"', b"[1]", b'{"a":1}', b'["a"', b"[null]"])
def test_what_is_no_list_of_names_is_refused(raw: bytes) -> None:
    with pytest.raises(ObjectError) as caught:
        read_names(Raw(raw))
    assert caught.value.path.startswith("NodeNames")
