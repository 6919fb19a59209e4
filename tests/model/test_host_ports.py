"""When two pods want the same port of a node."""

from __future__ import annotations

import pytest

from extender.core.model.node_resources import EVERY_ADDRESS, HostPort, UsedPorts

EVERY = HostPort(EVERY_ADDRESS, "TCP", 80)
ONE = HostPort("10.0.0.1", "TCP", 80)
OTHER = HostPort("10.0.0.2", "TCP", 80)


@pytest.mark.parametrize(
    ("used", "wanted", "allowed"),
    [
        pytest.param([EVERY], EVERY, False, id="the same"),
        pytest.param([ONE], ONE, False, id="the same of one address"),
        pytest.param([ONE], OTHER, True, id="another address"),
        pytest.param([EVERY], ONE, False, id="one address, where all are taken"),
        pytest.param([ONE], EVERY, False, id="every address, where one of them is taken"),
        pytest.param([EVERY], HostPort(EVERY_ADDRESS, "UDP", 80), True, id="another protocol"),
        pytest.param([EVERY], HostPort(EVERY_ADDRESS, "TCP", 81), True, id="another number"),
        pytest.param([], EVERY, True, id="nobody has any"),
    ],
)
def test_a_port_of_an_address_is_had_once(
    used: list[HostPort], wanted: HostPort, allowed: bool
) -> None:
    ports = UsedPorts()
    ports.use(used, 1)
    assert ports.allow([wanted]) is allowed
    assert ports.allow([HostPort("", "SCTP", 1), wanted]) is allowed


def test_a_port_is_free_when_all_that_named_it_are_gone() -> None:
    ports = UsedPorts()
    ports.use([EVERY, ONE], 1)
    ports.use([EVERY], 1)
    ports.use([EVERY], -1)
    before = ports.copy()
    assert not ports.allow([OTHER])
    ports.use([EVERY], -1)
    assert ports.allow([OTHER])
    assert not ports.allow([ONE])
    ports.use([ONE], -1)
    assert not ports
    assert not before.allow([OTHER]), "a copy is counted on its own"
