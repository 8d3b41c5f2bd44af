"""The workflows in `docs/examples/workflows` do what they show, in unhappy cases, too."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from interpstack_workflows.api import read_metadata

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "workflows"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/host.py"))


def host(name: str) -> ModuleType:
    """The module of an example's program."""
    spec = importlib.util.spec_from_file_location(f"{name}_host", EXAMPLES / name / "host.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ran(name: str, *args: str, said: str = "") -> str:
    """The output of an example's program, run as a user would."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name / "host.py"), *args],
        input=said,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def first_json(output: str) -> Any:
    return json.JSONDecoder().raw_decode(output[output.index("{") :])[0]


def test_the_readme_lists_them() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == NAMES
    assert len(NAMES) >= 6


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.workflow.*")), ids=lambda path: path.name)
def test_metadata_are_valid(path: Path) -> None:
    metadata = read_metadata(path.read_text("utf-8"), name=path.name)
    assert metadata.args_schema is not None
    assert path.name == f"{metadata.name}.workflow{path.suffix}"


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("approval", "folder, topic"),
        ("budgeted_search", "folder, tokens, term"),
        ("build_and_fix", "folder"),
        ("map_reduce", "folder"),
    ],
)
def test_a_program_without_its_arguments_names_them(name: str, needed: str) -> None:
    program = [sys.executable, str(EXAMPLES / name / "host.py")]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: host.py")
    assert f"the following arguments are required: {needed}" in done.stderr
    if name != "approval":
        gone = ["/no/such/folder", "1", "word"][: needed.count(",") + 1]
        done = subprocess.run([*program, *gone], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 2
        assert "there is no folder /no/such/folder" in done.stderr


# -- map-reduce ---------------------------------------------------------------------------------


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_reports(folder: Path, count: int) -> Counter[str]:
    """Write reports, and count their causes in another way than the example does."""
    random, causes = Random(1), Counter[str]()
    for number in range(count):
        found = random.choices(["disk full", "no network", "a bug", "nobody knows"], k=number % 4)
        causes.update(found)
        lines = [f"Report {number}", *(f"cause: {cause}" for cause in found), "the end"]
        (folder / f"r{number:03}.txt").write_text("\n".join(lines), "utf-8")
    return causes


def test_five_hundred_reports_are_counted(tmp_path: Path) -> None:
    causes = write_reports(tmp_path, 500)
    output = ran("map_reduce", str(tmp_path))
    assert first_json(output) == {"reports": 500, "causes": dict(causes), "unread": []}
    assert "calls of agents: 521" in output  # 500 reports, 20 groups, and the one of those


async def test_some_reports_may_be_unreadable_and_many_may_not(tmp_path: Path) -> None:
    write_reports(tmp_path, 100)
    paths = names_in(tmp_path)
    module = host("map_reduce")
    for number in (7, 8):
        (tmp_path / f"r{number:03}.txt").write_bytes(b"\xff")
    two = await module.count(tmp_path, paths)
    assert two.result["reports"] == 98
    assert [one["path"] for one in two.result["unread"]] == ["r007.txt", "r008.txt"]
    assert two.census["agents"]["reader"] == {"ok": 98, "failed": 2}
    (tmp_path / "r009.txt").write_bytes(b"\xff")
    three = await module.count(tmp_path, paths)
    assert three.status == "failed"
    assert three.error["name"] == "TooManyFailures"


async def test_a_wrong_total_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(tmp_path, 30)
    module = host("map_reduce")
    merge = module.merge

    async def forgetful(prompt: str) -> Any:
        return {**await merge(prompt), "reports": 1}

    monkeypatch.setattr(module, "merge", forgetful)
    result = await module.count(tmp_path, names_in(tmp_path))
    assert result.error["message"] == "the total covers 1 of 30 reports"


# -- judge panel --------------------------------------------------------------------------------


def test_the_panel_chooses() -> None:
    found = first_json(ran("judge_panel"))
    assert found["writer"] == "thorough"
    assert found["grades"] == {"thorough": 10, "terse": 8.33, "chatty": 6}
    assert set(found["verdicts"]) == {"facts", "brevity", "style"}


async def test_ties_are_decided_and_silent_judges_are_no_quorum() -> None:
    module = host("judge_panel")

    async def same(prompt: str) -> str:
        return "A lighthouse shows where the rocks are to ships."

    tied = {**module.AGENTS, "other": same}
    result = await module.decide(tied, ["thorough", "other"])
    assert result.result["writer"] == "thorough"  # the shorter of two with equal grades
    assert result.census["agents"]["chair"] == {"ok": 1}

    async def silent(prompt: str) -> Any:
        if "brevity" in prompt or "twelve" in prompt:
            return await module.judge(prompt)
        raise TimeoutError("no answer")

    result = await module.decide({**module.AGENTS, "judge": silent}, ["terse", "chatty"])
    assert result.error["message"] == "no draft was graded by most of the judges"


async def test_a_writer_that_fails_is_left_out() -> None:
    module = host("judge_panel")

    async def absent(prompt: str) -> str:
        raise ConnectionError("gone")

    result = await module.decide({**module.AGENTS, "chatty": absent}, ["terse", "chatty"])
    assert list(result.result["grades"]) == ["terse"]


# -- approval -----------------------------------------------------------------------------------


def test_an_announcement_is_changed_and_sent_once(tmp_path: Path) -> None:
    output = ran("approval", str(tmp_path), "a new office", said="change\nin May\nsend\n")
    assert output.count("Send this?") == 2
    found = first_json(output[output.rindex("\n{") :])
    assert found["sent"]
    (sent,) = (tmp_path / "outbox").iterdir()
    assert sent.read_text("utf-8") == found["text"]
    assert found["text"] == "We are glad to announce a new office! (in May)"
    assert found["receipt"] == {"file": sent.name, "again": False}


def test_nothing_is_sent_without_approval(tmp_path: Path) -> None:
    output = ran("approval", str(tmp_path), "a new office", said="stop\n")
    assert first_json(output) == {"sent": False, "version": 1}
    assert not (tmp_path / "outbox").exists()


async def test_the_sender_does_a_step_once(tmp_path: Path) -> None:
    module = host("approval")
    sender = module.Sender(tmp_path)
    call = module.AgentCall(prompt="text", key="run/root/step")
    first, second = await sender(call), await sender(call)
    assert (first["again"], second["again"]) == (False, True)
    assert first["file"] == second["file"]
    assert names_in(tmp_path) == [first["file"]]


# -- extraction ---------------------------------------------------------------------------------


def test_invoices_are_repaired_checked_and_booked_once() -> None:
    found = first_json(ran("extraction"))
    booked = [(one["text"], one["total"]) for one in found["booked"]]
    first, again = (0, 3) if (0, 475) in booked else (3, 0)  # the same invoice: one comes first
    assert booked == sorted([(first, 475), (1, 350)])
    assert [(one["text"], one["name"]) for one in found["refused"]] == sorted(
        [(2, "Error"), (again, "ValueError"), (4, "LookupError")]
    )


async def test_the_calls_behind_an_invoice() -> None:
    module = host("extraction")
    calls = []

    async def extract(call: Any) -> Any:
        calls.append((call.correction, "add up" in call.prompt))
        return await noted(call)

    noted, module.extract = module.extract, extract
    books = module.Books()
    result = await module.book([module.TEXTS[1]], books)
    # The amount as text is repaired by the runner, the missing item by the script.
    assert calls == [(False, False), (False, True), (True, True)] or calls == [
        (False, False),
        (True, False),
        (False, True),
    ], calls
    assert books.booked == {"A-2": 350}
    assert result.usage["agents"] == len(calls) + 1


# -- budgeted search ----------------------------------------------------------------------------


def write_sources(folder: Path, count: int, words: int) -> list[str]:
    for number in range(count):
        text = "\n".join(["the tide is high"] + ["x " * 10] * ((words - 4) // 10))
        (folder / f"s{number}.md").write_text(text, "utf-8")
    return [f"s{number}.md" for number in range(count)]


def test_a_search_within_its_budget(tmp_path: Path) -> None:
    write_sources(tmp_path, 5, 104)
    output = ran("budgeted_search", str(tmp_path), "10000", "tide", "high")
    found = first_json(output)
    assert found["searched"] == [f"s{n}.md" for n in range(5)]
    assert (found["left"], found["failed"], found["stopped"]) == ([], {}, None)
    assert found["answer"].count("the tide is high") == 5
    assert "tokens: 520" in output


_LITTLE = "has too little left for this call"


@pytest.mark.parametrize(
    ("tokens", "state"),
    [
        (0, "is used up"),
        (499, _LITTLE),
        (500, f"(is used up|{_LITTLE})"),  # while the only call is in flight, or after it
        (900, _LITTLE),
        (1200, _LITTLE),
    ],
)
async def test_a_search_stops_at_its_limit(tmp_path: Path, tokens: int, state: str) -> None:
    sources = write_sources(tmp_path, 12, 104)
    result = await host("budgeted_search").search(tmp_path, sources, tokens, ["tide"])
    found = result.result
    assert result.usage.get("input_tokens", 0) == 104 * len(found["searched"]) <= tokens
    assert re.search(f"the budget of 'search-source' {state}: ", found["stopped"])
    assert sorted(found["searched"] + found["left"]) == sorted(sources)
    assert found["answer"].count("the tide is high") == len(found["searched"])
    assert bool(found["searched"]) == (tokens >= 500)


async def test_a_source_that_fails_is_noted(tmp_path: Path) -> None:
    sources = [*write_sources(tmp_path, 2, 104), "gone.md", "../outside.md"]
    found = (await host("budgeted_search").search(tmp_path, sources, 9000, ["tide"])).result
    assert found["searched"] == ["s0.md", "s1.md"]
    assert set(found["failed"]) == {"gone.md", "../outside.md"}
    assert "is outside the folder" in found["failed"]["../outside.md"]
    assert found["left"] == []


# -- build and fix ------------------------------------------------------------------------------

_TESTS = """
import unittest
from shapes import area, edge

class Shapes(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(2, 3), 6)

    def test_edge(self):
        self.assertEqual(edge(2, 3), 10)
"""


def write_project(folder: Path, shapes: str) -> None:
    (folder / "shapes.py").write_text(shapes, "utf-8")
    (folder / "test_shapes.py").write_text(_TESTS, "utf-8")


def test_a_project_is_mended(tmp_path: Path) -> None:
    broken = (
        "def area(width, height):\n    return widht * height\n\n\n"
        "def edge(length, depth):\n    return 2 * (lenght + depth)\n"
    )
    write_project(tmp_path, broken)
    found = first_json(ran("build_and_fix", str(tmp_path)))
    assert found["ok"]
    assert [(one["find"], one["replace"], one["applied"]) for one in found["changes"]] == [
        ("widht", "width", True),
        ("lenght", "length", True),
    ]
    mended = broken.replace("widht", "width").replace("lenght", "length")
    assert (tmp_path / "shapes.py").read_text("utf-8") == mended


async def test_attempts_end(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        "def area(width, height):\n    return widht * height\n\n\n"
        "def edge(length, depth):\n    return 2 * (lenght + depth)\n",
    )
    result = await host("build_and_fix").mend(tmp_path, attempts=1)
    assert not result.result["ok"]
    assert len(result.result["changes"]) == 1
    assert "lenght" in result.result["output"]


async def test_a_change_that_cannot_be_made_is_reported_to_the_fixer(tmp_path: Path) -> None:
    write_project(
        tmp_path, "def area(w, h):\n    return w * hh\n\n\ndef edge(a, b):\n    return 10\n"
    )
    module = host("build_and_fix")
    prompts = []

    class Outsider(module.Fixer):  # type: ignore[misc, name-defined]
        async def __call__(self, prompt: str) -> Any:
            prompts.append(prompt)
            if len(prompts) == 1:
                return {"path": "../outside.py", "find": "a", "replace": "b", "why": "w"}
            return await super().__call__(prompt)

    module.Fixer = Outsider
    result = await module.mend(tmp_path)
    assert result.result["ok"]
    assert [one["applied"] for one in result.result["changes"]] == [False, True]
    assert "is outside the project" in prompts[1]
