"""The contract of sources: what one does that only reads."""

from __future__ import annotations

import pytest
from inspected import RecordSource

from interpstack_inspect.contract.source import AnswerRefused, NotRecorded


async def test_a_source_that_only_reads_takes_no_answers() -> None:
    source = RecordSource()
    await source.open()
    assert not source.takes_answers
    with pytest.raises(AnswerRefused, match="only be read"):
        await source.answer("t", "question", "digest", {})
    await source.aclose()


async def test_a_source_without_workflows() -> None:
    source = RecordSource()
    assert await source.workflows() == ()
    with pytest.raises(NotRecorded, match="there is no run 'x'"):
        await source.workflow("x")
