"""The tool as a custom tool of OpenAI."""

from __future__ import annotations

import base64
import re
import sys
import types
from importlib.resources import files
from typing import Any

import pytest
from js_repl_samples import PNG
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.utils.function_calling import convert_to_openai_tool

from interpstack_js_repl import JsReplMiddleware
from interpstack_js_repl.freeform import raw_text, takes_custom_tools


class Client(GenericFakeChatModel):
    """Stands for the client of the models of OpenAI."""

    model_name: str = "gpt-5"
    openai_api_base: str | None = None


@pytest.mark.parametrize(
    ("model", "base", "takes"),
    [
        ("gpt-5", None, True),
        ("gpt-5.1-codex-mini", None, True),
        ("gpt-4o", None, False),
        ("o3", None, False),
        ("my-gpt-5", None, False),
        ("gpt-5", "http://localhost:8000/v1", False),
    ],
)
def test_newer_models_of_openai_take_custom_tools(
    monkeypatch: pytest.MonkeyPatch, model: str, base: str | None, takes: bool
) -> None:
    module: Any = types.ModuleType("langchain_openai")
    module.ChatOpenAI = Client
    monkeypatch.setitem(sys.modules, "langchain_openai", module)
    client = Client(messages=iter(()), model_name=model, openai_api_base=base)
    assert takes_custom_tools(client) is takes


def test_other_models_do_not() -> None:
    assert not takes_custom_tools(GenericFakeChatModel(messages=iter(())))


async def test_the_model_gets_a_custom_tool_and_sends_raw_text(repl: Any) -> None:
    chat = repl(freeform=True)
    (answer,) = await chat.messages({"__arg1": "// interpstack: timeout_ms=9000\n6 * 7"})
    assert answer.content == "<result>42</result>"  # another model may go on
    assert chat.model.seen[-1][-1].content == [
        {"type": "custom_tool_call_output", "output": "<result>42</result>"}
    ]
    custom, reset = (convert_to_openai_tool(tool) for tool in chat.model.bound)
    assert custom["type"] == "custom"
    assert custom["name"] == "js_repl"
    assert (custom["format"]["type"], custom["format"]["syntax"]) == ("grammar", "lark")
    assert "start: PRAGMA NEWLINE SOURCE | SOURCE" in custom["format"]["definition"]
    assert reset["type"] == "function"


GRAMMAR = (files("interpstack_js_repl") / "source.lark").read_text("utf-8")
SOURCE = next(line[9:-1] for line in GRAMMAR.splitlines() if line.startswith("SOURCE: /"))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("1 + 1", True),
        ("\n\n  let a = 1", True),
        ("// codex-js-repl: timeout_ms=5\n1", True),
        ("{ let a = 1; a }", True),
        ("{\n  a }", True),
        ("`text`", True),
        ("``.length", True),
        ("[1]", True),
        ('{"code": "1"}', False),
        ('{\n  "code": "1"}', False),
        ('"1 + 1"', False),
        ("`" * 3 + "js\n1", False),
        (" \n" + "`" * 3, False),
        ("  ", False),
    ],
)
def test_the_grammar_lets_a_model_write_source_alone(text: str, fits: bool) -> None:
    assert (re.fullmatch(SOURCE, text) is not None) is fits


@pytest.mark.parametrize("freeform", [False, True])
async def test_a_model_for_text_alone_gets_a_notice_for_an_image(repl: Any, freeform: bool) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    chat = repl(freeform=freeform)
    chat.model.profile = {"image_inputs": False}
    code = f"await codex.emitImage('{url}'); 1"
    (answer,) = await chat.messages({"__arg1": code} if freeform else code)
    assert [block["type"] for block in answer.content] == ["text", "image"]
    content = chat.model.seen[-1][-1].content
    if freeform:
        (block,) = content
        assert block["type"] == "custom_tool_call_output"
        content = block["output"]
    said, notice = content.splitlines()[-2:]
    assert said == "<result>1</result>"
    assert notice.startswith(f"<notice>The image of {len(PNG)} bytes (image/png) is left out")


async def test_an_image_answers_raw_text_as_an_item(repl: Any) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    chat = repl(freeform=True)
    await chat.run({"__arg1": f"await codex.emitImage('{url}'); 1"})
    (block,) = chat.model.seen[-1][-1].content
    text, image = block["output"]
    assert (text["type"], text["text"][-18:]) == ("input_text", "<result>1</result>")
    assert image == {"type": "input_image", "image_url": url}


async def test_other_models_get_a_function(repl: Any) -> None:
    chat = repl()
    assert await chat.run("1") == ["<result>1</result>"]
    function, reset = (convert_to_openai_tool(tool)["function"] for tool in chat.model.bound)
    assert set(function["parameters"]["properties"]) == {"code", "timeout_ms"}
    assert function["parameters"]["required"] == ["code"]
    assert reset["parameters"]["properties"] == {}
    for one in (function, reset):
        assert one["parameters"]["additionalProperties"] is False
        assert one["description"] == next(
            tool.description for tool in chat.model.bound if tool.name == one["name"]
        )


def test_only_raw_text_is_raw_text() -> None:
    assert raw_text({"__arg1": "1"}) == "1"
    assert raw_text({"code": "1"}) is None
    assert raw_text({"__arg1": "1", "code": "2"}) is None
    assert raw_text("1") is None


def test_freeform_takes_a_flag() -> None:
    with pytest.raises(TypeError, match="freeform takes True, False or None; got 'yes'"):
        JsReplMiddleware(freeform="yes")  # type: ignore[arg-type]
