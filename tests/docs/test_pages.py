"""Every code block of the documentation does what the page says.

The blocks of a page run in order, by their language:

| Language | Is |
|---|---|
| `python` | executed, in one namespace a page |
| `js` | a cell in the page's own session, with the plugin `console` |
| `console` | commands after `$ `, run in an empty folder, and what they print, but for times |
| `output` | what the block before it printed, or the envelope of its cell |
| `sh` | commands not run here; their names, options, tox envs and extras are checked |

A block with a title is a file, checked elsewhere; `text` blocks are drawings. Where a page installs
packages with npm, its files and those packages are in the empty folder.
"""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import npm_packages
import pytest
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

from interpstack import InterpreterStack
from interpstack_cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if path.parent.name != "changelog.d"
    and not any(part.startswith(".") for part in path.relative_to(DOCS).parts)
)
LANGUAGES = {"python", "js", "console", "output", "sh", "text"}
FILE = re.compile(r'^```\w+ title="(.+?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PACKAGES = re.compile(r"^npm install (.+)$", re.MULTILINE)
#: Times that `interpstack workflow show` prints: of a step that took long enough, and of the run.
TIMES = re.compile(r" \d+\.\d s(?=$| \w+Error: )|(?<=[─] seconds: )\S+$", re.MULTILINE)
FENCE = re.compile(r"^ *```(?P<info>[^`\n]+)$", re.MULTILINE)
#: Where a block begins or ends, however it is written.
MARK = re.compile(r"^ *(?:`{3,}|~{3,})", re.MULTILINE)


class Page:
    """Runs the blocks of one page."""

    def __init__(self, path: Path) -> None:
        self.printed: str | None = None
        self._python = PythonEvaluator(["annotations"])
        self._stack = InterpreterStack(plugins=["console"])
        self._session = self._stack.session()
        parsers = {
            "python": self.python,
            "js": self.js,
            "console": self.console,
            "output": self.output,
            "sh": self.sh,
        }
        self.document = Document.parse(
            str(path), *(CodeBlockParser(name, run) for name, run in parsers.items())
        )
        self.document.namespace["__name__"] = "page"

    def run(self) -> None:
        examples = list(self.document)
        infos = [found["info"].strip() for found in FENCE.finditer(self.document.text)]
        shown = [info for info in infos if info == "text" or "title=" in info]
        marks = len(MARK.findall(self.document.text))
        assert marks == 2 * (len(examples) + len(shown)), "a block of the page is not run"
        with self._stack:
            for example in examples:
                example.evaluate()

    def python(self, example: Example) -> None:
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            self._python(example)
        self.printed = stream.getvalue()

    def js(self, example: Example) -> None:
        outcome = self._session.eval_sync(example.parsed)
        self.printed = self._session.render(outcome) + "\n"

    def console(self, example: Example) -> str | None:
        """Run a transcript, command by command."""
        transcript = "\n" + example.parsed
        shown: str = transcript
        actual = ""
        for part in re.split(r"^\$ ", transcript.strip("\n"), flags=re.MULTILINE)[1:]:
            command = part.partition("\n")[0]
            actual += f"\n$ {command}\n{_shell(command)}".rstrip("\n")
        same = TIMES.sub("", actual) == TIMES.sub("", shown.rstrip("\n"))
        return None if same else f"it prints:\n{actual}"

    def output(self, example: Example) -> str | None:
        if self.printed is None:
            return "no block before this one prints anything"
        same = self.printed.rstrip("\n") == example.parsed.rstrip("\n")
        return None if same else f"the block before it gives:\n{self.printed}"

    def sh(self, example: Example) -> str | None:
        for line in example.parsed.replace("\\\n", "").splitlines():
            problem = _check_command(line)
            if problem:
                return f"{line}: {problem}"
        return None


def _shell(command: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1"}
    done = subprocess.run(
        command,
        shell=True,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _check_command(line: str) -> str | None:
    """What is wrong with a command that is not run, or `None`."""
    words = shlex.split(line, comments=True)
    if not words:
        return None
    program, *rest = words
    program = program.removeprefix(".venv/bin/")
    if program == "opentelemetry-instrument":  # runs the command behind it
        return _check_command(shlex.join(rest))
    checks = {"interpstack": _check_cli, "tox": _check_tox, "pip": _check_pip}
    if program in checks:
        return checks[program](rest)
    known = {"cd", "createdb", "curl", "export", "git", "interpstack-example-server", "npm"}
    known |= {"pytest", "python", "python3"}
    return None if program in known else "an unknown program"


def _check_cli(words: list[str]) -> str | None:
    context = click.Context(main)
    command = main.get_command(context, words[0])
    if command is None:
        return f"there is no command {words[0]}"
    try:
        command.make_parser(click.Context(command)).parse_args(words[1:])
    except click.UsageError as error:
        return error.format_message()
    return None


def _check_tox(words: list[str]) -> str | None:
    given = [words[i + 1] for i, word in enumerate(words) if word == "-e"]
    named = {name for part in given for name in part.split(",")}
    unknown = named - tox_environments()
    return f"there is no tox env {unknown}" if unknown else None


def _check_pip(words: list[str]) -> str | None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [e for word in words for e in re.findall(r"(?:interpstack|\.)\[(.+)\]", word)]
    extras = {extra for names in named for extra in names.split(",")}
    unknown = extras - project["optional-dependencies"].keys()
    return f"there is no extra {unknown}" if unknown else None


def tox_environments() -> set[str]:
    """The environments of `tox.ini`."""
    config = configparser.ConfigParser(interpolation=None)
    config.read_string((ROOT / "tox.ini").read_text("utf-8"))
    listed = re.findall(r"(?:\{[^}]*\}|[^,\s{])+", config.get("tox", "env_list"))
    sections = {s.removeprefix("testenv:") for s in config.sections() if s.startswith("testenv:")}
    expanded = {name for section in sections for name in _expand(section)}
    return {name for item in listed for name in _expand(item)} | expanded


def _expand(name: str) -> Iterator[str]:
    """`py3{11,12}` as `py311` and `py312`."""
    found = re.search(r"\{([^}]*)\}", name)
    if found is None:
        yield name
        return
    for part in found[1].split(","):
        yield from _expand(name[: found.start()] + part.strip() + name[found.end() :])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_blocks_of_a_page(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = str(Path(sys.executable).parent)  # pages run `python` and the installed commands
    monkeypatch.setenv("PATH", folder + os.pathsep + os.environ["PATH"])
    page = path.read_text("utf-8")
    for title, text in FILE.findall(page):  # files in folders are shown, not used
        if "/" not in title:
            (tmp_path / title).write_text(text, "utf-8")
    if PACKAGES.search(page):
        _prepare_packages(page, tmp_path, request.config.cache)
    Page(path).run()


def _prepare_packages(page: str, folder: Path, cache: pytest.Cache) -> None:
    """Put the packages that a page installs into a folder."""
    source = npm_packages.installed(cache) / "node_modules"
    for name, major in re.findall(r"(\S+)@(\d+)", " ".join(PACKAGES.findall(page))):
        package = json.loads((source / name / "package.json").read_text("utf-8"))
        assert package["version"].partition(".")[0] == major, name
    (folder / "node_modules").symlink_to(source, target_is_directory=True)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_languages_of_a_page(path: Path) -> None:
    infos = [found["info"].strip() for found in FENCE.finditer(path.read_text("utf-8"))]
    assert {info for info in infos if "title=" not in info} <= LANGUAGES


def test_wrong_blocks_are_found(tmp_path: Path) -> None:
    """The tests above can fail."""
    wrong: dict[str, Any] = {
        "```python\nprint(1)\n```\n```output\n2\n```": "gives:\n1",
        "```js\n1 + 1\n```\n```output\n<result>3</result>\n```": "<result>2</result>",
        "```output\n1\n```": "no block before",
        "```console\n$ echo one\ntwo\n```": "one",
        "```console\n$ echo '✓ a 0.3 s'\n✓ b 0.1 s\n```": "✓ a",
        "```sh\ninterpstack run --no-such-option\n```": "no-such-option",
        "```sh\ninterpstack nothing\n```": "no command nothing",
        "```sh\ntox -e nothing\n```": "no tox env",
        "```sh\npip install interpstack[nothing]\n```": "no extra",
        "```sh\npip install '../..[mcp,nothing]'\n```": "no extra {'nothing'}",
        "```sh\nunheard-of\n```": "unknown program",
        "```ruby\nputs 1\n```": "a block of the page is not run",
        "```sh\nopentelemetry-instrument interpstack nothing\n```": "no command nothing",
    }
    page = tmp_path / "page.md"
    for text, message in wrong.items():
        page.write_text(text + "\n", "utf-8")
        with pytest.raises(AssertionError, match=re.escape(message)):
            Page(page).run()
