"""Code with its words marked."""

from __future__ import annotations

from typing import Any

from interpstack_inspect.shown.texts import visible

__all__ = ["code_style", "highlighted"]


def highlighted(code: str, language: str) -> Any:
    """Code as safe markup; the markup of each line is complete by itself.

    Args:
        code: The code, which is escaped.
        language: Its language; code in an unknown language is not marked.
    """
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.lexers.special import TextLexer
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    marked = highlight(visible(code), lexer, HtmlFormatter(nowrap=True))
    return Markup(marked)  # noqa: S704 - pygments has escaped the code


def code_style(selector: str) -> str:
    """The style of marked code, light and dark.

    Args:
        selector: The CSS selector of the elements that have the code.
    """
    from pygments.formatters import HtmlFormatter

    made: list[Any] = [HtmlFormatter(style=name) for name in ("default", "github-dark")]
    light, dark = (formatter.get_style_defs(selector) for formatter in made)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
