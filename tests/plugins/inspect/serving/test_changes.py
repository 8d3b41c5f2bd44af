"""Changes of a conversation, as pages follow them."""

from __future__ import annotations

from inspected import RecordSource, record

from interpstack import ConfigurationError
from interpstack_inspect.serving.changes import versions


async def test_each_version_is_sent_once() -> None:
    source = RecordSource()
    stream = versions(lambda: source.version("t"), 0.0)
    assert [await anext(stream) for _ in range(2)] == ["data: 1\n\n", ":\n\n"]
    source.evals["t"].append(record())
    assert await anext(stream) == "data: 2\n\n"
    source.problem = ConfigurationError("the database is locked")
    assert await anext(stream) == ":\n\n"
    source.problem = None
    assert await anext(stream) == ":\n\n"
    source.evals["t"].clear()
    assert await anext(stream) == "data: 0\n\n"
    await stream.aclose()  # type: ignore[attr-defined]
