"""`codex.emitImage`: every accepted and refused form, and the life of emissions."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from js_repl_samples import PNG
from langchain_core.tools import tool

from interpstack import Cell, CellContext, GuestException, Outcome, hookimpl
from interpstack_display.api import Attachment, attachments_of
from interpstack_js_repl.emitted import judged, take_image, take_note

BASE64 = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{BASE64}"
P = "codex.emitImage "
INPUT = f"{{type: 'input_image', image_url: '{URL}'}}"
TEXT = "{type: 'input_text', text: 'a'}"
MCP = f"{{type: 'image', data: '{BASE64}', mimeType: 'image/png'}}"
BYTES = f"Uint8Array.from(atob('{BASE64}'), c => c.charCodeAt())"


class Seen:
    """Notes what cells attach."""

    name = "seen"

    def __init__(self) -> None:
        self.shown: list[tuple[Attachment, ...]] = []

    @hookimpl(tryfirst=True)
    def interpstack_render_outcome(self, session: Any, outcome: Outcome) -> None:
        self.shown.append(attachments_of(outcome))


@tool
async def view() -> list[Any]:
    """View an image."""
    return [{"type": "image", "base64": BASE64, "mime_type": "image/png"}]


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def chat(repl: Any, seen: Seen) -> Any:
    return repl(tools=[view], plugins=[seen])


ACCEPTED = {
    "data URL": f"'{URL}'",
    "scheme in capitals": f"'DATA:image/png;base64,{BASE64}'",
    "input_image": INPUT,
    "input_image of chat completions": f"{{type: 'image_url', image_url: {{url: '{URL}'}}}}",
    "items": f"[{INPUT}]",
    "bytes": f"{{bytes: {BYTES}, mimeType: 'image/png'}}",
    "ArrayBuffer": f"{{bytes: {BYTES}.buffer, mimeType: 'image/png'}}",
    "Buffer": f"{{bytes: Buffer.from('{BASE64}', 'base64'), mimeType: 'image/png'}}",
    "DataView": f"{{bytes: new DataView({BYTES}.buffer), mimeType: 'image/png', detail: null}}",
    "detail": f"{{bytes: {BYTES}, mimeType: 'image/png', detail: 'original'}}",
    "message": f"{{type: 'message', content: [{INPUT}]}}",
    "function output": f"{{type: 'function_call_output', output: [{INPUT}]}}",
    "output with content": f"{{type: 'function_call_output', output: {{content: [{INPUT}]}}}}",
    "custom output": f"{{type: 'custom_tool_call_output', output: [{INPUT}]}}",
    "text output": f"{{type: 'function_call_output', output: '{URL}'}}",
    "MCP output": f"{{type: 'mcp_tool_call_output', output: {{Ok: {{content: [{MCP}]}}}}}}",
    "MCP result": f"{{content: [{MCP}]}}",
    "MCP without a type": f"{{content: [{{type: 'image', data: '{BASE64}'}}]}}",
    "MCP detail": f"{{content: [{{...{MCP}, _meta: {{'codex/imageDetail': 'original'}}}}]}}",
    "an object with output": f"{{output: [{INPUT}]}}",
    "LangChain": f"[{{type: 'image', base64: '{BASE64}', mime_type: 'image/png'}}]",
    "one item": MCP,
    "promise": f"Promise.resolve('{URL}')",
    "promise of a tool": "codex.tool('view')",
    "answer of a tool": "await codex.tool('view')",
}


@pytest.mark.parametrize("value", ACCEPTED.values(), ids=ACCEPTED)
async def test_an_image_is_attached(chat: Any, seen: Seen, value: str) -> None:
    (answer,) = await chat.messages(f"await codex.emitImage({value})")
    assert answer.status == "success", answer.text
    ((image,),) = seen.shown
    assert (image.data, image.mime_type) == (PNG, "image/png")


REFUSED = {
    "undefined": "received an unsupported value",
    "3": "received an unsupported value",
    "{}": "received an unsupported value",
    "() => 1": "received an unsupported value",
    "''": "expected a non-empty image_url",
    "'http://example.com/a.png'": "only accepts data URLs",
    "'data:image/png'": "only accepts data URLs",
    "'data:image/png;base64,'": "expected non-empty bytes",
    "'data:image/png;base64,?'": "only accepts data URLs whose data are Base64",
    "{type: 'input_image'}": "expected a non-empty image_url",
    "{type: 'input_image', image_url: 'file:///a'}": "only accepts data URLs",
    "{bytes: 'a', mimeType: 'image/png'}": (
        "expected bytes to be Buffer, Uint8Array, ArrayBuffer, or ArrayBufferView"
    ),
    "{bytes: [1], mimeType: 'image/png'}": "expected bytes to be Buffer",
    "{bytes: new Uint8Array(), mimeType: 'image/png'}": "expected non-empty bytes",
    f"{{bytes: {BYTES}}}": "expected a non-empty mimeType",
    f"{{bytes: {BYTES}, mimeType: ' '}}": "expected a non-empty mimeType",
    f"{{bytes: {BYTES}, mimeType: 'image/png', detail: ''}}": (
        "expected detail to be a non-empty string"
    ),
    f"{{bytes: {BYTES}, mimeType: 'image/png', detail: 1}}": "expected detail to be a non-empty",
    f"{{bytes: {BYTES}, mimeType: 'image/png', detail: 'low'}}": (
        'only supports detail "original"; omit detail for default behavior'
    ),
    "[1]": "received malformed content items",
    "[{text: 'a'}]": "received malformed content items",
    "[{type: 'input_audio'}]": 'does not support content item type "input_audio"',
    f"[{TEXT}, {INPUT}]": "does not accept mixed text and image content",
    "[]": "expected exactly one image",
    f"[{TEXT}]": "expected exactly one image",
    f"[{INPUT}, {INPUT}]": "expected exactly one image",
    "{type: 'message'}": "received malformed content items",
    "{type: 'function_call_output', output: 'text'}": "received an unsupported tool output shape",
    "{type: 'function_call_output', output: 1}": "received an unsupported tool output shape",
    "{output: null}": "received an unsupported tool output shape",
    "{type: 'mcp_tool_call_output', output: {Err: 'no'}}": "received an unsupported MCP result",
    "{type: 'mcp_tool_call_output', output: 1}": "received an unsupported MCP result",
    "{content: 1}": "received malformed MCP content",
    "{content: [1]}": "received malformed MCP content",
    "{content: [{type: 'audio'}]}": 'does not support MCP content type "audio"',
    "{content: [{type: 'image'}]}": "expected MCP image data",
    "{content: [{type: 'image', data: ''}]}": "expected MCP image data",
}


@pytest.mark.parametrize("value", REFUSED)
async def test_another_value_is_refused(chat: Any, seen: Seen, value: str) -> None:
    awaited, ignored, caught = await chat.messages(
        f"await codex.emitImage({value})",
        f"codex.emitImage({value}); console.log('said'); 1",
        f"await codex.emitImage({value}).catch((e) => [e.message, e instanceof Error].join('|'))",
    )
    message = P + REFUSED[value]
    assert message.replace("&", "&amp;") in awaited.text
    assert awaited.status == ignored.status == "error"
    assert message in ignored.text  # nobody looked at it, and the cell fails all the same
    assert "said" in ignored.text
    assert caught.status == "success"
    assert message in caught.text
    assert caught.text.endswith("|true</result>")
    assert seen.shown == [(), (), ()]


async def test_a_list_of_images_is_emitted_by_map(chat: Any, seen: Seen) -> None:
    (answer,) = await chat.messages(f"await Promise.all(['{URL}', '{URL}'].map(codex.emitImage))")
    assert answer.status == "success", answer.text
    assert [len(shown) for shown in seen.shown] == [2]


async def test_the_model_gets_the_image_beside_the_text(chat: Any) -> None:
    (answer,) = await chat.messages(f"await codex.emitImage('{URL}'); 1")
    text, image = answer.content
    assert text["text"].endswith("<result>1</result>")
    assert image == {"type": "image", "base64": BASE64, "mime_type": "image/png"}
    assert chat.model.seen[-1][-1].content == answer.content


async def test_images_are_in_the_order_of_their_emission(chat: Any, seen: Seen) -> None:
    two = "{bytes: new TextEncoder().encode('GIF89a' + 'x'.repeat(20)), mimeType: 'image/gif'}"
    await chat.run(f"codex.emitImage('{URL}'); codex.emitImage({two}); codex.emitImage('{URL}'); 1")
    assert [item.mime_type for item in seen.shown[0]] == ["image/png", "image/gif", "image/png"]


async def test_an_answer_waits_for_the_image_of_a_call_that_is_open(chat: Any, seen: Seen) -> None:
    (answer,) = await chat.messages("codex.emitImage(codex.tool('view')); 1")
    assert answer.status == "success"
    ((image,),) = seen.shown
    assert image.data == PNG


@pytest.mark.parametrize(
    ("watch", "status"),
    [
        ("", "error"),
        (".catch(() => {})", "success"),
        (".then(() => {}, () => {})", "success"),
        (".finally(() => {}).catch(() => {})", "success"),
    ],
)
async def test_a_late_failure_fails_the_cell_unless_code_looks_at_it(
    chat: Any, watch: str, status: str
) -> None:
    (answer,) = await chat.messages(f"codex.emitImage(codex.tool('nope')){watch}; 1")
    assert answer.status == status


async def test_an_image_of_a_tool_is_not_attached_by_itself(chat: Any, seen: Seen) -> None:
    await chat.run("await codex.tool('view'); 1")
    assert seen.shown == [()]


@pytest.mark.parametrize("engine", ["node", "quickjs"])
async def test_a_large_image(repl: Any, seen: Seen, engine: str) -> None:
    chat = repl(plugins=[seen], engine=engine)
    said = await chat.run(
        "const url = 'data:image/gif;base64,R0lGODlh' + 'AAAA'.repeat(1 << 20);"
        "await codex.emitImage(url); 1",
        "await codex.emitImage(url + '!')",
    )
    assert said[0].endswith("<result>1</result>")
    assert len(seen.shown[0][0].data) == 6 + 3 * 2**20
    assert "only accepts data URLs whose data are Base64" in said[1]


async def test_the_promise_is_a_promise(chat: Any) -> None:
    code = f"const p = codex.emitImage('{URL}'); [p instanceof Promise, await p].join()"
    first, second = await chat.run(code, "p")
    assert first.endswith("<result>true,</result>")
    assert second == "<result>undefined</result>"


async def test_an_emission_outside_of_cells_gets_the_documented_error(chat: Any) -> None:
    said = await chat.run(
        f"codex.tool('view').then(() => codex.emitImage('{URL}')).catch((e) => "
        "{ globalThis.why = e.message; }); 1",
        "why",
    )
    assert said == ["<result>1</result>", "<result>js_repl exec context not found</result>"]


async def test_what_is_no_image_is_refused_by_the_host(chat: Any, seen: Seen) -> None:
    text = "{bytes: new TextEncoder().encode('text'), mimeType: 'text/plain'}"
    png = "{bytes: new Uint8Array(9), mimeType: 'image/png'}"
    said = await chat.run(f"await codex.emitImage({text})", f"await codex.emitImage({png})")
    assert "takes images; got text/plain" in said[0]
    assert "the bytes are not image/png" in said[1]
    assert seen.shown == [(), ()]


async def test_a_cell_emits_a_bounded_number_of_images(chat: Any, seen: Seen) -> None:
    (said,) = await chat.run(f"for (let i = 0; i < 20; i++) await codex.emitImage('{URL}')")
    assert "DisplayLimitExceeded" in said
    assert len(seen.shown[0]) == 16


# -- the host's side -----------------------------------------------------------------------


@pytest.fixture
def context() -> CellContext:
    return CellContext("key", Cell(source="1"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        {},
        {"url": "http://a"},
        {"url": "data:,"},
        {"bytes": "a", "mimeType": "image/png"},
    ],
)
def test_the_host_checks_what_arrives(context: CellContext, value: Any) -> None:
    with pytest.raises(GuestException):
        take_image(value, context)
    assert context.outcome(0).attachments == ()


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        {},
        {"id": "1", "fault": "x"},
        {"id": True, "caught": True},
        {"id": float("inf"), "caught": True},
        {"id": float("nan"), "fault": "x"},
    ],
)
def test_notes_of_another_shape_are_refused(context: CellContext, value: Any) -> None:
    with pytest.raises(ValueError, match="number of the emission"):
        take_note(value, context)


def _judged(context: CellContext, *notes: Any, **fields: Any) -> Outcome:
    for note in notes:
        take_note(note, context)
    return judged(context.outcome(100, **fields))


def test_notes_leave_no_trace(context: CellContext) -> None:
    outcome = _judged(context, {"id": 1, "fault": "no"}, {"id": 1, "caught": True}, text="1")
    assert (outcome.ok, outcome.text, outcome.attachments) == (True, "1", ())


def test_the_first_failure_counts(context: CellContext) -> None:
    notes: list[Callable[..., Any] | Any] = [{"id": n, "fault": f"no {n}" * 5000} for n in (1, 2)]
    outcome = _judged(context, *notes, {"id": 3, "image": {"url": "http://a"}}, text="1")
    assert outcome.error is not None
    assert outcome.error.message.startswith("no 1")
    assert len(outcome.error.message) == 2000
    assert outcome.text == ""
