"""Modules driven by hand, line by line of the boundary, on each JavaScript engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from interpstack import ConfigurationError, InterpreterStack
from interpstack_commands import ExecSpec
from interpstack_workflows.api import WorkflowModuleError
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    CheckpointRequest,
    Complete,
    ExecRequest,
    FailedResolution,
    LogCall,
    ModuleBudget,
    Pending,
    PhaseCall,
    ScriptPath,
    SleepRequest,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
    WaitRequest,
    WorkflowModuleInput,
    WorkflowRequest,
)
from interpstack_workflows.runtime.runtime import WorkflowExecution, WorkflowRuntime


@contextmanager
def started(runtime: WorkflowRuntime, source: str, **fields: Any) -> Iterator[WorkflowExecution]:
    with closing(runtime.start_module(WorkflowModuleInput(source=source, **fields))) as execution:
        yield execution


def result(
    runtime: WorkflowRuntime,
    source: str,
    answer: Callable[[Any], Any] = lambda request: ValueResolution(f"re: {request.prompt}"),
    **fields: Any,
) -> Any:
    """The result of a module whose requests are all answered at once."""
    with started(runtime, source, **fields) as execution:
        while True:
            polled = execution.poll()
            if isinstance(polled, Complete):
                return polled.output.result
            assert not isinstance(polled, Pending), polled
            if not isinstance(polled, LogCall | PhaseCall):
                execution.resolve_request(polled.id, answer(polled))


def main(body: str) -> str:
    return f"export default async (args, ctx) => {{ {body} }}"


def returned(runtime: WorkflowRuntime, expression: str, **fields: Any) -> Any:
    return result(runtime, main(f"return {expression}"), **fields)


# -- polling, taking, resolving -----------------------------------------------------------------


def test_requests_of_one_turn_are_taken_together(runtime: WorkflowRuntime) -> None:
    with started(
        runtime, main("return parallel([() => agent('a'), () => agent('b')])")
    ) as execution:
        assert execution.take_pending_requests() == [AgentRequest("1", "a"), AgentRequest("2", "b")]
        assert execution.take_pending_requests() == []
        assert execution.poll() == Pending(("1", "2"))
        execution.resolve_request("2", ValueResolution("B"))
        assert execution.poll() == Pending(("1",))
        execution.resolve_request("1", ValueResolution("A"))
        polled = execution.poll()
        assert isinstance(polled, Complete)
        assert polled.output.result == ["A", "B"]
        assert execution.poll() == polled


def test_the_front_request_is_repeated_until_it_is_resolved(runtime: WorkflowRuntime) -> None:
    with started(runtime, main("agent('a'); return agent('b')")) as execution:
        assert execution.poll() == execution.poll() == AgentRequest("1", "a")
        execution.resolve_request("1", ValueResolution())
        assert execution.poll() == AgentRequest("2", "b")
        assert execution.take_pending_requests() == [AgentRequest("2", "b")]
        execution.resolve_request("2", ValueResolution(1))
        assert isinstance(execution.poll(), Complete)


def test_calls_overtake_requests_one_at_a_time(runtime: WorkflowRuntime) -> None:
    body = "const a = agent('a'); log('x', {y: [1]}, undefined); phase('P', {n: 1}); return a"
    with started(runtime, main(body)) as execution:
        first = execution.poll()
        assert first == LogCall(("x", {"y": [1]}, "undefined"))
        assert isinstance(first, LogCall)
        assert first.text == 'x {"y":[1]} undefined'
        assert execution.poll() == PhaseCall("P", {"n": 1})
        assert execution.poll() == AgentRequest("1", "a")


@pytest.mark.parametrize(
    ("loop", "count"),
    [("{ log(i); await 1; }", 12_000), ("{ log(i < 5000 ? i : 'x'.repeat(9000)); }", 7_000)],
)
def test_every_message_arrives_however_many_there_are(
    runtime: WorkflowRuntime, loop: str, count: int
) -> None:
    body = f"for (let i = 0; i < {count}; i++) {loop} phase('last'); return 1"
    with started(runtime, main(body)) as execution:
        logs = 0
        while isinstance(polled := execution.poll(), LogCall):
            logs += 1
        assert logs == count
        assert polled == PhaseCall("last")
        ended = execution.poll()
        assert isinstance(ended, Complete)
        assert ended.output.result == 1


def test_a_request_has_a_size(runtime: WorkflowRuntime) -> None:
    too_long = "await agent('x'.repeat(2 ** 24)).catch((e) => e.name + ': ' + e.message)"
    body = f"const why = {too_long}; return [why, await agent('a \\u2028 \\ud800 \"')]"
    why, answer = result(runtime, main(body))
    assert why.startswith("RangeError: the value is too large to pass to the host")
    assert answer == 're: a \u2028 \ud800 "'


def test_late_messages_have_a_size() -> None:
    runtime = WorkflowRuntime(InterpreterStack("quickjs").engine)
    late = "try { log('x'.repeat(2 ** 20)) } catch (e) { return e.message }"
    body = f"for (let i = 0; i < 5000; i++) log(i); {late}"
    with started(runtime, main(body)) as execution:
        while isinstance(polled := execution.poll(), LogCall):
            pass
        assert isinstance(polled, Complete)
        assert "at most 1048576 characters" in polled.output.result


@pytest.mark.parametrize("milliseconds", ["-0", "0", "Math.ceil(-0.5)"])
def test_a_sleep_of_no_time(runtime: WorkflowRuntime, milliseconds: str) -> None:
    source = f"import {{ sleep }} from 'workflow:extra'; export default () => sleep({milliseconds})"
    with started(runtime, source) as execution:
        assert execution.poll() == SleepRequest("1", 0)


def test_an_unknown_id_is_an_error_and_harms_nothing(runtime: WorkflowRuntime) -> None:
    with started(runtime, main("const a = await agent('a'); return [a, budget.spent()]")) as run:
        budget = ModuleBudget(10, 4)
        with pytest.raises(WorkflowModuleError, match="unknown workflow request id: 7"):
            run.resolve_request("7", ValueWithBudget(1, budget))
        run.resolve_request("1", ValueResolution("A"))
        with pytest.raises(WorkflowModuleError, match="unknown workflow request id: 1"):
            run.resolve_request("1", ValueResolution("again"))
        polled = run.poll()
        assert isinstance(polled, Complete)
        assert polled.output.result == ["A", 4]  # the budget came first


def test_requests_of_the_module_come_before_its_default_export(runtime: WorkflowRuntime) -> None:
    source = "const a = await agent('top'); export default () => agent(a + '!')"
    with started(runtime, source) as execution:
        assert execution.take_pending_requests() == [AgentRequest("1", "top")]
        execution.resolve_request("1", ValueResolution("T"))
        assert execution.poll() == AgentRequest("2", "T!")


def test_requests_that_nobody_awaits_come_before_the_end(runtime: WorkflowRuntime) -> None:
    with started(runtime, main("agent('lost'); return 1")) as execution:
        assert execution.poll() == AgentRequest("1", "lost")
        assert execution.take_pending_requests() == [AgentRequest("1", "lost")]
        assert isinstance(execution.poll(), Complete)


def test_a_promise_that_nobody_settles_waits_for_nothing(runtime: WorkflowRuntime) -> None:
    with started(runtime, "export default new Promise(() => {})") as execution:
        assert execution.poll() == Pending(())


@pytest.mark.parametrize(
    ("resolution", "seen"),
    [
        (ValueResolution({"a": [1, None, "é"]}), {"a": [1, None, "é"]}),
        (ValueResolution({"$": "date", "v": 1}), {"$": "date", "v": 1}),
        (UndefinedResolution(), "undefined"),
        (ValueWithBudget("v", ModuleBudget(9, 2)), "v"),
    ],
)
def test_resolutions(runtime: WorkflowRuntime, resolution: Any, seen: Any) -> None:
    body = "const v = await agent('a'); return v === undefined ? 'undefined' : v"
    assert result(runtime, main(body), lambda request: resolution) == seen


def test_a_rejection_is_an_error(runtime: WorkflowRuntime) -> None:
    body = (
        "try { await agent('a') } catch (e) { return [e instanceof Error, e.name, e.message, e.n] }"
    )
    expected = [True, "Error", "workflow request rejected", None]
    assert result(runtime, main(body), lambda request: FailedResolution()) == expected
    failed = FailedResolution("no model", name="AgentError", data={"n": 2})
    assert result(runtime, main(body), lambda request: failed) == [
        True,
        "AgentError",
        "no model",
        2,
    ]


def test_budgets(runtime: WorkflowRuntime) -> None:
    body = (
        "const before = [budget.total, budget.spent(), budget.remaining()]; await agent('a');"
        "return [...before, budget.spent(), budget.remaining(), String(budget.total)]"
    )
    answers = result(
        runtime,
        main(body),
        lambda request: ValueWithBudget(1, ModuleBudget(10, 12)),
        budget=ModuleBudget(10, 3),
    )
    assert answers == [10, 3, 7, 12, 0, "10"]
    free = "[budget.total, budget.remaining() === Infinity, budget.spent()]"
    assert returned(runtime, free) == [None, True, 0]


def test_a_rejection_has_its_budget(runtime: WorkflowRuntime) -> None:
    body = "try { await agent('a') } catch (e) { return [budget.spent(), Object.keys(e)] }"
    failed = FailedResolution("m", data={"n": 1}, budget=ModuleBudget(10, 6))
    spent, names = result(runtime, main(body), lambda request: failed)
    assert spent == 6
    assert "$workflow" not in names


# -- modules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("export default 7", 7),
        ("export default Promise.resolve({a: 1})", {"a": 1}),
        ("export default function (args, ctx) { return args.n + 1 }", 3),
        ("export default async ({n}, {agent}) => typeof agent + n", "function2"),
        ("const x = await Promise.resolve(5); export default x", 5),
        ("export const meta = {name: 'm', description: 'd'}; export default meta.name", "m"),
        ("export default undefined", None),
        ("export default [NaN, Infinity, undefined, () => 1]", [None, None, None, None]),
        ("export default NaN", None),
        ("export default {toJSON: () => 'own'}", "own"),
        ("export default '\\ud800'", "\ud800"),
    ],
)
def test_default_exports(runtime: WorkflowRuntime, source: str, expected: Any) -> None:
    assert result(runtime, source, args={"n": 2}) == expected


_CARRIED: list[tuple[str, Any]] = [
    (
        "new Map([['a', new Set([1, [2]])], ['__proto__', null]])",
        {"a": [1, [2]], "__proto__": None},
    ),
    ("[new Set(), new Map()]", [[], {}]),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ("{e: new RangeError('far')}", {"e": {"name": "RangeError", "message": "far"}}),
    ("Object.assign(new Error('x'), {kind: 'k'})", {"name": "Error", "message": "x", "kind": "k"}),
    (
        "[new Error('x', {cause: new TypeError('y')})]",
        [{"name": "Error", "message": "x", "cause": {"name": "TypeError", "message": "y"}}],
    ),
    (
        "new AggregateError([new Error('x'), 2], 'all')",
        {
            "name": "AggregateError",
            "message": "all",
            "errors": [{"name": "Error", "message": "x"}, 2],
        },
    ),
    ("new (class A { x = 1 })()", {"x": 1}),
    ("{[Symbol.toStringTag]: 'Map', a: 1}", {"a": 1}),
]


@pytest.mark.parametrize(("value", "expected"), _CARRIED)
def test_results_of_other_classes_are_plain_data(
    runtime: WorkflowRuntime, value: str, expected: Any
) -> None:
    assert result(runtime, f"export default () => ({value})") == expected
    sent = f"(await checkpoint('c', {value}))"
    assert (
        result(runtime, main(f"return {sent}"), lambda request: ValueResolution(request.value))
        == expected
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            "{a: [0, new Map([[1, 2]])]}",
            "a Map with a number as a key at $.a[1]; use [...map], or keys of text",
        ),
        ("{'a b': Promise.resolve(1)}", "a Promise at $.a b; await it"),
        ("{u: new Uint8Array(2)}", "a Uint8Array at $.u; use [...bytes]"),
        ("[new ArrayBuffer(2)]", "an ArrayBuffer at $[0]; use [...new Uint8Array(buffer)]"),
        ("[1n]", "a BigInt at $[0]; use String(value), or Number(value)"),
        ("/x/", "a RegExp; use its source"),
        ("new Map([['k', {i: new Map().keys()}]])", "a Map Iterator at $.k.i; use [...iterator]"),
        ("(function* () {})()", "a Generator; use [...generator]"),
        ("new WeakMap()", "a WeakMap; use a Map"),
        ("{u: new URLSearchParams('a=1')}", "a URLSearchParams at $.u; use [...it]"),
        ("[new TextEncoder()]", "a TextEncoder at $[0]; use plain data"),
    ],
)
def test_results_that_cannot_be_carried_are_named(
    runtime: WorkflowRuntime, value: str, why: str
) -> None:
    message = f"workflow result cannot be turned into JSON: it has {why}"
    with pytest.raises(WorkflowModuleError, match=re.escape(message)):
        result(runtime, f"export default () => ({value})")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("{schema: String}", "it has a function at $.schema; use plain data"),
        ("{schema: {properties: {n: Number}}}", "it has a function at $.schema.properties.n"),
        ("{label: Symbol('x')}", "it has a symbol at $.label; use plain data"),
        ("{schema: {enum: [undefined]}}", "it has undefined at $.schema.enum[0]; use plain data"),
        ("{maxTokens: 2 * undefined}", "it has NaN at $.maxTokens; use a finite number"),
        ("{retry: {maxAttempts: Infinity}}", "it has Infinity at $.retry.maxAttempts; use a"),
        ("new Map([['label', 'x']])", "agent takes options as a plain object; got a Map"),
        ("Promise.resolve({})", "agent takes options as a plain object; got a Promise"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    runtime: WorkflowRuntime, options: str, why: str
) -> None:
    with pytest.raises(WorkflowModuleError, match=re.escape(why)):
        result(runtime, f"export default () => agent('a', {options})")


def test_messages_show_values_of_all_classes(runtime: WorkflowRuntime) -> None:
    values = "new Map([[1, new Error('no')]]), /x/, [2n], Promise.resolve()"
    with started(runtime, main(f"log({values})")) as execution:
        logged = execution.poll()
    assert isinstance(logged, LogCall)
    assert logged.text == '{"1":{"name":"Error","message":"no"}} [RegExp] ["2n"] [Promise]'


def test_typescript(runtime: WorkflowRuntime) -> None:
    source = "interface A { n: number }\nexport default (args: A): number => args.n! as number"
    assert result(runtime, source, source_name="typed.workflow.ts", args={"n": 4}) == 4


def test_the_context_has_the_verbs(runtime: WorkflowRuntime) -> None:
    same = "ctx.agent === agent, ctx.args === args, Object.isFrozen(ctx)"
    body = f"return [Object.keys(ctx).sort(), {same}]"
    names, *equal = result(runtime, main(body), args={})
    assert {
        "args",
        "agent",
        "parallel",
        "pipeline",
        "workflow",
        "budget",
        "log",
        "phase",
        "extra",
    } < set(names)
    assert equal == [True, True, True]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("export default (", "failed to declare workflow module: SyntaxError: "),
        ("return 1", "failed to declare workflow module: SyntaxError: "),
        ("throw new Error('top')", "failed to evaluate workflow module: top"),
        ("nothing.here", "failed to evaluate workflow module: ReferenceError: "),
        (
            "import 'fs'",
            "failed to declare workflow module: workflow imports are restricted; only ",
        ),
        ("import './other.js'", "failed to declare workflow module: workflow imports are restrict"),
    ],
)
def test_modules_that_cannot_be_started(
    runtime: WorkflowRuntime, source: str, message: str
) -> None:
    with pytest.raises(WorkflowModuleError) as raised:
        runtime.start_module(WorkflowModuleInput(source=source))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "await agent('a'); throw new Error('late')",
            "workflow module evaluation rejected: late",
        ),
        (
            "export const x = 1",
            "workflow module must default export a workflow result or function",
        ),
        ("export default () => { throw new Error('run') }", "workflow module rejected: run"),
        ("export default () => { throw 'text' }", "workflow module rejected: text"),
        (
            "export default () => { throw {a: 1} }",
            "workflow module rejected: ",
        ),
        ("export default 1n", "failed to convert workflow result: "),
        ("const a = {}; a.a = a; export default a", "failed to convert workflow result: "),
        (
            "export default {toJSON() { throw new Error('no') }}",
            "failed to convert workflow result: ",
        ),
    ],
)
def test_modules_that_fail_later(runtime: WorkflowRuntime, source: str, message: str) -> None:
    with pytest.raises(WorkflowModuleError) as raised:
        result(runtime, source)
    assert str(raised.value).startswith(message)


def test_stacks_name_the_module_and_its_lines(runtime: WorkflowRuntime) -> None:
    source = "function fail() {\n  throw new TypeError('here');\n}\nexport default () => fail();\n"
    with pytest.raises(WorkflowModuleError) as raised:
        result(runtime, source, source_name="stack-error.workflow.js")
    assert raised.value.name == "TypeError"
    first, second = str(raised.value).splitlines()[1:3]
    assert "at fail (" in first
    assert "stack-error.workflow.js:2:" in first
    assert "stack-error.workflow.js:4:" in second
    assert "interpstack" not in str(raised.value)
    assert "<cell>" not in str(raised.value)


def test_output_before_an_error_is_delivered(runtime: WorkflowRuntime) -> None:
    with started(runtime, main("log('a'); throw new Error('b')")) as execution:
        assert execution.poll() == LogCall(("a",))
        with pytest.raises(WorkflowModuleError, match="rejected: b"):
            execution.poll()
        with pytest.raises(WorkflowModuleError, match="rejected: b"):
            execution.poll()


# -- imports ------------------------------------------------------------------------------------


def test_the_modules_of_workflows(runtime: WorkflowRuntime) -> None:
    source = (
        "import extra, {sleep} from 'workflow:extra'; import box, {exec} from 'workflow:sandbox';"
        "const again = await import('workflow:extra');"
        "export default [sleep === SW.extra.sleep, extra === SW.extra, exec === SW.sandbox.exec,"
        " box.exec === exec, again.sleep === sleep]"
    )
    assert result(runtime, source) == [True] * 5


def test_modules_that_the_host_allows(runtime: WorkflowRuntime) -> None:
    modules = {"team:prompts": "export const hello = name => `Hello, ${name}`"}
    source = "import {hello} from 'team:prompts'; export default hello('you')"
    assert result(runtime, source, modules=modules) == "Hello, you"


@pytest.mark.parametrize("specifier", ["fs", "node:fs", "./x.js", "data:text/javascript,1"])
def test_other_imports_are_refused(runtime: WorkflowRuntime, specifier: str) -> None:
    body = f"try {{ await import('{specifier}'); return 'had' }} catch (e) {{ return e.message }}"
    assert specifier[:20] in result(runtime, main(body))


# -- the verbs' requests ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "request_made"),
    [
        ("agent('p')", AgentRequest("1", "p")),
        ("agent('p', {})", AgentRequest("1", "p")),
        ("agent('p', null)", AgentRequest("1", "p")),
        (
            "agent('p', {label: 'l', schema: {type: 'object'}})",
            AgentRequest("1", "p", {"label": "l", "schema": {"type": "object"}}),
        ),
        ("workflow('child')", WorkflowRequest("1", "child")),
        ("workflow('child', {a: 1})", WorkflowRequest("1", "child", {"a": 1})),
        (
            "workflow({scriptPath: './c.js'}, [1])",
            WorkflowRequest("1", ScriptPath("./c.js"), [1]),
        ),
        ("SW.extra.sleep(0.2)", SleepRequest("1", 1)),
        ("ctx.extra.sleep(250)", SleepRequest("1", 250)),
        ("ask('Go?', {choices: ['y']})", AskRequest("1", "Go?", {"choices": ["y"]})),
        ("wait('approved')", WaitRequest("1", "approved")),
        ("checkpoint('half', {n: 1})", CheckpointRequest("1", "half", {"n": 1})),
        (
            "ctx.sandbox.exec('local/sh', {command: 'ls', args: ['-l'], cwd: '/x', env: {A: 'b'},"
            " stdin: 's'})",
            ExecRequest("1", "local/sh", ExecSpec("ls", ("-l",), "/x", {"A": "b"}, "s")),
        ),
        ("SW.sandbox.exec('a/b', {command: 'ls'})", ExecRequest("1", "a/b", ExecSpec("ls"))),
    ],
)
def test_requests(runtime: WorkflowRuntime, expression: str, request_made: Any) -> None:
    with started(runtime, main(f"return {expression}")) as execution:
        assert execution.poll() == request_made


def test_the_phase_is_that_of_the_call(runtime: WorkflowRuntime) -> None:
    body = (
        "agent('0'); phase('A'); agent('1'); agent('2', {phase: 'B'}); agent('3', {phase: null});"
        "const f = () => agent('4'); phase('C'); return f()"
    )
    with started(runtime, main(body)) as execution:
        phases = [request.options for request in execution.take_pending_requests()]  # type: ignore[union-attr]
    assert phases == [None, {"phase": "A"}, {"phase": "B"}, {"phase": None}, {"phase": "C"}]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("agent(1)", "agent(prompt, options?) takes a string as its prompt; got a number"),
        ("agent('a', 'b')", "agent takes options as an object; got a string"),
        ("agent('a', ['b'])", "agent takes options as an object; got an array"),
        ("agent('a', {n: 1n})", "agent: its options cannot be turned into JSON: "),
        ("workflow(7)", "workflow(ref, args?) takes a name, or {scriptPath: '…'}; got a number"),
        (
            "workflow({scriptPath: 'a', arg: 1})",
            "workflow: its reference has no field 'arg'; it takes {scriptPath}",
        ),
        ("SW.extra.sleep(-1)", "sleep(ms) requires a finite non-negative number"),
        ("SW.extra.sleep('1')", "sleep(ms) requires a finite non-negative number"),
        ("SW.extra.sleep(Infinity)", "sleep(ms) requires a finite non-negative number"),
        ("SW.extra.sleep(366 * 864e5)", "sleep(ms) duration exceeds the maximum allowed delay"),
        (
            "SW.sandbox.exec('x', {})",
            "exec(profile, request) takes a profile as '<provider>/<name>'",
        ),
        ("SW.sandbox.exec('a/b', {})", "exec: request.command takes a string that is not empty"),
        (
            "SW.sandbox.exec('a/b', {command: 'c', shell: true})",
            "exec: request has no field 'shell'; it takes {command, args, cwd, env, stdin}",
        ),
        (
            "SW.sandbox.exec('a/b', {command: 'c', args: [1]})",
            "exec: request.args takes strings; it",
        ),
        ("ask()", "ask(question, options?) takes a string; got undefined"),
        ("wait('')", "wait(signal, options?) takes the name of a signal; got an empty string"),
        ("parallel(agent)", "parallel(tasks) takes an array of functions; got a function"),
        (
            "parallel([() => 1, agent('a')])",
            "parallel(tasks) takes functions, as in parallel([() => agent('…')]); item 1 is a prom",
        ),
        (
            "parallel([], {fast: true})",
            "parallel has no option 'fast'; it takes {failFast: boolean",
        ),
        (
            "parallel([], {maxFailures: -1})",
            "parallel: maxFailures takes a whole number, 0 or more",
        ),
        ("pipeline('ab')", "pipeline(items, ...stages) takes an array of items; got a string"),
        (
            "pipeline([1], 2)",
            "pipeline(items, ...stages) takes functions as stages; stage 0 is a nu",
        ),
    ],
)
def test_wrong_arguments(runtime: WorkflowRuntime, expression: str, message: str) -> None:
    body = f"try {{ await {expression} }} catch (e) {{ return [e.name, e.message] }}"
    name, text = result(runtime, main(body), lambda request: ValueResolution())
    assert name == "TypeError"
    assert text.startswith(message)


@pytest.mark.parametrize("expression", ["phase(1)", "phase('a', {n: 1n})", "phase('a', 1)"])
def test_calls_check_their_arguments(runtime: WorkflowRuntime, expression: str) -> None:
    body = f"try {{ {expression} }} catch (e) {{ return e.name }}"
    assert result(runtime, main(body)) == "TypeError"


# -- many at once -------------------------------------------------------------------------------


def failing(request: Any) -> Any:
    if request.prompt.startswith("bad"):
        return FailedResolution(
            "it failed", name="AgentError", data={"kind": "model", "attempts": 2}
        )
    return ValueResolution(request.prompt.upper())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("parallel([])", []),
        ("parallel([() => agent('a'), () => agent('bad'), () => 3])", ["A", None, 3]),
        ("parallel([() => { throw new Error('own') }])", [None]),
        ("pipeline([])", []),
        ("pipeline(['a', 'b'])", ["a", "b"]),
        (
            "pipeline(['a', 'bad'], p => agent(p), (p, item, i) => [p, item, i])",
            [["A", "a", 0], None],
        ),
        (
            "parallel.settled([() => agent('a'), () => agent('bad')])",
            [
                {"ok": True, "value": "A"},
                {
                    "ok": False,
                    "error": {
                        "kind": "model",
                        "name": "AgentError",
                        "message": "it failed",
                        "attempts": 2,
                        "usage": None,
                    },
                },
            ],
        ),
        ("parallel([() => agent('bad'), () => 1], {maxFailures: 1})", [None, 1]),
    ],
)
def test_parallel_and_pipeline(runtime: WorkflowRuntime, expression: str, expected: Any) -> None:
    assert result(runtime, main(f"return {expression}"), failing) == expected


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("parallel([() => missing()])", "ReferenceError"),
        ("parallel([() => null.x, () => agent('a')])", "TypeError"),
        ("parallel.settled([async () => agent(5)])", "TypeError"),
        ("pipeline([1], () => { throw new RangeError('r') })", "RangeError"),
        (
            "parallel([() => parallel([() => agent('bad')], {failFast: true})], {failFast: true})",
            "AgentError",
        ),
        (
            "parallel([() => agent('bad'), () => agent('bad2')], {maxFailures: 1})",
            "TooManyFailures",
        ),
        ("pipeline.settled(['bad'], p => agent(p), {maxFailures: 0})", "TooManyFailures"),
    ],
)
def test_failures_that_escape(runtime: WorkflowRuntime, expression: str, name: str) -> None:
    body = f"try {{ return await {expression} }} catch (e) {{ return e.name }}"
    assert result(runtime, main(body), failing) == name


@pytest.mark.parametrize("name", ["BudgetExceeded", "WorkflowCancelled"])
def test_errors_of_the_host_escape_where_it_says_so(runtime: WorkflowRuntime, name: str) -> None:
    body = (
        "try { return await parallel([() => agent('a')]) } catch (e) { return [e.name, e.escapes] }"
    )
    failed = FailedResolution("no more", name=name, escapes=True)
    assert result(runtime, main(body), lambda request: failed) == [name, None]
    swallowed = FailedResolution("no more", name=name)
    assert result(runtime, main(body), lambda request: swallowed) == [None]


def test_failures_that_became_null_are_counted(runtime: WorkflowRuntime) -> None:
    body = "return parallel([() => agent('bad'), () => agent('bad'), () => agent('a')])"
    with started(runtime, main(body)) as execution:
        for request in execution.take_pending_requests():
            execution.resolve_request(request.id, failing(request))
        polled = execution.poll()
    assert isinstance(polled, Complete)
    assert polled.output.dropped == 2


def test_results_are_in_the_order_of_the_tasks(runtime: WorkflowRuntime) -> None:
    with started(
        runtime, main("return pipeline([1, 2, 3], n => agent(`${n}`), (a, n) => a * n)")
    ) as execution:
        for request in reversed(execution.take_pending_requests()):
            execution.resolve_request(request.id, ValueResolution(int(request.prompt)))  # type: ignore[union-attr]
        polled = execution.poll()
    assert isinstance(polled, Complete)
    assert polled.output.result == [1, 4, 9]


# -- what the host refuses -----------------------------------------------------------------------


def test_an_engine_of_another_language_is_refused() -> None:
    with (
        InterpreterStack("monty") as stack,
        pytest.raises(ConfigurationError, match="workflows are JavaScript modules, and the engine"),
    ):
        WorkflowRuntime(stack.engine)


@pytest.mark.parametrize(
    "fields",
    [
        {"source": 1},
        {"source": "", "source_name": "a.py"},
        {"source": "", "modules": {"prompts": ""}},
        {"source": "", "modules": {"workflow:extra": ""}},
        {"source": "", "poll_seconds": 0},
        {"source": "", "budget": 5},
    ],
)
def test_wrong_inputs(fields: Any) -> None:
    with pytest.raises(ConfigurationError):
        WorkflowModuleInput(**fields)
