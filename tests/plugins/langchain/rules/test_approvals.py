"""Approvals of calls from code, beside `HumanInTheLoopMiddleware` for calls of the model."""

from __future__ import annotations

from typing import Any

import pytest
from guests import without_restored
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.rules.shown_values import plain, storable

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

CONFIG = {"configurable": {"thread_id": "t"}}
APPROVE = {"type": "approve"}


class Effects(list[str]):
    """What was done, and the tools that do it."""

    def tools(self) -> list[Any]:
        effects = self

        @tool
        def pay(to: str, euros: int) -> str:
            """Pay somebody."""
            effects.append(f"pay {to} {euros}")
            return f"receipt {to} {euros}"

        @tool
        def mail(to: str) -> str:
            """Mail somebody."""
            effects.append(f"mail {to}")
            return f"mailed {to}"

        @tool
        def ask(what: str) -> str:
            """Ask somebody."""
            answer = interrupt(what)
            effects.append(f"asked {what} {answer}")
            return str(answer)

        return [pay, mail, ask]


@pytest.fixture
def effects() -> Effects:
    return Effects()


@pytest.fixture
def chat(talk: Any, effects: Effects) -> Any:
    """Makes a conversation whose code can call all tools."""

    def make(interrupt_on: Any, **options: Any) -> Any:
        tools = effects.tools()
        return talk(tools=tools, ptc=[t.name for t in tools], interrupt_on=interrupt_on, **options)

    return make


async def waiting(chat: Any) -> list[Any]:
    """What the thread's state says that it waits for."""
    return list((await chat.agent.aget_state(CONFIG)).interrupts)


def answer_of(result: Any) -> str:
    """What the last eval answered."""
    return [m.text for m in result["messages"] if isinstance(m, ToolMessage)][-1]


def described(call: Any, state: Any, runtime: Any) -> str:
    first = state["messages"][0].text
    asked = state["messages"][-1].tool_calls
    return f"{call['name']} {call['args']} {first} {len(asked) > 0} {type(runtime).__name__}"


# -- what is asked -------------------------------------------------------------------------

CONFIGURATIONS = [
    True,
    {"allowed_decisions": ["approve"]},
    {"allowed_decisions": ["approve", "edit", "reject", "respond"]},
    {"allowed_decisions": ["reject", "approve"], "description": "look at this"},
    {"allowed_decisions": ["approve"], "description": described},
    {"allowed_decisions": ["approve"], "when": lambda request: request.tool_call["args"]["euros"]},
    {"allowed_decisions": ["approve"], "when": lambda request: bool(request.state["messages"])},
]


@both
@pytest.mark.parametrize("wanted", CONFIGURATIONS)
async def test_the_request_is_that_of_the_middleware(chat: Any, wanted: Any) -> None:
    interrupt_on = {"pay": wanted, "mail": False}
    calls = [("pay", {"to": "Ann", "euros": 5}), ("mail", {"to": "Bob"})]
    calls.append(("pay", {"to": "Eve", "euros": 0}))
    ours = chat(interrupt_on)
    code = ", ".join(f"tools.{name}({args})" for name, args in calls)
    (found,) = (await ours.turn(f"await Promise.all([{code}])"))["__interrupt__"]

    message = AIMessage(
        "",
        tool_calls=[{"name": n, "args": a, "id": f"c{i}"} for i, (n, a) in enumerate(calls)],
    )
    ours.say([message])
    beside = create_agent(
        ours.model,
        tools=Effects().tools(),
        middleware=[HumanInTheLoopMiddleware(interrupt_on)],
        checkpointer=InMemorySaver(),
    )
    (expected,) = (await beside.ainvoke({"messages": [("user", "go")]}, CONFIG))["__interrupt__"]
    assert found.value == expected.value
    assert isinstance(found.value["action_requests"][0]["args"], dict)


@both
@pytest.mark.parametrize(
    "wanted", [{}, {"pay": False}, {"mail": True}, {"pay": {**CONFIGURATIONS[1], "when": bool}}]
)
async def test_a_call_that_needs_no_approval_is_made(
    chat: Any, effects: Effects, wanted: Any
) -> None:
    if "when" in str(wanted):
        wanted["pay"]["when"] = lambda request: request.tool_call["args"]["euros"] > 10
    assert await chat(wanted).run("await tools.pay({to: 'Ann', euros: 5})") == [
        "<result>receipt Ann 5</result>"
    ]
    assert effects == ["pay Ann 5"]


@both
@pytest.mark.parametrize("args", ["{to: 'Ann'}", "{to: 'Ann', euros: '9000'}", "{}"])
async def test_a_predicate_that_fails_lets_no_call_through(
    chat: Any, effects: Effects, args: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Code chooses the arguments, and so may choose some that the predicate is not made for."""
    wanted = {**CONFIGURATIONS[1], "when": lambda request: request.tool_call["args"]["euros"] > 10}
    (text,) = await chat({"pay": wanted}).run(
        f"try {{ await tools.pay({args}) }} catch (e) {{ e.name + ': ' + e.message }}"
    )
    assert "the approval rule of pay failed, so the call was not made" in text
    assert not effects
    assert "the approval rule of pay failed; the call was not made" in caplog.text


@tool
def keep(value: Any) -> str:
    """Keep a value."""
    return f"kept {value}"


def as_true(call: Any, *given: Any) -> str:
    """A description that shows a flag as such, and so changes the call."""
    call["args"]["value"] = True
    return "keep"


@both
async def test_what_a_rule_makes_of_a_number_is_made_as_it_is_shown(talk: Any) -> None:
    rule = {**CONFIGURATIONS[1], "description": as_true}
    conversation = talk(tools=[keep], ptc=["keep"], interrupt_on={"keep": rule})
    (asked,) = (await conversation.turn("await tools.keep({value: 1})"))["__interrupt__"]
    assert asked.value["action_requests"][0]["args"] == {"value": True}
    assert answer_of(await conversation.decide(APPROVE)) == "<result>kept True</result>"


async def awaited(*given: Any) -> bool:
    return False


def text_of_a_call(*given: Any) -> Any:
    return {"text": "pay"}


@both
@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"when": lambda request: interrupt("pay?")}, "must not call interrupt()"),
        ({"description": lambda *given: interrupt("pay?")}, "must not call interrupt()"),
        ({"description": text_of_a_call}, "'description' must return text, not a dict"),
    ],
)
async def test_a_rule_that_asks_or_describes_in_a_form_of_its_own_lets_no_call_through(
    chat: Any, effects: Effects, rule: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    (text,) = await chat({"pay": {**CONFIGURATIONS[1], **rule}}).run(
        "await tools.pay({to: 'Ann', euros: 5})"
    )
    assert "the approval rule of pay failed, so the call was not made" in text
    assert why in text
    assert not effects
    assert why in caplog.text


@both
async def test_a_large_integer_is_not_shown_as_its_digits(talk: Any) -> None:
    got: list[Any] = []

    @tool
    def move(amount: Any) -> str:
        """Move an amount."""
        got.append(amount)
        return "moved"

    def large(request: Any) -> bool:
        return int(request.tool_call["args"]["amount"]) > 10  # what the tool would get

    rule = {"allowed_decisions": ["approve", "edit"], "when": large}
    chat = talk(ptc=[move], interrupt_on={"move": rule})
    code = (
        "await Promise.all([2n ** 70n, String(2n ** 70n), 5n].map(amount => tools.move({amount})))"
    )
    (found,) = (await chat.turn(code))["__interrupt__"]
    args = [one["args"] for one in found.value["action_requests"]]
    assert args == [{"amount": {"$bigint": str(2**70)}}, {"amount": str(2**70)}]
    await chat.decide(edited("move", args[0]), APPROVE)
    assert got[0] == 5
    assert sorted(got[1:], key=repr) == [str(2**70), 2**70]


@both
@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_an_object_in_the_form_of_a_large_integer_reaches_the_tool_as_that_object(
    talk: Any, decision: str
) -> None:
    got: list[Any] = []

    @tool
    def move(amount: Any) -> str:
        """Move an amount."""
        got.append(amount)
        return "moved"

    rule = {"allowed_decisions": ["approve", "edit"]}
    chat = talk(ptc=[move], interrupt_on={"move": rule})
    code = "await tools.move({amount: [{$bigint: '5'}, {$$bigint: 2n ** 70n}, 2n ** 70n]})"
    (found,) = (await chat.turn(code))["__interrupt__"]
    (args,) = [one["args"] for one in found.value["action_requests"]]
    large = {"$bigint": str(2**70)}
    assert args == {"amount": [{"$$bigint": "5"}, {"$$$bigint": large}, large]}
    await chat.decide(APPROVE if decision == "approve" else edited("move", args))
    assert got == [[{"$bigint": "5"}, {"$$bigint": 2**70}, 2**70]]


async def test_a_tool_gets_maps_and_sets_as_they_are_shown(talk: Any) -> None:
    got: list[Any] = []

    @tool
    def count(by_name: dict[str, int], ids: list[int], rest: Any) -> str:
        """Count."""
        got.append({"by_name": by_name, "ids": ids, "rest": rest})
        return "counted"

    chat = talk(ptc=[count], interrupt_on={"count": True})
    rest = "[new Map([[true, 1]]), new Map([[1, 2], ['1', 3]]), new Error('e'), new Set()]"
    given = f"{{by_name: new Map([['a', 1]]), ids: new Set([2, 1]), rest: {rest}}}"
    (found,) = (await chat.turn(f"await tools.count({given})"))["__interrupt__"]
    (asked,) = found.value["action_requests"]
    await chat.decide(APPROVE)
    error = {"name": "Error", "message": "e"}
    rest_told = [[[True, 1]], [[1, 2], ["1", 3]], error, []]
    assert got == [asked["args"]] == [{"by_name": {"a": 1}, "ids": [2, 1], "rest": rest_told}]


# -- what is decided -----------------------------------------------------------------------

PAY = "await tools.pay({to: 'Ann', euros: 5})"
CATCH = f"try {{ {PAY} }} catch (e) {{ [e.name, e.rejected, e.tool, e.message].join('; ') }}"
REJECTED = "ToolError; true; tools.pay; a reviewer rejected this call of pay"


def edited(name: str, args: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


DECISIONS = [
    (APPROVE, "receipt Ann 5", ["pay Ann 5"]),
    (edited("pay", {"to": "Bob", "euros": 7}), "receipt Bob 7", ["pay Bob 7"]),
    (edited("mail", {"to": "Bob"}), "mailed Bob", ["mail Bob"]),
    ({"type": "reject", "message": "too much"}, f"{REJECTED}: too much", []),
    ({"type": "reject"}, f"{REJECTED}; do not repeat it unless the user asks for it", []),
    ({"type": "respond", "message": "paid already"}, "paid already", []),
]


@pytest.mark.engines("javascript", only=("plain", "async"))
@both
@pytest.mark.parametrize("by_id", [False, True], ids=["plain", "by id"])
@pytest.mark.parametrize(("decision", "answer", "done"), DECISIONS)
async def test_a_decision_does_what_it_says(
    chat: Any, effects: Effects, decision: Any, answer: str, done: list[str], by_id: bool
) -> None:
    conversation = chat({"pay": True})
    paused = await conversation.turn("let tries = 0", f"tries += 1; {CATCH}", "tries")
    assert not effects
    (asked,) = paused["__interrupt__"]
    given: Any = {"decisions": [decision]}
    result = await conversation.send(Command(resume={asked.id: given} if by_id else given))
    texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    answers = [without_restored(text) for text in texts[1:]]
    assert answers == [f"<result>{answer}</result>", "<result>1</result>"]
    assert effects == done


WRONG = [
    (None, "resume with"),
    ("yes", "resume with"),
    ([APPROVE], "resume with"),
    ({"decision": APPROVE}, "resume with"),
    ({"decisions": APPROVE}, "resume with"),
    ({"decisions": ["approve"]}, r'resume with \{"decisions": \[\{"type": …}, …]}, one decision'),
    ({"decisions": []}, "give one decision for each action request, 1 in total; got 0"),
    (
        {"decisions": [APPROVE, APPROVE]},
        "give one decision for each action request, 1 in total; got 2",
    ),
    ({"decisions": [{}]}, "pay can be decided with approve, edit, respond; got None"),
    ({"decisions": [{"type": "reject"}]}, "approve, edit, respond; got 'reject'"),
    ({"decisions": [{"type": ["approve"]}]}, r"got \['approve'\]"),
    ({"decisions": [{"type": "edit"}]}, "edited_action"),
    ({"decisions": [edited("pay", [1])]}, "edited_action"),
    ({"decisions": [edited(7, {})]}, "edited_action"),
    ({"decisions": [edited("eval", {"code": "1"})]}, "pay cannot be edited to eval, the tool that"),
    (
        {"decisions": [edited("pya", {})]},
        "'pya', which is not a tool; the agent has: ask, mail, pay",
    ),
    (
        {"decisions": [edited("pay", {"to": "Bob", "euros": "many"})]},
        "call of pay: euros: Input should be a valid integer",
    ),
    ({"decisions": [edited("mail", {})]}, "call of mail: to: Field required"),
    (
        {"decisions": [{**edited("pay", {}), "args": {}}]},
        """edit pay takes "type" and "edited_action"; got 'args'""",
    ),
    (
        {"decisions": [{"type": "edit", "edited_action": {"args": {}, "arguments": {}}}]},
        """takes "name" and "args"; got 'arguments'""",
    ),
    ({"decisions": [{**APPROVE, "message": "yes"}]}, """takes "type"; got 'message'"""),
    ({"decisions": [{"type": "respond"}]}, 'a "message" of text'),
    ({"decisions": [{"type": "respond", "message": 7}]}, 'a "message" of text'),
]


@both
@pytest.mark.parametrize("by_id", [False, True], ids=["plain", "by id"])
@pytest.mark.parametrize(("given", "why"), WRONG)
async def test_a_wrong_decision_is_reported_and_can_be_made_again(
    chat: Any, effects: Effects, given: Any, why: str, by_id: bool
) -> None:
    if given is None and not by_id:
        return  # LangGraph takes no plain `None`
    conversation = chat({"pay": {"allowed_decisions": ["approve", "edit", "respond"]}})
    (asked,) = (await conversation.turn(CATCH))["__interrupt__"]
    with pytest.raises(ValueError, match=why):
        await conversation.send(Command(resume={asked.id: given} if by_id else given))
    assert not effects
    # The wrong one is forgotten, and the question still there.
    again = await conversation.send(None)
    assert again["__interrupt__"] == [asked]
    assert not effects
    assert answer_of(await conversation.decide(APPROVE)) == "<result>receipt Ann 5</result>"
    assert effects == ["pay Ann 5"]


@both
@pytest.mark.parametrize(("message", "why"), [(5, "got 5"), ({"why": "no"}, "got {'why'")])
async def test_a_rejection_takes_text_alone(
    chat: Any, effects: Effects, message: Any, why: str
) -> None:
    conversation = chat({"pay": True})
    await conversation.turn(CATCH)
    with pytest.raises(ValueError, match=f'reject pay with a "message" of text.*{why}'):
        await conversation.decide({"type": "reject", "message": message})
    result = await conversation.decide({"type": "reject", "message": None})
    assert answer_of(result).startswith(f"<result>{REJECTED}; do not repeat it")
    assert not effects


@both
async def test_a_right_decision_can_follow_a_wrong_one_at_once(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    await conversation.turn(PAY)
    with pytest.raises(ValueError, match="got 0"):
        await conversation.decide()
    assert answer_of(await conversation.decide(APPROVE)) == "<result>receipt Ann 5</result>"
    assert effects == ["pay Ann 5"]


@both
async def test_the_next_eval_waits_while_a_decision_is_wrong(
    chat: Any, effects: Effects, evals: Any
) -> None:
    conversation = chat({"pay": True})
    await conversation.turn(evals(f"let n = 1; {PAY}", "n += 1; await tools.mail({to: 'Mia'}); n"))
    with pytest.raises(ValueError, match="got 0"):
        await conversation.decide()
    assert not effects
    result = await conversation.decide(APPROVE)
    texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert texts == ["<result>receipt Ann 5</result>", "<result>2</result>"]
    assert effects == ["pay Ann 5", "mail Mia"]


# -- several -------------------------------------------------------------------------------

SEVERAL = """
let tries = 0
const calls = ['Ann', 'Bob', 'Eve'].map((to, i) => (tries++, tools.pay({to, euros: i})))
const got = await Promise.allSettled([...calls, tools.mail({to: 'Mia'})])
got.map(one => one.value ?? one.reason.message).join('; ') + '; ' + tries
"""


@pytest.mark.engines("javascript")
@both
async def test_calls_that_wait_at_once_are_one_interrupt(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    (asked,) = (await conversation.turn(SEVERAL))["__interrupt__"]
    names = [request["args"]["to"] for request in asked.value["action_requests"]]
    assert names == ["Ann", "Bob", "Eve"]
    assert len(asked.value["review_configs"]) == 3
    assert effects == ["mail Mia"]  # needs no approval, and was asked for with the others
    result = await conversation.decide(
        {"type": "reject", "message": "no"}, edited("mail", {"to": "Ben"}), APPROVE
    )
    assert answer_of(result) == (
        "<result>a reviewer rejected this call of pay: no; mailed Ben; receipt Eve 2; "
        "mailed Mia; 3</result>"
    )
    assert sorted(effects) == ["mail Ben", "mail Mia", "pay Eve 2"]


@pytest.mark.engines("javascript")
@both
@pytest.mark.parametrize("by_id", [False, True], ids=["plain", "by id"])
async def test_only_an_invalid_one_of_several_decisions_is_asked_for_again(
    chat: Any, effects: Effects, by_id: bool
) -> None:
    conversation = chat({"pay": {"allowed_decisions": ["approve", "reject"]}})
    (asked,) = (await conversation.turn(SEVERAL))["__interrupt__"]
    wrong = [{"type": "reject", "message": "no"}, {"type": "pay"}, APPROVE]
    given: Any = {"decisions": wrong}
    result = await conversation.send(Command(resume={asked.id: given} if by_id else given))
    (again,) = result["__interrupt__"]
    assert again.id != asked.id
    assert [one["args"]["to"] for one in again.value["action_requests"]] == ["Bob"]
    assert again.value["refused"] == ["pay can be decided with approve, reject; got 'pay'"]
    assert await waiting(conversation) == [again]
    assert effects == ["mail Mia"]  # no call is made before the last decision
    with pytest.raises(ValueError, match="got 'wrong'"):
        await conversation.decide({"type": "wrong"})
    assert answer_of(await conversation.decide(APPROVE)) == (
        "<result>a reviewer rejected this call of pay: no; receipt Bob 1; receipt Eve 2; "
        "mailed Mia; 3</result>"
    )
    assert sorted(effects) == ["mail Mia", "pay Bob 1", "pay Eve 2"]


@both
async def test_an_answer_to_a_question_of_before_decides_nothing(
    chat: Any, effects: Effects
) -> None:
    conversation = chat({"pay": True})
    (asked,) = (await conversation.turn(SEVERAL))["__interrupt__"]
    (again,) = (await conversation.decide(APPROVE, {"type": "wrong"}, APPROVE))["__interrupt__"]
    late = Command(resume={asked.id: {"decisions": [APPROVE] * 3}})
    with pytest.raises(ValueError, match=f"{asked.id} had no effect.* Open: {again.id}"):
        await conversation.send(late)
    assert await waiting(conversation) == [again]
    assert effects == ["mail Mia"]


@both
async def test_an_answer_to_an_eval_that_was_given_up_is_refused_while_another_one_waits(
    chat: Any, effects: Effects
) -> None:
    conversation = chat({"pay": True})
    (old,) = (await conversation.turn(PAY))["__interrupt__"]
    (asked,) = (await conversation.turn(PAY))["__interrupt__"]
    given: dict[str, Any] = {"decisions": [APPROVE]}
    with pytest.raises(ValueError, match=f"{old.id} had no effect.*Nothing was done"):
        await conversation.send(Command(resume={old.id: given}))
    assert await waiting(conversation) == [asked]
    assert effects == []
    await conversation.send(Command(resume={old.id: given, asked.id: given}))
    assert effects == ["pay Ann 5"]


@both
async def test_answers_beside_an_invalid_decision_are_not_lost(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    code = f"(await Promise.all([tools.ask({{what: 'sure?'}}), {PAY[6:]}])).join()"
    approval, other = (await conversation.turn(code))["__interrupt__"]
    given = {approval.id: {"decisions": []}, other.id: "yes"}
    (again,) = (await conversation.send(Command(resume=given)))["__interrupt__"]
    assert again.value["refused"] == [
        "give one decision for each action request, 1 in total; got 0"
    ]
    assert not effects
    result = await conversation.decide(APPROVE)
    assert answer_of(result) == "<result>yes,receipt Ann 5</result>"
    assert sorted(effects) == ["asked sure? yes", "pay Ann 5"]


@both
async def test_evals_beside_one_with_an_invalid_decision_go_on(
    chat: Any, effects: Effects, evals: Any
) -> None:
    conversation = chat({"pay": True}, mode="call")
    codes = [PAY.replace("Ann", name) for name in ("Ann", "Bob", "Eve")]
    asked = (await conversation.turn(evals(*codes)))["__interrupt__"]
    assert len(asked) == 3
    given = {one.id: {"decisions": [APPROVE]} for one in asked}
    given[asked[1].id] = {"decisions": [{"type": "wrong"}]}
    (again,) = (await conversation.send(Command(resume=given)))["__interrupt__"]
    assert "got 'wrong'" in again.value["refused"][0]
    name = again.value["action_requests"][0]["args"]["to"]
    assert sorted(effects) == [f"pay {one} 5" for one in ("Ann", "Bob", "Eve") if one != name]
    result = await conversation.decide(APPROVE)
    assert "__interrupt__" not in result
    assert sorted(effects) == ["pay Ann 5", "pay Bob 5", "pay Eve 5"]


@pytest.mark.engines("javascript")
@both
async def test_an_eval_can_pause_again(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    loop = "for (const to of ['Ann', 'Bob', 'Eve']) { n++; await tools.pay({to, euros: n}) }"
    code = f"let n = 0; {loop} n"
    (first,) = (await conversation.turn(code))["__interrupt__"]
    (second,) = (await conversation.decide(APPROVE))["__interrupt__"]
    assert effects == ["pay Ann 1"]
    (third,) = (await conversation.decide(edited("pay", {"to": "Ben", "euros": 9})))[
        "__interrupt__"
    ]
    assert effects == ["pay Ann 1", "pay Ben 9"]
    assert len({first.id, second.id, third.id}) == 3
    assert answer_of(await conversation.decide(APPROVE)) == "<result>3</result>"
    assert effects == ["pay Ann 1", "pay Ben 9", "pay Eve 3"]


@both
async def test_a_call_that_was_rejected_can_be_tried_again(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    code = f"let n = 0, got; while (!got) {{ n++; try {{ got = {PAY} }} catch {{}} }} n"
    await conversation.turn(code)
    for _ in range(3):
        assert (await conversation.decide({"type": "reject"}))["__interrupt__"]
    assert not effects
    assert answer_of(await conversation.decide(APPROVE)) == "<result>4</result>"
    assert effects == ["pay Ann 5"]


@both
async def test_going_on_without_a_decision_asks_again(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    code = "await tools.mail({to: 'Mia'}); " + PAY
    (asked,) = (await conversation.turn(code))["__interrupt__"]
    for _ in range(2):
        assert (await conversation.send(None))["__interrupt__"] == [asked]
        assert await waiting(conversation) == [asked]
    assert effects == ["mail Mia"]
    assert answer_of(await conversation.decide(APPROVE)) == "<result>receipt Ann 5</result>"
    assert effects == ["mail Mia", "pay Ann 5"]


@both
async def test_questions_of_tools_and_approvals_at_once(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    code = f"(await Promise.all([tools.ask({{what: 'sure?'}}), {PAY[6:]}])).join()"
    asked = (await conversation.turn(code))["__interrupt__"]
    assert [one.value if isinstance(one.value, str) else "" for one in asked] == ["", "sure?"]
    assert not effects
    # The decision alone leads on; the question is still there.
    some = await conversation.send(Command(resume={asked[0].id: {"decisions": [APPROVE]}}))
    assert some["__interrupt__"] == [asked[1]]
    assert effects == ["pay Ann 5"]
    result = await conversation.send(Command(resume={asked[1].id: "yes"}))
    assert answer_of(result) == "<result>yes,receipt Ann 5</result>"
    assert effects == ["pay Ann 5", "asked sure? yes"]


@both
async def test_an_answer_alone_waits_for_the_decision(chat: Any, effects: Effects) -> None:
    conversation = chat({"pay": True})
    code = f"(await Promise.all([tools.ask({{what: 'sure?'}}), {PAY[6:]}])).join()"
    decision, question = (await conversation.turn(code))["__interrupt__"]
    some = await conversation.send(Command(resume={question.id: "yes"}))
    assert some["__interrupt__"] == [decision]
    assert not effects
    assert answer_of(await conversation.decide(APPROVE)) == "<result>yes,receipt Ann 5</result>"
    assert sorted(effects) == ["asked sure? yes", "pay Ann 5"]


# -- answers are used once -----------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "second",
    ["await tools.pay({to: 'Eve', euros: 9})", "await tools.ask({what: 'sure?'})"],
    ids=["approval", "question"],
)
@pytest.mark.parametrize(
    ("first", "answer"),
    [(PAY, {"decisions": [APPROVE]}), ("await tools.ask({what: 'one?'})", "yes")],
    ids=["after an approval", "after a question"],
)
async def test_an_old_answer_answers_nothing_else(
    chat: Any, effects: Effects, first: str, answer: Any, second: str
) -> None:
    conversation = chat({"pay": True})
    await conversation.turn(f"{first}; {second}")
    (asked,) = (await conversation.send(Command(resume=answer)))["__interrupt__"]
    before = list(effects)
    assert len(before) == 1
    # LangGraph keeps an answer that names no interrupt with the checkpoint of the step.
    assert (await conversation.send(None))["__interrupt__"] == [asked]
    assert effects == before


@both
async def test_an_answer_that_comes_twice_answers_nothing_else(chat: Any, effects: Effects) -> None:
    """As when the process died between the decision and the next question."""
    conversation = chat({"pay": True})
    await conversation.turn(f"{PAY}; await tools.pay({{to: 'Eve', euros: 9}})")
    (first,) = await waiting(conversation)
    by_id = {first.id: {"decisions": [APPROVE]}}
    (asked,) = (await conversation.send(Command(resume=by_id)))["__interrupt__"]
    assert asked.id != first.id
    assert (await conversation.send(Command(resume=by_id)))["__interrupt__"] == [asked]
    assert effects == ["pay Ann 5"]


# -- other calls than were shown -----------------------------------------------------------


class Rewriting(AgentMiddleware[Any, Any, Any]):
    """Changes an eval's code, as a new release of a filter may do while a run waits."""

    euros = "5"

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(self._changed(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(self._changed(request))

    def _changed(self, request: Any) -> Any:
        if request.tool_call["name"] != "eval":
            return request
        code = request.tool_call["args"]["code"].replace("EUROS", self.euros)
        return request.override(tool_call={**request.tool_call, "args": {"code": code}})


@both
async def test_a_decision_is_not_used_for_other_code(chat: Any, effects: Effects) -> None:
    rewriting = Rewriting()
    conversation = chat({"pay": True}, before=[rewriting])
    await conversation.turn("await tools.pay({to: 'Ann', euros: EUROS})")
    rewriting.euros = "9000"
    text = answer_of(await conversation.decide(APPROVE))
    assert text.startswith('<error type="ReplayDivergence">the journal records a run of')
    assert not effects


@both
async def test_a_decision_is_not_used_for_another_tool(talk: Any, effects: Effects) -> None:
    """Two tools may have one name in code; what was shown is what counts."""

    def agent(name: str) -> Any:
        pay = effects.tools()[0]
        pay.name = name
        return talk(tools=[pay], ptc=[name], interrupt_on={name: True}, checkpointer=saver)

    saver = InMemorySaver()
    code = "try { await tools.payOut({to: 'Ann', euros: 5}) } catch { 'caught' }"
    await agent("pay_out").turn(code)
    other = agent("payOut")
    other.say([])
    text = answer_of(await other.decide(APPROVE))
    assert text.startswith('<error type="ReplayDivergence">the decision on pay_out cannot be used')
    assert "payOut" in text
    assert not effects


@pytest.mark.parametrize("second", ["approve", "reject"])
async def test_a_decision_that_could_not_be_recorded_does_not_count(
    chat: Any, effects: Effects, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = chat({"pay": True})
    saver = conversation.agent.checkpointer
    await conversation.turn("await tools.pay({to: 'Ann', euros: 5})")
    with monkeypatch.context() as patched:

        async def fail(*given: Any) -> None:
            raise OSError("the disk is full")

        patched.setattr(saver, "aput_writes", fail)
        with pytest.raises(OSError, match="the disk is full"):
            await conversation.decide(APPROVE)
    assert len(await waiting(conversation)) == 1
    assert not effects
    text = answer_of(await conversation.decide({"type": second}))
    assert ("receipt" in text) == (second == "approve")
    assert effects == (["pay Ann 5"] if second == "approve" else [])


# -- where nothing can wait ----------------------------------------------------------------


@both
async def test_without_a_checkpointer_the_run_fails_before_the_model_is_called(
    chat: Any, effects: Effects
) -> None:
    """The developer can pass a checkpointer, and the model cannot."""
    conversation = chat({"pay": True}, checkpointer=None)
    with pytest.raises(ConfigurationError, match="interrupt_on needs a checkpointer"):
        await conversation.run(CATCH)
    assert not effects


@both
async def test_an_agent_without_a_checkpointer_does_not_use_that_of_the_graph_around_it(
    chat: Any, effects: Effects
) -> None:
    """LangGraph stores no checkpoint of a graph with `checkpointer=False`."""
    for needed in (False, True):
        conversation = chat({"pay": needed}, checkpointer=False)
        graph = StateGraph(MessagesState)
        graph.add_node("agent", conversation.agent)
        graph.add_edge(START, "agent")
        conversation.agent = graph.compile(checkpointer=InMemorySaver())
        if needed:
            with pytest.raises(ConfigurationError, match="interrupt_on needs a checkpointer"):
                await conversation.run(CATCH)
        else:
            await conversation.run(CATCH)
        assert len(effects) == 1


@both
async def test_a_tool_that_needs_no_approval_needs_no_checkpointer(
    chat: Any, effects: Effects
) -> None:
    conversation = chat({"pay": False}, checkpointer=None)
    await conversation.run(CATCH)
    assert effects


WRONG_OPTIONS = [
    (["pay"], TypeError, "takes a mapping of tool names"),
    ("pay", TypeError, "takes a mapping of tool names"),
    ({1: True}, TypeError, "names of tools as keys; got 1"),
    ({"pay": "yes"}, TypeError, r"interrupt_on\['pay'\] takes True, False or"),
    ({"pay": None}, TypeError, r"interrupt_on\['pay'\] takes True, False or"),
    ({"pay": 1}, TypeError, r"interrupt_on\['pay'\] takes True, False or"),
    ({"pay": {}}, ConfigurationError, "allowed_decisions"),
    ({"pay": {"allowed_decisions": []}}, ConfigurationError, "allowed_decisions"),
    ({"pay": {"allow_accept": True}}, ConfigurationError, "allow_accept"),
    ({"pay": {"allowed_decisions": "approve"}}, TypeError, "a list of decisions; got 'approve'"),
    ({"pay": {"allowed_decisions": 7}}, TypeError, "a list of decisions; got 7"),
    ({"pay": {"allowed_decisions": ["accept"]}}, ConfigurationError, "allows 'accept'; decisions"),
    ({"pay": {**CONFIGURATIONS[1], "wen": bool}}, ConfigurationError, "'wen'; it takes"),
    ({"pay": {**CONFIGURATIONS[1], "when": True}}, TypeError, "'when' takes a function"),
    ({"pay": {**CONFIGURATIONS[1], "description": 7}}, TypeError, "'description' takes text or"),
    ({"pay": {**CONFIGURATIONS[1], "when": awaited}}, TypeError, "'when' takes a plain function"),
    (
        {"pay": {**CONFIGURATIONS[1], "description": awaited}},
        TypeError,
        "'description' takes a plain function",
    ),
]


@pytest.mark.parametrize(("wanted", "kind", "why"), WRONG_OPTIONS)
def test_wrong_options_are_reported_at_once(wanted: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        CodeInterpreterMiddleware(interrupt_on=wanted)


@both
@pytest.mark.parametrize(
    "given",
    [
        "new Map([['a', 1], ['b', new Set([2])]])",
        "new Map([[{k: 1}, 2]])",
        "new Map([[1, 'x'], ['1', 'y']])",
        "new Set([1, new Map()])",
        "[new TypeError('no'), undefined, null]",
        "{u: undefined, d: new Date(0), n: 2n ** 70n, deep: [[new Set('ab')]]}",
        "new Uint8Array([1, 2])",
    ],
)
async def test_a_person_is_shown_what_the_tool_gets(talk: Any, use_async: bool, given: str) -> None:
    got: list[Any] = []

    @tool
    def send(value: Any) -> str:
        """Send."""
        got.append(value)
        return "sent"

    chat = talk(tools=[send], ptc=["send"], interrupt_on={"send": True})
    paused = await chat.turn(f"await tools.send({{value: {given}}})")
    ((asked,),) = [one.value["action_requests"] for one in paused["__interrupt__"]]
    assert not got
    await chat.decide(APPROVE)
    assert storable(plain(got[0])) == asked["args"]["value"]
