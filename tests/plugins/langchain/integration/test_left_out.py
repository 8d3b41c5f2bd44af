"""Commands where a plugin of the preset is not installed: they work, or say how to install it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from scripted import Script

from interpstack import plugins
from interpstack_cli import main
from interpstack_langchain import PRESET, CodeInterpreterMiddleware

#: Plugins that commands need; each works without all others.
_NEEDED = {
    "run": {"console", "display"},
    "replay": {"console", "display", "durable", "persistence"},
    "demo": set(PRESET.names),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database with one eval."""

    @tool
    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    path = tmp_path_factory.mktemp("left-out") / "evals.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        interpreter = CodeInterpreterMiddleware(ptc=["double"])
        with interpreter:
            agent = create_agent(Script(), [double], middleware=[interpreter], checkpointer=saver)
            asked = {"messages": [("user", '["await tools.double({n: 21})"]')]}
            agent.invoke(asked, {"configurable": {"thread_id": "t"}})  # type: ignore[arg-type]
    return f"sqlite:///{path}"


@pytest.fixture
def uninstall(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hide a plugin as if its entry point were gone."""
    every = plugins._installed

    def hide(name: str) -> None:
        def without(group: str) -> Any:
            found, clashes = every(group)
            return {key: one for key, one in found.items() if key != name}, clashes

        monkeypatch.setattr(plugins, "_installed", without)

    return hide


def _done(command: str, recorded: str, folder: Path) -> Result:
    code, given = None, [str(folder)]
    if command == "run":
        code, given = "console.log('hi'); 6 * 7", ["-"]
    elif command == "replay":
        given = ["t", "--checkpointer", recorded]
    return CliRunner().invoke(main, [command, *given], input=code)


@pytest.mark.parametrize("command", _NEEDED)
@pytest.mark.parametrize("name", PRESET.names)
def test_a_command_works_without_a_plugin_or_says_how_to_install_it(
    uninstall: Callable[[str], None], recorded: str, tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "a.py").write_text("x\n")
    uninstall(name)
    done = _done(command, recorded, tmp_path)
    if name not in _NEEDED[command]:
        assert done.exit_code == 0, done.output
        assert "42" in done.output
        return
    assert done.exit_code == 2, done.output
    (line,) = done.output.strip().splitlines()
    assert line.startswith(f"Error: unknown plugin {name!r}; known: ")
    assert "Install it with: pip install " in line
