"""The function `display` of guest code: its bridge, its limits and its prompt section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final

import attrs

from interpstack import (
    UNDEFINED,
    Bridge,
    BridgeRegistry,
    CellContext,
    GuestException,
    GuestLanguage,
    GuestSource,
    Outcome,
    SessionView,
    StackView,
    hookimpl,
    render,
)
from interpstack.checks import expect
from interpstack_display.attachments import (
    Attachment,
    DisplayLimits,
    attachments_of,
    described,
    only_shown,
)
from interpstack_display.inputs import read_attachments
from interpstack_javascript import JAVASCRIPT

__all__ = ["Display", "attach", "with_attachment_notices"]

_OWNER: Final = "interpstack_display"
#: Calls of one cell, refused ones included: each is recorded in the journal of a durable eval.
_CALLS: Final = 1000
_OPTIONS: Final = ("mimeType", "name")


def _read(name: str) -> str:
    return (files(_OWNER) / name).read_text("utf-8")


# Read when this is imported: an event loop must not wait for files.
#: Guest sources by language; a guest of any other language calls the bridge itself.
_SOURCES: Final = {
    JAVASCRIPT.name: GuestSource(
        JAVASCRIPT.name, "interpstack:display", _read("display.js"), owner=_OWNER
    )
}
_PROMPT: Final = _read("prompt.md").strip()


def attach(context: CellContext, items: Iterable[Attachment], limits: DisplayLimits) -> int:
    """Add attachments to a cell, all of them or none; returns their number.

    Args:
        context: The context of the call that shows them.
        items: The attachments; the first one too many ends the reading.
        limits: The limits of the cell.

    Raises:
        GuestException: The cell shows too many attachments, or too large ones. The name of the
            error is `DisplayLimitExceeded`.
    """
    shown = only_shown(context.attachments)
    count, total = len(shown), sum(len(item.data) for item in shown)
    added: list[Attachment] = []
    for item in items:
        count, total = count + 1, total + len(item.data)
        if count > limits.count:
            raise _exceeded(_too_many(limits.count))
        if len(item.data) > limits.item_bytes:
            raise _exceeded(
                f"an image or file may have {limits.item_bytes} bytes; this one has "
                f"{len(item.data)}: show a smaller one, or a part"
            )
        if total > limits.total_bytes:
            raise _exceeded(
                f"the images and files of a cell may have {limits.total_bytes} bytes together; "
                f"with this one they have {total}"
            )
        added.append(item)
    for item in added:
        context.attach(item)
    return len(added)


def _too_many(most: int) -> str:
    return f"a cell may show at most {most} {'image or file' if most == 1 else 'images and files'}"


def _exceeded(message: str) -> GuestException:
    return GuestException(message, name="DisplayLimitExceeded")


def with_attachment_notices(outcome: Outcome) -> Outcome:
    """An outcome with one notice for each image and file, for readers of text."""
    lines = [
        f"Shown {index}: {described(item)}"
        for index, item in enumerate(attachments_of(outcome), start=1)
    ]
    return attrs.evolve(outcome, notices=(*outcome.notices, *lines)) if lines else outcome


def _are_limits(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    expect(
        value, DisplayLimits, "Display takes DisplayLimits, as in Display(DisplayLimits(count=3))"
    )


@attrs.frozen
class Display:
    """The plugin as an object, for stacks with limits of their own.

    ```python
    InterpreterStack(plugins=["console", Display(DisplayLimits(count=3))])
    ```

    Attributes:
        limits: The limits of the attachments of one cell.

    Raises:
        ConfigurationError: `limits` is not a `DisplayLimits`.
    """

    limits: DisplayLimits = attrs.field(factory=DisplayLimits, validator=_are_limits)
    name = "display"

    @hookimpl
    def interpstack_register_bridges(self, register: BridgeRegistry, stack: StackView) -> None:
        source = _SOURCES.get(stack.language.name)
        if source is not None:
            register.source(source)
        register.bridge(self._bridge(with_source=source is not None))

    @hookimpl
    def interpstack_prompt_section(self, stack: StackView) -> str | None:
        return _PROMPT.format(call=_call(stack.language))

    @hookimpl
    def interpstack_render_outcome(self, session: SessionView, outcome: Outcome) -> str | None:
        if not attachments_of(outcome):
            return None
        limits = session.stack.limits
        return render(
            with_attachment_notices(outcome),
            result_chars=limits.result_chars,
            console_chars=limits.console_chars,
        )

    def _bridge(self, *, with_source: bool) -> Bridge:
        """The bridge that takes shown values; a guest source calls it with a value and options."""

        def display(value: Any, context: CellContext) -> Any:
            """Show an image, a file, a table or a text to the reader of the outcome."""
            given, options = _pair(value) if with_source else (value, {})
            read = read_attachments(given, options.get("mimeType"), options.get("name"))
            try:
                attach(context, read, self.limits)
            except ValueError as error:
                raise GuestException(str(error), name="DisplayError") from None
            return UNDEFINED

        return Bridge(
            name="display",
            handler=display,
            owner=_OWNER,
            raw=True,
            hidden=with_source,
            counted=False,
            budget=_CALLS,
            concurrency=1,
            repeats=True,
        )


def _pair(value: Any) -> tuple[Any, Mapping[str, str]]:
    """The value and the options that a guest source passes; its guest may have changed both."""
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError("display takes a value and options")
    given, options = value
    if options is None or options is UNDEFINED:
        return given, {}
    if not isinstance(options, dict):
        raise TypeError(
            "the second argument of display must be an object with mimeType, name or both"
        )
    for key in options:
        if key not in _OPTIONS:
            raise TypeError(f"display has no option {key[:60]!r}; it has {', '.join(_OPTIONS)}")
    chosen = {name: item for name, item in options.items() if item not in (None, UNDEFINED)}
    if not all(isinstance(item, str) for item in chosen.values()):
        raise TypeError("the options mimeType and name of display must be strings")
    return given, chosen


def _call(language: GuestLanguage) -> str:
    """A call of `display` in the guest's language."""
    return language.words.waiting.format(call="display(value)")
