"""Arguments of calls as people and models read them."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Request
from interpstack_agents import readable_request, readable_wire


@pytest.mark.parametrize(
    ("wire", "shown"),
    [
        ({"n": {"$": "bigint", "v": "3e8"}}, '{"n": 1000}'),
        ({"at": {"$": "date", "v": 0}}, '{"at": {"$date": "1970-01-01T00:00:00+00:00"}}'),
        ([{"$": "bytes", "v": "AQI="}, "ü"], '[{"$bytes": "AQI="}, "ü"]'),
        ({"$": "undefined"}, '{"$value": "undefined"}'),
        ({"$bytes": "AQI="}, '{"$$bytes": "AQI="}'),
        ({"$": "number", "v": "-0"}, "-0.0"),
        ({"$": "bytes", "v": "!!"}, '{"$": "bytes", "v": "!!"}'),
    ],
)
def test_values_are_shown_as_the_host_gets_them(wire: Any, shown: str) -> None:
    assert readable_request(Request(1, "tools.a", wire)) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"euros":{"$":"bigint","v":"3e8"}}', '{"euros": 1000}'),
        ('{"$":"bigint","v":"-a"}', "-10"),
        ('{"a":1,"b":"ü"}', '{"a":1,"b":"ü"}'),
        (r'"it says \"$\""', r'"it says \"$\""'),
        ('{"euros":{"$":"bigint","v":"3', '{"euros":{"$":"bigint","v":"3'),
    ],
)
def test_recorded_values_are_shown_unless_they_were_cut_off(text: str, shown: str) -> None:
    assert readable_wire(text) == shown
