"""Runs the conformance kit on an installed engine, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, EngineFailure

__all__ = ["AreaReport", "EngineReport", "check_kit", "report"]

_SUITE: Final = """
from interpstack_testing.conformance.registry import conformance_of

TestEngine = conformance_of({name!r})
"""
_VERDICTS: Final = {"failed": "fails", "gap": "passes with gaps", "passed": "passes"}


@attrs.frozen
class AreaReport:
    """Test results of one area.

    Attributes:
        area: As in `interpstack_testing.Area`.
        required: Whether every engine must pass it.
        verdict: `passes`, `passes with gaps`, `fails`, `not declared`, or `not tested`.
        passed: How many tests passed.
        gaps: Expected failures, with their reasons, by test.
        failed: Failure messages by test.
        figures: The measurements.
    """

    area: str
    required: bool
    verdict: str
    passed: int
    gaps: dict[str, str]
    failed: dict[str, str]
    figures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every failure and gap is explained."""
        return self.verdict in ("passes", "passes with gaps", "not declared")


@attrs.frozen
class EngineReport:
    """One engine, area by area.

    Attributes:
        engine: The name of the engine.
        language: The guest language.
        isolation: The isolation class of the engine.
        seconds: How long the tests took.
        broken: Why the tests did not come to an end; empty if they did.
        areas: All areas.
    """

    engine: str
    language: str
    isolation: str
    seconds: float
    broken: str
    areas: tuple[AreaReport, ...]

    @property
    def ok(self) -> bool:
        """Whether every failure and gap is explained."""
        return not self.broken and all(area.ok for area in self.areas)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**attrs.asdict(self), "ok": self.ok}


def check_kit() -> None:
    """Make sure that the kit can run.

    Raises:
        ConfigurationError: A package is missing.
    """
    missing = [name for name in ("hypothesis", "pytest") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the kit needs {', '.join(missing)}; install the extra with: "
            "pip install 'interpstack[testing]'"
        )


def report(name: str) -> EngineReport:
    """Run the kit on one engine, named as for `InterpreterStack`, or on `fake`.

    The report of an engine that cannot run here has no areas, and says what is missing.

    Raises:
        ConfigurationError: The engine does not exist, or its language has no samples.
    """
    from interpstack_testing.conformance.registry import conformance_of

    kit = conformance_of(name)
    try:
        kit().make_engine().close()
    except (ConfigurationError, EngineFailure) as error:
        return EngineReport(name, "", "", 0.0, broken=f"{name} was not tested: {error}", areas=())
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="interpstack-") as folder:
        ended = _run(Path(folder), name)
        record = Path(folder, "record.jsonl")
        lines = record.read_text("utf-8").splitlines() if record.exists() else []
    results = [json.loads(line) for line in lines]
    broken = _broken(results, ended)
    engine: dict[str, str] = next((r["engine"] for r in results if r.get("engine")), {})
    return EngineReport(
        engine=name,
        language=engine.get("language", ""),
        isolation=engine.get("isolation", ""),
        seconds=round(time.monotonic() - begun, 1),
        broken=broken,
        areas=tuple(_areas([r for r in results if "area" in r], complete=not broken)),
    )


def _run(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    suite = folder / "test_engine.py"
    suite.write_text(_SUITE.format(name=name), "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    options = ["-p", "no:cacheprovider", "-p", "interpstack_testing.recorder"]
    options += [f"--conformance-record={folder / 'record.jsonl'}", "-q", "--noconftest"]
    command = [sys.executable, "-m", "pytest", *options, f"--rootdir={folder}"]
    # Only the named plugins: plugins of the user may change the behaviour of tests.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.run(  # noqa: S603 - this interpreter, on a file written here
        [*command, "-c", str(folder / "pytest.ini"), str(suite)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _broken(results: Sequence[dict[str, Any]], ended: subprocess.CompletedProcess[str]) -> str:
    """The reason why the test run did not finish, if it did not."""
    tested = [r["test"] for r in results if "test" in r]
    begun = [r["begun"] for r in results if "begun" in r]
    last = " ".join((ended.stderr or ended.stdout).strip().splitlines()[-1:])
    if begun[-1:] != tested[-1:]:
        return f"the process died in {begun[-1]} with status {ended.returncode}: {last}"
    return "" if ended.returncode in (0, 1) and tested else f"the tests cannot run: {last}"


def _areas(results: Sequence[dict[str, Any]], complete: bool) -> Iterator[AreaReport]:
    from interpstack_testing import Area

    for area in Area:
        own = [result for result in results if result["area"] == area.value]
        named = {o: {r["test"]: r["text"] for r in own if r["outcome"] == o} for o in _VERDICTS}
        idle = "not tested" if area.required or not complete else "not declared"
        yield AreaReport(
            area=area.value,
            required=area.required,
            verdict=next((v for outcome, v in _VERDICTS.items() if named[outcome]), idle),
            passed=len(named["passed"]),
            gaps=named["gap"],
            failed=named["failed"],
            figures=tuple(figure for r in own for figure in r.get("figures", ())),
        )
