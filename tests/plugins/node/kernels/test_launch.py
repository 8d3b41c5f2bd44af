"""How kernels are started, and how their end is told."""

from __future__ import annotations

import signal

import pytest

from interpstack_node.kernels.launch import told_end
from interpstack_node.kernels.programs import program


@pytest.mark.parametrize(
    ("status", "started", "told"),
    [
        (None, True, "closed its connection"),
        (0, True, "ended with status 0"),
        (9, False, "ended with status 9: bad option"),
        (-signal.SIGKILL, True, "was ended by SIGKILL"),
        (-signal.SIGINT, True, "ended when its guest was to stop"),
        (-signal.SIGXCPU, True, "used up its computing time"),
        (-200, True, "was ended by signal 200"),
    ],
)
def test_the_end_of_a_process_in_words(status: int | None, started: bool, told: str) -> None:
    """What a kernel prints is shown only if it printed that before any guest ran."""
    assert told_end(status, b"bad option\n", started) == told


def test_programs_are_functions() -> None:
    for name in ("boot.js", "main.js", "guest.js"):
        assert program(name).rstrip().endswith("}") or name == "boot.js"
        assert "=> {" in program(name)
