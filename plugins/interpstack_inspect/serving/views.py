"""Pages as HTML: what each template gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

from interpstack_inspect.contract.records import Binding, EvalRecord, InnerCall
from interpstack_inspect.serving.workflow_views import FILTERS
from interpstack_inspect.shown.answers import answer_parts
from interpstack_inspect.shown.call_lines import call_lines, calls_of_lines
from interpstack_inspect.shown.code import highlighted
from interpstack_inspect.shown.templates import templates
from interpstack_inspect.shown.texts import brief
from interpstack_inspect.shown.timeline import BAR_WIDTH, computed, last_second, timeline_rows

__all__ = ["Views", "code_lines", "eval_view"]

#: Characters of code that a list shows.
_CODE_CHARS: Final = 80
#: Characters of each input and answer; fewer where an eval has made many calls.
_MOST_CHARS: Final = 10_000
_LEAST_CHARS: Final = 500
_PAGE_CHARS: Final = 4_000_000


class Views:
    """The templates of the pages.

    Args:
        place: The title of the source.

    Raises:
        ConfigurationError: The package for templates is missing.
    """

    def __init__(self, place: str) -> None:
        self._templates = templates()
        self._templates.globals["place"] = place
        self._templates.filters.update(FILTERS)
        self._templates.filters.update(
            brief=_first_line,
            change=_change,
            compact=_compact,
            lines=_line_count,
            money=_money,
            time=_time,
        )

    def page(self, name: str, /, **given: Any) -> str:
        """A page, in bytes that any browser reads.

        Args:
            name: The name of its template.
            given: Values for the template.
        """
        made: str = self._templates.get_template(f"{name}.html.jinja").render(**given)
        return made


def eval_view(one: EvalRecord) -> Mapping[str, Any]:
    """The values for the page of an eval."""
    calls = [event for event in one.events if isinstance(event, InnerCall)]
    code = one.summary.code.strip("\n")
    lines = call_lines(code, (call.bridge for call in calls))
    chars = max(_LEAST_CHARS, min(_MOST_CHARS, _PAGE_CHARS // (2 * len(calls) + 1)))
    return {
        "one": one,
        "facts": list(_facts(one)),
        "code": code_lines(code, one.language),
        "calls": calls_of_lines(lines, (call.bridge for call in calls)),
        "lines": lines,
        "ambiguous": any(len(found) > 1 for found in lines.values()),
        "rows": list(timeline_rows(one.events, one.computing, chars=chars)),
        "computed": computed(one.computing),
        "seconds": last_second(one.events, one.computing),
        "width": BAR_WIDTH,
        "parts": [] if one.answer is None else list(answer_parts(one.answer)),
    }


def code_lines(code: str, language: str) -> Sequence[Any]:
    """The lines of code as safe markup."""
    marked = highlighted(code, language)
    return [Markup(line) for line in str(marked).rstrip("\n").split("\n")]  # noqa: S704 - it is


def _facts(one: EvalRecord) -> Iterator[tuple[str, str]]:
    if one.engine:
        yield "engine", one.engine
    if one.language:
        yield "language", one.language
    yield "tool", one.summary.tool
    yield "call", one.summary.call_id
    if one.summary.graph:
        yield "graph", one.summary.graph
    if one.state_bytes is not None:
        yield "variables", f"{one.state_bytes:,} bytes"
    if one.stored_bytes is not None:
        yield "stored", f"{one.stored_bytes:,} bytes"
    for kind, amount in one.drawn.items():
        yield f"drawn: {kind}", f"{amount:g}"


def _first_line(code: str) -> str:
    return brief(code.strip().partition("\n")[0], _CODE_CHARS)


def _line_count(text: str) -> int:
    return text.count("\n") + 1


def _time(value: str | float) -> Markup | str:
    """A time for people: in UTC, which the script of the page replaces by the reader's zone.

    Args:
        value: A time in ISO 8601, or in seconds since 1970; another text stays as it is.
    """
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value).astimezone(UTC)
        else:
            found = datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        return value if isinstance(value, str) else f"{value:g} s since 1970"
    made: Markup = Markup('<time datetime="{}">{} UTC</time>').format(
        found.isoformat(timespec="milliseconds"), found.strftime("%Y-%m-%d %H:%M:%S")
    )
    return made


def _money(amount: float) -> str:
    """An amount in the currency of the prices, which nobody names."""
    if amount >= 10:
        return f"{amount:,.2f}"
    return f"{amount:.4f}" if amount >= 0.001 else f"{amount:.2g}"


def _compact(value: Any) -> str:
    """A choice as a person reads it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)


def _change(binding: Binding) -> str:
    if binding.before is None:
        return "new"
    if binding.after is None:
        return "gone"
    return "" if binding.before == binding.after else "changed"
