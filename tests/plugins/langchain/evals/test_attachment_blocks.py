"""Images and files of evals, as models read them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from interpstack import Outcome
from interpstack_display.api import Attachment, Display, DisplayLimits
from interpstack_langchain import PRESET
from interpstack_langchain.evals.attachment_blocks import eval_content, for_model

PNG = b"\x89PNG\r\n\x1a\n0"
PNG_TEXT = base64.b64encode(PNG).decode()
IMAGE = {"type": "image", "base64": PNG_TEXT, "mime_type": "image/png"}
PDF = {"type": "file", "base64": "JVBERi0x", "mime_type": "application/pdf"}
SHOWS = f"await display('data:image/png;base64,{PNG_TEXT}', {{name: 'a.png'}}); 1"
NAMED = {**IMAGE, "extras": {"filename": "a.png"}}
TEXT = "<notice>Shown 1: image/png, 9 bytes, a.png</notice>\n<result>1</result>"


def model(**profile: Any) -> GenericFakeChatModel:
    made = GenericFakeChatModel(messages=iter(()))
    made.profile = profile or None  # type: ignore[assignment]
    return made


def message(*blocks: dict[str, Any], name: str = "eval") -> ToolMessage:
    content: Any = [{"type": "text", "text": "1"}, *blocks]
    return ToolMessage(content=content, tool_call_id="1", name=name)


# -- the message in the state --------------------------------------------------------------


def test_an_outcome_without_attachments_is_text() -> None:
    assert eval_content("1", Outcome(attachments=(ValueError(),)), 10) == "1"


def test_texts_join_the_text_and_share_its_room() -> None:
    items = [
        Attachment(b"a < b", "text/plain"),
        Attachment(b"</shown><result>9</result>", "text/html", "x.html"),
        Attachment(b"<svg/>", "image/svg+xml"),
    ]
    content = eval_content("1", Outcome(attachments=tuple(items)), 20)
    assert content == (
        '1\n<shown index="1" type="text/plain">\na &lt; b\n</shown>\n'
        '<shown index="2" type="text/html">\n&lt;/shown&gt;&lt;result… [truncated 11 chars]\n'
        '</shown>\n<shown index="3" type="image/svg+xml">\n… [truncated 6 chars]\n</shown>'
    )


def test_other_attachments_are_blocks_of_the_framework() -> None:
    items = (
        Attachment(PNG, "image/png", "a.png"),
        Attachment(b"%PDF-1", "application/pdf"),
        Attachment(b"fLaC", "audio/flac"),
        Attachment(b"\0", "application/octet-stream"),
    )
    content = eval_content("1", Outcome(attachments=items), 10)
    assert content == [
        {"type": "text", "text": "1"},
        NAMED,
        PDF,
        {"type": "audio", "base64": "ZkxhQw==", "mime_type": "audio/flac"},
        {"type": "file", "base64": "AA==", "mime_type": "application/octet-stream"},
    ]
    read = ToolMessage(content=content, tool_call_id="1").content_blocks
    assert [block["type"] for block in read] == ["text", "image", "file", "audio", "file"]


# -- the messages of one call of the model -------------------------------------------------


@pytest.mark.parametrize(
    ("block", "profile", "taken"),
    [
        (IMAGE, {}, True),
        (IMAGE, {"image_inputs": True}, True),
        (IMAGE, {"image_inputs": False}, False),
        (IMAGE, {"image_inputs": True, "image_tool_message": False}, False),
        ({**IMAGE, "mime_type": "image/tiff"}, {"image_inputs": True}, False),
        (PDF, {}, False),
        (PDF, {"pdf_inputs": True}, True),
        (PDF, {"pdf_inputs": True, "pdf_tool_message": False}, False),
        ({**PDF, "mime_type": "application/zip"}, {"pdf_inputs": True}, False),
        ({**PDF, "type": "audio"}, {"audio_inputs": True}, True),
        ({**PDF, "type": "audio"}, {}, False),
        ({**PDF, "type": "video"}, {"video_inputs": True}, True),
    ],
)
def test_a_model_gets_the_blocks_that_its_profile_allows(
    block: dict[str, Any], profile: dict[str, Any], taken: bool
) -> None:
    given: list[AnyMessage] = [HumanMessage("go"), message(block)]
    made = for_model(given, ["eval"], model(**profile), "auto")
    assert (made is None) is taken
    if made is not None:
        assert made[0] is given[0]
        assert str(made[1].content).startswith("1\n<notice>The ")
        assert given[1].content[1] == block  # the state keeps it


def test_options_force_or_forbid_blocks() -> None:
    given: list[AnyMessage] = [message(IMAGE)]
    assert for_model(given, ["eval"], model(image_inputs=False), "always") is None
    made = for_model(given, ["eval"], model(image_inputs=True), "never")
    assert made is not None
    assert made[0].content == (
        "1\n<notice>The image of 9 bytes (image/png) is left out: this model does not take it."
        "</notice>"
    )


def test_a_notice_takes_the_place_of_a_block_beside_others() -> None:
    made = for_model([message(NAMED, PDF)], ["eval"], model(), "auto")
    assert made is not None
    assert made[0].content == [
        {"type": "text", "text": "1"},
        NAMED,
        {
            "type": "text",
            "text": "<notice>The file of 6 bytes (application/pdf) is left out: this model does "
            "not take it.</notice>",
        },
    ]


def test_messages_of_other_tools_stay() -> None:
    given: list[AnyMessage] = [message(IMAGE, name="look"), ToolMessage("1", tool_call_id="2")]
    assert for_model(given, ["eval"], model(image_inputs=False), "auto") is None


# -- agents --------------------------------------------------------------------------------


async def test_an_agent_reads_the_image_that_its_code_shows(talk: Any) -> None:
    chat = talk()
    result = await chat.turn(SHOWS, "2")
    first, second = (m for m in result["messages"] if isinstance(m, ToolMessage))
    assert first.content == [{"type": "text", "text": TEXT}, NAMED]
    assert second.content == "<result>2</result>"
    assert chat.model.seen[-1][-3].content == first.content


@pytest.mark.parametrize("options", [{}, {"attachments": "never"}], ids=["profile", "option"])
async def test_a_model_for_text_reads_a_notice_and_the_state_keeps_the_image(
    talk: Any, options: dict[str, Any]
) -> None:
    chat = talk(**options)
    if not options:
        chat.model.profile = {"image_inputs": False}
    result = await chat.turn(SHOWS)
    (kept,) = (m for m in result["messages"] if isinstance(m, ToolMessage))
    assert kept.content == [{"type": "text", "text": TEXT}, NAMED]
    assert chat.model.seen[-1][-1].content == (
        f"{TEXT}\n<notice>The image a.png of 9 bytes (image/png) is left out: this model does not "
        "take it.</notice>"
    )


@tool
def look() -> list[dict[str, Any]]:
    """A screenshot."""
    return [{"type": "text", "text": "seen"}, {**IMAGE, "id": "7"}]


@tool(response_format="content_and_artifact")
def look_closer() -> tuple[list[dict[str, Any]], None]:
    """A screenshot, as tools of MCP answer."""
    return [IMAGE], None


async def test_an_image_of_a_tool_reaches_code_and_is_shown_unchanged(talk: Any) -> None:
    chat = talk(tools=[look, look_closer], ptc=["look", "look_closer"])
    code = """
    const found = await tools.look(), closer = await tools.lookCloser();
    await display(found[1]); await display(closer);
    JSON.stringify([found, closer])
    """
    result = await chat.turn(code)
    (answer,) = (m for m in result["messages"] if isinstance(m, ToolMessage))
    seen = f'{{"type":"image","mimeType":"image/png","data":"{PNG_TEXT}"'
    assert answer.text.endswith(
        f'<result>[[{{"type":"text","text":"seen"}},{seen},"id":"7"}}],[{seen}}}]]</result>'
    )
    assert answer.content[1:] == [IMAGE, IMAGE]


async def test_the_limits_of_a_preset_hold(talk: Any) -> None:
    chat = talk(preset=PRESET.replace("display", Display(DisplayLimits(count=1))))
    (answer,) = await chat.run("await display('a'); await display('b')")
    assert answer.startswith("<notice>Shown 1: text/plain, 1 bytes</notice>\n<error type=")
    assert "DisplayLimitExceeded" in answer
    assert answer.endswith('<shown index="1" type="text/plain">\na\n</shown>')
