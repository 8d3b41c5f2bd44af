"""The process that checks types: started for the first cell, one for all sessions of the host."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Final

from interpstack.contracts.errors import ConfigurationError
from interpstack_javascript.node_runtime import NodeRuntime, find_node

__all__ = ["CHECK_SECONDS", "CheckerService", "CheckerSilent", "checker", "checker_node"]

#: Seconds for one check, and how long the process may take to say that it is late.
CHECK_SECONDS: Final = 2.0
_GRACE_SECONDS: Final = 1.0
#: Seconds that a cell waits for the checks of other sessions.
_TURN_SECONDS: Final = 2.0
_START_SECONDS: Final = 30.0
#: The process ends when no check is asked for so long.
_IDLE_SECONDS: Final = 600.0
#: Seconds without a check after a start that failed.
_REST_SECONDS: Final = 60.0
#: Megabytes of the heap in which cells are checked.
_MEGABYTES: Final = 512
#: Bytes of an answer.
_ANSWER_BYTES: Final = 1_000_000
_HERE: Final = Path(__file__).parent


class CheckerSilent(Exception):
    """Raised where a cell could not be checked; the text says why."""


class _CheckerEnded(Exception):
    """Raised when the process has ended."""


def checker_node() -> NodeRuntime:
    """The Node that checks.

    Raises:
        EngineUnavailable: There is none that is new enough.
    """
    return find_node(user="check='types'", extra="check")


class CheckerService:
    """Asks the process, and starts it again when it has ended. Methods may be called from threads.

    Args:
        check_seconds: Seconds for one check.
        idle_seconds: The process ends when no check is asked for so long.
    """

    def __init__(
        self, *, check_seconds: float = CHECK_SECONDS, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._seconds = check_seconds
        self._idle = idle_seconds
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._rests_until = 0.0

    @property
    def pid(self) -> int | None:
        """The number of the process; `None` if it does not run."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def ask(self, request: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            CheckerSilent: There is none within the time; the next request starts the process anew.
        """
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        if not self._turn.acquire(timeout=_TURN_SECONDS):
            raise CheckerSilent("the cells of other sessions took all of the time")
        try:
            return self._asked(line)
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _asked(self, line: bytes) -> dict[str, Any]:
        for is_new in (self.pid is None, True):
            if is_new:
                self._start()
            try:
                answer = self._exchange(line, self._seconds + _GRACE_SECONDS)
                break
            except _CheckerEnded:  # it had nothing to do for a while
                self._end()
                if is_new:
                    raise CheckerSilent("the checker ended") from None
        if "broken" in answer or "failed" in answer:
            self._end()
            is_late = answer.get("broken") == "late"
            took = f"it took more than {self._seconds:g} seconds"
            raise CheckerSilent(took if is_late else "the checker gave up")
        return answer

    def _start(self) -> None:
        if time.monotonic() < self._rests_until:
            raise CheckerSilent("the checker does not start")
        self._end()
        try:
            self._process = self._started()
            self._exchange(b"", _START_SECONDS)
        except (OSError, ConfigurationError, CheckerSilent, _CheckerEnded) as error:
            self._end()
            self._rests_until = time.monotonic() + _REST_SECONDS
            raise CheckerSilent("the checker does not start") from error

    def _started(self) -> subprocess.Popen[bytes]:
        limits = (self._seconds, self._idle, _MEGABYTES)
        return subprocess.Popen(  # noqa: S603 - the Node that was found
            [
                checker_node().path,
                "--permission",
                f"--allow-fs-read={_HERE}",
                "--allow-worker",
                str(_HERE / "checker" / "main.mjs"),
                *map(str, limits),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
            cwd=_HERE,
            start_new_session=True,
        )

    def _exchange(self, line: bytes, seconds: float) -> dict[str, Any]:
        """Write a line, and read the next one, or end the process when that takes too long."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise _CheckerEnded
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            said = process.stdout.readline(_ANSWER_BYTES)
        except OSError:
            raise _CheckerEnded from None
        finally:
            timer.cancel()
        if not said.endswith(b"\n"):
            if said or process.poll() is None or process.returncode != 0:
                self._end()
                raise CheckerSilent("the checker gave up")
            raise _CheckerEnded
        answer = json.loads(said)
        if not isinstance(answer, dict):
            raise CheckerSilent("the checker gave up")
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not written
                    pipe.close()
        process.wait()


_services: dict[int, CheckerService] = {}


def checker() -> CheckerService:
    """The service of this process; one that was forked has its own."""
    pid = os.getpid()
    if pid not in _services:
        service = _services.setdefault(pid, CheckerService())
        atexit.register(_close, pid, service)
    return _services[pid]


def _close(pid: int, service: CheckerService) -> None:
    if os.getpid() == pid:
        service.close()
