"""Calls from code that need an approval end the run, and the next run resumes the eval."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
    UserError,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai_scripts import Make, Script, results
from pydantic_core import to_json

from interpstack import ConfigurationError
from interpstack_pydantic_ai import PRESET, CodeInterpreter, answers, questions

PAY = (
    "let said = await tools.look({euros: 1});"
    "try { said = await tools.pay({euros: said}) } catch (e) { said = e.message } said"
)


class Till:
    """Tools with effects, which it counts."""

    def __init__(self, *steps: Any, capabilities: Any, answered: Any = ()) -> None:
        self.done: list[str] = []
        self.script = Script(*steps)
        self.agent: Agent[Any, Any] = Agent(
            self.script.model,
            output_type=[str, DeferredToolRequests],
            capabilities=[capabilities, *answered],
        )

        @self.agent.tool_plain
        def look(euros: int) -> int:
            self.done.append(f"look {euros}")
            return 2 * euros

        @self.agent.tool_plain(requires_approval=True)
        def pay(euros: int) -> str:
            self.done.append(f"pay {euros}")
            return f"paid {euros}"

    async def resumed(self, run: Any, decisions: Any, results: Any = None) -> Any:
        return await self.agent.run(
            message_history=run.all_messages(),
            deferred_tool_results=answers(run.output, decisions, results),
        )


@pytest.mark.parametrize("edited", [False, True])
async def test_half_of_a_surrogate_pair_is_shown_escaped_and_the_tool_gets_it(
    interpreter: Make, edited: bool
) -> None:
    script = Script(r"await tools.send({text: 'x\ud83d'})")
    agent: Agent[Any, Any] = Agent(
        script.model, output_type=[str, DeferredToolRequests], capabilities=[interpreter()]
    )
    sent: list[str] = []

    @agent.tool_plain(requires_approval=True)
    def send(text: str) -> str:
        sent.append(text)
        return "sent"

    run = await agent.run("go")
    (question,) = questions(run.output)
    assert question.args == {"text": {"$escaped": r"x\ud83d"}}
    decision = ToolApproved(override_args=dict(question.args)) if edited else True
    given = answers(run.output, {question.id: decision})
    await agent.run(message_history=run.all_messages(), deferred_tool_results=given)
    assert sent == ["x\ud83d"]


async def test_an_approval_pauses_the_run_and_nothing_is_repeated(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    assert (question.tool, question.args) == ("pay", {"euros": 2})
    assert [call.tool_name for call in run.output.approvals] == ["eval"]
    assert till.done == ["look 1"]
    run = await till.resumed(run, {question.id: True})
    assert run.output == "<result>paid 2</result>"
    assert till.done == ["look 1", "pay 2"]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (False, "The tool call was denied."),
        (ToolDenied("too much"), "too much"),
    ],
)
async def test_a_denial_raises_in_code(interpreter: Make, decision: Any, message: str) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    run = await till.resumed(run, {question.id: decision})
    assert run.output == f"<result>{message}</result>"
    assert till.done == ["look 1"]


async def test_an_approval_can_change_the_arguments(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    run = await till.resumed(run, {question.id: ToolApproved(override_args={"euros": 1})})
    assert run.output == "<result>paid 1</result>"


@pytest.mark.parametrize(
    "args", [{"euros": "many"}, {"pounds": 1}, {}, {"euros": 1, "more": 2}], ids=str
)
async def test_changed_arguments_that_the_tool_does_not_take_are_refused(
    interpreter: Make, args: dict[str, Any]
) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    with pytest.raises(UserError, match=f"the changed arguments for {question.id}"):
        await till.resumed(run, {question.id: ToolApproved(override_args=args)})
    assert till.done == ["look 1"]
    run = await till.resumed(run, {question.id: True})
    assert run.output == "<result>paid 2</result>"


async def test_decisions_that_do_not_fit_name_the_open_questions(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    listed = rf'open questions: {question.id}: pay\({{"euros": 2}}\)'
    with pytest.raises(UserError, match=f"a decision is missing.*{listed}"):
        answers(run.output, {})
    with pytest.raises(UserError, match=f"no open question 'x'.*{listed}"):
        answers(run.output, {question.id: True, "x": True})
    with pytest.raises(UserError, match="a decision is True, False"):
        answers(run.output, {question.id: "yes"})  # type: ignore[dict-item]
    history = run.all_messages()
    for metadata in ({}, {"c0": {"interpstack": {}}}):
        given = DeferredToolResults(approvals={"c0": True}, metadata=metadata)
        with pytest.raises(UserError, match=f"a decision is missing.*{listed}"):
            await till.agent.run(message_history=history, deferred_tool_results=given)
    forged = {"c0": {"interpstack": {"0" * 24: {"kind": "tool-approved"}}}}
    given = DeferredToolResults(approvals={"c0": True}, metadata=forged)
    with pytest.raises(UserError, match=f"there is no open question.*{listed}"):
        await till.agent.run(message_history=history, deferred_tool_results=given)
    assert till.done == ["look 1"]


async def test_an_approval_counts_for_the_question_that_was_shown_alone(interpreter: Make) -> None:
    code = "await tools.pay({euros: 1}); await tools.pay({euros: 1000})"
    till = Till(code, capabilities=interpreter())
    first = await till.agent.run("go")
    (question,) = questions(first.output)
    second = await till.resumed(first, {question.id: True})
    (other,) = questions(second.output)
    assert other.args == {"euros": 1000}
    with pytest.raises(UserError, match=f"no open question '{question.id}'"):
        await till.resumed(first, {question.id: True})
    assert till.done == ["pay 1"]
    last = await till.resumed(second, {other.id: True})
    assert last.output == "<result>paid 1000</result>"
    assert till.done == ["pay 1", "pay 1000"]


async def test_an_eval_that_ended_is_not_run_again(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    first = await till.agent.run("go")
    (question,) = questions(first.output)
    for _ in range(2):
        again = await till.resumed(first, {question.id: True})
        assert again.output == "<result>paid 2</result>"
    assert till.done == ["look 1", "pay 2"]


async def test_calls_side_by_side_are_asked_about_together(interpreter: Make) -> None:
    code = "(await Promise.allSettled([1, 2].map(n => tools.pay({euros: n})))).map(r => r.status)"
    till = Till(code, capabilities=interpreter())
    run = await till.agent.run("go")
    one, two = questions(run.output)
    assert (one.args, two.args) == ({"euros": 1}, {"euros": 2})
    run = await till.resumed(run, {one.id: True, two.id: False})
    assert run.output == '<result>["fulfilled", "rejected"]</result>'
    assert till.done == ["pay 1"]


async def test_the_same_call_twice_is_two_questions(interpreter: Make) -> None:
    code = "await Promise.all([tools.pay({euros: 1}), tools.pay({euros: 1})])"
    till = Till(code, capabilities=interpreter())
    one, two = questions((await till.agent.run("go")).output)
    assert one.id != two.id


async def test_interrupt_on_asks_about_other_tools(interpreter: Make) -> None:
    till = Till("await tools.look({euros: 1})", capabilities=interpreter(interrupt_on=["look"]))
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    assert question.tool == "look"
    run = await till.resumed(run, {question.id: True})
    assert run.output == "<result>2</result>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interrupt_on": ["looks"]}, r"interrupt_on names 'looks'; .* so far are: look, pay\."),
        (
            {"interrupt_on": {"look": True}},
            r"a mapping of metadata, .* pass a list, as in \['look'\]",
        ),
        (
            {"interrupt_on": {"costs": "much"}},
            "interrupt_on is a mapping of metadata, which no tool",
        ),
        ({"ptc": ["looks"]}, "ptc names 'looks'"),
        ({"ptc": {"look": {}}}, "ptc is a mapping of metadata"),
    ],
)
async def test_a_selector_of_no_tool_lets_no_code_run(
    interpreter: Make, options: Any, message: str
) -> None:
    till = Till("await tools.look({euros: 1})", capabilities=interpreter(**options))
    with pytest.raises(UserError, match=message):
        await till.agent.run("go")
    assert till.done == []


async def test_a_tool_that_comes_and_goes_may_be_selected_by_name(interpreter: Make) -> None:
    made: list[int] = []

    def look() -> int:
        made.append(1)
        return 1

    async def prepare(ctx: Any, tool: Any) -> Any:
        return tool if len(ctx.messages) < 2 else None

    agent = Agent(
        Script("1", "Object.keys(tools)").model,
        tools=[Tool(look, prepare=prepare)],
        capabilities=[interpreter(interrupt_on=["look"])],
    )
    assert (await agent.run("go")).output == "<result>[]</result>"


def test_a_rule_for_a_tool_that_code_cannot_call_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="interrupt_on names 'pay', which is not in ptc"):
        CodeInterpreter(ptc=["look"], interrupt_on=["look", "pay"])


async def test_a_question_says_what_the_tool_says_about_it(interpreter: Make) -> None:
    def send(ctx: RunContext[Any], euros: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"reason": "above the limit", "limit": 5})
        return f"sent {euros}"

    agent: Agent[Any, Any] = Agent(
        Script("await tools.send({euros: 9})").model,
        output_type=[str, DeferredToolRequests],
        tools=[send],
        capabilities=[interpreter()],
    )
    run = await agent.run("go")
    again = await agent.run(message_history=run.all_messages())
    (question,) = questions(again.output)
    assert question.metadata == {"reason": "above the limit", "limit": 5}
    run = await agent.run(
        message_history=again.all_messages(),
        deferred_tool_results=answers(again.output, {question.id: True}),
    )
    assert run.output == "<result>sent 9</result>"


async def test_evals_behind_one_that_waits_run_after_it(interpreter: Make) -> None:
    till = Till([PAY, "said + '!'"], capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    assert [call.tool_call_id for call in run.output.approvals] == ["c0", "c1"]
    run = await till.resumed(run, {question.id: True})
    assert results(run.all_messages()) == ["<result>paid 2</result>", "<result>paid 2!</result>"]


async def test_evals_of_one_message_that_each_wait_ask_one_after_another(
    interpreter: Make,
) -> None:
    till = Till([PAY, "await tools.pay({euros: 7})"], capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    run = await till.resumed(run, {question.id: True})
    (question,) = questions(run.output)
    assert question.args == {"euros": 7}
    run = await till.resumed(run, {question.id: True})
    assert run.output == "<result>paid 7</result>"
    assert till.done == ["look 1", "pay 2", "pay 7"]


async def test_a_denied_eval_is_given_up(interpreter: Make) -> None:
    till = Till(PAY, "1 + 1", capabilities=interpreter())
    run = await till.agent.run("go")
    given = DeferredToolResults(approvals={"c0": ToolDenied("not at all")})
    run = await till.agent.run(message_history=run.all_messages(), deferred_tool_results=given)
    assert results(run.all_messages()) == ["not at all", "<result>2</result>"]


@pytest.mark.parametrize("denial", [ToolDenied("not at all"), False])
@pytest.mark.parametrize("bare", [False, True], ids=["with decisions", "without decisions"])
async def test_an_eval_that_was_given_up_runs_by_no_later_answer(
    interpreter: Make, denial: Any, bare: bool
) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    history = run.all_messages()
    (question,) = questions(run.output)
    approval = answers(run.output, {question.id: True})
    if bare:
        approval.metadata.clear()
    given = DeferredToolResults(approvals={"c0": denial})
    for _ in range(2):  # sent twice, it does no harm
        await till.agent.run(message_history=history, deferred_tool_results=given)
    for _ in range(2):
        with pytest.raises(UserError, match="'c0' was given up by an earlier answer"):
            await till.agent.run(message_history=history, deferred_tool_results=approval)
    assert till.done == ["look 1"]


async def test_an_eval_behind_one_that_waits_can_be_given_up(interpreter: Make) -> None:
    till = Till([PAY, "await tools.look({euros: 8})"], capabilities=interpreter())
    run = await till.agent.run("go")
    history = run.all_messages()
    (question,) = questions(run.output)
    both = answers(run.output, {question.id: True})
    one = answers(run.output, {question.id: True})
    one.approvals["c1"] = False
    await till.agent.run(message_history=history, deferred_tool_results=one)
    with pytest.raises(UserError, match="'c1' was given up by an earlier answer"):
        await till.agent.run(message_history=history, deferred_tool_results=both)
    assert till.done == ["look 1", "pay 2"]


async def test_an_eval_that_has_ended_is_not_given_up(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    await till.resumed(run, {question.id: True})
    given = DeferredToolResults(approvals={"c0": False})
    with pytest.raises(UserError, match="'c0' was approved by an earlier answer, and has ended"):
        await till.agent.run(message_history=run.all_messages(), deferred_tool_results=given)
    again = await till.resumed(run, {question.id: True})
    assert again.output == "<result>paid 2</result>"


@pytest.mark.parametrize("denied", [False, True])
async def test_results_that_are_sent_again_after_a_later_eval_run_nothing(
    interpreter: Make, denied: bool
) -> None:
    till = Till([PAY, "await tools.look({euros: 8})"], "1 + 1", capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    given = answers(run.output, {question.id: True})
    if denied:
        given.approvals["c0"] = False
        given.metadata.clear()
    history = run.all_messages()
    await till.agent.run(message_history=history, deferred_tool_results=given)
    done = [*till.done]
    with pytest.raises(UserError, match="it has ended or was given up, and the evals of a later"):
        await till.agent.run(message_history=history, deferred_tool_results=given)
    assert till.done == done


async def test_a_run_without_a_decision_asks_again_and_runs_nothing(interpreter: Make) -> None:
    """Found by the simulation of seed 3624: other code of the cell went on."""
    code = (
        "const look = async () => { for (let n = 0; n < 5; n++) await tools.look({euros: n}) };"
        "const others = look();"
        "const paid = await tools.pay({euros: 9}); await others; paid"
    )
    till = Till(code, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    done = [*till.done]
    for _ in range(3):
        run = await till.agent.run(message_history=run.all_messages())
        assert [one.id for one in questions(run.output)] == [question.id]
        assert till.done == done
    run = await till.resumed(run, {question.id: True})
    assert run.output == "<result>paid 9</result>"
    assert sorted(till.done) == ["look 0", "look 1", "look 2", "look 3", "look 4", "pay 9"]


async def test_decisions_for_an_eval_that_was_given_up_are_refused(interpreter: Make) -> None:
    till = Till(PAY, "1 + 1", capabilities=interpreter())
    run = await till.agent.run("go", conversation_id="c")
    (question,) = questions(run.output)
    await till.agent.run("something else", conversation_id="c")
    with pytest.raises(UserError, match="is paused in conversation 'c'"):
        await till.resumed(run, {question.id: True})


async def test_a_handler_of_deferred_calls_answers_while_code_waits(interpreter: Make) -> None:
    asked: list[Any] = []

    async def handle(ctx: Any, requests: DeferredToolRequests) -> DeferredToolResults:
        asked.extend(requests.approvals)
        return requests.build_results(approve_all=True)

    handler = HandleDeferredToolCalls(handle)
    till = Till(PAY, capabilities=interpreter(), answered=[handler])
    assert (await till.agent.run("go")).output == "<result>paid 2</result>"
    assert [call.tool_name for call in asked] == ["pay"]
    assert till.done == ["look 1", "pay 2"]


async def test_everything_of_a_pause_passes_through_json(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    history = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
    (question,) = questions(run.output)
    given = answers(run.output, {question.id: ToolApproved(override_args={"euros": 4})})
    to_json(given)
    run = await till.agent.run(message_history=history, deferred_tool_results=given)
    assert run.output == "<result>paid 4</result>"


async def test_arguments_that_nobody_can_be_shown_are_refused_in_code(interpreter: Make) -> None:
    till = Till("1", capabilities=interpreter())

    @till.agent.tool_plain(requires_approval=True)
    def write(text: Any) -> str:
        raise AssertionError

    code = "let m; try { await tools.write({text: {'\\ud800': 1}}) } catch (e) { m = e.name } m"
    till.script.steps[:] = [code]
    run = await till.agent.run("go")
    assert isinstance(run.output, str)
    run.all_messages_json()


async def test_a_result_for_another_tool_travels_beside_the_decisions(interpreter: Make) -> None:
    till = Till(PAY, capabilities=interpreter())
    run = await till.agent.run("go")
    (question,) = questions(run.output)
    other = DeferredToolResults(approvals={"other": True}, metadata={"other": {"a": 1}})
    made = answers(run.output, {question.id: True}, other)
    assert made.approvals == {"other": True, "c0": True}
    assert made.metadata["other"] == {"a": 1}


@pytest.mark.parametrize("marked", [True, False])
async def test_without_a_record_no_tool_that_asks_can_be_called(
    interpreter: Make, marked: bool
) -> None:
    made: list[int] = []

    async def pay(ctx: RunContext[Any], euros: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        made.append(euros)
        return "paid"

    agent: Agent[Any, Any] = Agent(
        Script("await tools.pay({euros: 1})").model,
        output_type=[str, DeferredToolRequests],
        tools=[Tool(pay, requires_approval=marked)],
        capabilities=[interpreter(preset=PRESET.without("durable"))],
    )
    with pytest.raises(UserError, match="tool 'pay' asks for an approval, for which code needs"):
        await agent.run("go")
    assert made == []
