"""Forks while a cell runs, and prints what the child and the parent find; run by a test."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import psutil

from interpstack import Bridge, InterpreterStack, Limits

engine, python, state = sys.argv[1], sys.argv[2] == "python", sys.argv[3]
started = threading.Event()
define, endless = ("x = 1", "while True: pass") if python else ("var x = 1", "for (;;);")


def hang() -> None:
    started.set()
    threading.Event().wait(30)


def made() -> InterpreterStack:
    bridges = [Bridge(name="kit.hang", handler=hang)]
    return InterpreterStack(engine, bridges=bridges, limits=Limits(cpu_seconds=20))


stack = made()
busy, idle = stack.session("busy"), stack.session("idle")
for session in (busy, idle):
    session.eval_sync(define)


def found(name: str, source: str = "x") -> dict[str, Any]:
    outcome = stack.session(name).eval_sync(source)
    result = outcome.error.message if outcome.error else ""
    return {"text": outcome.text, "error": result, "notices": list(outcome.notices)}


if state == "closed":
    stack.close()
    stack = made()
elif state != "idle":
    source = "await kit.hang()" if state == "waiting" else endless
    threading.Thread(target=busy.eval_sync, args=[source], daemon=True).start()
    if state == "waiting":
        started.wait(30)
    while not busy.in_use:
        pass

pid = os.fork()
if pid == 0:
    seen = {name: found(name) for name in ("busy", "idle")}
    seen["new"] = found("new", "1 + 1")
    stack.close()
    os.write(1, (json.dumps({"child": seen}) + "\n").encode())
    os._exit(0)
os.waitpid(pid, 0)
os.write(1, (json.dumps({"parent": found("idle")}) + "\n").encode())
for worker in psutil.Process().children(recursive=True):
    worker.kill()  # the cell computes for ever, in a process that nobody ends after `_exit`
os._exit(0)
