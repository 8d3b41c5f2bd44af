"""The history of the REPL that earlier code stored; each file stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interpstack_cli.repl.editor import history_file, open_history

HISTORIES = Path(__file__).parent / "history"


@pytest.mark.parametrize("version", sorted(path.name for path in HISTORIES.iterdir()))
def test_a_stored_history_is_read(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    history_file().parent.mkdir(parents=True)
    shutil.copy(HISTORIES / version, history_file())
    history, note = open_history()
    assert note is None
    newest_first = list(history.load_history_strings())
    assert newest_first == [
        "'é' + `+x`",
        "function twice(n) {\n  return 2 * n\n}",
        "const total = 41",
    ]
