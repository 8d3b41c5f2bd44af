"""The worker process: `python -m interpstack_process.worker COMMANDS CONTROL`.

Both arguments are numbers of inherited sockets. Over the first come commands, one at a time.
The second carries nothing but the number of a command to interrupt; that it is closed means
that the host is gone.
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

__all__ = ["INTERRUPT", "OUT_OF_MEMORY", "main"]

#: An interruption on the control socket: the number of a command.
INTERRUPT: Final = struct.Struct("<Q")
#: Exit status of a worker that ran out of memory.
OUT_OF_MEMORY: Final = 83
#: Stack of the thread that runs guest code, as in the host.
_STACK_BYTES: Final = 16 * 2**20
#: Frames from the host are trusted.
_NO_BOUND: Final = 2**63
#: Seconds that a command may take beyond the host's wait.
_ALARM_MARGIN: Final = 5.0


def main(commands: socket.socket, control: socket.socket) -> None:
    """Serve until the host closes the connection."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)  # the host may ignore them; that is inherited
    channel = Channel(commands, _NO_BOUND)
    config, _ = channel.receive()
    confine(_watched(config["limits"]) if config["counts_held"] else config["limits"])
    threading.stack_size(_STACK_BYTES)
    box: list[Service] = []
    threading.Thread(target=_serve, args=(channel, config, box), name="guests").start()
    _listen(control, box)


def _watched(limits: Mapping[str, int | None]) -> Mapping[str, int | None]:
    """Watch the memory that this process holds, if the system tells; the limits that are left."""
    most = limits["memory_bytes"]
    if most is None or held_bytes() is None:
        return limits
    end = partial(os._exit, OUT_OF_MEMORY)
    threading.Thread(target=watch_memory, args=(most, end), name="memory", daemon=True).start()
    return {**limits, "memory_bytes": None}


def _listen(control: socket.socket, box: list[Service]) -> None:
    """Interrupt the command that the host names, and end the process at once when the host ends."""
    try:
        while len(data := control.recv(INTERRUPT.size, socket.MSG_WAITALL)) == INTERRUPT.size:
            running = box[0].running if box else None
            if running is not None and running[0] == INTERRUPT.unpack(data)[0]:
                running[1].interrupt()
    finally:
        os._exit(0)


def _serve(channel: Channel, config: Mapping[str, Any], box: list[Service]) -> None:
    status = 1
    try:
        _answer_all(channel, config, box)
    except Closed:
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:  # noqa: BLE001 - the process ends with whatever it is
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)  # no clean-up of a broken engine's may keep the process alive


def _answer_all(channel: Channel, config: Mapping[str, Any], box: list[Service]) -> None:
    engine = load_engine(config["engine"])(**config["options"])
    service = Service(engine, channel.send, keep=config["keep"])
    box.append(service)
    channel.send({"ready": os.getpid()})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # from here on it may be a guest that writes
    os.close(nowhere)
    while True:
        told, attached = channel.receive()
        _set_alarm(told["within"])
        message, answer = service.answer(told, attached)
        _set_alarm(None)
        channel.send({**message, "number": told["number"]}, answer)


def _set_alarm(seconds: float | None) -> None:
    """Have the kernel end this process, even if a native hang lets no Python run any more."""
    signal.setitimer(signal.ITIMER_REAL, 0 if seconds is None else seconds + _ALARM_MARGIN)


if __name__ == "__main__":
    main(*(socket.socket(fileno=int(number)) for number in sys.argv[1:3]))
