"""Code with its words marked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from interpstack_inspect.shown.texts import visible

__all__ = ["code_style", "highlighted"]

#: Seconds that marking may take: for some texts the time grows with the square of their length.
_SECONDS: Final = 1.0


def highlighted(code: str, language: str) -> Any:
    """Code as safe markup; the markup of each line is complete by itself.

    Args:
        code: The code, which is escaped.
        language: Its language; code in an unknown language is not marked, nor code that takes long.
    """
    from markupsafe import Markup
    from pygments import format as written
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.lexers.special import TextLexer
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    text = visible(code)
    try:
        tokens = list(_in_time(lexer.get_tokens(text)))
    except TimeoutError:
        tokens = list(TextLexer(stripnl=False).get_tokens(text))
    marked = written(tokens, HtmlFormatter(nowrap=True))
    return Markup(marked)  # noqa: S704 - pygments has escaped the code


def _in_time(tokens: Iterator[Any]) -> Iterator[Any]:
    """The tokens of a lexer, as long as it does not take long.

    Raises:
        TimeoutError: It does.
    """
    until = time.monotonic() + _SECONDS
    for token in tokens:
        if time.monotonic() > until:
            raise TimeoutError
        yield token


def code_style(selector: str) -> str:
    """The style of marked code, light and dark.

    Args:
        selector: The CSS selector of the elements that have the code.
    """
    from pygments.formatters import HtmlFormatter

    made: list[Any] = [HtmlFormatter(style=name) for name in ("default", "github-dark")]
    light, dark = (formatter.get_style_defs(selector) for formatter in made)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
