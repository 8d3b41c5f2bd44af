"""Outcomes as results of tools."""

from __future__ import annotations

import json

from interpstack import GuestError, Outcome
from interpstack_display.api import Attachment
from interpstack_mcp.serving.outcomes import outcome_result, running_result


def test_kinds_of_attachments_keep_their_type() -> None:
    wav = Attachment(b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav")
    zipped = Attachment(b"PK\x03\x04abc", "application/zip")
    outcome = Outcome(text="1", attachments=(wav, zipped, "other"))
    result = outcome_result(outcome, "<result>1</result>", lambda name, text: "uri")
    assert [block.type for block in result.content] == ["text", "audio", "resource"]
    assert result.content[1].data == wav.base64  # type: ignore[union-attr]
    assert result.content[2].resource.blob == zipped.base64  # type: ignore[union-attr]


def test_output_on_the_way_is_cut() -> None:
    result = running_result("c", "x" * 9000)
    assert "[1000 more characters]" in str(result.content[0])
    assert result.structured_content is not None
    assert result.structured_content["cell"] == "c"


def test_halves_of_surrogate_pairs_can_be_sent() -> None:
    kept: dict[str, str] = {}

    def keep(name: str, text: str) -> str:
        kept[name] = text
        return name

    half = "\ud800"
    outcome = Outcome(
        text=half * 9000,
        console=half,
        notices=(half,),
        error=GuestError(name=half, message=half),
    )
    result = outcome_result(outcome, half, keep)
    sent = json.loads(result.model_dump_json())
    assert sent["structured_content"]["error"] == {"name": r"\ud800", "message": r"\ud800"}
    assert sent["structured_content"]["notices"] == [r"\ud800"]
    assert kept == {"result": r"\ud800" * 9000}
    assert json.loads(running_result("c", half).model_dump_json())["structured_content"] == {
        "running": True,
        "cell": "c",
        "console": r"\ud800",
    }
