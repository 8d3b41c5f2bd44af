"""Values in the colours of their syntax."""

from __future__ import annotations

from typing import Final

from interpstack_cli.printing import encodable, output
from interpstack_cli.repl.folding import fold

__all__ = ["coloured"]

#: Characters up to which highlighting is quick enough.
_HIGHLIGHTED: Final = 20_000


def coloured(text: str, language: str) -> None:
    """Write a value in the colours of its syntax."""
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    with output() as stream:
        console = Console(file=stream)
        shown = fold(encodable(text, stream), console.width)
        if len(shown) <= _HIGHLIGHTED:
            syntax = Syntax("", language, theme="ansi_dark").highlight(shown)
            syntax.rstrip()
        else:
            syntax = Text(shown)
        console.print(syntax, soft_wrap=True)
