"""Questions of servers to the client whose request they work on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcp_config import Notes
from mcp_gateways import gateway, passing

from interpstack_mcp.passing.calls import PassedRequest

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
both = pytest.mark.parametrize("mode", ["legacy", "auto"])


def sampling(answer: str) -> dict[str, Any]:
    async def sample(ctx: Any, params: Any) -> types.CreateMessageResult:
        (message,) = params.messages
        content = types.TextContent(text=f"{answer} to {message.content.text}")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    return {"sampling_callback": sample}


async def asked(client: Client, kind: str) -> dict[str, Any]:
    result = await client.call_tool("ask", {"kind": kind})
    assert not result.is_error, result
    found: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    return found


@both
async def test_a_client_is_asked_for_everything_that_it_can_do(notes: Notes, mode: str) -> None:
    seen: list[Any] = []

    async def elicit(ctx: Any, params: Any) -> types.ElicitResult:
        seen.append(getattr(params, "url", None) or params.requested_schema["properties"])
        return types.ElicitResult(action="accept", content={"name": "Ann"})

    async def roots(ctx: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///home", name="home")])

    callbacks = {**sampling("yes"), "elicitation_callback": elicit, "list_roots_callback": roots}
    async with gateway(passing(notes, "a")) as made, made.client(mode, **callbacks) as client:
        assert (await asked(client, "sampling"))["content"]["text"] == "yes to a"
        assert (await asked(client, "form"))["content"] == {"name": "Ann"}
        assert (await asked(client, "url"))["action"] == "accept"
        assert (await asked(client, "roots"))["roots"] == [{"uri": "file:///home", "name": "home"}]
        assert seen == [{"name": {"type": "string"}}, "https://example.org/"]


@both
async def test_two_clients_at_once_are_asked_by_their_own_calls(notes: Notes, mode: str) -> None:
    async with (
        gateway(passing(notes, "a")) as made,
        made.http() as http,
        http(mode, **sampling("one")) as one,
        http(mode, **sampling("two")) as two,
    ):
        answers = await asyncio.gather(
            *(asked(client, "sampling") for client in (one, two, two, one, two, one))
        )
        texts = [answer["content"]["text"].partition(" ")[0] for answer in answers]
        assert texts == ["one", "two", "two", "one", "two", "one"]


@both
async def test_a_client_that_cannot_be_asked_is_not(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        for kind in ("sampling", "form", "roots"):
            with pytest.raises(MCPError):
                await client.call_tool("ask", {"kind": kind})


class _Able(Client):
    """A client that says which modes of elicitation it has."""

    modes: Any = None

    async def _build_session(self, exit_stack: Any) -> Any:
        session = await super()._build_session(exit_stack)
        session._build_capabilities = lambda _: types.ClientCapabilities(elicitation=self.modes)  # type: ignore[method-assign]
        return session


@both
@pytest.mark.parametrize("able", [{}, {"form": {}}, {"url": {}}, {"form": {}, "url": {}}])
async def test_a_server_learns_the_modes_of_elicitation_that_the_client_has(
    notes: Notes, mode: str, able: dict[str, Any]
) -> None:
    async def elicit(ctx: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with gateway(passing(notes, "a")) as made:
        client = _Able(made.server.app(), mode=mode, elicitation_callback=elicit)
        client.modes = types.ElicitationCapability.model_validate(able)
        async with client:
            found = await client.call_tool("can", {})
            assert json.loads(found.content[0].text) == {"elicitation": able}  # type: ignore[union-attr]
            for kind in ("form", "url"):
                if kind in able or (kind == "form" and not able):
                    assert (await asked(client, kind))["action"] == "decline"
                    continue
                with pytest.raises(MCPError, match="the client cannot"):
                    await client.call_tool("ask", {"kind": kind})


@both
async def test_the_refusal_of_a_client_fails_the_call(notes: Notes, mode: str) -> None:
    async def refuse(ctx: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="the person said no")

    async with (
        gateway(passing(notes, "a")) as made,
        made.client(mode, sampling_callback=refuse) as client,
    ):
        with pytest.raises(MCPError, match="the person said no"):
            await client.call_tool("ask", {"kind": "sampling"})


async def test_changed_roots_are_reported(notes: Notes) -> None:
    async def roots(ctx: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    async with (
        gateway(passing(notes, "a")) as made,
        made.client(list_roots_callback=roots) as client,
    ):
        await client.call_tool("talk", {})
        await client.send_roots_list_changed()
        await asyncio.wait_for(notes.wait_for("roots changed"), 60)


class _Modern:
    protocol_version = "2026-07-28"
    request_id = 1


async def test_answers_that_fit_no_question_are_passed_over() -> None:
    call = PassedRequest(_Modern())
    form = types.ElicitRequestFormParams(message="?", requested_schema={"type": "object"})
    call.start(call.ask(types.ElicitRequest(params=form)))
    first = await call.follow(_Modern())
    assert PassedRequest.key_in(first.request_state) == call.key
    again = await call.follow(_Modern(), {"other": types.ListRootsResult(roots=[])})
    assert again.input_requests.keys() == first.input_requests.keys()
    (key,) = first.input_requests
    answer = await call.follow(_Modern(), {key: types.ListRootsResult(roots=[])})
    assert answer.message == "the client's answer does not match the kind of the question"


async def test_the_state_of_others_belongs_to_no_call() -> None:
    assert PassedRequest.key_in(None) is None
    assert PassedRequest.key_in("state of the server") is None


async def test_work_that_was_not_started_cannot_be_followed() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        await PassedRequest(_Modern()).follow(_Modern())
    await PassedRequest(_Modern()).stop()
