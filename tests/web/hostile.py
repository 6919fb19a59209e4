"""Names of those who would have the page do something."""

from __future__ import annotations

from typing import Final

SCRIPT: Final = "<script>pwned=1</script><img src=x onerror=pwned=1>\"'&lt;"
TURNED: Final = "\u202egnol\u2066\u200f שלום \u200b\u2028"
CONTROL: Final = "\x00\x07\x1b[31m\n\r\t\x85"
LONG: Final = "x" * 60_000
HOSTILE: Final = (SCRIPT, TURNED, CONTROL, LONG, "</td></table></main>" * 50, "\u0301" * 400)
