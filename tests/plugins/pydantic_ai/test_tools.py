"""Code calls the agent's tools through PydanticAI."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelRetry,
    RunContext,
    Tool,
    ToolFailed,
    ToolReturn,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset
from pydantic_ai.usage import UsageLimits
from pydantic_ai_scripts import Make, Script, results

from interpstack import Bridge, ConfigurationError, HostOffer, Limits, hookimpl
from interpstack_learned import LearnedTypes
from interpstack_pydantic_ai import PRESET, CodeInterpreter
from interpstack_state import MemoryStore

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class Address(BaseModel):
    city: str
    lines: list[str] = []


def agent_of(script: Script, capability: Any, **options: Any) -> Agent[Any, str]:
    return Agent(script.model, capabilities=[capability], **options)


async def result_of(interpreter: Make, code: str, *tools: Any, **options: Any) -> str:
    """The answer of one eval of an agent with some tools."""
    agent = agent_of(Script(code), interpreter(**options), tools=tools)
    return (await agent.run("go")).output


async def test_code_calls_function_tools_and_toolsets(interpreter: Make) -> None:
    toolset = FunctionToolset[Any]()

    @toolset.tool_plain
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    script = Script("await tools.double({n: await tools.addOne({n: 1})})")
    agent = agent_of(script, interpreter(), toolsets=[toolset])

    @agent.tool_plain
    async def add_one(n: int) -> int:
        return n + 1

    assert (await agent.run("go")).output == "<result>4</result>"
    assert script.instructions is not None
    assert "addOne(input: { n: number }): Promise<number>" in script.instructions
    assert "/** Double a number. */" in script.instructions


async def test_answers_of_earlier_agents_are_in_signatures(interpreter: Make) -> None:
    def look(n: int) -> dict[str, Any]:
        return {"size": n}

    store = MemoryStore()
    code = "await tools.look({n: 1}); await tools.look({n: 2}); 'seen'"
    for shown in ("Record<string, unknown>>", "{ size: number }> // seen 2 times"):
        script = Script(code)
        types = LearnedTypes(store)
        capability = interpreter(learn_types=types)
        await agent_of(script, capability, tools=[look]).run("go")
        types.save()
        assert script.instructions is not None
        assert f"look(input: {{ n: number }}): Promise<{shown}\n" in script.instructions


async def test_tools_get_the_context_of_the_run(interpreter: Make) -> None:
    seen: list[Any] = []
    agent = Agent(
        Script("await Promise.all([tools.who(), tools.who()])").model,
        capabilities=[interpreter()],
        deps_type=str,
    )

    @agent.tool
    def who(ctx: RunContext[str]) -> str:
        seen.append((ctx.tool_name, ctx.tool_call_id))
        return ctx.deps

    assert (await agent.run("go", deps="Ann")).output == '<result>["Ann", "Ann"]</result>'
    assert [name for name, _ in seen] == ["who", "who"]
    assert len({call for _, call in seen}) == 2


async def test_arguments_are_validated_and_converted_by_pydantic(interpreter: Make) -> None:
    def send(to: Address, urgent: bool = False) -> str:
        return f"{type(to).__name__} {to.city}"

    code = (
        "const r = [await tools.send({to: {city: 'Rome'}})];"
        "try { await tools.send({to: {city: 5}}) } catch (e) { r.push(e.name + ' ' + e.message) } r"
    )
    assert await result_of(interpreter, code, send) == (
        '<result>["Address Rome", "ToolError to.city: Input should be a valid string"]</result>'
    )


async def test_a_field_that_a_tool_does_not_have_is_refused(interpreter: Make) -> None:
    def look(n: int = 0) -> int:
        return n

    answer = await result_of(interpreter, "await tools.look({m: 1})", look)
    assert "tools.look has no field 'm'; its fields are: n" in answer


@pytest.mark.parametrize("error", [ModelRetry("try a smaller one"), ToolFailed("no such thing")])
async def test_what_a_model_would_read_code_catches(interpreter: Make, error: Exception) -> None:
    def look(n: int) -> int:
        raise error

    code = "let m; try { await tools.look({n: 1}) } catch (e) { m = e.message } m"
    assert await result_of(interpreter, code, look) == f"<result>{error}</result>"


async def test_retries_from_code_do_not_use_up_those_of_the_model(interpreter: Make) -> None:
    def look(n: int) -> int:
        if n < 9:
            raise ModelRetry("more")
        return n

    code = "let n = 0; for (;;) { try { n = await tools.look({n}); break } catch { n += 1 } } n"
    assert await result_of(interpreter, code, look) == "<result>9</result>"


async def test_other_exceptions_of_tools_reach_the_developer(interpreter: Make) -> None:
    def look(n: int) -> int:
        raise KeyError("no such row")

    with pytest.raises(KeyError, match="no such row"):
        await result_of(interpreter, "try { await tools.look({n: 1}) } catch { 'caught' }", look)


async def test_errors_in_code_are_results_for_the_model(interpreter: Make) -> None:
    script = Script("null.x", "x y", "throw new Error('<bad>')")
    run = await agent_of(script, interpreter()).run("go")
    first, second, third = results(run.all_messages())
    assert first.startswith('<error type="TypeError">')
    assert second.startswith('<error type="SyntaxError">')
    assert "&lt;bad&gt;" in third


async def test_values_of_tools_have_the_form_of_json(interpreter: Make) -> None:
    def look() -> list[Any]:
        return [Address(city="Rome"), ToolReturn("kept", content="dropped").return_value, {1}]

    def whole() -> ToolReturn[Any]:
        return ToolReturn({"a": 1}, metadata={"secret": 1})

    code = "[await tools.look(), await tools.whole()]"
    assert await result_of(interpreter, code, look, whole) == (
        '<result>[[{city: "Rome", lines: []}, "kept", [1]], {a: 1}]</result>'
    )


async def test_images_of_tools_pass_through_code_to_the_model(interpreter: Make) -> None:
    def draw() -> BinaryContent:
        return BinaryContent(PNG, media_type="image/png")

    agent = agent_of(Script("await display(await tools.draw()); 1"), interpreter(), tools=[draw])
    run = await agent.run("go")
    (part,) = [p for m in run.all_messages() for p in m.parts if p.part_kind == "tool-return"]
    text, image = part.content
    assert "<result>1</result>" in text
    assert isinstance(image, BinaryContent)
    assert (image.data, image.media_type) == (PNG, "image/png")


async def test_files_that_providers_do_not_take_are_named(interpreter: Make) -> None:
    code = "await display(new Uint8Array([80, 75, 3, 4]), {mimeType: 'application/zip'}); 1"
    assert "<notice>Left out for the model: application/zip, 4 bytes</notice>" in await result_of(
        interpreter, code
    )


async def test_texts_that_code_shows_are_in_the_answer(interpreter: Make) -> None:
    answer = await result_of(interpreter, "await display([{a: 1}, {a: 2}]); 1")
    assert '<shown index="1" type="text/markdown">' in answer


@pytest.mark.parametrize(
    ("ptc", "called"),
    [
        (["look"], ["look"]),
        ({"safe": True}, ["look"]),
        (lambda ctx, tool: tool.name != "look", ["pay"]),
        ("all", ["look", "pay"]),
        ((), []),
    ],
)
async def test_ptc_says_which_tools_code_may_call(
    interpreter: Make, ptc: Any, called: list[str]
) -> None:
    agent = agent_of(script := Script("Object.keys(tools)"), interpreter(ptc=ptc, ptc_only=True))

    @agent.tool_plain(metadata={"safe": True})
    def look() -> int:
        return 1

    @agent.tool_plain
    def pay() -> int:
        return 2

    said = (await agent.run("go")).output
    assert said == f"<result>{json.dumps(called)}</result>"
    assert script.tools == [name for name in ("look", "pay") if name not in called] + ["eval"]


async def test_a_model_cannot_call_tools_that_are_for_code_alone(interpreter: Make) -> None:
    called: list[int] = []

    def look(n: int) -> int:
        called.append(n)
        return n

    model = TestModel(call_tools=["look"])
    agent = Agent(model, tools=[look], capabilities=[interpreter(ptc_only=True)])
    with pytest.raises((UserError, ValueError, KeyError)):
        await agent.run("go")
    assert called == []


async def test_two_tools_of_one_name_in_code_are_refused(interpreter: Make) -> None:
    def read_file() -> int:
        return 1

    def readFile() -> int:  # noqa: N802 - the clash of the test
        return 2

    with pytest.raises(ConfigurationError, match=r"would both be tools\.readFile"):
        await result_of(interpreter, "1", read_file, readFile)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "call", "max_snapshot_bytes": 9}, "max_snapshot_bytes has no effect with mode="),
        (
            {"mode": "call", "snapshot_signing_key": b"k" * 16},
            "snapshot_signing_key has no effect with mode='call'",
        ),
        ({"lease_seconds": 9}, "lease_seconds has no effect without store"),
        ({"ptc": {}, "interrupt_on": "all"}, "interrupt_on has no effect with ptc={}"),
        ({"preset": PRESET.without("ptc"), "ptc": ["add"]}, "ptc needs the plugin 'ptc'"),
        ({"preset": PRESET.without("ptc"), "ptc_only": True}, "ptc_only needs the plugin 'ptc'"),
        (
            {"preset": PRESET.without("durable"), "interrupt_on": "all"},
            "interrupt_on needs the plugin 'durable', which the preset leaves out",
        ),
    ],
)
def test_arguments_of_a_part_that_is_off_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        CodeInterpreter(**given)


def test_another_plugin_may_take_the_place_of_one_that_an_argument_needs() -> None:
    class Other:
        name = "other-ptc"

        @hookimpl
        def interpstack_register_bridges(self, offer: HostOffer) -> list[Bridge]:
            return []

    CodeInterpreter(preset=PRESET.replace("ptc", Other()), ptc=["add"], ptc_only=True)


async def test_a_tool_with_the_name_of_the_eval_tool_is_refused(interpreter: Make) -> None:
    toolset = FunctionToolset[Any]()
    toolset.add_function(lambda: 1, name="eval")
    with pytest.raises(UserError, match="tool_name="):
        await agent_of(Script("1"), interpreter(), toolsets=[toolset]).run("go")


async def test_calls_run_side_by_side(interpreter: Make) -> None:
    together = asyncio.Barrier(3)

    async def wait(n: int) -> int:
        await together.wait()
        return n

    code = "(await Promise.all([1, 2, 3].map(n => tools.wait({n})))).join()"
    assert await result_of(interpreter, code, wait) == "<result>1,2,3</result>"


async def test_no_call_runs_beside_one_of_a_sequential_tool(interpreter: Make) -> None:
    running: list[str] = []
    beside: list[list[str]] = []

    async def used(name: str) -> None:
        running.append(name)
        beside.append([one for one in running if one != name])
        await asyncio.sleep(0.01)
        running.remove(name)

    async def write() -> None:
        await used("write")

    async def delete() -> None:
        await used("delete")

    async def read() -> None:
        await used("read")

    tools = [Tool(write, sequential=True), Tool(delete, sequential=True), read]
    code = "await Promise.all([tools.write(), tools.read(), tools.delete()]); 1"
    assert await result_of(interpreter, code, *tools) == "<result>1</result>"
    assert beside == [[], [], []]


async def test_calls_from_code_count_for_the_limits_of_the_run(interpreter: Make) -> None:
    called: list[int] = []

    def look(n: int) -> int:
        called.append(n)
        return n

    code = "for (let n = 0; n < 9; n++) try { await tools.look({n}) } catch {}"
    agent = agent_of(Script(code), interpreter(), tools=[look])
    with pytest.raises(UsageLimitExceeded, match="tool_calls_limit of 4"):
        await agent.run("go", usage_limits=UsageLimits(tool_calls_limit=4))
    assert called == [0, 1, 2]
    agent = agent_of(Script("await tools.look({n: 1})"), interpreter(), tools=[look])
    assert (await agent.run("go")).usage.tool_calls == 2


async def test_calls_side_by_side_cannot_pass_the_limit_together(interpreter: Make) -> None:
    called: list[int] = []

    async def look(n: int) -> int:
        called.append(n)
        await asyncio.sleep(0)
        return n

    code = "await Promise.allSettled([1, 2, 3, 4, 5].map(n => tools.look({n})))"
    agent = agent_of(Script(code), interpreter(), tools=[look])
    with pytest.raises(UsageLimitExceeded):
        await agent.run("go", usage_limits=UsageLimits(tool_calls_limit=3))
    assert len(called) == 2


async def test_a_tool_that_is_answered_outside_of_the_run_is_refused(interpreter: Make) -> None:
    outside = ExternalToolset[Any]([ToolDefinition(name="outside")])
    agent = agent_of(Script("await tools.outside()"), interpreter(), toolsets=[outside])
    with pytest.raises(UserError, match="HandleDeferredToolCalls, or leave it out of ptc"):
        await agent.run("go")


@pytest.mark.parametrize(
    "value",
    [
        "'\\ud800'",
        "NaN",
        "10n ** 100n",
        "new Date(NaN)",
        "{['__proto__']: {x: 1}}",
        "(() => { const a = {}; a.a = a; return a })()",
        "'x'.repeat(2 ** 20)",
        "Symbol.iterator",
        "new Map([[{}, 1]])",
    ],
)
async def test_hostile_values_reach_a_tool_or_are_refused_in_code(
    interpreter: Make, value: str
) -> None:
    seen: list[Any] = []

    def take(v: Any) -> str:
        seen.append(v)
        return "taken"

    code = f"let r; try {{ r = await tools.take({{v: {value}}}) }} catch (e) {{ r = 'refused' }} r"
    run = await agent_of(Script(code), interpreter(), tools=[take]).run("go")
    assert run.output in ("<result>taken</result>", "<result>refused</result>")
    assert len(seen) == (run.output == "<result>taken</result>")
    run.all_messages_json()


async def test_results_that_are_no_unicode_can_be_stored(interpreter: Make) -> None:
    run = await agent_of(Script("'\\ud800 and more'"), interpreter()).run("go")
    run.all_messages_json()


@pytest.mark.parametrize("lost", [{1: "a", "1": "b"}, {"deep": [{None: 1, "None": 2}]}])
async def test_a_value_of_which_json_would_lose_a_part_reaches_the_developer(
    interpreter: Make, lost: dict[Any, Any]
) -> None:
    def look() -> dict[Any, Any]:
        return lost

    with pytest.raises(TypeError, match=r"two keys of a dictionary are '(1|None)' as text"):
        await result_of(interpreter, "await tools.look()", look)


async def test_keys_of_dictionaries_are_those_of_json(interpreter: Make) -> None:
    def look() -> dict[Any, Any]:
        return {1: {True: "a"}, "b": {2.5: [{None: 1}]}}

    assert await result_of(interpreter, "JSON.stringify(await tools.look())", look) == (
        '<result>{"1":{"true":"a"},"b":{"2.5":[{"None":1}]}}</result>'
    )


async def test_code_that_is_too_long_is_the_model_s_to_shorten(interpreter: Make) -> None:
    script = Script(" " * (Limits().source_bytes + 1), "1 + 1")
    run = await agent_of(script, interpreter()).run("go")
    refused, answered = results(run.all_messages())
    assert "at most 1048576 are accepted" in refused
    assert answered == "<result>2</result>"
