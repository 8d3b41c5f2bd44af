"""`interpstack doctor`: checks of this machine, with a fix for each problem."""

from __future__ import annotations

import json
import sys

import attrs
import click

from interpstack_cli.installed.checks import Check, all_checks
from interpstack_cli.installed.info import print_table
from interpstack_cli.printing import is_terminal, write

__all__ = ["command"]

_COLOURS = {"ok": "green", "absent": "bright_black", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Check what works on this machine.

    Each problem is shown with its fix. Exit status 1 means that a check failed.
    """
    checks: list[Check] = []
    for check in all_checks():
        checks.append(check)
        if not as_json and is_terminal(sys.stderr):
            write(f"{check.verdict:<6}  {check.name}", err=True, colour=_COLOURS[check.verdict])
    if as_json:
        write(json.dumps([attrs.asdict(check) for check in checks], indent=2))
    else:
        _show(checks)
    if any(check.verdict == "fail" for check in checks):
        raise click.exceptions.Exit(1)


def _show(checks: list[Check]) -> None:
    rows = [
        [check.verdict, check.name, check.found + (f"\nFix: {check.fix}" if check.fix else "")]
        for check in checks
    ]
    print_table("Checks", ["verdict", "check", "found"], rows)
    counts = [f"{sum(c.verdict == v for c in checks)} {v}" for v in _COLOURS]
    write(", ".join(counts))
