"""The page on the benefit of code shows what was measured; the env `benefit` measures it again."""

from __future__ import annotations

from pathlib import Path

from benefit_figures import PICTURE, SECONDS_A_TURN, TOKENS_A_SECOND, picture, stored, tables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "benefit.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def test_the_tables_are_those_of_the_figures() -> None:
    for table in tables(stored()).split("\n\n"):
        assert table.strip() in PAGE


def test_the_picture_is_drawn_from_the_figures() -> None:
    assert PICTURE.read_text("utf-8") == picture(stored()), "tox -e benefit -- --write"


def test_the_page_names_what_was_used() -> None:
    for name, version in stored()["versions"].items():
        assert version in PAGE, name


def test_the_page_names_the_time_of_a_turn() -> None:
    assert f"{SECONDS_A_TURN:g} second" in PAGE
    assert f"{TOKENS_A_SECOND} tokens a second" in PAGE


def test_the_readme_has_the_figures() -> None:
    suite = stored()["suites"]["AgentDojo"]
    ways = ("calls", "calls_reading", "code_reading", "calls_together", "code")
    turns = {one: f"{suite['ways'][one]['turns'] / suite['tasks']:.1f}" for one in ways}
    assert turns["calls_together"] == turns["code"]
    assert (
        f"{turns['calls']} with single calls, {turns['calls_reading']} with parallel calls, "
        f"{turns['code_reading']} with code; {turns['code']} with parallel calls or with code if"
    ) in README
