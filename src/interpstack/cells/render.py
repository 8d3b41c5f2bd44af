"""An outcome as the text a model reads.

The envelope is an optional `<notice>` per notice, an optional `<stdout>`, then one `<result>`
or `<error>`. Guest text is escaped, so that it can close or open none of these tags, and is
cut before the escaping, so that a cut never falls inside an entity or a tag.
"""

from __future__ import annotations

from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import GuestError

__all__ = ["render"]

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
#: Characters of an error's type that are shown; names are guest data too.
_TYPE_CHARS = 100


def render(outcome: Outcome, *, result_chars: int = 4000, console_chars: int = 4000) -> str:
    """Render an outcome.

    Args:
        outcome: How a cell ended.
        result_chars: Characters of the result or the error that are shown.
        console_chars: Characters of console output that are shown.
    """
    parts = [f"<notice>{_escape(text)}</notice>" for text in outcome.notices]
    if outcome.console or outcome.console_omitted_chars:
        end = outcome.console_end[: console_chars // 2]
        body = _cut(outcome.console, console_chars - len(end), outcome.console_omitted_chars)
        body += f" …\n{_escape(end)}" if end else ""
        parts.append(f"<stdout>\n{body}\n</stdout>")
    if outcome.error is not None:
        parts.append(_render_error(outcome.error, result_chars))
    else:
        kind = ' kind="handle"' if outcome.handle else ""
        body = _cut(outcome.text, result_chars, outcome.omitted_chars, outcome.omitted_exact)
        parts.append(f"<result{kind}>{body}</result>")
    return "\n".join(parts)


def _render_error(error: GuestError, limit: int) -> str:
    name = error.name[:_TYPE_CHARS] or "Error"
    body = error.message + _origin(error)
    if error.stack:
        body += "\n" + error.stack.rstrip("\n")
    kind = _escape(name).replace('"', "&quot;").replace("\n", " ")
    excerpt = "" if error.place is None else "\n" + error.place.excerpt(_escape)
    if len(excerpt) > limit:
        excerpt = ""
    return f'<error type="{kind}">{_cut(body, limit - len(excerpt))}{excerpt}</error>'


def _origin(error: GuestError) -> str:
    """A line that names the failed call, if an error came from one that code did not catch."""
    tool, kind = error.data.get("tool"), error.data.get("kind")
    if not isinstance(tool, str) or not tool or error.message.startswith(tool):
        return ""  # many messages begin with the name
    prefix = f"{kind[:_TYPE_CHARS]} " if isinstance(kind, str) and kind else ""
    return f"\n({prefix}in {tool[:_TYPE_CHARS]})"


def _cut(text: str, limit: int, omitted: int = 0, exact: bool = True) -> str:
    shown = text[:limit]
    omitted += len(text) - len(shown)
    body = _escape(shown)
    if not omitted:
        return body
    return f"{body}… [truncated {'' if exact else 'more than '}{omitted} chars]"


def _escape(text: str) -> str:
    # A lone surrogate has no UTF-8 form and would break whoever stores the text.
    if not text.isascii():
        text = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text.translate(_ESCAPES)
