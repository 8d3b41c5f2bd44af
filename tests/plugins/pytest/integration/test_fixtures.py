"""The pytest plugin, in runs of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import pytest
from interpstack import bridge

@bridge("weather.today")
def today(city: str) -> str:
    return city + " is sunny"

pytestmark = pytest.mark.interpstack(bridges=[today])

def test_session(interpstack_session):
    source = {source!r}
    assert interpstack_session.eval_sync(source).text == "Oslo is sunny"

@pytest.mark.interpstack(unawaited="cancel")
def test_options_add_up(interpstack_stack, interpstack_engine):
    assert interpstack_stack.engine is interpstack_engine
    assert interpstack_engine.name == {name!r}
    assert interpstack_stack.unawaited == "cancel"
    offer = interpstack_stack.session().offer
    assert "weather.today" in interpstack_stack.bridge_set(offer).bridges
"""


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "source", "options"),
    [
        ("quickjs", "await weather.today({city: 'Oslo'})", []),
        ("fake", "await weather.today(city='Oslo')", ["--interpstack-engine=fake"]),
    ],
)
def test_fixtures(tmp_path: Path, name: str, source: str, options: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(_TESTS.format(source=source, name=name))
    ran = _run(tmp_path, *options)
    assert "2 passed" in ran.stdout, ran.stdout


def test_unknown_engines_list_the_known(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_TESTS.format(source="1", name="x"))
    ran = _run(tmp_path, "--interpstack-engine=unheard-of")
    assert "unknown engine 'unheard-of'; known: " in ran.stdout
    assert "quickjs" in ran.stdout.partition("known: ")[2].partition("\n")[0]


def test_other_runs_pay_nothing(tmp_path: Path) -> None:
    """A run that uses no fixture of the plugin does not import interpstack."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n"
        "def test_it():\n"
        "    assert 'interpstack_pytest' in sys.modules\n"
        "    assert 'interpstack' not in sys.modules\n"
    )
    ran = _run(tmp_path)
    assert ran.returncode == 0, ran.stdout
