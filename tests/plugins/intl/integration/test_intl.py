"""`Intl` and `Temporal` in code on QuickJS: their surface, values, states, limits and clock."""

# ruff: noqa: E501, RUF001 - guest code reads best unbroken, and dates have dashes

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from interpstack import BridgeRegistry, Cell, Image, InterpreterStack, Limits, Session, bridge
from interpstack_intl.api import guest_source
from interpstack_quickjs.engine import QuickJSEngine

# -- the surface -----------------------------------------------------------------------------------

_SURFACE = {
    "typeof Intl + ' ' + typeof Temporal": "object object",
    "'Intl' in globalThis && 'Temporal' in globalThis": "true",
    "const {value, ...how} = Object.getOwnPropertyDescriptor(globalThis, 'Intl'); how": (
        "{writable: true, enumerable: false, configurable: true}"
    ),
    "String(Intl) + String(Temporal)": "[object Intl][object Temporal]",
    "[Intl.NumberFormat('de') instanceof Intl.NumberFormat, Intl.NumberFormat.length]": "[true, 0]",
    "new Intl.DateTimeFormat().resolvedOptions().timeZone": "UTC",
    "new Intl.NumberFormat().resolvedOptions().locale": "en-US",
    "new Intl.NumberFormat(['xx', 'de-AT']).resolvedOptions().locale": "de-AT",
    "[2.5, 1].map(new Intl.NumberFormat('de').format)": '["2,5", "1"]',
    "class Euro extends Intl.NumberFormat {}; new Euro('de').format(1.5)": "1,5",
    "Intl.NumberFormat.supportedLocalesOf(['de', 'xx', 'sw'])": '["de"]',
    "Intl.getCanonicalLocales('EN-us')": '["en-US"]',
    "new Intl.Locale('zh-TW').maximize().toString()": "zh-Hant-TW",
    "[...new Intl.Segmenter('en', {granularity: 'word'}).segment('Hi you.')].map(s => s.segment)": (
        '["Hi", " ", "you", "."]'
    ),
    "new Intl.Segmenter().segment('a👍🏽b').containing(2).segment": "👍🏽",
    "Intl.supportedValuesOf('timeZone').includes('Europe/Berlin')": "true",
    "[0.5, -0, NaN, Infinity, 2n ** 70n].map(n => n.toLocaleString('de'))": (
        '["0,5", "-0", "NaN", "∞", "1.180.591.620.717.411.303.424"]'
    ),
    "[1.5, new Date(0)].toLocaleString('de', {timeZone: 'UTC'})": "1,5,1.1.1970, 00:00:00",
    "new Float64Array([1.5]).toLocaleString('de')": "1,5",
    "new Date(NaN).toLocaleString('de')": "Invalid Date",
    "'i'.toLocaleUpperCase('tr') + 'I'.toLocaleLowerCase('tr')": "İı",
    "'a'.localeCompare('b')": "-1",
    "new Intl.DateTimeFormat('de', {dateStyle: 'medium', timeZone: 'UTC'}).formatRange(0, 864e5)": (
        "01.–02.01.1970"
    ),
    "new Intl.NumberFormat('en').formatToParts(1.5).map(p => p.type)": (
        '["integer", "decimal", "fraction"]'
    ),
}


@pytest.mark.parametrize(("code", "text"), _SURFACE.items())
async def test_code_sees_the_intl_of_other_engines(session: Session, code: str, text: str) -> None:
    outcome = await session.eval(code)
    assert (outcome.text, outcome.error) == (text, None)


async def test_code_may_replace_it_as_any_variable(session: Session) -> None:
    assert (await session.eval("Intl = 5; Intl")).text == "5"
    assert (await session.eval("const Temporal = 6; Intl + Temporal")).text == "11"
    assert (await session.eval("(1.5).toLocaleString('de')")).text == "1,5"


_ERRORS = {
    "(1).toLocaleString('sw')": ("RangeError", "no data for the locale sw; it has ar, bg, bn"),
    "(1).toLocaleString('no such locale')": (
        "RangeError",
        "Incorrect locale information provided: no such",
    ),
    "(1).toLocaleString('de', {style: 'currency'})": ("TypeError", "currency"),
    "new Date(0).toLocaleString('de', {timeZone: 'Moon/Base'})": ("RangeError", "timeZone"),
    "new Intl.DateTimeFormat('de', {calendar: 'hebrew'})": ("RangeError", "no calendar hebrew"),
    "new Date(0).toLocaleString('th-u-ca-buddhist')": ("RangeError", "no calendar buddhist"),
    "new Intl.DateTimeFormat().format(NaN)": ("RangeError", "Invalid time value"),
    "Intl.PluralRules()": ("TypeError", "requires 'new'"),
    "new Intl.DisplayNames('en')": ("TypeError", "type"),
    "Intl.NumberFormat.prototype.resolvedOptions.call({})": ("TypeError", "incompatible receiver"),
    "'a'.localeCompare('b', 'de')": ("TypeError", "no collation"),
    "new Intl.Collator()": ("TypeError", "no collation"),
    "'i'.toLocaleUpperCase('lt')": ("RangeError", "Lithuanian"),
    "new Intl.Segmenter().segment('a'.repeat(2e6))": ("RangeError", "1048576 characters at once"),
}


@pytest.mark.parametrize(("code", "error"), _ERRORS.items())
async def test_what_cannot_be_had_is_an_error(
    session: Session, code: str, error: tuple[str, str]
) -> None:
    found = (await session.eval(code)).error
    assert found is not None
    assert found.name == error[0]
    assert error[1] in found.message


_TEMPORAL = {
    "Temporal.PlainDate.from('2024-02-29').add({years: 1}).toString()": "2025-02-28",
    "Temporal.PlainDate.from('2024-02-29').until('2024-03-31').toString()": "P31D",
    "Temporal.ZonedDateTime.from('2024-03-31T01:30[Europe/Berlin]').add({hours: 1}).toString()": (
        "2024-03-31T03:30:00+02:00[Europe/Berlin]"
    ),
    "Temporal.PlainDate.from('2024-02-29').toLocaleString('de', {dateStyle: 'full'})": (
        "Donnerstag, 29. Februar 2024"
    ),
    "new Intl.DateTimeFormat('de', {dateStyle: 'long'}).format(Temporal.PlainDate.from('2024-02-29'))": (
        "29. Februar 2024"
    ),
    "new Date(0).toTemporalInstant().toString()": "1970-01-01T00:00:00Z",
    "[Temporal.PlainTime.from('12:30'), {d: Temporal.Duration.from({hours: 3})}]": (
        "[Temporal.PlainTime <12:30:00>, {d: Temporal.Duration <PT3H>}]"
    ),
    "Temporal.Now.timeZoneId()": "UTC",
}


@pytest.mark.parametrize(("code", "text"), _TEMPORAL.items())
async def test_code_computes_with_temporal(session: Session, code: str, text: str) -> None:
    outcome = await session.eval(code)
    assert (outcome.text, outcome.error) == (text, None)


# -- values and states -----------------------------------------------------------------------------


async def test_temporal_reaches_the_host_as_text_and_formatters_do_not() -> None:
    given: list[Any] = []

    @bridge
    def take(value: object) -> None:
        given.append(value)

    async with (
        InterpreterStack(plugins=["intl"], bridges=[take]) as stack,
        stack.session() as session,
    ):
        await session.eval("await take({value: [Temporal.PlainDate.from('2024-02-29')]})")
        error = (await session.eval("await take({value: new Intl.NumberFormat('de')})")).error
    assert given == [["2024-02-29"]]
    assert error is not None
    assert "a value of the kind Intl.NumberFormat cannot be passed to the host" in error.message


_KEPT = (
    "const euro = new Intl.NumberFormat('de', {style: 'currency', currency: 'EUR'}), {format} = euro, "
    "day = Temporal.PlainDate.from('2024-02-29');"
)
_RESTORE = """
import asyncio, json, sys
from interpstack import Image, InterpreterStack

async def main():
    image = Image("quickjs", sys.argv[1], sys.stdin.buffer.read())
    async with InterpreterStack(plugins=["intl"]).session() as session:
        await session.restore(image)
        print(json.dumps((await session.eval(sys.argv[2])).text))

asyncio.run(main())
"""
_USE_KEPT = "[euro.format(2), format(3), day.add({days: 1}).toLocaleString('de')]"


async def test_what_code_keeps_is_small_and_goes_on_in_another_process() -> None:
    async with InterpreterStack(plugins=["intl"]).session() as session:
        await session.eval("const nothing = 0")
        empty = await session.image()
        await session.eval(_KEPT + _USE_KEPT)
        await session.eval("(1).toLocaleString('ja') + new Date().toLocaleString('ar')")
        image = await session.image()
        used = await session.eval(_USE_KEPT)
    assert empty is not None
    assert image is not None
    # the data of a locale takes ten times as much
    assert len(image.data) < len(empty.data) + 16_384
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _RESTORE, image.base, _USE_KEPT, stdin=-1, stdout=-1
    )
    shown, _ = await process.communicate(image.data)
    assert process.returncode == 0
    assert json.loads(shown) == used.text
    assert used.text == '["2,00\xa0€", "3,00\xa0€", "1.3.2024"]'


async def test_where_only_values_are_restored_the_error_names_what_is_lost() -> None:
    async with InterpreterStack(plugins=["intl"]).session() as session:
        await session.eval(_KEPT + "const n = 1")
        values = await session.values()
    async with InterpreterStack(plugins=["intl"]).session() as session:
        await session.load(values)
        assert (await session.eval("n")).text == "1"
        for name, kind in (("euro", "NumberFormat"), ("format", "function"), ("day", "PlainDate")):
            error = (await session.eval(name)).error
            assert error is not None
            assert f"'{name}' was not restored" in error.message
            assert f"(type: {kind})" in error.message


_CLOCK = """
const format = new Intl.DateTimeFormat('en', {dateStyle: 'short', timeStyle: 'long'});
[format.format(), new Date().toLocaleString('de'), Temporal.Now.instant().toString()]
"""


def _run(before: str) -> tuple[str, Image]:
    """A cell at a moment in 2023, after another guest of this thread has formatted."""
    registry = BridgeRegistry()
    registry.source(guest_source())
    bridges = registry.freeze()
    for code in (before, _CLOCK):
        realm = QuickJSEngine().open(Limits(), bridges)
        completion = realm.start(Cell(source=code, seed=1)).poll(1_700_000_000.25, 5.0).completion
        image = realm.image()
        realm.close()
        assert completion is not None
        assert completion.error is None
    return completion.text, image


def test_a_cell_that_runs_again_with_its_clock_gives_the_same_to_the_last_byte() -> None:
    first, second = _run("(1).toLocaleString('de')"), _run("new Date().toLocaleString('ja')")
    assert first == second
    assert first[0] == (
        '["11/14/23, 10:13:20 PM UTC", "14.11.2023, 22:13:20", "2023-11-14T22:13:20.252Z"]'
    )


# -- who does not use it ---------------------------------------------------------------------------

_UNUSED = """
import sys
from interpstack import InterpreterStack
with InterpreterStack(plugins=[PLUGINS]) as stack, stack.session() as session:
    assert session.eval_sync("1 + 1").text == "2"
    print([name for name in sys.modules if "intl" in name or name == "interpstack_quickjs.formatters"])
    CODE
"""


@pytest.mark.parametrize(
    ("plugins", "code", "modules"),
    [
        ("'console'", "", "[]"),
        ("'intl'", "", "['interpstack_intl', 'interpstack_intl.api']"),
        (
            "'intl'",
            "session.eval_sync('new Intl.NumberFormat().format(1)');"
            "assert 'interpstack_quickjs.formatters' in sys.modules",
            "['interpstack_intl', 'interpstack_intl.api']",
        ),
    ],
)
def test_nothing_is_loaded_before_it_is_used(plugins: str, code: str, modules: str) -> None:
    program = _UNUSED.replace("PLUGINS", plugins).replace("CODE", code)
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == modules


def test_without_the_plugin_the_error_names_it() -> None:
    with InterpreterStack(plugins=["console"]) as stack, stack.session() as session:
        error = session.eval_sync("(1).toLocaleString('de')").error
        missing = session.eval_sync("Temporal.Now.instant()").error
    assert error is not None
    assert "add the plugin intl to the stack" in error.message
    assert missing is not None
    assert "plugin intl" in missing.message


# -- limits and clock ------------------------------------------------------------------------------


async def test_the_smallest_memory_limit_is_a_clear_error_or_enough() -> None:
    limits = Limits(memory_bytes=4 * 2**20)
    async with InterpreterStack(plugins=["intl"], limits=limits).session() as session:
        error = (await session.eval("(1.5).toLocaleString('de')")).error
    assert error is None or (error.name == "OutOfMemory" and "4 MiB" in error.message)
    more = Limits(memory_bytes=6 * 2**20)
    async with InterpreterStack(plugins=["intl"], limits=more).session() as session:
        assert (await session.eval("(1.5).toLocaleString('de')")).text == "1,5"


async def test_the_formatter_runs_on_the_time_of_the_cell() -> None:
    endless = (
        "while (true) new Intl.Segmenter('en', {granularity: 'word'}).segment('a b '.repeat(5e4))"
    )
    limits = Limits(cpu_seconds=0.5)
    async with InterpreterStack(plugins=["intl"], limits=limits).session() as session:
        await session.eval("const kept = 1")
        outcome = await session.eval(endless)
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert outcome.usage.cpu_seconds < 3
        assert (await session.eval("kept + (1.5).toLocaleString('de')")).text == "11,5"


async def test_code_that_replaces_built_ins_harms_itself_only(stack: InterpreterStack) -> None:
    async with stack.session() as hostile, stack.session() as other:
        await hostile.eval(
            "JSON.parse = () => ({value: 'forged'}); WeakMap.prototype.get = () => 5; "
            "Array.prototype.toJSON = () => 7"
        )
        await hostile.eval("try { (1.5).toLocaleString('de') } catch {}")
        assert (await other.eval("(1.5).toLocaleString('de')")).text == "1,5"
        assert (await hostile.eval("1 + 1")).text == "2"


@pytest.mark.parametrize("engine", ["quickjs", "process:quickjs"])
async def test_dates_without_an_argument_are_those_of_the_guest_clock(engine: str) -> None:
    code = (
        "const format = new Intl.DateTimeFormat('en', {dateStyle: 'short', timeStyle: 'medium'});"
        "const at = Date.now();"
        "[Math.abs(Temporal.Now.instant().epochMilliseconds - at) < 1000, "
        "[format.format(at), format.format(at + 1000)].includes(format.format())]"
    )
    async with InterpreterStack(engine, plugins=["intl"]).session() as session:
        outcome = await session.eval(code)
    assert (outcome.text, outcome.error) == ("[true, true]", None)
