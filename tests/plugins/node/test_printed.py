"""Lines of console output before their delivery."""

from __future__ import annotations

from interpstack_node.printed import PrintedLines


def test_lines_are_held_up_to_a_bound() -> None:
    lines = PrintedLines(4000)
    for line in ("one", "two", "x" * 20_000, "more"):
        lines.take(line)
    assert lines.text.startswith("one\ntwo\nx")
    assert len(lines.text) <= 16_384
    assert not lines.text.endswith("more")


def test_a_listener_hears_what_will_be_delivered() -> None:
    lines = PrintedLines(10)
    heard: list[str] = []
    lines.listen(heard.append)
    lines.take("one")
    lines.take("two")
    assert "".join(heard) == "one\ntwo"
    lines.resumed()
    assert lines.text == ""
    lines.take("three")
    lines.take("four")
    assert heard[2:] == ["th"]


def test_lines_of_a_kept_cell_are_for_nobody_and_still_delivered() -> None:
    lines, silent = PrintedLines(100), PrintedLines(100)
    heard: list[str] = []
    lines.listen(heard.append)
    for one in (lines, silent):
        one.ignored()
        one.take("one")
    assert (heard, lines.is_heard, silent.is_heard) == ([], True, False)
