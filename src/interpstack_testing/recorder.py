"""A pytest plugin that writes the result of each test of the kit, one JSON object a line.

Lines are written as tests end, so that a process that dies leaves all but its last one.
"""

from __future__ import annotations

import faulthandler
import json
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from interpstack.contracts.engine import Engine
    from interpstack_testing.conformance.areas import Area

# Before anything of the kit is imported, so that its failures show values.
pytest.register_assert_rewrite("interpstack_testing.conformance")

#: Seconds after which a process that hangs in one test is ended, even in native code.
_PATIENCE_SECONDS = 120

__all__: list[str] = []

_MESSAGE_CHARS = 500
_path = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance-record", metavar="FILE", help="where to write the results")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_path] = Path(config.getoption("--conformance-record"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        _write(item, _result(item, report))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _write(item, {"begun": item.name})
    faulthandler.dump_traceback_later(_PATIENCE_SECONDS, exit=True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    faulthandler.cancel_dump_traceback_later()


def _result(item: pytest.Item, report: pytest.TestReport) -> dict[str, Any]:
    area: Area | None = getattr(getattr(item, "function", None), "area", None)
    engine: Engine | None = getattr(getattr(item, "cls", None), "engine", None)
    return {
        "test": item.name,
        "area": area.value if area else "",
        "outcome": "gap" if hasattr(report, "wasxfail") and report.skipped else report.outcome,
        "text": _text(report),
        "figures": [str(value) for key, value in report.user_properties if key == "figure"],
        "engine": engine and {"language": engine.language, "isolation": engine.isolation.value},
    }


def _text(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail).removeprefix("reason: ").removeprefix("[NOTRUN] ")
    if report.passed:
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message)[:_MESSAGE_CHARS]
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text)[-_MESSAGE_CHARS:]


def _write(item: pytest.Item, data: dict[str, Any]) -> None:
    with item.config.stash[_path].open("a", encoding="utf-8") as file:
        file.write(json.dumps(data) + "\n")
