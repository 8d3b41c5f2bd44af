"""Lines become chunks that can be run."""

from __future__ import annotations

from interpstack_cli.repl.chunks import LINES, chunks, is_whole


class Block:
    """Follows code in which a chunk that ends in `:` goes on until a line is not indented."""

    def __init__(self) -> None:
        self.open = False

    @property
    def closed(self) -> bool:
        return not self.open

    def feed(self, text: str) -> None:
        self.open = self.open or text.rstrip().endswith(":")

    def ends_before(self, line: str) -> bool:
        return self.open and not line.startswith(" ")


def test_each_line_is_a_chunk_where_a_language_says_nothing() -> None:
    assert list(chunks(["1\n", "2\n", "3"], LINES)) == ["1\n", "2\n", "3", ""]
    assert is_whole("anything", LINES)


def test_a_chunk_ends_before_the_line_that_is_not_its_own() -> None:
    lines = ["if a:\n", "  b\n", "c\n", "if d:\n", "  e\n"]
    assert list(chunks(lines, Block)) == ["if a:\n  b\n", "c\n", "if d:\n  e\n"]
    assert (is_whole("if a:", Block), is_whole("a", Block)) == (False, True)
