"""The page: replays as HTML in which everything from a guest stays text."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack_langchain.replay.shown import Shown
from interpstack_langchain.replay.timeline import RecordedCall

__all__ = ["check_page", "write_page"]

#: Units of a bar's width; a bar is drawn at least this wide, so that short calls are seen.
_WIDTH: Final = 1000.0
_LEAST: Final = 4.0
#: Characters of an input or an answer that a row shows before it is opened.
_BRIEF: Final = 120


@attrs.frozen
class Row:
    """One line of the timeline.

    Attributes:
        kind: `call` or `pause`.
        name: The called bridge, or the number of the pause.
        asked: Seconds from the eval's begin.
        told: Seconds from the begin to the answer; `None` without one.
        start: Where its bar begins, in units of `_WIDTH`.
        width: The width of its bar.
        state: `ok`, `failed`, `open` or `pause`, which chooses the colour.
        texts: What there is to read, with a title for each.
    """

    kind: str
    name: str
    asked: float
    told: float | None
    start: float
    width: float
    state: str
    texts: Sequence[tuple[str, str]]

    @property
    def brief(self) -> str:
        """The beginning of the first text."""
        text = self.texts[0][1] if self.texts else ""
        return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


def check_page(path: Path) -> None:
    """Make sure, before anything runs, that a page can be made and put there.

    Raises:
        ConfigurationError: The folder does not exist, or a package is missing.
    """
    if not path.parent.is_dir():
        raise ConfigurationError(f"--html {str(path)!r}: there is no folder {str(path.parent)!r}")
    _template()


def write_page(path: Path, thread: str, shown: Sequence[Shown]) -> None:
    """Write replays of a thread as one HTML file.

    Args:
        path: The file; one that is there is replaced.
        thread: Names the thread.
        shown: Its replayed evals.

    Raises:
        ConfigurationError: The file cannot be written, or a package is missing.
    """
    style = _style()
    page = _template().render(
        thread=thread,
        evals=[_eval(one) for one in shown],
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        width=_WIDTH,
    )
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise ConfigurationError(f"--html {str(path)!r} cannot be written: {error}") from error


def visible(text: str) -> str:
    """A text in which characters that change how others look are shown by their numbers.

    Such are control characters, marks of the direction of text, and lone surrogates.
    """
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in _UNSEEN
        else f"\\u{ord(char):04x}"
        for char in text
    )


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _eval(one: Shown) -> dict[str, Any]:
    data = one.data(code=True)
    rows = list(_rows(one))
    answer = data["recorded_answer"]
    return {
        "number": data["eval"],
        "facts": {
            "status": data["status"],
            "engine": data["engine"],
            "step": data["step_began"],
            "call": data["tool_call_id"],
            **({"graph": data["namespace"]} if data["namespace"] else {}),
        },
        "status": data["status"].replace(" ", "-"),
        "code": _highlighted(data["code"], data["language"]),
        "rows": rows,
        "seconds": _end(one),
        "text": data["text"],
        "recorded": None if answer == data["text"] else answer,
        "looks": [(look.tool, look.answer) for look in _looks(one)],
        "notes": data["notes"],
    }


def _looks(one: Shown) -> Sequence[Any]:
    return one.found.cell.before if one.found.cell else ()


def _end(one: Shown) -> float:
    """The last second of the timeline."""
    times = [0.0]
    for event in one.timeline.events:
        if isinstance(event, RecordedCall):
            times += [event.asked, event.answered or 0.0]
        else:
            times.append(event.at)
    return max(times)


def _rows(one: Shown) -> Iterator[Row]:
    end = _end(one)
    for event in one.timeline.events:
        if not isinstance(event, RecordedCall):
            texts = [("waits for", ", ".join(event.waits_for))]
            texts += [("", "answered" if event.resumed else "not answered")]
            bar = _bar(event.at, event.at, end)
            yield Row("pause", f"pause {event.number}", event.at, None, *bar, "pause", texts)
            continue
        texts = [("input", one.cut(event.input))]
        state = "failed" if event.failed else "open" if event.answered is None else "ok"
        if event.answered is not None or event.kept:
            texts.append(("error" if event.failed else "answer", one.cut(event.answer)))
        texts += [("decision", decision) for decision in event.decisions]
        texts += [("", "the code has not received this answer")] * event.kept
        until = end if event.answered is None else event.answered
        bar = _bar(event.asked, until, end)
        yield Row("call", event.bridge, event.asked, event.answered, *bar, state, texts)


def _bar(begin: float, until: float, end: float) -> tuple[float, float]:
    """The beginning of a bar, and its width."""
    scale = _WIDTH / end if end > 0 else 0.0
    return min(begin * scale, _WIDTH - _LEAST), max(_LEAST, (until - begin) * scale)


def _template() -> Any:
    """The template; every text that is put into it is made visible, and escaped.

    Raises:
        ConfigurationError: The package for templates is missing.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ConfigurationError(
            "--html needs a package that is not installed; run: pip install 'interpstack[replay]'"
        ) from error
    environment = Environment(
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_file("replay.html.jinja"))


def _highlighted(code: str, language: str) -> Any:
    """Code with its words marked; the marking escapes it."""
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.lexers.special import TextLexer
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        lexer = TextLexer()
    marked = highlight(visible(code.strip("\n")), lexer, HtmlFormatter(nowrap=True))
    return Markup(marked)  # noqa: S704 - pygments has escaped the code


def _style() -> str:
    from pygments.formatters import HtmlFormatter

    made: list[Any] = [HtmlFormatter(style=name) for name in ("default", "github-dark")]
    light, dark = (formatter.get_style_defs("pre.code") for formatter in made)
    return f"{_file('replay.css')}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _file(name: str) -> str:
    return files("interpstack_langchain.replay.page").joinpath(name).read_text("utf-8")
