"""A Ray cluster on this machine, for tests that have the extra `ray`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def local_cluster(cpus: int = 4) -> Iterator[Any]:
    """A cluster of one node, to which this process is connected; yields the module `ray`.

    Its CPUs are numbers for Ray's scheduler: there may be more of them than cores.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield ray
    finally:
        ray.shutdown()
