"""Samples of a guest language for the kit, including hostile code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits

__all__ = [
    "ANY_ERROR",
    "HOSTILE_LIMITS",
    "KINDS",
    "VALUE",
    "Attack",
    "GuestSamples",
    "group",
    "repeated",
]

#: In `Attack.ends`: the cell may end with a value.
VALUE: Final = ""
#: In `Attack.ends`: any error will do.
ANY_ERROR: Final = "*"

#: Limits of hostile cells, unless they say otherwise: time enough for a busy machine.
HOSTILE_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20, memory_bytes=16 * 2**20)

#: Characters of a source that repeats a text, and the limits for it: memory is not the point.
_REPEATED_CHARS: Final = 300_000
_REPEATED_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=20)

#: Kinds of values that the codec knows beside plain JSON, and text with lone surrogates.
KINDS: Final = frozenset(
    {
        "undefined",
        "number",
        "bigint",
        "date",
        "bytes",
        "map",
        "set",
        "error",
        "object",
        "surrogate",
        "standin",
    }
)


@attrs.frozen
class Attack:
    """One hostile cell, its permitted ends, and the conditions that must hold afterwards.

    The cell runs in a session that `GuestSamples.prepare` has set up, with the awaited bridge
    `host.echo`, which returns its input, and fails for the text `fail`.

    Attributes:
        source: The cell.
        ends: Names of the errors it may end with, `ANY_ERROR` for all; `VALUE` lets it succeed.
        shows: The text that its value must have, if any. A lone surrogate in it shows as `\\ud800`.
        message: The message that its error must have, if any.
        console: The expected output before its end, if any.
        then: Cells that follow, with the texts they must show.
        before: A cell that comes first and must succeed.
        limits: Limits of the session.
        language: The cell's language, if it is not the engine's own. An engine that does not run
            it is not attacked.
        needs: A capability without which the attack is not tried.
        noticed: Whether notices may stand beside its end, such as one of failed calls.
        healthy: Whether `GuestSamples.health` must hold afterwards; otherwise, only `then` must.
    """

    source: str
    ends: tuple[str, ...] = (VALUE,)
    shows: str | None = attrs.field(default=None, kw_only=True)
    message: str | None = attrs.field(default=None, kw_only=True)
    console: str | None = attrs.field(default=None, kw_only=True)
    then: tuple[tuple[str, str], ...] = attrs.field(default=(), kw_only=True)
    before: str | None = attrs.field(default=None, kw_only=True)
    limits: Limits = attrs.field(default=HOSTILE_LIMITS, kw_only=True)
    language: str | None = attrs.field(default=None, kw_only=True)
    needs: Capability | None = attrs.field(default=None, kw_only=True)
    noticed: bool = attrs.field(default=False, kw_only=True)
    healthy: bool = attrs.field(default=True, kw_only=True)


def group(name: str, attacks: Mapping[str, Attack]) -> dict[str, Attack]:
    """Attacks under `name/…`, as the kit's test ids show them."""
    return {f"{name}/{key}": attack for key, attack in attacks.items()}


def repeated(
    shapes: Mapping[str, str], before: str, needs: Capability | None, language: str | None = None
) -> dict[str, Attack]:
    """Attacks by sources of `_REPEATED_CHARS` characters.

    Args:
        shapes: The text that each source repeats, by name.
        before: The beginning of each source.
        needs: See `Attack`; also for `language`.
    """
    return {
        name: Attack(
            before + shape * (_REPEATED_CHARS // len(shape)),
            (VALUE, ANY_ERROR),
            limits=_REPEATED_LIMITS,
            language=language,
            needs=needs,
        )
        for name, shape in shapes.items()
    }


@attrs.frozen(kw_only=True)
class GuestSamples:
    """Samples in one guest language.

    Cells are offered the bridges `kit.echo`, `kit.take` and `kit.give`, which are awaited, and
    `kit.note`, which is not. All take one field, `value`, except `kit.give`, which takes none.
    "Shows" means that the value of the last expression has this text.

    Attributes:
        language: The guest language, as in `Engine.language`.
        store: A declaration whose value `recall` needs.
        recall: An expression over the variable of `store`; shows `42`.
        redeclare: Declares the same name anew, so that `recall` shows `2`.
        error: Raises an error named `error_name` with the message `broken by the cell`.
        error_name: See `error`.
        syntax_error: Text that is not a program.
        print: Prints `heard 7`, once.
        print_much: Prints 20,000 characters or more in several lines, and shows `printed`.
        long_text: An expression for a text of 20,000 characters or more, all `x`.
        request: Awaits `kit.echo` with 42; shows the answer.
        exchange: Passes `exchanged` to `kit.echo`, and the answer of that to `kit.echo` again.
        exchanged: The input of `exchange`, as the host sees it.
        relay: Awaits `kit.give`, and passes the answer to `kit.take`.
        show: Awaits `kit.give`, and awaits `display` with the answer, as its only argument.
        parallel: Calls `kit.echo` with 0 to 99 at once, awaits all and shows their sum.
        sequence: Calls `kit.echo` six times, one after another, with any value. At the first
            failure, it shows the number of calls that succeeded and the error's name: `3
            ToolError`.
        send_much: Awaits `kit.echo` with a text of 20,000 characters or more.
        notifications: Calls `kit.note` with 0, 1 and 2.
        unawaited: Calls `kit.echo` without awaiting the answer; shows `left`.
        unawaited_first: Calls `kit.echo` without awaiting the answer, waits for `kit.give`, and
            shows `left`; for languages whose calls begin before they are awaited.
        timers: Sets two timers of a minute, and shows `left`; for languages with timers.
        rejected: Begins something of its own that fails with the message `lost`, while nothing
            awaits it, and shows `left`; for languages with promises.
        handled: The same, of which it handles the failure, and also that of `kit.echo`, before
            it shows `left`.
        after_end: Declares `late` as an empty text and starts, without awaiting it, something
            that awaits `kit.echo` with 1, calls it again with 2, and stores the message of the
            error it gets in `late`.
        after_end_recall: Shows `late`.
        repeat: Awaits `kit.echo` while timers run that set themselves again and print nothing;
            `None` in a language without timers.
        deadlock: Awaits a promise that is never settled, without a request.
        loop: Computes forever.
        chance: Shows a random number.
        clock: Shows the time, to the millisecond or finer.
        wait: Reads the time until a second has passed, passes the number of readings to `kit.echo`,
            and reads it once more; shows `later` if that is later. For `DETERMINISM`.
        kinds: The kinds of values that survive the way through this guest; see `KINDS`.
        sends: By name: a cell that passes a value to `kit.echo`, and that value as the host
            sees it.
        hoard: Takes more and more memory. For `Capability.MEMORY_LIMIT`.
        hold: Takes about 24 MiB, keeps them in a global, and shows `held`.
        store_unportable: Declares something that has no portable form. For `VALUES`.
        recall_unportable: Uses the value of `store_unportable`.
        store_additions: Adds to what the language has by itself, or deletes, and under which names
            a loss is named; empty where a guest can add nothing. For `VALUES`.
        store_changing: Cells that declare `odd` with a value that cannot come back as it is, each
            with the type that the reason for the loss must name.
        store_portable: Cells that declare `even` with a value that comes back, each with an
            expression over `even` and the text that the expression shows.
        store_shared: Cells that declare variables which share what code can change, each with a
            cell that changes it through one of them, and the text that another shows then.
            For `VALUES`.
        store_unsteady: Cells that leave variables which run code or change when they are read.
            For `VALUES`.
        load_module: Imports the module `kit/answer` and shows its export `answer`, which is 42.
            For `MODULES`.
        miss_module: Imports `kit/absent`, and does not catch the error. For `MODULES`.
        hostile_modules: By name: a source of `kit/answer` that throws or exports a value of which
            reading never ends. For `MODULES`.
        catch_module: Imports `kit/answer`, catches what it throws, without reading it, and shows
            `caught`; shows `imported` if nothing was thrown. For `MODULES`.
        modules: Sources of `kit/answer` by file name; the first one is its entry, and imports
            the others.
        dialect: Name of the typed variant of the language. For `Area.DIALECTS`.
        typed: A cell in the dialect that is not valid in the language; shows `42`. For
            `Area.DIALECTS`.
        reach: Attempts to read the host's environment variable `{name}` or the file `{path}`. A
            successful attempt shows the content.
        exits: Attempts to end the process that runs the guest.
        pollute: Changes a value that all code of this language shares, such as a built-in.
        polluted: Shows `clean` in an unpolluted realm.
        squats: Cells that take the name `tools` before the host offers `tools.echo`.
        prepare: Sets a session up for attacks.
        health: Cells that show that a session is unharmed, with their texts.
        attacks: By name, as in `endless/getter`.
    """

    language: str
    store: str
    recall: str
    redeclare: str
    error: str
    error_name: str
    syntax_error: str
    print: str
    print_much: str
    long_text: str
    request: str
    exchange: str
    exchanged: Any = attrs.field(
        factory=lambda: {"n": 1, "list": [1.5, None, True, "é"], "deep": {"$": [{}]}}
    )
    relay: str
    show: str
    parallel: str
    sequence: str
    send_much: str
    notifications: str
    unawaited: str
    after_end: str
    after_end_recall: str
    deadlock: str
    loop: str
    chance: str
    clock: str
    unawaited_first: str | None = None
    timers: str | None = None
    rejected: str | None = None
    handled: str | None = None
    wait: str | None = None
    kinds: frozenset[str] = KINDS
    sends: Mapping[str, tuple[str, Any]] = attrs.field(factory=dict)
    hoard: str | None = None
    hold: str | None = None
    repeat: str | None = None
    store_unportable: str | None = None
    recall_unportable: str | None = None
    store_additions: tuple[str, tuple[str, ...]] = ("", ())
    store_changing: tuple[tuple[str, str], ...] = ()
    store_portable: tuple[tuple[str, str, str], ...] = ()
    store_shared: tuple[tuple[str, str, str], ...] = ()
    store_unsteady: tuple[str, ...] = ()
    load_module: str | None = None
    miss_module: str | None = None
    hostile_modules: Mapping[str, str] = attrs.field(factory=dict)
    catch_module: str | None = None
    modules: Mapping[str, str] = attrs.field(factory=dict)
    dialect: str | None = None
    typed: str | None = None
    reach: tuple[str, ...] = ()
    exits: tuple[str, ...] = ()
    pollute: str | None = None
    polluted: str | None = None
    squats: tuple[str, ...] = ()
    prepare: str | None = None
    health: tuple[tuple[str, str], ...] = ()
    attacks: Mapping[str, Attack] = attrs.field(factory=dict)
