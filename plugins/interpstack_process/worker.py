"""The worker process: `python -m interpstack_process.worker COMMANDS CONTROL`.

Both arguments are numbers of inherited sockets. Over the first come commands, which are carried
out one after another. The second carries nothing but the number of a command to stop; that it is
closed means that the host is gone.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from interpstack_process.confine import confine
from interpstack_process.frames import Channel, Closed
from interpstack_workers import Service, load_engine
from interpstack_workers.memory import held_bytes, watch_memory

__all__ = ["INTERRUPT", "OUT_OF_MEMORY", "CommandStream", "main"]

#: A message on the control socket: the number of a command to interrupt, or to skip if it has not
#: begun.
INTERRUPT: Final = struct.Struct("<Q")
#: Exit status of a worker that ran out of memory.
OUT_OF_MEMORY: Final = 83
#: Stack of the thread that runs guest code, as in the host.
_STACK_BYTES: Final = 16 * 2**20
#: Frames from the host are trusted.
_NO_BOUND: Final = 2**63
#: Seconds that a command may take beyond the host's wait.
_ALARM_MARGIN: Final = 5.0


def main(connection: socket.socket, control: socket.socket) -> None:
    """Serve until the host closes the connection."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)  # the host may ignore them; that is inherited
    channel = Channel(connection, _NO_BOUND)
    config, _ = channel.receive()
    confine(_watched(config["limits"]) if config["counts_held"] else config["limits"])
    threading.stack_size(_STACK_BYTES)
    commands = CommandStream()
    threading.Thread(target=_serve, args=(channel, config, commands), name="guests").start()
    _listen(control, channel, commands)


def _watched(limits: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """Watch the memory that this process holds, if the system tells; the limits that are left."""
    most = limits["memory_bytes"]
    if most is None or held_bytes() is None:
        return limits
    end = partial(os._exit, OUT_OF_MEMORY)
    threading.Thread(target=watch_memory, args=(most, end), name="memory", daemon=True).start()
    return {**limits, "memory_bytes": None}


class CommandStream:
    """The commands of the host, which come one after another and may be stopped at any time."""

    def __init__(self) -> None:
        self._service: Service | None = None
        self._lock = threading.Lock()
        self._last = 0
        self._skipped: set[int] = set()

    def serve(self, service: Service) -> None:
        """Note who carries the commands out, once the engine is loaded."""
        self._service = service

    def begin(self, number: int) -> bool:
        """Whether a command is to be carried out, or was stopped before."""
        with self._lock:
            self._last = number
            if number not in self._skipped:
                return True
            self._skipped.remove(number)
            return False

    def stop(self, number: int) -> bool:
        """Stop a command; whether it is now skipped, and not interrupted, as it had not begun."""
        with self._lock:
            if number > self._last and number not in self._skipped:
                self._skipped.add(number)
                return True
        running = None if self._service is None else self._service.running
        if running is not None and running[0] == number:
            running[1].interrupt()
        return False


def _listen(control: socket.socket, channel: Channel, commands: CommandStream) -> None:
    """Stop the command that the host names, and end the process at once when the host ends."""
    try:
        while len(data := control.recv(INTERRUPT.size, socket.MSG_WAITALL)) == INTERRUPT.size:
            (number,) = INTERRUPT.unpack(data)
            if commands.stop(number):
                channel.send({"skipped": number})
    finally:  # also when nobody receives what is sent
        os._exit(0)


def _serve(channel: Channel, config: Mapping[str, Any], commands: CommandStream) -> None:
    status = 1
    try:
        _answer_all(channel, config, commands)
    except Closed:
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:  # noqa: BLE001 - the process ends with whatever it is
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)  # no clean-up of a broken engine's may keep the process alive


def _answer_all(channel: Channel, config: Mapping[str, Any], commands: CommandStream) -> None:
    engine = load_engine(config["engine"])(**config["options"])
    service = Service(engine, channel.send, keep=config["keep"])
    commands.serve(service)
    channel.send({"ready": os.getpid()})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # from here on it may be a guest that writes
    os.close(nowhere)
    while True:
        command, attached = channel.receive()
        if not commands.begin(command["number"]):
            service.leave(command["leave"])
            continue
        _set_alarm(command["within"])
        message, answer = service.answer(command, attached)
        _set_alarm(None)
        channel.send({**message, "number": command["number"]}, answer)


def _set_alarm(seconds: float | None) -> None:
    """Have the kernel end this process, even if a native hang lets no Python run any more."""
    signal.setitimer(signal.ITIMER_REAL, 0 if seconds is None else seconds + _ALARM_MARGIN)


if __name__ == "__main__":
    main(*(socket.socket(fileno=int(number)) for number in sys.argv[1:3]))
