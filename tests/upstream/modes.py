"""How upstream's suites are run."""

from __future__ import annotations

ALONE, REPLACE, ASSIST, RULELESS = "alone", "replace", "assist", "without-rules"
MODES = (ALONE, REPLACE, ASSIST, RULELESS)
"""As upstream runs them; with the two files that are shipped; and with `replace.yaml` and an
extender that knows none of the rules: what it passes as well has tested nothing of ours."""
