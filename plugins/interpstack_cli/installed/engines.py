"""`interpstack engines report`: abilities of an engine, as its tests show them."""

from __future__ import annotations

import json
import sys

import click

from interpstack_cli.installed.conformance import AreaReport, EngineReport, check_kit, report
from interpstack_cli.installed.info import print_table
from interpstack_cli.installed.survey import survey
from interpstack_cli.printing import is_terminal, write

__all__ = ["command"]


@click.group("engines")
def command() -> None:
    """Test installed engines."""


@command.command("report")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report_command(names: tuple[str, ...], as_json: bool) -> None:
    """Run the conformance kit on engines.

    Without NAME, it runs on every installed engine. Exit status 1 means that a test failed without
    a declared gap, or that an engine in NAME cannot run here.
    """
    check_kit()
    reports = []
    for name in names or _installed():
        if is_terminal(sys.stderr):
            write(f"testing {name} …", err=True)
        reports.append(report(name))
        if not as_json:
            _show(reports[-1])
    if as_json:
        write(json.dumps([done.to_dict() for done in reports], indent=2))
    if not all(done.ok or not (names or done.areas) for done in reports):
        raise click.exceptions.Exit(1)


def _installed() -> list[str]:
    """Names of the reference engine, of registered engines, and of engines with registered tests.

    An engine without a language runs other engines, and is tested under their names. Tests of
    missing packages, such as those of an extra, are skipped.
    """
    from interpstack_testing import FakeEngine
    from interpstack_testing.conformance.registry import registered

    found = survey()
    engines = {entry.cls.name: entry.cls for entry in found.engines}
    absent = {plugin.name for plugin in found.failed}
    names = {name for name, cls in engines.items() if cls.language}
    for name in registered():
        around, colon, inner = name.partition(":")
        if {around, inner} <= engines.keys() if colon else name not in absent:
            names.add(name)
    return [FakeEngine.name, *sorted(names - {FakeEngine.name})]


def _show(done: EngineReport) -> None:
    if not done.areas:
        write(done.broken, err=True, colour="red")
        return
    rows = [[area.area, area.verdict, _figures(area)] for area in done.areas]
    title = f"{done.engine}: {done.language}, {done.isolation}, in {done.seconds:.0f} s"
    print_table(title, ["capability", "verdict", "figures"], rows)
    if done.broken:
        write(done.broken, err=True, colour="red")
    for heading, kind in (("Gaps", "gaps"), ("Failures", "failed")):
        found = [
            [area.area, test, text]
            for area in done.areas
            for test, text in getattr(area, kind).items()
        ]
        if found:
            print_table(heading, ["capability", "test", "reason"], found)


def _figures(area: AreaReport) -> str:
    tests = [f"{area.passed} passed"] if area.passed else []
    tests += [f"{len(area.gaps)} gaps"] if area.gaps else []
    tests += [f"{len(area.failed)} failed"] if area.failed else []
    return "; ".join([", ".join(tests), *area.figures] if tests else area.figures)
