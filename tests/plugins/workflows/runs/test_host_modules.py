"""Modules of the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow_runs import Prompts, runner

from interpstack import ConfigurationError
from interpstack_workflows.runs.host_modules import read_modules

_SCRIPT = """
import { ask } from "team:prompts";
import limits from "team:limits";
export const meta = { name: "n", description: "d" };
export default async () => [await agent(ask("tides")), limits.most];
"""


@pytest.fixture
def modules(tmp_path: Path) -> dict[str, Path | str]:
    typed = tmp_path / "prompts.ts"
    typed.write_text("export const ask = (what: string): string => `about ${what}`;", "utf-8")
    data = tmp_path / "limits.json"
    data.write_text('{"most": 3, "__proto__": {"x": "\u2028"}}', "utf-8")
    return {"team:prompts": typed, "team:limits": data}


async def test_scripts_import_them_in_runs_rehearsals_and_comparisons(
    modules: dict[str, Path | str],
) -> None:
    async with runner(Prompts(), modules=modules) as one:
        done = await one.run(_SCRIPT)
        assert done.result == ["echo: about tides", 3]
        assert (await one.rehearse(_SCRIPT)).error is None
        assert (await one.diff(done.run_id, _SCRIPT)).same


async def test_other_imports_are_refused_with_the_names_of_all() -> None:
    async with runner(Prompts(), modules={"team:prompts": "export const ask = 1"}) as one:
        done = await one.run(_SCRIPT)
    assert (
        "imports are restricted; only workflow:extra, workflow:sandbox and team:prompts are"
        " available" in str((done.error or {})["message"])
    )


def test_all_sources_are_text(modules: dict[str, Path | str]) -> None:
    read = read_modules({**modules, "team:more": "export default 1"})
    assert read["team:more"] == "export default 1"
    assert ": string" not in read["team:prompts"]
    assert read_modules(None) == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"modules takes files that end in .*; got \[\]"),
        ({"team:x": 3}, "got 'team:x': 3"),
        ({"team:x": Path("x.txt")}, "got 'team:x': "),
        (
            {"team:x": Path("gone.js")},
            "'team:x' cannot be read from gone.js: No such file",
        ),
        ({"x": ""}, "takes specifiers with a scheme of their own"),
        ({"workflow:extra": ""}, "takes specifiers with a scheme of their own"),
        ({3: ""}, "modules"),
        ({"team:x": "x" * 2**20 + "x"}, "at most 1 MiB of sources in total"),
    ],
)
def test_others_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_modules(given)


def test_a_file_with_faults_is_refused(tmp_path: Path) -> None:
    for name, text in (("x.json", "{"), ("x.ts", "const x: = 1")):
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(ConfigurationError, match="the module 'team:x'"):
            read_modules({"team:x": tmp_path / name})
