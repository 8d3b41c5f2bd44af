"""`interpstack replay`: runs the recorded evals of a thread again, calling nothing."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import sys
from collections.abc import Sequence

import click
from rich.console import Console

from interpstack import ConfigurationError, Limits
from interpstack_langchain.replay_evals import (
    RecordedEval,
    pick,
    recorded_evals,
    records_before,
)
from interpstack_langchain.replay_run import Replayer
from interpstack_langchain.replay_show import Shown
from interpstack_langchain.replay_source import ACCEPTED, Saver, open_checkpointer
from interpstack_langchain.replay_timeline import read_timeline

__all__ = ["command"]

_MIB = 2**20
_SECONDS = 5.0
#: What code calls under the names that the preset gives.
_NAMED = re.compile(r"\b(?:tools\.[A-Za-z_$][\w$]*|task(?=\())", re.ASCII)


def _above_zero(ctx: click.Context, option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"takes seconds above 0; got {value:g}", ctx, option)
    return value


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
    help="Only this one, from 1 in the thread's order; negative from the end. [default: all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--code", is_flag=True, help="Show the code, too.")
@click.option(
    "--engine",
    metavar="NAME",
    help="Engine to run the code in. [default: the one its state is of, else quickjs]",
)
@click.option(
    "--tool-name", default="eval", show_default=True, help="The interpreter's name in the agent."
)
@click.option(
    "--signing-key-env",
    metavar="VARIABLE",
    help="Environment variable that holds the agent's snapshot_signing_key; with it, variables "
    "that were not signed with that key are refused.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    default=_SECONDS,
    show_default=True,
    callback=_above_zero,
    help="Time that the code of one eval may compute.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=4),
    metavar="MIB",
    default=64,
    show_default=True,
    help="Memory for the code, in MiB.",
)
@click.option(
    "--chars",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="Characters shown of each input and answer; of inputs, 200 are recorded.",
)
def command(
    thread: str,
    url: str,
    number: int | None,
    as_json: bool,
    code: bool,
    engine: str | None,
    tool_name: str,
    signing_key_env: str | None,
    timeout: float,
    memory: int,
    chars: int,
) -> None:
    """Run the evals of THREAD again as they were recorded, and show their calls.

    No tool is called and nothing is written: what the code asks for is answered from the record.
    Exit status 1 means that a run differed from what is recorded.
    """
    limits = Limits(
        cpu_seconds=timeout, wall_seconds=None, memory_bytes=memory * _MIB, requests=None
    )
    replayer = Replayer(engine, limits, _signing_key(signing_key_env))
    console = Console(safe_box=True, highlight=False)
    shown = []
    with open_checkpointer(url) as saver, replayer:
        evals = recorded_evals(saver, thread, tool_name)
        for found in pick(evals, number):
            shown.append(_replayed(saver, replayer, found, evals, chars))
            if not as_json:
                shown[-1].print(console, code=code)
    if as_json:
        data = [one.data(code=code) for one in shown]
        json.dump(data, sys.stdout, indent=2)
        sys.stdout.write("\n")
    if any(one.replay.status == "diverged" for one in shown):
        raise click.exceptions.Exit(1)


def _replayed(
    saver: Saver,
    replayer: Replayer,
    found: RecordedEval,
    evals: Sequence[RecordedEval],
    chars: int,
) -> Shown:
    timeline = read_timeline(found.entries)
    before, after = records_before(saver, found)
    bridges = timeline.offered or _offered_near(found, evals)
    replay = asyncio.run(replayer.replay(found, timeline, before, after, bridges))
    return Shown(found=found, timeline=timeline, replay=replay, chars=chars)


def _offered_near(found: RecordedEval, evals: Sequence[RecordedEval]) -> Sequence[str]:
    """What code could call in the evals around one that has no record.

    Where there is nothing to go by, it is what the code names, if it may have waited for that.
    """
    others = [one.entries[0] for one in evals if one.namespace == found.namespace and one.entries]
    names = [str(name) for entry in others for name in entry.get("offered", ())]
    if not names and found.answer is None:
        names = _NAMED.findall(found.code)
    return list(dict.fromkeys(names))


def _signing_key(variable: str | None) -> bytes | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise ConfigurationError(
            f"--signing-key-env {variable}: there is no such environment variable, or it is "
            "empty; set it to the agent's snapshot_signing_key"
        )
    return key.encode()
