"""Arguments of the command, as values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import pytest

from interpstack_workflows.commands.options import (
    agents_named,
    json_value,
    local_sandboxes,
    run_name,
    script_path,
)

_CONTEXT: Any = click.Context(click.Command("c"))
_OPTION: Any = click.Option(["--args"])


def test_json_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": "é"}', "utf-8")
    assert json_value(_CONTEXT, _OPTION, f"@{tmp_path}/a.json") == {"a": "é"}
    assert json_value(_CONTEXT, _OPTION, "[1]") == [1]
    assert json_value(_CONTEXT, _OPTION, None) is None
    with pytest.raises(click.BadParameter, match="or @FILE; got "):
        json_value(_CONTEXT, _OPTION, "{'a': 1}")


@pytest.mark.parametrize("wrong", ["", "a b", "../a", "é", "-", "x" * 201])
def test_a_wrong_run_id_names_its_option(wrong: str) -> None:
    option = click.Option(["--run-id"])
    with pytest.raises(click.BadParameter, match="takes 1 to 200 letters, digits") as caught:
        run_name(_CONTEXT, option, wrong)
    assert "'--run-id'" in caught.value.format_message()
    assert "RunRecord" not in caught.value.format_message()
    assert len(caught.value.format_message()) < 300
    for right in ("a-1_b.c", "x" * 200, None):
        assert run_name(_CONTEXT, option, right) == right


def test_one_agent_is_the_default_one() -> None:
    assert set(agents_named(_CONTEXT, _OPTION, "json:dumps")) == {"default"}
    assert agents_named(_CONTEXT, _OPTION, None) == {}
    assert set(agents_named(_CONTEXT, _OPTION, "http.client:responses")) != {"default"}


async def test_agents_may_import_modules_of_their_folder_when_they_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_team.py").write_text(
        "async def agent(prompt):\n    import late_helper\n    return late_helper.said(prompt)\n"
    )
    (tmp_path / "late_helper.py").write_text("def said(prompt): return f'{prompt}!'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    agents = agents_named(_CONTEXT, _OPTION, "late_team:agent")
    assert await agents["default"]("hello") == "hello!"


def test_a_script_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.js"
    path.write_text("", "utf-8")
    assert script_path(_CONTEXT, _OPTION, str(path)) == path
    with pytest.raises(click.BadParameter, match="not found"):
        script_path(_CONTEXT, _OPTION, str(tmp_path))


def test_commands_are_allowed_by_profile(tmp_path: Path) -> None:
    found = local_sandboxes([f"local/a={tmp_path}", f"local/b={tmp_path}"], ["true"], ["PATH"])
    assert set(found) == {"local/a", "local/b"}
    assert local_sandboxes([], [], []) == {}


@pytest.mark.parametrize(
    ("allowed", "commands", "env", "message"),
    [
        (["local/a=."], [], [], "go together"),
        ([], ["true"], [], "go together"),
        ([], [], ["PATH"], "go together"),
        (["local/a"], ["true"], [], r"takes local/PROFILE=FOLDER; got local/a$"),
        (["local/a="], ["true"], [], "takes local/PROFILE=FOLDER"),
        (["local/=."], ["true"], [], "takes local/PROFILE=FOLDER"),
        (["docker/a=."], ["true"], [], "takes local/PROFILE=FOLDER"),
        (["local/a=.", "local/a=/"], ["true"], [], "names local/a twice"),
        (["local/a=/no/such"], ["true"], [], "local/a: there is no folder '/no/such'"),
        (["local/a=."], ["no-such-program"], [], "local/a: commands: there is no program"),
        (["local/a=."], ["true"], ["A=1"], "local/a: env takes names of variables"),
    ],
)
def test_wrong_allowances_are_refused(
    allowed: list[str], commands: list[str], env: list[str], message: str
) -> None:
    with pytest.raises(click.UsageError, match=message):
        local_sandboxes(allowed, commands, env)
