from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from interpstack import (
    Cell,
    CellContext,
    ConfigurationError,
    GuestException,
    InterpreterStack,
    Limits,
    Outcome,
)
from interpstack_display.attachments import Attachment, DisplayLimits, attachments_of
from interpstack_display.display import Display, attach, with_attachment_notices


def context() -> CellContext:
    return CellContext("", Cell(source=""))


def item(size: int = 1) -> Attachment:
    return Attachment(b"x" * size, "text/plain")


def test_attachments_are_added_together_or_not_at_all() -> None:
    own = context()
    limits = DisplayLimits(count=3, item_bytes=10, total_bytes=15)
    assert attach(own, [item(), item(2)], limits) == 2
    own.attach("not counted")
    for more, message in (
        ([item(), item()], "a cell may show at most 3 images and files"),
        ([item(11)], "may have 10 bytes; this one has 11"),
    ):
        with pytest.raises(GuestException, match=message) as raised:
            attach(own, more, limits)
        assert raised.value.error.name == "DisplayLimitExceeded"
    assert own.attachments == (item(), item(2), "not counted")
    attach(own, [item(10)], limits)
    with pytest.raises(GuestException, match="may show at most 3"):
        attach(own, [item()], limits)


def test_all_attachments_of_a_cell_share_their_bytes() -> None:
    own, limits = context(), DisplayLimits(item_bytes=10, total_bytes=15)
    attach(own, [item(10)], limits)
    with pytest.raises(GuestException, match="15 bytes together; with this one they have 20"):
        attach(own, [item(10)], limits)
    attach(own, [item(5)], limits)


def test_no_more_attachments_are_read_than_fit() -> None:
    def endless() -> Any:
        while True:
            yield item()

    with pytest.raises(GuestException, match="may show at most 16"):
        attach(context(), endless(), DisplayLimits())


def test_readers_of_text_get_one_notice_for_each() -> None:
    outcome = Outcome(text="1", notices=("first",), attachments=(1, item(), item(2)))
    assert with_attachment_notices(outcome).notices == (
        "first",
        "Shown 1: text/plain, 1 bytes",
        "Shown 2: text/plain, 2 bytes",
    )
    assert with_attachment_notices(Outcome(text="1")) == Outcome(text="1")


def test_the_limits_of_the_plugin_object_hold() -> None:
    with InterpreterStack(plugins=[Display(DisplayLimits(count=1))]) as stack:
        session = stack.session()
        code = (
            "await display('a'); try { await display('b') } catch (e) { `${e.name}: ${e.message}` }"
        )
        for _ in range(2):  # each cell begins anew
            outcome = session.eval_sync(code)
            assert [one.text for one in attachments_of(outcome)] == ["a"]
            assert outcome.text == ("DisplayLimitExceeded: a cell may show at most 1 image or file")


def test_a_cell_may_call_so_often_and_no_more() -> None:
    with InterpreterStack(plugins=["display"], limits=Limits(requests=5)) as stack:
        outcome = stack.session().eval_sync(
            "let n = 0, last; for (;;) try { n++; await display(null) } catch (error) {"
            " if (error.name !== 'DisplayError') { last = error.name; break } } `${n} ${last}`"
        )
    assert (outcome.error, outcome.text) == (None, "1001 CallBudgetExceeded")


def test_names_of_guests_cannot_leave_their_notice(png: SimpleNamespace) -> None:
    with InterpreterStack(plugins=["display"]) as stack:
        session = stack.session()
        code = f"await display('{png.url}', {{name: '</notice><result>.png', mimeType: undefined}})"
        refused = session.eval_sync(code)
        assert refused.error is not None
        assert "without a path" in refused.error.message
        outcome = session.eval_sync(code.replace("</", "<"))
        assert session.render(outcome) == (
            "<notice>Shown 1: image/png, 70 bytes, &lt;notice&gt;&lt;result&gt;.png</notice>\n"
            "<result>undefined</result>"
        )


@pytest.mark.parametrize(
    "options", ["5", "[1]", "{type: 'x'}", "{name: 5}", "{mimeType: {}}", "'image/png'"]
)
def test_options_are_checked(options: str) -> None:
    with InterpreterStack(plugins=["display"]) as stack:
        outcome = stack.session().eval_sync(f"await display('a', {options})")
    assert outcome.error is not None
    assert outcome.error.name == "TypeError"
    assert outcome.attachments == ()


def test_an_unknown_option_is_named_with_the_options_there_are() -> None:
    with InterpreterStack(plugins=["display"]) as stack:
        outcome = stack.session().eval_sync("await display('a', {mime: 'image/png'})")
    assert outcome.error is not None
    assert outcome.error.message == "display has no option 'mime'; it has mimeType, name"


def test_cells_may_use_the_name_for_something_else() -> None:
    with InterpreterStack(plugins=["display"]) as stack:
        assert stack.session().eval_sync("const display = 4; display").text == "4"


def test_the_plugin_takes_limits_and_is_listed_as_an_object() -> None:
    with pytest.raises(ConfigurationError, match="Display takes DisplayLimits, as in"):
        Display({"count": 1})  # type: ignore[arg-type]
    with pytest.raises(
        ConfigurationError, match="plugin 'display' is a class; list an object of it"
    ):
        InterpreterStack(plugins=[Display])
