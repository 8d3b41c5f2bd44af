"""What processes hold between two steps, and whether that grows."""

from __future__ import annotations

import ctypes
import gc
import math
import re
import statistics
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import attrs
import psutil

__all__ = ["MOST_RISE", "Growth", "Sample", "details", "growth", "slope", "take"]

MIB = 2**20
#: How much each figure may rise over the second half: absolutely, and as a share of its median.
MOST_RISE: Mapping[str, tuple[float, float]] = {
    "memory": (8 * MIB, 0.06),
    # Pools of threads and processes grow late to what was once needed at the same time.
    "threads": (2, 0.04),
    "files": (3, 0.03),
    "sockets": (3, 0.03),
    "processes": (0.5, 0.0),
}
#: The 95th percentile of the normal distribution, in its standard deviations.
_CONFIDENCE = 1.645


@attrs.frozen
class Sample:
    """What the processes of one kind hold.

    Attributes:
        memory: Resident bytes.
        threads: Threads.
        files: Open files, of all sorts.
        sockets: Connections of the internet and between processes.
        processes: How many they are.
    """

    memory: int
    threads: int
    files: int
    sockets: int
    processes: int


@attrs.frozen
class Growth:
    """How a figure of one kind of processes developed.

    Attributes:
        kind: The kind of processes.
        figure: The name of the figure.
        first: The median of the first tenth.
        median: The median of the second half.
        rise: By how much the trend of the second half rises from its start to its end.
        least: The least rise that the scatter of the samples leaves, with 95 % confidence.
        most: How much it may rise.
    """

    kind: str
    figure: str
    first: float
    median: float
    rise: float
    least: float
    most: float

    @property
    def flat(self) -> bool:
        return self.least <= self.most


def take(server: int | None) -> dict[str, Sample]:
    """A sample of this process, its worker processes, and the server's processes.

    Args:
        server: The process id of the server; `None` if there is none.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # what was freed counts as held otherwise, in some rounds and not in others
    own = psutil.Process()
    serving = _family(server)
    known = {own.pid, *(one.pid for one in serving)}
    workers = [one for one in own.children(recursive=True) if one.pid not in known]
    kinds = {"host": [own], "worker processes": workers, "server": serving}
    return {kind: _held(processes) for kind, processes in kinds.items() if processes}


def details() -> Counter[str]:
    """The threads and open files of this process by their names, in which numbers do not count."""
    found = Counter(f"thread {one.name}" for one in threading.enumerate())
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[f"file {entry.readlink()}"] += 1
        except OSError:
            continue  # the one of this look
    plain: Counter[str] = Counter()
    for name, count in found.items():
        plain[re.sub(r"\d+", "#", name)] += count
    return plain


def _family(pid: int | None) -> list[psutil.Process]:
    if pid is None:
        return []
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _held(processes: Sequence[psutil.Process]) -> Sample:
    found = []
    for one in processes:
        try:
            with one.oneshot():
                threads, files = one.num_threads(), one.num_fds()
                sockets = len(one.net_connections("all"))
                found.append((one.memory_info().rss, threads, files, sockets, 1))
        except psutil.NoSuchProcess:
            continue  # ended between two looks
    return Sample(*(sum(figures) for figures in zip(*found, strict=True)))


def slope(values: Sequence[float]) -> tuple[float, float]:
    """The median of the slopes between all pairs, and the least slope that is likely.

    Single peaks move neither of them (Theil and Sen). Figures that scatter widely, such as the
    memory of V8, have a median that is not zero by chance; the least slope is below zero then.
    """
    pairs = combinations(enumerate(values), 2)
    slopes = sorted((later - earlier) / (b - a) for (a, earlier), (b, later) in pairs)
    if not slopes:
        return 0.0, 0.0
    count = len(values)
    scatter = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)  # of Kendall's rank statistic
    rank = math.floor((len(slopes) - _CONFIDENCE * scatter) / 2)
    return statistics.median(slopes), slopes[max(0, rank)]


def growth(samples: Sequence[Mapping[str, Sample]]) -> list[Growth]:
    """How all figures developed; those of processes that all samples have."""
    kinds = [kind for kind in samples[0] if all(kind in one for one in samples)]
    return [
        _growth(kind, name, [one[kind] for one in samples]) for kind in kinds for name in MOST_RISE
    ]


def _growth(kind: str, name: str, samples: Sequence[Sample]) -> Growth:
    values = [float(getattr(one, name)) for one in samples]
    half = values[len(values) // 2 :]
    median = statistics.median(half)
    least, share = MOST_RISE[name]
    first = statistics.median(values[: max(1, len(values) // 10)])
    rise, likely = (one * max(0, len(half) - 1) for one in slope(half))
    return Growth(kind, name, first, median, rise, likely, max(least, share * median))
