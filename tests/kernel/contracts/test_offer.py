from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, HostOffer, HostTool, InterpreterStack, Limits, bridge
from interpstack_testing import FakeEngine


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


@pytest.mark.parametrize("wrong", [{"name": 5}, {"name": None}, {"name": "a", "description": 5}])
def test_names_and_descriptions_of_host_tools_are_text(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a HostTool: \w+ takes a string; got (5|None)"):
        HostTool(call=_call, **wrong)


@pytest.mark.parametrize("wrong", [None, [], "{}"])
def test_the_schema_of_a_host_tool_is_a_mapping(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="a HostTool: input_schema takes a mapping; got "):
        HostTool(name="a", call=_call, input_schema=wrong)


@pytest.mark.parametrize("wrong", [None, HostTool(name="a", call=_call)])
def test_the_tools_of_an_offer_are_a_list(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="tools takes a list of HostTools; got "):
        HostOffer(tools=wrong)


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


@pytest.mark.parametrize(
    ("names", "seen"),
    [
        ({}, ["CallBudgetExceeded", "ToolError"]),
        ({"CallBudgetExceeded": "TooMany"}, ["TooMany", "ToolError"]),
        ({"ToolError": "Broken"}, ["CallBudgetExceeded", "Broken"]),
    ],
)
def test_an_offer_names_errors_as_its_host_does(names: dict[str, str], seen: list[str]) -> None:
    @bridge
    def fail() -> None:
        raise OSError("no")

    code = """
async def name():
    try:
        await fail()
    except Exception as error:
        return type(error).__name__
[await name(), await name()][::-1]
"""
    limits = Limits(requests=1)
    with InterpreterStack(FakeEngine(), bridges=[fail], limits=limits) as stack:
        session = stack.session("k")
        session.bind(HostOffer(error_names=names))
        outcome = session.eval_sync(code)
    assert (outcome.error, outcome.text) == (None, repr(seen))
