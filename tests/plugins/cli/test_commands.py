"""How commands are found, and what is said when one cannot be used."""

from __future__ import annotations

import io
import subprocess
import sys
import tomllib
import warnings
from importlib.metadata import EntryPoint, version
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from interpstack.contracts.errors import ConfigurationError
from interpstack_cli import commands, main
from interpstack_cli.printing import write

MODULES = {
    "shouting": "import click\n@click.command()\ndef command(): click.echo('LOUD')\n",
    "broken": "import no_such_package_of_anybody\n",
    "failing": "raise RuntimeError('two\\nlines')\n",
    "other": "command = 3\n",
}
ENTRY_POINTS = """
[interpstack.commands]
shout = shouting:command
broken = broken:command
failing = failing:command
gone = shouting:gone
other = other:command
repl = broken:command
"""
OWN = ["doctor", "engines", "plugins", "repl", "run", "types"]
PLUGINS = ["demo", "inspect", "mcp", "replay", "workflow"]


@pytest.fixture
def plugins(distribution):
    return distribution("shouter", ENTRY_POINTS, **MODULES)


def test_help_lists_commands_of_plugins_without_importing_them(spawn, plugins):
    process = spawn("--help", path=plugins)
    stdout, stderr = process.communicate()
    assert (stderr, process.returncode) == ("", 0)
    rows = stdout.partition("Commands:\n")[2].splitlines()
    listed = [row.split()[0] for row in rows if row[2] != " "]
    assert listed == sorted(
        {*PLUGINS, "shout", "broken", "failing", "gone", "other", *OWN},
    )
    assert "Added by shouter (broken)." in stdout
    text = " ".join(stdout.split())
    assert "Let a deep agent answer questions about the files of FOLDER, with code." in text
    assert "Run the evals of THREAD again as they were recorded, and show their calls." in text
    assert "Run a file, standard input or code." in stdout


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("broken", "ModuleNotFoundError: No module named 'no_such_package_of_anybody'"),
        ("failing", "RuntimeError: two lines"),
        ("gone", "AttributeError: module 'shouting' has no attribute 'gone'"),
        ("other", "is a int, not a click command"),
    ],
)
def test_a_broken_command_names_itself_the_cause_and_the_fix(spawn, plugins, command, found):
    process = spawn(command, path=plugins)
    stdout, stderr = process.communicate()
    assert (stdout, process.returncode) == ("", 2)
    assert stderr.startswith(f"Error: command '{command}' (")
    assert found in stderr
    assert stderr.endswith("pip install --force-reinstall shouter\n")
    assert len(stderr.splitlines()) == 1


def test_an_extra_of_the_name_of_a_command_comes_first(spawn, distribution):
    points = "[interpstack.commands]\nneedy = needy:command\n"
    requires = ["no-such-package>=1; extra == 'small'", "attrs; extra == 'needy'"]
    source = "import no_such_package"
    path = distribution("shouter", points, "small", "needy", requires=requires, needy=source)
    _, stderr = spawn("needy", path=path).communicate()
    assert stderr.endswith("install it with: pip install 'shouter[needy]'\n")


def test_a_command_whose_package_is_missing_names_the_extra(spawn, distribution):
    points = "[interpstack.commands]\nneedy = needy:command\n"
    source = "import no_such_package.part"
    requires = ["no-such-package>=1; extra == 'big'", "no-such-package>=1; extra == 'small'"]
    requires.append("attrs; extra == 'big'")
    path = distribution("shouter", points, "big", "small", requires=requires, needy=source)
    process = spawn("needy", path=path)
    stdout, stderr = process.communicate()
    assert (stdout, process.returncode) == ("", 2)
    assert stderr == (
        "Error: command 'needy' needs no_such_package, which is not installed; "
        "install it with: pip install 'shouter[small]'\n"
    )


@pytest.mark.parametrize(
    ("args", "stdout"), [(["shout"], "LOUD\n"), (["run", "-e", "1 + 1"], "2\n")]
)
def test_broken_commands_leave_the_others_alone(spawn, plugins, args, stdout):
    process = spawn(*args, path=plugins)
    assert process.communicate() == (stdout, "")
    assert process.returncode == 0


def test_a_command_that_replaces_one_of_ours_is_refused(spawn, plugins):
    process = spawn("repl", path=plugins)
    stdout, stderr = process.communicate()
    assert (stdout, process.returncode) == ("", 2)
    assert stderr.startswith("Error: command 'repl' is added by ")
    assert {"shouter (broken)", "interpstack (interpstack_cli.repl.command)"} == set(
        stderr.partition(" added by ")[2].partition("; uninstall one")[0].split(" and ")
    )


def test_without_the_command_line_python_m_names_what_is_missing(tmp_path):
    code = (
        "import runpy, sys; sys.modules['interpstack_cli'] = None\n"
        "runpy.run_module('interpstack', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: the command line needs interpstack_cli, which is not installed; "
        "install it with: pip install --force-reinstall interpstack\n"
    )


def test_a_command_of_two_distributions_names_both(run, monkeypatch):
    twice = [EntryPoint("twice", f"{name}:command", commands.GROUP) for name in ("one", "two")]
    monkeypatch.setattr(commands, "entry_points", lambda group: twice)
    result = run("twice")
    assert result.exit_code == 2
    assert "command 'twice' is added by one and two; uninstall one" in result.stderr


def test_shell_completion_survives_a_broken_command(monkeypatch):
    points = [
        ("bust", "no_such_module_of_anybody:command"),
        ("run", "interpstack_cli.running.run:command"),
    ]
    broken = [EntryPoint(*point, commands.GROUP) for point in points]
    monkeypatch.setattr(commands, "entry_points", lambda group: broken)
    completed = ShellComplete(main, {}, "interpstack", "_X").get_completions([], "")
    assert [item.value for item in completed] == ["run"]


def test_version(run):
    assert run("--version").stdout == f"interpstack {version('interpstack')}\n"


@pytest.mark.parametrize("args", [["nope"], ["--nope"], ["run", "--nope"]])
def test_what_does_not_exist_exits_with_2(run, args):
    result = run(*args)
    assert result.exit_code == 2
    assert "No such" in result.stderr


_CLEARS = "\x1b]0;x\x07\x1b[2J\u202e"


@pytest.mark.parametrize(
    "args",
    [
        [_CLEARS],
        ["run", "a.js", _CLEARS],
        ["run", _CLEARS + ".js"],
        ["plugins", _CLEARS],
        ["inspect", _CLEARS],
        ["workflow", "check", _CLEARS],
        ["workflow", "run", __file__, "--agents", _CLEARS + ":a"],
    ],
)
def test_arguments_in_errors_cannot_command_a_terminal(run, args):
    result = run(*args)
    assert result.exit_code == 2
    assert r"\x1b]0;x\x07\x1b[2J" in result.stderr
    assert not {*_CLEARS} & {*result.stderr} - {*"]0;x[2J"}


_LONG = "x" * 5000


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["run", _LONG], "too long. To run code from the command line, use -e CODE."),
        (["inspect", _LONG], "cannot be read: File name too long"),
        (["replay", "t", "--checkpointer", _LONG], "cannot be read: File name too long"),
        (["replay", "t", "--checkpointer", "x", "--html", f"{_LONG}/x"], "name another place"),
        (["workflow", "run", _LONG], "name another place"),
        (["workflow", "check", _LONG], "name another place"),
        (["workflow", "list", "--db", _LONG], "name another place"),
    ],
)
def test_names_that_are_too_long_are_refused_in_a_short_line(run, args, found):
    result = run(*args)
    assert result.exit_code == 2
    assert found in result.stderr
    assert len(result.stderr) < 600


@pytest.mark.parametrize(
    ("name", "found"), [("repll", "'repll'. Did you mean 'repl'?"), ("xyzzy", "'xyzzy'.")]
)
def test_an_unknown_command_names_the_nearest(run, name, found):
    result = run(name)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"No such command {found}\n")


def test_an_error_is_one_line_and_a_warning_has_no_path(run, monkeypatch):
    @click.command()
    def command():
        warnings.warn("slow start", UserWarning, stacklevel=1)
        raise ConfigurationError("first\n  second")

    entry = [EntryPoint("odd", "interpstack_cli:odd", commands.GROUP)]
    monkeypatch.setattr(commands, "entry_points", lambda group: entry)
    monkeypatch.setattr("interpstack_cli.odd", command, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("odd")
    assert result.stderr == "UserWarning: slow start\nError: first second\n"
    assert result.exit_code == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "shown"),
    [
        (Terminal, "", "\x1b[31mbad\x1b[0m\n"),
        (Terminal, "1", "bad\n"),
        (io.StringIO, "", "bad\n"),
    ],
)
def test_colours_only_on_a_terminal_that_wants_them(monkeypatch, stream, env, shown):
    monkeypatch.setattr("sys.stderr", stream())
    monkeypatch.setenv("NO_COLOR", env)
    write("bad", err=True, colour="red")
    assert sys.stderr.getvalue() == shown


@pytest.mark.parametrize(
    ("module", "raised", "found", "status"),
    [
        ("click", "KeyboardInterrupt", "Interrupted.\n", 130),
        ("interpstack_cli.group", "KeyboardInterrupt", "Interrupted.\n", 130),
        (
            "click",
            "ModuleNotFoundError('no', name='click')",
            "Error: the command line needs click, which is not installed; "
            "install it with: pip install --force-reinstall interpstack\n",
            1,
        ),
    ],
)
def test_ctrl_c_while_the_command_is_imported(
    tmp_path: Path, module: str, raised: str, found: str, status: int
) -> None:
    code = f"""
import sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise {raised}

sys.meta_path.insert(0, Interrupts())
from interpstack_cli import start
start()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("", found, status)


def test_the_installed_command_begins_with_start() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"interpstack": "interpstack_cli:start"}


@pytest.mark.parametrize(
    "args",
    [
        ("run", "-e", "1", "--memory", "8", "--memory", "9"),
        ("repl", "--engine", "quickjs", "--engine", "v8"),
        ("replay", "thread", "--checkpointer", "a.db", "--checkpointer", "b.db"),
        ("inspect", "a.db", "--port", "1", "--port", "2"),
        ("mcp", "serve", "--http", "localhost:1", "--http", "localhost:2"),
        ("mcp", "login", "f.json", "s", "--timeout", "1", "--timeout", "2"),
        ("workflow", "run", "w.workflow.js", "--args", "1", "--args", "2"),
        ("workflow", "list", "--db", "a.db", "--db", "b.db"),
        ("workflow", "resume", "r", "--source", "a", "--source", "b"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_no_command_takes_the_last_of_two_values(run, args):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'{args[-2]}': is given 2 times, and takes one value; give it once" in result.stderr
