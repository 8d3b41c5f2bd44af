"""The engine protocol, held by the reference engine; and the kit that checks it."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Engine
from interpstack.testing import EngineProtocolTests, FakeEngine


class TestFakeEngineProtocol(EngineProtocolTests):
    def make_engine(self) -> Engine:
        return FakeEngine()

    store = "kept = 41"
    recall = "kept + 1"
    redeclare = "kept = 1"
    error = "raise ValueError('broken by the cell')"
    error_name = "ValueError"
    syntax_error = "kept = = 1"
    request = "await kit.echo(value=42)"
    exchange = """
value = {"n": 1, "list": [1.5, None, True, "é"], "deep": {"$": [{}]}}
await kit.echo(value=await kit.echo(value=value))
"""
    parallel = "sum(await gather(*[kit.echo(value=n) for n in range(100)]))"
    sequence = """
done, name = 0, "none"
for n in range(6):
    try:
        await kit.echo(value=n)
        done += 1
    except Exception as error:
        name = type(error).__name__
        break
f"{done} {name}"
"""
    calls = "for n in range(3): kit.note(value=n)"
    unawaited = "kit.echo(value=1); 'left'"
    after_end = """
late = ""
async def go_on():
    global late
    await kit.echo(value=1)
    try:
        await kit.echo(value=2)
    except Exception as error:
        late = str(error)
gather(go_on())
None
"""
    after_end_recall = "late"
    deadlock = """
class Never:
    def __await__(self):
        yield
await Never()
"""
    loop = "while True: pass"
    chance = "random()"


def test_an_incomplete_engine_test_names_the_missing_samples() -> None:
    with pytest.raises(TypeError, match="TestPart gives no sample for: recall, redeclare"):

        class TestPart(EngineProtocolTests):
            store = "kept = 41"


class _Deaf(FakeEngine):
    """Breaks the protocol: it offers no bridge at all."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        return super().open(limits, type(bridges)(), image)


def test_the_kit_notices_a_broken_engine() -> None:
    class Broken(TestFakeEngineProtocol):
        def make_engine(self) -> Engine:
            return _Deaf()

    tests = Broken()
    tests.test_last_expression_is_the_value_and_state_persists()
    with pytest.raises(AssertionError):
        tests.test_request_is_awaited_at_top_level()
