"""The request of a client to which the question of a server belongs."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types

from interpstack_mcp.passing.calls import PassedRequest
from interpstack_mcp.passing.questions import Questions, refusal
from interpstack_mcp.passing.sending import SendQueue


class _Session:
    def __init__(self, version: str) -> None:
        self.protocol_version = version
        self.request_id = 1
        self.session = self
        self.sent: list[Any] = []

    async def send_request(self, request: Any, kind: Any, seconds: float, metadata: Any) -> Any:
        self.sent.append((request, metadata.related_request_id))
        return types.ListRootsResult(roots=[])


class _Client:
    def __init__(self, version: str, *, alone: bool, **able: Any) -> None:
        self.alone = alone
        self.capabilities = types.ClientCapabilities(**able)
        self.level = ""
        self.session: Any = _Session(version)
        self.queue = SendQueue()

    async def changed(self, notification: Any) -> None:
        raise AssertionError("nothing changes")


OLD, NEW = "2025-11-25", "2026-07-28"


def test_a_server_learns_what_the_client_can_do() -> None:
    sampling = types.SamplingCapability()
    able = {"sampling": sampling, "roots": types.RootsCapability()}
    found = Questions(_Client(OLD, alone=True, **able)).callbacks()
    expected = {"mode", "sampling_callback", "sampling_capabilities", "list_roots_callback"}
    assert found.keys() == expected
    assert found["mode"] == "legacy"
    assert Questions(_Client(NEW, alone=True)).callbacks() == {}


@pytest.mark.parametrize("alone", [True, False])
def test_of_several_requests_the_newest_is_taken_where_one_client_makes_them(alone: bool) -> None:
    questions = Questions(_Client(OLD, alone=alone))
    assert questions.call() is None
    first, second = PassedRequest(None), PassedRequest(None)
    questions.begin(first)
    assert questions.call() is first
    questions.begin(second)
    assert questions.call() is (second if alone else None)
    questions.end(second)
    assert questions.call() is first


async def test_a_client_is_asked_between_its_requests_if_its_protocol_has_that() -> None:
    client = _Client(OLD, alone=True, roots=types.RootsCapability())
    questions = Questions(client)
    roots = questions.callbacks()["list_roots_callback"]
    assert await roots(None) == types.ListRootsResult(roots=[])
    questions.begin(PassedRequest(client.session))
    await roots(None)
    assert [related for _, related in client.session.sent] == [None, 1]
    new = Questions(_Client(NEW, alone=True, roots=types.RootsCapability()))
    refused = await new.callbacks()["list_roots_callback"](None)
    assert refused.message == "no request of the client waits with which it could be asked"


FORMS = types.ElicitationCapability(form=types.FormElicitationCapability())
ADDRESSES = types.ElicitationCapability(url=types.UrlElicitationCapability())
ADDRESS = types.ElicitRequest(
    params=types.ElicitRequestURLParams(message="?", url="https://a.org", elicitation_id="e")
)
FORM = types.ElicitRequest(params=types.ElicitRequestFormParams(message="?", requested_schema={}))
TOOLS = types.CreateMessageRequest(
    params=types.CreateMessageRequestParams(messages=[], max_tokens=1, tools=[])
)


@pytest.mark.parametrize(
    ("able", "question", "why"),
    [
        ({}, ADDRESS, "the client cannot open an address for a person"),
        ({"elicitation": FORMS}, ADDRESS, "the client cannot open an address for a person"),
        ({"elicitation": ADDRESSES}, ADDRESS, None),
        ({}, FORM, "the client cannot show a form to a person"),
        ({"elicitation": ADDRESSES}, FORM, "the client cannot show a form to a person"),
        ({"elicitation": FORMS}, FORM, None),
        ({"elicitation": types.ElicitationCapability()}, FORM, None),
        ({}, types.ListRootsRequest(), "the client has no roots"),
        ({}, TOOLS, "the client has no model to ask"),
        ({"sampling": types.SamplingCapability()}, TOOLS, "the client's model cannot use tools"),
    ],
)
def test_a_client_is_not_asked_what_it_cannot_answer(
    able: Any, question: Any, why: str | None
) -> None:
    refused = refusal(types.ClientCapabilities(**able), question)
    assert (refused and refused.message) == why
    assert refused is None or refused.code == types.INVALID_PARAMS
