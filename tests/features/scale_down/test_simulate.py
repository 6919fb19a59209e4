"""What `simulate` says of a scale-down: how it would be with costs."""

from __future__ import annotations

import json

from tests.builders import ZONE
from tests.commands.simulate.test_simulate import SKEWED, Simulate, simulate

__all__ = ["simulate"]


def test_a_scale_down_says_who_goes_and_how_the_rest_is_spread(simulate: Simulate) -> None:
    code, said = simulate("--scale deploy/web=2", *SKEWED)
    assert (code, said.splitlines()[:4]) == (
        0,
        [
            "Scale deployment default/web from 6 to 2 pods: 4 pods deleted",
            "  deleted: default/web-5d-3, default/web-5d-4, default/web-5d-5 and 1 more",
            "  left by zone: a 2, b 0; with costs by scaleDown: a 1, b 1",
            "  left by hostname: a1 1, a2 1, b1 0; with costs by scaleDown: a1 1, a2 0, b1 1",
        ],
    )
    _, wide = simulate("--scale deploy/web=2 -o wide", *SKEWED)
    assert "  with costs by scaleDown: default/web-5d-5, default/web-5d-1," in wide
    (step,) = json.loads(simulate("--scale deploy/web=2 -o json", *SKEWED)[1])["steps"]
    assert step["scaledDown"]["leftWithCosts"][ZONE] == {"a": 1, "b": 1}
    assert len(step["scaledDown"]["wouldGoWithCosts"]) == len(step["removed"]) == 4
