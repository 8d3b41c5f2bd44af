"""Which tests a run of the whole tree has; a run that names files or folders has all of theirs.

`INTERPSTACK_SUITE` says which:

* `sampled`, the default: everything, but of the slow families in `FAMILIES`, of what engines repeat
  (`ENGINES`), and of the examples that hypothesis finds only some.
* `versions`: what another version of Python may break, listed in `VERSIONS`.
* `whole`: everything.

Which cases are drawn, and which examples hypothesis tries, depends on a seed, which each run
prints. The seed comes from the files of the last commit: two machines that test one commit test the
same, and the next commit draws others. `INTERPSTACK_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

#: How the ids of a family begin, and of how many cases one is drawn. Each has many cases of one
#: kind that start processes, wait for limits or fill memory, or runs whole in an env of its own;
#: together they take most of the time.
FAMILIES: Final[Mapping[str, int]] = {
    "tests/conformance/test_monty.py::TestMonty::test_hostile_guest": 6,
    "tests/conformance/test_monty.py::": 2,
    "tests/conformance/test_node.py::TestNode::test_hostile_guest": 24,
    "tests/conformance/test_node.py::": 12,
    "tests/conformance/test_process.py::": 6,
    "tests/conformance/test_quickjs.py::TestQuickJS::test_hostile_guest": 16,
    "tests/conformance/test_quickjs.py::": 2,
    "tests/conformance/test_stores.py::": 3,
    "tests/conformance/test_v8.py::TestV8::test_hostile_guest": 20,
    "tests/conformance/test_v8.py::": 8,
    "tests/docs/": 30,  # whole in `docs`
    "tests/durable/test_budgets.py::": 4,
    "tests/durable/test_consent.py::": 4,
    "tests/durable/test_kills.py::test_killed_at_every_moment": 12,
    "tests/durable/test_kills.py::": 3,
    "tests/durable/test_programs.py::": 5,
    "tests/durable/test_retries.py::": 4,
    "tests/durable/test_two_processes.py::": 8,
    "tests/durable/workflows/": 10,
    "tests/integration/test_carried_values.py::": 3,
    "tests/integration/test_checkpointers.py::": 5,
    "tests/integration/test_faults.py::": 3,
    "tests/integration/test_first_use.py::": 5,
    "tests/integration/test_last_value.py::": 5,
    "tests/integration/test_lost_hosts.py::": 2,
    "tests/integration/test_parity_guest.py::": 16,
    "tests/integration/test_parity_state.py::": 5,
    "tests/kernel/integration/": 1,  # `core` has no engine, and nothing that is installed
    "tests/kernel/": 4,  # whole in `core`, on the same Python
    "tests/libs/javascript/integration/test_preparation.py::": 3,
    "tests/libs/testing/": 8,  # whole in `core`
    "tests/plugins/cli/installed/test_doctor.py::": 2,
    "tests/plugins/cli/installed/test_engines.py::": 5,
    "tests/plugins/cli/installed/test_info.py::": 6,
    "tests/plugins/cli/integration/test_streams.py::": 5,
    "tests/plugins/cli/running/": 3,
    "tests/plugins/cli/serving/": 5,
    "tests/plugins/durable/background/test_cells.py::": 2,
    "tests/plugins/handles/": 3,
    "tests/plugins/inspect/": 2,  # whole in `inspect`
    "tests/plugins/intl/": 3,
    "tests/plugins/js_repl/integration/test_attacks.py::": 8,
    "tests/plugins/js_repl/integration/": 4,
    "tests/plugins/js_repl/test_emitted.py::": 4,
    "tests/plugins/js_repl/test_guest_global.py::": 3,
    "tests/plugins/js_repl/": 3,
    "tests/plugins/langchain/background/test_background_evals.py::": 3,
    "tests/plugins/langchain/background/test_terminations.py::": 3,
    "tests/plugins/langchain/durability/test_spending.py::": 2,
    "tests/plugins/langchain/inspecting/": 2,  # whole in `inspect`
    "tests/plugins/langchain/integration/test_background_processes.py::": 4,
    "tests/plugins/langchain/integration/test_interference.py::": 5,
    "tests/plugins/langchain/integration/test_live_sessions.py::": 8,
    "tests/plugins/langchain/integration/test_pausing_processes.py::": 3,
    "tests/plugins/langchain/integration/": 3,
    "tests/plugins/langchain/replay/test_command.py::": 2,
    "tests/plugins/langchain/replay/": 3,
    "tests/plugins/langchain/rules/test_approvals.py::": 3,
    "tests/plugins/langchain/rules/": 2,
    "tests/plugins/langchain/servers/": 5,
    "tests/plugins/langchain/tools/test_tool_calls.py::": 8,
    "tests/plugins/langchain/tools/": 2,
    "tests/plugins/langchain/workflows/by_models/test_handlers.py::": 3,
    "tests/plugins/langchain/workflows/": 2,
    "tests/plugins/mcp/": 6,  # whole in `mcp`
    "tests/plugins/monty/integration/test_hostile.py::": 3,
    "tests/plugins/node/integration/test_attacks.py::": 8,
    "tests/plugins/node/integration/test_cell_tables.py::": 3,
    "tests/plugins/node/integration/test_confinement.py::": 3,
    "tests/plugins/node/integration/test_modules.py::": 3,
    "tests/plugins/node/integration/": 4,
    "tests/plugins/notebook/integration/": 2,
    "tests/plugins/otel/integration/": 5,
    "tests/plugins/otel/test_metrics.py::": 3,
    "tests/plugins/process/integration/test_deaths.py::": 8,
    "tests/plugins/process/integration/test_life.py::": 8,
    "tests/plugins/process/test_engine.py::": 3,
    "tests/plugins/pytest/integration/": 4,
    "tests/plugins/quickjs/heap/": 3,
    "tests/plugins/quickjs/integration/test_hostile.py::": 3,
    "tests/plugins/quickjs/integration/": 3,
    "tests/plugins/skills/integration/": 5,
    "tests/plugins/skills/test_loader.py::": 2,
    "tests/plugins/subagents/integration/test_pauses.py::": 3,
    "tests/plugins/subagents/integration/": 3,
    "tests/plugins/v8/integration/test_arrays.py::": 3,
    "tests/plugins/v8/integration/test_cancel.py::": 3,
    "tests/plugins/v8/integration/test_errors.py::test_no_guest_is_met_by_native_code": 8,
    "tests/plugins/v8/integration/test_errors.py::test_no_guest_is_met_where": 3,
    "tests/plugins/v8/integration/test_hostile.py::": 5,
    "tests/plugins/v8/integration/test_pieces.py::": 3,
    "tests/plugins/v8/integration/": 4,
    "tests/plugins/v8/isolates/": 2,
    "tests/plugins/workflows/commands/": 3,
    "tests/plugins/workflows/runs/": 2,
    "tests/plugins/workflows/runtime/": 3,
    "tests/repo/test_imports.py::": 3,
    "tests/repo/test_tree.py::": 3,
}

#: Engines on which tests are repeated, and of how many cases of a file one is drawn. Each case
#: starts a process or an isolate of its own; what such engines do by themselves is tested in their
#: folders and by the kit, where all cases stay.
ENGINES: Final[Mapping[str, int]] = {
    "node": 16,
    "process:monty": 6,
    "process:quickjs": 6,
    "v8": 3,
}
_OWN_FOLDERS: Final = (
    "tests/conformance/",
    "tests/plugins/node/",
    "tests/plugins/process/",
    "tests/plugins/v8/",
)
#: How many examples hypothesis finds for a property, unless its test says so itself.
_EXAMPLES: Final = {"sampled": 25, "versions": 15, "whole": 100}

#: How ids begin, of how many cases one is drawn, and what a version of Python may break there.
VERSIONS: Final[Mapping[str, tuple[int, str]]] = {
    "tests/conformance/": (40, "engines are compiled for each version"),
    "tests/integration/test_bytes.py": (1, "buffers"),
    "tests/integration/test_cancellation.py": (1, "asyncio's cancellation"),
    "tests/integration/test_first_use.py": (4, "imports, and what they block"),
    "tests/kernel/contracts/test_raised.py": (1, "exception groups"),
    "tests/kernel/": (4, "asyncio's cancellation, threads, attrs, pluggy, signatures"),
    "tests/libs/state/test_sqlite.py": (1, "the module sqlite3"),
    "tests/libs/testing/": (30, "the kit, and a plain engine under it"),
    "tests/libs/": (8, "compiled packages, the source of tests, Python's own parser"),
    "tests/plugins/accounts/": (1, "values that are pickled"),
    "tests/plugins/cli/repl/test_shell.py": (2, "signals, and asyncio's runner"),
    "tests/plugins/durable/": (6, "tasks and their context, values that are pickled"),
    "tests/plugins/js_repl/": (4, "the adapter, as another package uses it"),
    "tests/plugins/langchain/": (4, "the adapter's main paths, and its dependencies"),
    "tests/plugins/monty/preparation/test_cells.py": (1, "errors and values of Python's own"),
    "tests/plugins/persistence/": (4, "values that are pickled and compressed"),
    "tests/plugins/ptc/": (4, "annotations, and signatures made of them"),
    "tests/plugins/pytest/": (3, "fixtures"),
    "tests/plugins/quickjs/test_engine.py": (1, "compiled packages"),
    "tests/plugins/v8/test_realm.py": (3, "compiled packages, threads"),
    "tests/stored/": (1, "forms that another version has stored"),
}

#: Of how many files of a folder one is drawn, before its cases are: for another version of Python,
#: reading the tests of a folder takes longer than running a few of them.
FILES: Final[Mapping[str, int]] = {"tests/plugins/js_repl/": 4, "tests/plugins/langchain/": 4}

_SUITES: Final = ("sampled", "versions", "whole")
_SUITE, _SEED = "INTERPSTACK_SUITE", "INTERPSTACK_SEED"


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its seed
def pytest_configure(config: pytest.Config) -> None:
    """Settle suite and seed in the environment, where the workers of a run find them."""
    if not hasattr(config, "workerinput"):
        if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
            os.environ[_SUITE] = "whole"  # somebody chose
        os.environ.setdefault(_SUITE, "sampled")
        os.environ.setdefault(_SEED, str(seed_of_commit(config.rootpath)))
    suite = os.environ[_SUITE]
    if suite not in _SUITES:
        raise pytest.UsageError(f"{_SUITE} takes one of {', '.join(_SUITES)}; got {suite!r}")
    # How long an example takes says more of the machine than of the code; how many of the drawn
    # ones are large is chance.
    chance = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile(
        suite, deadline=None, max_examples=_EXAMPLES[suite], suppress_health_check=chance
    )
    settings.load_profile(suite)
    if suite != "whole" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ[_SEED]


def seed_of_commit(root: Path) -> int:
    """A number below a million for the files of the last commit; a random one outside of git."""
    asked = ["git", "-C", str(root), "rev-parse", "HEAD^{tree}"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return secrets.randbelow(10**6)
    return int(found.stdout, 16) % 10**6


def seed() -> int:
    """The seed of this run, for tests that draw by themselves."""
    return int(os.environ[_SEED])


def pytest_report_header() -> str:
    return _told()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it again at the end, which is what is left of a long log."""
    terminalreporter.write_line(_told())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file of which the suite has no test; every worker reads what is left."""
    if collection_path.is_dir():
        return None
    file = collection_path.relative_to(config.rootpath).as_posix()
    return None if may_hold(file, os.environ[_SUITE], os.environ[_SEED]) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    suite, seed = os.environ[_SUITE], os.environ[_SEED]
    if suite == "whole":
        return
    chosen = set(drawn([item.nodeid for item in items], suite, seed))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def drawn(ids: Sequence[str], suite: str, seed: str) -> list[str]:
    """The tests of a suite, in their order."""
    rates = FAMILIES if suite == "sampled" else {key: rate for key, (rate, _) in VERSIONS.items()}
    families: dict[str, list[str]] = {}
    chosen: set[str] = set()
    for each in ids:
        family = _family(each, rates)
        repeated = _repeated(each) if suite == "sampled" else None
        if repeated and (family is None or rates[family] < _rate_of(repeated)):
            family = repeated
        if family is not None:
            families.setdefault(family, []).append(each)
        elif suite == "sampled":
            chosen.add(each)
    for family, cases in families.items():
        rate = rates.get(family) or _rate_of(family)
        chosen.update(random.Random(f"{seed} {family}").sample(cases, -(-len(cases) // rate)))
    return [each for each in ids if each in chosen]


def may_hold(file: str, suite: str, seed: str) -> bool:
    """Tell whether a suite may have tests of a file."""
    if suite != "versions":
        return True
    tests = f"{file}::"
    if not any(tests.startswith(prefix) or prefix.startswith(tests) for prefix in VERSIONS):
        return False
    folder = _family(file, FILES)
    return folder is None or random.Random(f"{seed} {file}").randrange(FILES[folder]) == 0


def _family(case: str, rates: Mapping[str, int]) -> str | None:
    return next((prefix for prefix in rates if case.startswith(prefix)), None)


def _repeated(case: str) -> str | None:
    """The family of the cases of a file that repeat its tests on another engine."""
    file, _, test = case.partition("::")
    if file.startswith(_OWN_FOLDERS):
        return None
    words = test.partition("[")[2].rstrip("]").split("-")
    return next((f"{file} on {engine}" for engine in ENGINES if engine in words), None)


def _rate_of(repeated: str) -> int:
    """Of how many cases that repeat tests on an engine one is drawn."""
    return ENGINES[repeated.rpartition(" on ")[2]]


def _told() -> str:
    suite = os.environ[_SUITE]
    seed = "" if suite == "whole" else f", drawn with {_SEED}={os.environ[_SEED]}"
    return f"suite: {suite}{seed}"
