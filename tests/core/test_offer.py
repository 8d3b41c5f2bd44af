from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, HostTool


async def _call(fields: dict[str, Any], context: Any) -> None: ...


class Weather:
    """A part for a plugin."""


class Sunshine(Weather):
    """A part that is more than a plugin asks for."""


def test_an_offer_is_fixed_whatever_it_was_made_of() -> None:
    tools, parts = [HostTool(name="a", call=_call)], [Weather()]
    offer = HostOffer(tools=tools, parts=parts)
    tools.clear()
    parts.clear()
    assert ([tool.name for tool in offer.tools], len(offer.parts)) == (["a"], 1)
    with pytest.raises(AttributeError):
        offer.code_tool = "run"  # type: ignore[misc]


def test_an_offer_takes_host_tools_alone() -> None:
    with pytest.raises(ConfigurationError, match="tools of a HostOffer are HostTools; got 5"):
        HostOffer(tools=[5])  # type: ignore[list-item]


def test_a_part_is_found_by_its_class() -> None:
    part = Sunshine()
    assert HostOffer(parts=[part]).part(Weather) is part
    assert HostOffer(parts=[part]).part(Sunshine) is part
    assert HostOffer(parts=[Weather()]).part(Sunshine) is None
    assert HostOffer().part(Weather) is None


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([Weather(), Weather()], "a HostOffer has two parts of class Weather; pass one"),
        ([{"skills": "x"}], "classes that plugins declare, such as interpstack_skills.api.Skills"),
        ({"skills": "x"}, "parts takes a list of plugins' parts; got {'skills': 'x'}"),
        (5, "parts takes a list of plugins' parts; got 5"),
    ],
)
def test_wrong_parts_are_refused(parts: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        HostOffer(parts=parts)
    assert said in str(caught.value)
