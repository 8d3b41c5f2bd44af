"""Monty in the conformance kit: its dialect and its gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

import attrs

from interpstack import Engine
from interpstack_monty.engine import MontyEngine
from interpstack_monty.images import opened, sealed
from interpstack_testing import PYTHON, EngineConformance

__all__ = ["MontyConformance"]

_SEQUENCE: Final = """
done, name = 0, "none"
for n in range(6):
    try:
        await kit.echo(value=n)
        done += 1
    except Exception as error:
        name = str(error).partition(":")[0]
        break
f"{done} {name}"
"""

_DATE: Final = """
import datetime
sent = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
await kit.echo(value=sent)
0
"""

_MONTY: Final = attrs.evolve(
    PYTHON,
    sequence=_SEQUENCE,
    parallel="import asyncio\nsum(await asyncio.gather(*[kit.echo(value=n) for n in range(100)]))",
    chance="import random\nrandom.random()",
    clock="import time\ntime.time()",
    wait="import time\nnow = time.time\n" + str(PYTHON.wait),
    after_end="late = ''",
    deadlock="await kit.echo(value=1)",
    pollute="import math\nmath.pi = 1",
    polluted="import math\n'clean' if math.pi > 3 else 'polluted'",
    kinds=PYTHON.kinds - {"undefined", "map", "set", "bigint", "error", "surrogate"},
    sends={
        **PYTHON.sends,
        "date": (_DATE, PYTHON.sends["date"][1]),
        "date without a zone": (
            _DATE.replace(", tzinfo=datetime.timezone.utc", ""),
            PYTHON.sends["date without a zone"][1],
        ),
    },
)

_GENERATORS: Final = "Monty has no generator functions"
_NO_DEADLOCK: Final = "Monty's only futures are requests, and those are settled"


class MontyConformance(EngineConformance):
    """Conformance tests of Monty, with its gaps."""

    guest = _MONTY
    gaps: ClassVar[Mapping[str, str]] = {
        "test_hostile_guest[loops/iterator]": _GENERATORS,
        "test_hostile_guest[loops/comprehension]": _GENERATORS,
        "test_request_after_the_end_is_refused_in_the_guest": "Monty has no tasks",
        "test_deadlock_is_reported_at_once": _NO_DEADLOCK,
        "test_output_before_a_deadlock_is_kept": _NO_DEADLOCK,
        "test_value_of_the_guest_reaches_the_host[surrogate]": "Monty's strings are UTF-8",
    }
    varying: ClassVar[Mapping[str, str]] = {
        "test_guests_keep_their_memory_elsewhere": "the state between cells is kept in the host",
    }

    def make_engine(self) -> Engine:
        return MontyEngine()

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        return sealed(change(opened(data)))
