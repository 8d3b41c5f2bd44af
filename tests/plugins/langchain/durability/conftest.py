"""Another process, which may hold locks of its own."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from interpstack_langchain.durability.file_locks import FileLocks


@pytest.fixture
def taken_elsewhere() -> Callable[[str, int], bool]:
    """Whether another process can take a lock of a database."""

    def take(place: str, number: int) -> bool:
        pid = os.fork()
        if not pid:
            os._exit(int(FileLocks(place).take(number)))
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1

    return take
