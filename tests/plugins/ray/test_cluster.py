"""Tests of interpstack_ray.cluster: who connects also disconnects, and only then."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_ray import cluster as module
from interpstack_ray.cluster import ClusterConnection


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions of the module `ray` that connect, and what they were called with."""
    fake: Any = ModuleType("ray")
    fake.connected, fake.given, fake.threads, fake.error = False, [], set(), None

    def init(**options: Any) -> None:
        if fake.error:
            raise fake.error
        fake.given.append(options)
        fake.threads.add(threading.current_thread().name)
        fake.connected = True

    def shutdown() -> None:
        fake.connected = False

    fake.init, fake.shutdown, fake.is_initialized = init, shutdown, lambda: fake.connected
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(module, "_users", set())
    return fake


def test_options_go_to_ray(ray: Any) -> None:
    connection = ClusterConnection({"address": "auto", "namespace": "x", "log_to_driver": True})
    assert connection.open() is ray
    (given,) = ray.given
    assert (given["address"], given["namespace"]) == ("auto", "x")
    assert (given["log_to_driver"], given["include_dashboard"]) == (True, False)
    connection.close()


def test_the_last_engine_disconnects(ray: Any) -> None:
    first, second = ClusterConnection({}), ClusterConnection({})
    for one in (first, second, first):
        one.open()
    assert len(ray.given) == 1
    first.close()
    assert ray.connected
    second.close()
    assert not ray.connected
    second.close()


def test_a_connection_of_the_host_stays(ray: Any) -> None:
    ray.connected = True
    connection = ClusterConnection({"address": "elsewhere"})
    connection.open()
    connection.close()
    assert (ray.connected, ray.given) == (True, [])


def test_one_thread_starts_local_clusters(ray: Any) -> None:
    for _ in range(2):  # the kernel would end a cluster together with the thread that started it
        connection = ClusterConnection({})
        thread = threading.Thread(target=connection.open)
        thread.start()
        thread.join()
        connection.close()
    (name,) = ray.threads
    assert name.startswith("interpstack-ray-cluster")


@pytest.mark.parametrize("kind", [ConnectionError, RuntimeError, ValueError, TypeError])
def test_no_cluster_is_reported(ray: Any, kind: type[Exception]) -> None:
    ray.error = kind("nothing at that address")
    with pytest.raises(EngineFailure, match="no Ray cluster can be used: nothing at that address"):
        ClusterConnection({}).open()
