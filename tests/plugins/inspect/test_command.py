"""The command: what it says, and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from graph_tasks import stored_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from strangers import HALF_A_HEADER, held, websocket_attempts

from interpstack_cli import main


def _run(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["inspect", *args])
    return done.exit_code, done.output


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    database = tmp_path / "checkpoints.db"
    with SqliteSaver.from_conn_string(str(database)) as saver:
        stored_checkpoint(saver)
    command = [sys.executable, "-m", "interpstack", "inspect", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            with httpx.Client() as client:
                assert client.get(found[0]).status_code == 200
                assert (
                    "The conversation that changed last"
                    in client.get(httpx.URL(found[0]).join("/")).text
                )
        finally:
            process.send_signal(signal.SIGINT)
        assert "http://127.0.0.1:" in process.stdout.readline()
        assert process.wait() == 130


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER])
def test_connections_without_a_cookie_shut_no_browser_out(tmp_path: Path, sent: bytes) -> None:
    with _inspector(tmp_path) as (process, link), httpx.Client(timeout=60) as client:
        assert client.get(link).status_code == 200
        with held(link.port or 0, sent):
            with httpx.Client(timeout=60, cookies=client.cookies) as other:
                pages = [other.get(link.join("/")).text for _ in range(5)]
            assert all("The conversation that changed last" in page for page in pages)
            stranger = httpx.get(link.join("/"), timeout=60)
            assert stranger.status_code == 401
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == "Interrupted.\n"


def test_attempts_to_open_a_websocket_are_refused_without_a_traceback(tmp_path: Path) -> None:
    with _inspector(tmp_path) as (process, link):
        assert websocket_attempts(link.port or 0, "/", "/conversation", "/%ff") == [401] * 3
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == "Interrupted.\n"


@contextmanager
def _inspector(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.URL]]:
    """The inspector of a conversation as a process, and its link."""
    database = folder / "checkpoints.db"
    with SqliteSaver.from_conn_string(str(database)) as saver:
        stored_checkpoint(saver)
    command = [sys.executable, "-m", "interpstack", "inspect", str(database)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield process, httpx.URL(found[0])
        finally:
            process.kill()


def test_a_directory_is_refused_at_once(tmp_path: Path) -> None:
    status, text = _run(str(tmp_path))
    assert status == 2
    assert "name the database file in it" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    status, text = _run(str(tmp_path / "pipe"))
    assert status == 2
    assert "not found" in text


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    status, text = _run(str(tmp_path / "gone.db"))
    assert status == 2
    assert "not found" in text
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "Missing argument 'DB|MODULE:ATTR'"),
        (
            ("x.db", "--port", "70000"),
            "takes a whole number from 0 to 65535, such as 65535; got 70000",
        ),
        (("x.db", "--prices", "{"), "takes JSON such as"),
        (("x.db", "--prices", '{"m": {"input": -1, "output": 1}}'), "0 or more"),
        (
            ("x.db", "--prices", '{"m": {"input": 1, "output": 1, "output": 9}}'),
            "names the field 'output' twice",
        ),
        (("x.db", "--prices", "@gone.json"), "cannot read 'gone.json'"),
        (("mysql://host/db",), "mysql:// is not a supported kind of database"),
        ((".", "--signing-key-env", "NO_SUCH_KEY"), "this environment variable is not set"),
        ((".", "--aes-key-env", "A", "--serializer", "b:c"), "exclude each other"),
    ],
)
def test_wrong_input(args: tuple[str, ...], text: str) -> None:
    status, output = _run(*args)
    assert status == 2
    assert text in " ".join(output.split())


def test_missing_packages_are_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "interpstack_inspect.serving.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, text = _run("x.db")
    assert status == 2
    assert "pip install 'interpstack[inspect]'" in text


def test_an_agent_that_cannot_be_loaded(tmp_path: Path) -> None:
    status, text = _run("no_such_module:agent")
    assert status == 2
    assert "there is no module 'no_such_module'" in " ".join(text.split())
