"""What `--tools` loads."""

from __future__ import annotations

import sys

import pytest

from interpstack import ConfigurationError, InterpstackError
from interpstack_cli.running.tools import load_tools
from interpstack_javascript import JAVASCRIPT

TOOLS = """
from functools import partial, wraps
from interpstack import HostTool, bridge
from os.path import join

def read_file(path: str, size: int = 3) -> str:
    return path[:size]

async def fetch(url: str) -> dict:
    return {"url": url}

def fails():
    raise LookupError("nothing there")

def who(context) -> str:
    return context.session_key[:9]

def logged(function):
    @wraps(function)
    def call(**fields):
        return function(**fields)
    return call

@logged
def decorated(n: int) -> int:
    return n + 1

@bridge("weather.today")
def today(city: str) -> str:
    return "sunny in " + city

async def _search(given, context):
    return [given["text"].upper()]

search = HostTool(name="web_search", call=_search, description="Search.", input_schema={
    "type": "object", "properties": {"text": {"type": "string"}}})

several = [fetch, today]
nameless = partial(read_file, size=2)
unnamed = [fetch, lambda: 1]
limit = 3

class Kind:
    def method(self): ...
"""
LAMBDA = """
double = lambda n: 2 * n

class Kind:
    nothing = object()
"""


@pytest.fixture(autouse=True)
def _module(tmp_path, monkeypatch):
    (tmp_path / "cli_tools.py").write_text(TOOLS)
    (tmp_path / "cli_broken.py").write_text("import no_such_package_of_anybody")
    (tmp_path / "cli_raises.py").write_text("raise ValueError('not today')")
    (tmp_path / "cli_exits.py").write_text("raise SystemExit(3)")
    (tmp_path / "cli_other.py").write_text("def fetch(): ...\ndef log(*parts): ...")
    (tmp_path / "cli_lambda.py").write_text(LAMBDA)
    (tmp_path / "cli_empty.py").write_text("_private = print")
    yield
    for name in [name for name in sys.modules if name.startswith("cli_")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("references", "code", "shown"),
    [
        (["cli_tools:read_file"], "await tools.readFile({path: 'abcdef'})", "abc"),
        (["cli_tools:read_file"], "await tools.readFile({path: 'abc', size: 1})", "a"),
        (["cli_tools:fetch"], "await tools.fetch({url: 'u'})", '{url: "u"}'),
        (["cli_tools:decorated"], "await tools.decorated({n: 1})", "2"),
        (["cli_tools:who"], "await tools.who()", "anonymous"),
        (["cli_tools:today"], "await weather.today({city: 'Oslo'})", "sunny in Oslo"),
        (["cli_tools:several"], "[typeof tools.fetch, typeof weather]", '["function", "object"]'),
        (["cli_tools:search"], "await tools.webSearch({text: 'x'})", '["X"]'),
        (["cli_tools:search", "cli_tools:fetch"], "typeof tools.fetch", "function"),
        (["cli_tools"], "[typeof tools.join, typeof tools.nameless]", '["undefined", "undefined"]'),
        (["cli_tools"], "(await tools.webSearch({text: 'x'})).concat(typeof tools.fails)", "X"),
        (["os:getcwd"], "(await tools.getcwd()).length > 1", "true"),
        ([], "[typeof tools]", '["undefined"]'),
        (
            ["cli_tools:read_file"],
            "const all = await Promise.all(Array.from({length: 300}, "
            "() => tools.readFile({path: 'p'}))); all.length",
            "300",
        ),
    ],
)
def test_code_calls_tools(run, references, code, shown):
    options = [part for reference in references for part in ("--tools", reference)]
    result = run("run", *options, "-e", code)
    assert (result.stderr, result.exit_code) == ("", 0)
    assert shown in result.stdout


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("await tools.readFile({path: 3})", "1:7: tools.readFile: field 'path' takes a str"),
        ("await tools.readFile({})", "tools.readFile needs the field 'path'"),
        ("await tools.readFile({path: '', colour: 1})", "no field 'colour'"),
        ("await tools.fails()", "ToolError: nothing there"),
    ],
)
def test_wrong_calls_fail_in_the_code(run, code, found):
    result = run("run", "--tools", "cli_tools", "-e", code)
    assert result.exit_code == 1
    assert found in result.stderr


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("", "takes MODULE or MODULE:ATTR"),
        (":read_file", "takes MODULE or MODULE:ATTR"),
        ("cli tools:x", "takes MODULE or MODULE:ATTR"),
        ("../cli_tools.py:read_file", "not a path; change to the folder of the file and use "),
        ("cli_nowhere:x", "there is no module 'cli_nowhere', neither in the current directory"),
        ("cli_nowhere.sub:x", "there is no module 'cli_nowhere'"),
        ("cli_broken:x", "cannot be imported: ModuleNotFoundError: No module named 'no_such_pack"),
        ("cli_raises:x", "cannot be imported: ValueError: not today"),
        ("cli_exits:x", "cannot be imported: SystemExit: 3"),
        ("cli_tools:reed_file", "has no 'reed_file'; it offers: read_file, fetch, fails, who,"),
        ("cli_tools:Kind.nope", "has no 'Kind.nope'"),
        ("cli_tools:limit", "cannot call 3; accepted are a function, a Bridge, a HostTool, a list"),
        ("cli_tools:nameless", "cli_tools:nameless has no name of its own; decorate a function"),
        ("cli_tools:unnamed", "cli_tools:unnamed[1] has no name of its own; decorate a function"),
        (
            "cli_lambda",
            "--tools cli_lambda: cli_lambda:double has no name of its own; decorate a function "
            "with @bridge('tools.NAME'); name those that code needs, as in --tools cli_lambda:NAME",
        ),
        ("cli_lambda:Kind.nothing", "cannot call <object object>; accepted are"),
        ("cli_empty", "module 'cli_empty' has no public function"),
        ("math:sqrt", "'x' cannot be passed by name"),
    ],
)
def test_bad_references_say_what_is_accepted(reference, found):
    with pytest.raises(InterpstackError) as caught:
        load_tools([reference], JAVASCRIPT)
    assert found in str(caught.value)
    assert reference in str(caught.value)


def test_a_name_given_twice_names_both_owners(run):
    result = run("run", "--tools", "cli_tools", "--tools", "cli_other:fetch", "-e", "1")
    assert result.exit_code == 2
    text = "'tools.fetch' (from cli_other.fetch) is already offered by cli_tools.fetch"
    assert text in result.stderr


@pytest.mark.parametrize("again", ["cli_tools", "cli_tools:fetch", "cli_tools:several"])
def test_a_function_given_twice_counts_once(run, again):
    result = run("run", "--tools", "cli_tools", "--tools", again, "-e", "1")
    assert (result.exit_code, result.stdout) == (0, "1\n")


def test_a_function_of_a_module_that_code_cannot_call_can_be_left_out():
    with pytest.raises(InterpstackError) as caught:
        load_tools(["cli_other"], JAVASCRIPT)
    advice = "as in --tools cli_other:NAME, or begin the name of this one with '_'"
    assert str(caught.value).endswith(advice)
    assert len(load_tools(["cli_other:fetch"], JAVASCRIPT).bridges) == 1


def test_the_cause_is_kept():
    with pytest.raises(ConfigurationError) as caught:
        load_tools(["cli_raises"], JAVASCRIPT)
    assert isinstance(caught.value.__cause__, ValueError)
