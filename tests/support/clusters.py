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

    ray.init(
        "local",  # whatever other clusters run on this machine
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


class Nodes:
    """Nodes of a cluster on this machine. Ray starts and ends them in the main thread only."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._added = 0

    def add_one(self) -> None:
        """Have another node join, with places for two actors that need `guests`.

        The nodes are also told apart by resources of their own: `node0`, `node1` and so on.
        """
        self._cluster.add_node(num_cpus=1, resources={"guests": 2, f"node{self._added}": 4})
        self._added += 1

    def lose_one(self) -> None:
        """Kill all processes of a node."""
        node = next(iter(self._cluster.worker_nodes))
        self._cluster.remove_node(node, allow_graceful=False)


@contextmanager
def nodes(count: int) -> Iterator[Nodes]:
    """A cluster of a head and so many nodes for guests, to which this process is connected."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        found = Nodes(cluster)
        for _ in range(count):
            found.add_one()
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield found
    finally:
        ray.shutdown()
        cluster.shutdown()
