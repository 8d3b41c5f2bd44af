"""Exceptions of tools that code does not catch: the model sees them, or the agent raises them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpstack import ConfigurationError, InterpreterStack, bridge
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.tools.tool_errors import ToolFailed

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])


class OutOfReach(ConnectionError):
    pass


@attrs.define
class Shop:
    """Tools that note what they do; `flaky` fails a few times."""

    failures: int = 1
    done: list[str] = attrs.field(factory=list)

    def tools(self) -> list[BaseTool]:
        @tool
        async def pay(what: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Pay."""
            self.done.append(what)
            answers = ToolMessage(f"paid {what}", tool_call_id=call_id)
            return Command(update={"paid": [what], "messages": [answers]})

        @tool
        def flaky(text: str = "") -> str:
            """Fail a few times."""
            self.done.append("flaky")
            if self.done.count("flaky") <= self.failures:
                raise OutOfReach("no route to the shop")
            return "ok"

        @tool
        def whole(number: int) -> int:
            """Take a number."""
            return number

        return [pay, flaky, whole]


class Paid(AgentState[Any]):
    paid: Annotated[list[str], operator.add]


class WithPaid(AgentMiddleware[Any, Any, Any]):
    state_schema = Paid


def retrying(times: int = 3) -> ToolRetryMiddleware:
    return ToolRetryMiddleware(
        max_retries=times, initial_delay=0, jitter=False, tools=["eval"], on_failure="error"
    )


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def chat(talk: Any, shop: Shop) -> Callable[..., Any]:
    def make(*before: Any, **options: Any) -> Any:
        return talk(ptc=shop.tools(), before=[WithPaid(), *before], **options)

    return make


# -- reported ------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("engine", ["quickjs", "v8", "monty"])
async def test_the_model_reads_tool_class_and_message(
    chat: Any, engine: str, use_async: bool
) -> None:
    result = await chat(engine=engine).turn("await tools.flaky()")
    (answer,) = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    for word in ("ToolError", "no route to the shop", "OutOfReach", "tools.flaky"):
        assert word in answer.text
    assert answer.status == "error"
    assert "Traceback" not in answer.text
    assert __file__ not in answer.text


async def test_code_that_catches_reads_the_message_alone(chat: Any) -> None:
    code = "try { await tools.flaky() } catch (e) { [e.message, e.tool, e.kind] }"
    assert await chat().run(code) == [
        '<result>["no route to the shop", "tools.flaky", "OutOfReach"]</result>'
    ]


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
async def test_an_error_that_is_thrown_again_names_its_tool(chat: Any, engine: str) -> None:
    keep = "let kept; try { await tools.flaky() } catch (e) { kept = e } throw kept"
    wrap = "throw new Error('wrap', {cause: kept})"
    first, again, wrapped = await chat(engine=engine).run(keep, "throw kept", wrap)
    fields = '{tool: "tools.flaky", kind: "OutOfReach"}'
    assert "(OutOfReach in tools.flaky)" in first
    assert "{tool" not in first
    assert "no route to the shop" in again
    assert fields in again
    assert f"[cause]: ToolError: no route to the shop {fields}" in wrapped


@both
@pytest.mark.parametrize("tool_errors", ["tell", "raise"])
async def test_an_exception_that_no_thread_can_pass_on_is_an_error_of_the_tool(
    talk: Any, tool_errors: str
) -> None:
    @tool
    def last() -> str:
        """Take the next of nothing."""
        raise StopIteration("nothing left")

    chat = talk(ptc=[last], tool_errors=tool_errors)
    code = "try { await tools.last() } catch (e) { e.name + ': ' + e.message }"
    said = "the tool raised StopIteration('nothing left')"
    assert await chat.run(code) == [f"<result>ToolError: {said}</result>"]
    if tool_errors == "raise":
        with pytest.raises(RuntimeError, match="nothing left"):
            await chat.run("await tools.last()")


async def test_wrong_input_says_which_tool(chat: Any) -> None:
    (answer,) = await chat().run("await tools.whole({number: 'x'})")
    assert "valid integer" in answer
    assert "tools.whole" in answer


async def test_an_own_error_of_the_code_names_no_tool(chat: Any) -> None:
    code = "try { await tools.flaky() } catch (e) { throw new Error('gave up') }"
    (answer,) = await chat().run(code)
    assert answer.startswith('<error type="Error">gave up\n    at')
    assert "tools.flaky" not in answer


def test_an_outcome_tells_of_the_request_that_failed() -> None:
    @bridge("shop.open")
    async def door() -> None:
        raise OutOfReach("closed")

    with InterpreterStack(bridges=[door]) as stack, stack.session() as session:
        error = session.eval_sync("await shop.open()").error
        assert error is not None
        assert dict(error.data) == {"tool": "shop.open", "kind": "OutOfReach"}
        caught = session.eval_sync("try { await shop.open() } catch (e) { throw new Error('x') }")
        assert caught.error is not None
        assert not caught.error.data


# -- raised --------------------------------------------------------------------------------


def test_other_words_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="tool_errors takes 'tell' or 'raise'"):
        CodeInterpreterMiddleware(tool_errors="ignore")


@both
@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_it_leaves_the_agent_as_from_a_call_by_the_model(
    chat: Any, use_async: bool, mode: str
) -> None:
    talking = chat(tool_errors="raise", mode=mode)
    with pytest.raises(OutOfReach, match="no route"):
        await talking.turn("await tools.flaky()")


@both
async def test_variables_are_as_they_were(chat: Any, use_async: bool) -> None:
    talking = chat(tool_errors="raise")
    await talking.turn("var kept = 1")
    with pytest.raises(OutOfReach):
        await talking.turn("kept = 2; await tools.flaky()")
    result = await talking.turn("kept", thread="t")
    assert result["messages"][-2].text == "<result>1</result>"


@pytest.mark.parametrize(
    "code",
    [
        "try { await tools.flaky() } catch { 'caught' }",
        "await tools.flaky().catch(() => 'caught')",
        "(await Promise.allSettled([tools.flaky()]))[0].status.replace('rejected', 'caught')",
    ],
)
async def test_what_code_catches_does_not_leave(chat: Any, code: str) -> None:
    assert await chat(tool_errors="raise").run(code) == ["<result>caught</result>"]


@pytest.mark.parametrize("code", ["await tools.whole({number: 'x'})", "null.x", "throw 'x'"])
async def test_other_errors_are_reported(chat: Any, code: str) -> None:
    (answer,) = await chat(tool_errors="raise").run(code)
    assert answer.startswith("<error ")


CODES = {
    "in line": (
        "const a = await tools.pay({what: 'a'}); const b = await tools.flaky();"
        "[a, b, await tools.pay({what: 'b'})]"
    ),
    "side by side": (
        "await Promise.all([tools.pay({what: 'a'}), tools.flaky(), tools.pay({what: 'b'})])"
    ),
    "after a caught one": (
        "let a; try { await tools.flaky() } catch { a = await tools.pay({what: 'a'}) }"
        "const b = await tools.flaky({text: 'again'}); [a, b, await tools.pay({what: 'b'})]"
    ),
    "with timers": (
        "const a = await tools.pay({what: 'a'}); let b; try { b = await tools.flaky() }"
        "finally { await new Promise(r => setTimeout(r, 5)) } [a, b, await tools.pay({what: 'b'})]"
    ),
}


@both
@pytest.mark.parametrize("name", CODES)
async def test_a_retry_repeats_the_failed_calls_alone(
    chat: Any, shop: Shop, name: str, use_async: bool
) -> None:
    shop.failures = 3
    talking = chat(retrying(), tool_errors="raise")
    result = await talking.turn("globalThis.runs = 1", CODES[name])
    answer = [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1]
    between = '"ok"'
    if name == "side by side":
        assert answer == '<result>["paid a", "ok", "paid b"]</result>'
    else:
        assert answer == f'<result>["paid a", {between}, "paid b"]</result>'
    assert sorted(one for one in shop.done if one != "flaky") == ["a", "b"]
    assert sorted(result["paid"]) == ["a", "b"]
    assert shop.done.count("flaky") == 4


async def test_without_a_record_a_retry_runs_all_again(chat: Any, shop: Shop) -> None:
    talking = chat(retrying(), tool_errors="raise", durable=False)
    await talking.turn("globalThis.runs = 1", f"runs++; const all = {CODES['side by side']}; all")
    assert sorted(shop.done) == ["a", "a", "b", "b", "flaky", "flaky"]
    assert await talking.run("runs") == ["<result>2</result>"]  # from the state before it


async def test_another_process_makes_the_failed_calls_again(
    chat: Any, shop: Shop, talk: Any
) -> None:
    saver = InMemorySaver()
    first = chat(tool_errors="raise", checkpointer=saver)
    await first.turn("globalThis.runs = 1")
    with pytest.raises(OutOfReach):
        await first.turn(f"runs++; {CODES['side by side']}")
    second = chat(tool_errors="raise", checkpointer=saver)
    second.say([])
    config = {"configurable": {"thread_id": "t"}}
    result = await second.agent.ainvoke(None, config)
    assert sorted(shop.done) == ["a", "b", "flaky", "flaky"]
    assert sorted(result["paid"]) == ["a", "b"]
    assert await second.run("runs") == ["<result>2</result>"]


async def test_a_failure_that_was_recorded_is_raised_again(chat: Any, shop: Shop) -> None:
    """Calls that code made after the failure must not be made twice."""
    shop.failures = 9
    code = (
        "let why; try { await tools.flaky() } catch (e) { why = e }"
        "await tools.pay({what: 'a'}); throw why"
    )
    talking = chat(retrying(2), tool_errors="raise")
    with pytest.raises(ToolFailed, match=r"tools\.flaky raised OutOfReach: no"):
        await talking.turn(code)
    assert shop.done == ["flaky", "a"]


async def test_retries_that_go_on_failing_end(chat: Any, shop: Shop) -> None:
    shop.failures = 9
    with pytest.raises(OutOfReach):
        await chat(retrying(2), tool_errors="raise").turn(CODES["in line"])
    assert shop.done == ["a", "flaky", "flaky", "flaky"]
