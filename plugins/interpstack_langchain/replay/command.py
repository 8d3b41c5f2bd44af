"""`interpstack replay`: runs the recorded evals of a thread again, calling nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from interpstack import ConfigurationError, Limits
from interpstack_cli.api import check_mebibytes, check_seconds, printable, standard_output
from interpstack_inspect.api import reading_options
from interpstack_langchain.replay.checkpointers import ACCEPTED, Saver, open_checkpointer
from interpstack_langchain.replay.page.page import check_page, write_page
from interpstack_langchain.replay.recorded_evals import (
    RecordedEval,
    pick,
    recorded_evals,
    records_before,
)
from interpstack_langchain.replay.recorded_surfaces import usual_tools
from interpstack_langchain.replay.replayer import Replay, Replayer
from interpstack_langchain.replay.serializers import Checked, reading, signing_key
from interpstack_langchain.replay.serializers import serializer as made_serializer
from interpstack_langchain.replay.timeline import offered_in, read_timeline
from interpstack_langchain.replay.views import EvalView

__all__ = ["command"]

_MIB = 2**20
_SECONDS = 5.0
#: Characters of each input and answer, in a terminal and in a page.
_CHARS: Final = 200
_PAGE_CHARS: Final = 10_000
#: Exit statuses of deviations from the record, the most serious first.
_EXIT: Final = {"diverged": 3, "failed": 1, "differs": 1}
#: What code calls under the names that the preset gives.
_NAMED = re.compile(r"\b(?:tools\.[A-Za-z_$][\w$]*|task(?=\())", re.ASCII)


@click.command()
@click.argument("thread")
@click.option(
    "--checkpointer", "url", metavar="URL", required=True, help=f"The database: {ACCEPTED}."
)
@click.option(
    "--eval",
    "number",
    type=int,
    metavar="N",
    help="Only this eval, counted from 1 in the order of the thread, or from -1 at its end. "
    "[default: all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a web page, a single file, instead.",
)
@click.option("--code", is_flag=True, help="Show the code, too.")
@click.option(
    "--engine",
    metavar="NAME",
    help="Engine to run the code in. [default: the engine of its stored state; else the usual one "
    "of the interpreter, which is quickjs for eval]",
)
@reading_options
@click.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    default=_SECONDS,
    show_default=True,
    callback=check_seconds,
    help="Time that the code of one eval may compute.",
)
@click.option(
    "--memory",
    type=int,
    callback=check_mebibytes,
    metavar="MIB",
    default=64,
    show_default=True,
    help="Memory for the code, in MiB, at least 4.",
)
@click.option(
    "--chars",
    type=click.IntRange(min=1),
    metavar="N",
    help="Characters shown of each input and answer; of inputs, 200 are recorded. [default: "
    f"{_CHARS}; {_PAGE_CHARS} in a page]",
)
def command(
    *,
    thread: str,
    url: str,
    number: int | None,
    as_json: bool,
    page: Path | None,
    code: bool,
    engine: str | None,
    tool_name: str | None,
    signing_key_env: str | None,
    aes_key_env: str | None,
    serializer: str | None,
    timeout: float,
    memory: int,
    chars: int | None,
) -> None:
    """Run the evals of THREAD again as they were recorded, and show their calls.

    No tool is called and nothing is written: requests of the code are answered from the record.

    Exit status: 0 when all went as recorded, as far as the record goes; 1 when a run failed for a
    reason that is not in the record, or ended with a different answer; 2 when an option is wrong or
    the record is damaged; 3 when a run made a call that differs from the record.
    """
    form = _ReplayForm(as_json=as_json, page=page, code=code, chars=chars)
    limits = Limits(
        cpu_seconds=timeout, wall_seconds=None, memory_bytes=memory * _MIB, requests=None
    )
    replayer = Replayer(engine, limits, signing_key(signing_key_env))
    serde = made_serializer(serializer, aes_key_env)
    option = "--serializer" if serializer else "--aes-key-env" if aes_key_env else ""
    console = Console(file=standard_output(), safe_box=True, highlight=False)
    shown = []
    with open_checkpointer(url, serde) as saver, asyncio.Runner() as runner, replayer:
        Checked.install(saver, option)
        with reading(f"thread {thread!r}"):
            evals = recorded_evals(saver, thread, [tool_name] if tool_name else usual_tools())
        for found in pick(evals, number):
            replay = partial(_replayed, saver, replayer, evals=evals, chars=form.chars)
            shown.append(runner.run(_with_earlier(replay, found, evals, alone=number is not None)))
            form.show(console, shown[-1])
    form.finish(thread, shown)
    if status := _exit_status([one.replay for one in shown]):
        raise click.exceptions.Exit(status)


class _ReplayForm:
    """The form in which replays are shown: text as they end, or JSON or a page at the end.

    Raises:
        ConfigurationError: JSON and a page are both asked for, or the page cannot be made.
    """

    def __init__(self, *, as_json: bool, page: Path | None, code: bool, chars: int | None) -> None:
        if page is not None:
            if as_json:
                raise ConfigurationError("--html and --json exclude each other; give one of them")
            check_page(page)
        self._as_json, self._page, self._code = as_json, page, code
        self.chars = chars or (_CHARS if page is None else _PAGE_CHARS)

    def show(self, console: Console, one: EvalView) -> None:
        """Show a replay that has just ended."""
        if not self._as_json and self._page is None:
            one.print(console, code=self._code)

    def finish(self, thread: str, shown: Sequence[EvalView]) -> None:
        """Show all replays together."""
        if self._as_json:
            click.echo(json.dumps([one.data(code=self._code) for one in shown], indent=2))
        if self._page is not None:
            write_page(self._page, thread, shown)
            count = "1 eval" if len(shown) == 1 else f"{len(shown)} evals"
            click.echo(printable(f"{self._page}: {count} of thread {thread}"))


def _exit_status(replays: Sequence[Replay]) -> int:
    """The exit status of the most serious deviation from the record; 0 if there is none."""
    statuses = {replay.status for replay in replays}
    if any(replay.differs for replay in replays):
        statuses.add("differs")
    return next((number for status, number in _EXIT.items() if status in statuses), 0)


async def _with_earlier(
    replay: Callable[[RecordedEval], Awaitable[EvalView]],
    found: RecordedEval,
    evals: Sequence[RecordedEval],
    *,
    alone: bool,
) -> EvalView:
    """Replay an eval; where that alone differs from the record, after the evals before it.

    The stored variables of some engines have no functions; the evals that defined these make them
    again.
    """
    one = await replay(found)
    if not alone or one.replay.as_recorded:
        return one
    for earlier in evals[: found.number - 1]:
        if (earlier.owner, earlier.tool_name) == (found.owner, found.tool_name):
            await replay(earlier)
    return await replay(found)


async def _replayed(
    saver: Saver,
    replayer: Replayer,
    found: RecordedEval,
    *,
    evals: Sequence[RecordedEval],
    chars: int,
) -> EvalView:
    with reading(f"eval {found.number}"):
        timeline = read_timeline(found.entries)
        before, after = records_before(saver, found)
        bridges = timeline.offered or _offered_near(found, evals)
        replay = await replayer.replay(found, timeline, before, after, bridges)
        return EvalView(found=found, timeline=timeline, replay=replay, chars=chars)


def _offered_near(
    found: RecordedEval, evals: Sequence[RecordedEval]
) -> Mapping[str, Mapping[str, bool]]:
    """The names that code could call in the evals around one without a record.

    Without such evals, the names are taken from the code, if it may have awaited them.
    """
    others = [one.entries[0] for one in evals if one.namespace == found.namespace and one.entries]
    names = {name: fields for entry in others for name, fields in offered_in(entry).items()}
    if not names and found.answer is None:
        names = {name: {} for name in _NAMED.findall(found.code.code)}
    return names
