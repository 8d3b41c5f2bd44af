"""What messages and pages advise to install can be installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpstack.contracts.errors import install_command

_EXTRA = re.compile(r"interpstack\[([^\]{}]+)\]")
_INSTALL = re.compile(r"pip install (?P<what>[^\n\"`]+)")
_PACKAGE = re.compile(r"(?<![\w./\[-])[A-Za-z][\w-]*")


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Sources, pages and changelog entries of the project."""
    for folder, kinds in (("src", "py"), ("plugins", "py"), ("docs", "md")):
        for path in sorted((root / folder).rglob(f"*.{kinds}")):
            yield path.relative_to(root).as_posix(), path.read_text("utf-8")
    yield "README.md", (root / "README.md").read_text("utf-8")


def advice_violations(root: Path) -> list[str]:
    """Extras that the project does not have, and packages that it knows nothing of."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(one for given in extras.values() for one in given)]
    known = {re.match(r"[\w-]+", one).group() for one in needed} | {"interpstack", "tox"}  # type: ignore[union-attr]
    found = []
    for name, text in _texts(root):
        for listed in _EXTRA.findall(text):
            absent = set(re.split(r",\s*", listed)) - extras.keys()
            found += [f"{name}: there is no extra {extra!r}" for extra in sorted(absent)]
        for match in _INSTALL.finditer(text):
            named = _EXTRA.sub("", re.sub(r"\{.*?\}|[<>=!~][^\s']*", "", match["what"]))
            command = named.partition("&&")[0].partition(";")[0]
            wanted = [one for one in _PACKAGE.findall(command) if one not in known]
            found += [f"{name}: nothing here needs {one!r}" for one in wanted]
    return found


def test_only_what_exists_is_advised(root: Path) -> None:
    assert advice_violations(root) == []


def test_the_projects_plugins_are_advised_with_the_extras_they_have(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for name in [*project["entry-points"]["interpstack"], "node", "else"]:
        for extra in _EXTRA.findall(install_command(name)):
            assert extra in project["optional-dependencies"], name


def test_what_does_not_exist_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("pip install 'interpstack[no]' and pip install nonesuch\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["attrs>=1"]\n[project.optional-dependencies]\nv8 = ["jsrun"]\n'
    )
    assert "README.md: there is no extra 'no'" in advice_violations(tmp_path)
    assert "README.md: nothing here needs 'nonesuch'" in advice_violations(tmp_path)


#: Modules that only extras bring, as a plain installation is without them.
_OPTIONAL = (
    *("deepagents", "hypothesis", "jsrun", "langchain", "langchain_core", "langgraph"),
    *("pydantic_ai", "pydantic_monty", "pytest", "ray"),
)
_WITHOUT = """
import json, sys

for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
"""
_PLUGINS = """
from interpstack import installed
from interpstack.plugins import PluginManager

said = {}
for name in installed():
    try:
        PluginManager([name]).engines()
        said[name] = ""
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""
_COMMANDS = """
from importlib.metadata import entry_points

from click.testing import CliRunner
from interpstack_cli import main

said = {}
for entry in entry_points(group="interpstack.commands"):
    done = CliRunner().invoke(main, [entry.name, "--help"])
    said[entry.name] = [done.exit_code, done.output]
print(json.dumps(said))
"""


def _without_extras(code: str) -> Any:
    """What `code` prints in a process that has the packages of a plain installation alone."""
    command = [sys.executable, "-c", _WITHOUT + code, json.dumps(_OPTIONAL)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plugin_whose_packages_are_missing_names_the_extra() -> None:
    said = _without_extras(_PLUGINS)
    extras = {
        "langchain": "langchain",
        "monty": "monty",
        "pydantic_ai": "pydantic-ai",
        "ray": "ray",
        "v8": "v8-engine",
    }
    for name, extra in extras.items():
        assert said[name].startswith("PluginLoadError"), name
        assert said[name].count(f"pip install 'interpstack[{extra}]'") == 1, said[name]
    assert {name for name, message in said.items() if message} == extras.keys()


def test_a_command_whose_packages_are_missing_names_the_extra() -> None:
    said = _without_extras(_COMMANDS)
    for name, extra in {"demo": "langchain", "replay": "replay"}.items():
        status, output = said[name]
        assert status == 2, name
        assert output.startswith(f"Error: command {name!r} needs "), output
        assert output.endswith(f"; install it with: pip install 'interpstack[{extra}]'\n")
        assert len(output.splitlines()) == 1


@pytest.mark.parametrize("package", ["interpstack_langchain", "interpstack_js_repl"])
def test_importing_a_middleware_without_its_packages_names_the_extra(package: str) -> None:
    code = f"""
try:
    import {package}
except ModuleNotFoundError as error:
    print(json.dumps([str(error), error.name]))
"""
    message, missing = _without_extras(code)
    assert missing == "deepagents"
    assert message.startswith(
        "interpstack_langchain needs deepagents, langchain, langchain_core, langgraph; "
    )
    assert message.endswith("pip install 'interpstack[langchain]'")
