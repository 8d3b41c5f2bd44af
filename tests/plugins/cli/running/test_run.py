"""`interpstack run`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interpstack.checks import most_memory_bytes

_MOST_MIB = most_memory_bytes() // 2**20
MODULES = "langchain", "langchain_core", "langgraph", "deepagents"


@pytest.mark.parametrize(
    ("args", "stdin", "shown"),
    [
        (["-e", "1 + 1"], "", "2\n"),
        (["-e", "-1"], "", "-1\n"),
        (["-"], "let x = 'é🙂'; x", "é🙂\n"),
        (["-"], "\ufeff'no BOM'.length", "6\n"),
        (["a.js"], "", "js\n"),
        (["a.mjs"], "", "awaited\n"),
        (["a.TS"], "", "3\n"),
        (["a.txt", "--language", "typescript"], "", "3\n"),
        (["-e", "let x: number = 4; x", "--language", "typescript"], "", "4\n"),
        (
            ["-e", "console.log('a'); console.error('b'); [1, {c: 'd'}]"],
            "",
            'a\nb\n[1, {c: "d"}]\n',
        ),
        (["-e", "undefined"], "", ""),
        (["-e", "let quiet = 1"], "", ""),
        (["-e", "const f = x => x; f"], "", "[Function: f] arity=1\n"),
        (["-e", "'x'.repeat(50000)"], "", "x" * 50000 + "\n"),
        (["-e", "console.log('y'.repeat(50000))"], "", "y" * 50000 + "\n"),
        (["-e", r"'\ud800'"], "", "\\ud800\n"),
        (["-e", r"'\x1b[31mred'"], "", "\x1b[31mred\n"),
    ],
)
def test_prints_console_then_value(run, tmp_path, args, stdin, shown):
    (tmp_path / "a.js").write_text("'js'")
    (tmp_path / "a.mjs").write_text("await Promise.resolve('awaited')")
    for name in ("a.TS", "a.txt"):
        (tmp_path / name).write_text("const x: number = 3; x")
    result = run("run", *args, stdin=stdin.encode())
    assert (result.stdout, result.stderr, result.exit_code) == (shown, "", 0)


def test_shows_output_then_the_error_with_its_stack(run, tmp_path):
    (tmp_path / "broken.js").write_text("console.log('before')\nfunction f() { null.x }\nf()")
    result = run("run", "broken.js")
    assert result.exit_code == 1
    assert result.stdout == "before\n"
    first, *stack = result.stderr.splitlines()
    assert first == "TypeError: cannot read property 'x' of null"
    assert "at f (broken.js:2:" in stack[0]
    assert str(tmp_path) not in result.stderr


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["-e", "for (;;) {}", "--timeout", "0.2"], "Timeout"),
        (["-e", "await new Promise(r => setTimeout(r, 60000))", "--timeout", "0.2"], "Timeout"),
        (["-e", "const a = []; for (;;) a.push(new Array(9999).fill(7))", "--memory", "8"], "Out"),
        (["-e", "await new Promise(() => {})"], "Deadlock"),
        (["-e", "let = ="], "SyntaxError"),
    ],
)
def test_limits_and_errors_of_the_code_exit_with_1(run, args, error):
    result = run("run", *args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(error)


def test_the_line_that_is_at_fault_is_shown(run):
    result = run("run", "-e", "const a = 1;\nconst b = a < a a;")
    assert result.stderr == (
        "SyntaxError: Expected a semicolon or an implicit semicolon after a statement, but found "
        "none. Try inserting a semicolon here\n    at cell:2:17\n"
        "2 | const b = a < a a;\n  |                 ^\n"
    )
    result = run("run", "--json", "-e", "let a b")
    assert json.loads(result.stdout)["error"]["place"] == {
        "line": 1,
        "column": 7,
        "before": "let a ",
        "after": "b",
    }


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("console.log('c'); '\\ud800é'", 0, {"ok": True, "text": "\ud800é", "console": "c"}),
        ("console.log('c'); throw new RangeError('no')", 1, {"ok": False, "text": ""}),
    ],
)
def test_json_is_the_whole_outcome(run, code, status, expected):
    result = run("run", "--json", "-e", code)
    outcome = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (status, "")
    assert expected.items() <= outcome.items()
    assert (outcome["error"] or {}).get("name") == (None if outcome["ok"] else "RangeError")
    assert outcome["usage"]["wall_seconds"] > 0


@pytest.mark.parametrize(
    ("args", "stdin", "found"),
    [
        ([], b"", "give one source: a FILE, - for standard input, or -e CODE; got none"),
        (["a.js", "-e", "1"], b"", "got both"),
        (["-", "-e", "1"], b"", "got both"),
        (["-e", "1", "-e", "2"], b"", "got several"),
        (["-e", " "], b"", "-e got empty code"),
        (["nowhere.js"], b"", "File 'nowhere.js' not found."),
        (["folder"], b"", "folder is a directory"),
        (["a.js/b.js"], b"", "a.js/b.js cannot be read: Not a directory"),
        (["empty.js"], b"", "empty.js is empty"),
        (["latin.js"], b"", "latin.js is not UTF-8 text (byte 2)"),
        (["huge.js"], b"", "Error: huge.js is larger than the 1048576 bytes"),
        (["a.txt"], b"", "a.txt: the extension names no known language; use one of .js, .mjs"),
        (["-"], b"", "standard input is empty"),
        (["-"], b"\xff", "standard input is not UTF-8 text (byte 1)"),
        (["-e", "1", "--engine", "v9"], b"", "unknown engine 'v9'; known: "),
        (
            ["-e", "1", "--timeout", "0"],
            b"",
            "'--timeout': takes seconds above 0, at most 1000000000; got 0",
        ),
        (
            ["-e", "1", "--timeout", "nan"],
            b"",
            "takes seconds above 0, at most 1000000000; got nan",
        ),
        (
            ["-e", "1", "--timeout", "inf"],
            b"",
            "takes seconds above 0, at most 1000000000; got inf",
        ),
        (
            ["-e", "1", "--timeout", "soon"],
            b"",
            "'--timeout': takes a number of seconds, such as 30; got 'soon'",
        ),
        (
            ["-e", "1", "--memory", "64MB"],
            b"",
            "'--memory': takes a whole number of MiB, such as 30; got '64MB'",
        ),
        (["-e", "1", "--memory", "3"], b"", f"takes 4 to {_MOST_MIB} MiB, the memory of this "),
        (["-e", "1", "--memory", f"{_MOST_MIB + 1}"], b"", f"machine; got {_MOST_MIB + 1}"),
        (["-e", "1", "--language", ""], b"", "takes the name of a language, such as python"),
        (["-e", "1", "--timeout", "1e12"], b"", "at most 1000000000; got 1e+12"),
        (
            ["-e", "1", "--engine", "process:quickjs", "--engine-option", "worker_environment=5"],
            b"",
            "worker_environment takes a mapping of names to values, all of them strings; got 5",
        ),
        (["-e", "1", "--language", "cobol"], b"", "cell is cobol, but the engine 'quickjs' runs "),
        (["a.js", "b.js"], b"", "unexpected extra argument"),
    ],
)
def test_bad_input_is_named_and_exits_with_2(run, tmp_path, args, stdin, found):
    (tmp_path / "folder").mkdir()
    for name, data in {
        "a.js": b"1",
        "a.txt": b"1",
        "empty.js": b" \n",
        "latin.js": b"'\xe9'",
        "huge.js": b"1;" * 2**20,
    }.items():
        (tmp_path / name).write_bytes(data)
    result = run("run", *args, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert found in result.stderr
    assert "Traceback" not in result.stderr


def test_an_engine_whose_library_is_broken_is_named(spawn, distribution):
    path = distribution("stub", "", wasmtime="raise ImportError('wrong architecture')")
    process = spawn("run", "-e", "1", path=path)
    stdout, stderr = process.communicate()
    assert (stdout, process.returncode) == ("", 2)
    assert stderr.startswith("Error: plugin 'quickjs' is installed but cannot be loaded: wrong arc")


def test_output_in_another_encoding_is_escaped(spawn):
    process = spawn("run", "-e", "console.log('é'); throw 'ü'", PYTHONIOENCODING="ascii")
    stdout, stderr = process.communicate()
    assert (stdout, stderr, process.returncode) == ("\\xe9\n", "Error: \\xfc\n", 1)


def test_reads_standard_input_of_a_process(spawn):
    process = spawn("run", "-")
    assert process.communicate("[1, 2].map(x => x * 2)") == ("[2, 4]\n", "")
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_code_in_an_argument_is_utf8(spawn):
    process = spawn("run", "-e", b'"\xff\xc3"', PYTHONUTF8="1")
    stdout, stderr = process.communicate()
    assert (stdout, process.returncode) == ("", 2)
    assert stderr == "Error: -e got code that is not UTF-8 text; write it as UTF-8\n"


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("then", ["for (;;) {}", "await tools.blockForLong()", "await never"])
def test_ctrl_c_ends_the_command(spawn, tmp_path, then):
    (tmp_path / "marking.py").write_text(
        "import pathlib, time\n"
        "def mark(): pathlib.Path('running').touch()\n"
        "def block_for_long(): time.sleep(600)\n"
    )
    code = "const never = new Promise(r => setTimeout(r, 6e5)); await tools.mark(); " + then
    process = spawn("run", "--tools", "marking", "--timeout", "600", "-e", code)
    _wait_for(tmp_path / "running", process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate()
    assert (stdout, stderr, process.returncode) == ("", "Interrupted.\n", 130)


def test_a_tool_that_blocks_does_not_outlive_the_time_limit(spawn, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef block(): time.sleep(600)\n")
    process = spawn("run", "--tools", "slow", "--timeout", "0.3", "-e", "await tools.block()")
    _, stderr = process.communicate()
    assert process.returncode == 1
    assert stderr.startswith("Timeout: ")
    assert "tools.block" in stderr


@pytest.mark.parametrize(
    ("args", "absent"),
    [
        (["--help"], (*MODULES, "rich", "prompt_toolkit", "wasmtime")),
        (["run", "-e", "1+1"], (*MODULES, "rich", "prompt_toolkit")),
    ],
)
def test_imports_only_what_it_needs(args, absent):
    code = (
        "import sys; from interpstack_cli import main; main(%r, standalone_mode=False);"
        "print('imported:', *[m for m in %r if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code % (args, absent)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "imported:"


def _wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
