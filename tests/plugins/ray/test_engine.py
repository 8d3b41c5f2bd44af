"""Tests of interpstack_ray.engine: names, and options that are refused. No cluster is used."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from fake_ray import FakeRay

from interpstack import (
    Capability,
    ConfigurationError,
    InterpreterStack,
    Isolation,
    PluginLoadError,
)
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_ray.engine import RayEngine

Make = Callable[..., InterpreterStack]


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are looked up as if the package `ray` were there; only actors need it."""
    monkeypatch.setattr("interpstack_ray.find_spec", lambda name: object())


def test_it_is_what_the_inner_engine_is_but_for_the_isolation(make: Make) -> None:
    engine = make().engine
    assert (engine.name, engine.language) == ("ray:quickjs", "javascript")
    assert engine.isolation is Isolation.REMOTE
    assert engine.capabilities == QuickJSEngine.capabilities - {Capability.KEPT_REALMS}


def test_worker_processes_may_run_in_actors(make: Make) -> None:
    engine: Any = make("ray:process:quickjs").engine
    assert engine.name == "ray:process:quickjs"
    assert engine.reference() == [
        "interpstack_process.engine:ProcessEngine",
        "interpstack_quickjs.engine:QuickJSEngine",
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ray", "name the engine that each actor is to run, as in 'ray:quickjs'"),
        ("ray:ray:quickjs", "an? actor cannot run 'ray:quickjs'; name one engine"),
        ("process:ray:quickjs", "a worker process cannot run 'ray:quickjs'"),
    ],
)
def test_wrong_names_are_refused(make: Make, name: str, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        make(name)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"min_actors": 0}, "min_actors takes a number of at least 1; got 0"),
        ({"min_actors": 3, "max_actors": 2}, "max_actors takes a number of at least 3; got 2"),
        ({"actor_cells": 1.5}, "actor_cells takes a whole number; got 1.5"),
        ({"idle_seconds": float("inf")}, "idle_seconds takes a number of at least 0.1; got inf"),
        ({"start_seconds": True}, "start_seconds takes a number; got True"),
        ({"grace_seconds": 0}, "grace_seconds takes a number of at least 0.1"),
        ({"keep_state": 1}, "keep_state takes True or False; got 1"),
        ({"actor_memory_bytes": 5}, "actor_memory_bytes takes a number of at least 67108864"),
        ({"actor_message_bytes": 5}, "actor_message_bytes takes a number of at least 1048576"),
        ({"ray_init": "auto"}, "ray_init takes a mapping of Ray's options; got 'auto'"),
        ({"actor_options": 5}, "actor_options takes a mapping of Ray's options; got 5"),
        ({"actor_options": {"max_restarts": 5}}, "actor_options: max_restarts cannot be set"),
        ({"actor_options": {"name": "x", "lifetime": "detached"}}, "lifetime, name cannot be set"),
        ({"colour": "red"}, "unexpected keyword argument 'colour'|does not take these options"),
    ],
)
def test_wrong_options_are_refused(make: Make, options: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        make(options=options)


def test_options_of_actors_are_rays_own(make: Make, fake_ray: FakeRay) -> None:
    options = {"num_cpus": 0.5, "resources": {"guests": 1}, "scheduling_strategy": "SPREAD"}
    stack = make(options={"actor_options": options})
    assert fake_ray.handles == []  # nothing is started before the first cell
    assert stack.session("one").eval_sync("6 * 7").text == "42"
    (handle,) = fake_ray.handles
    assert handle.options == {"max_restarts": 0, "max_task_retries": 0, **options}


def test_the_extra_is_named_where_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_ray.find_spec", lambda name: None)
    with pytest.raises(PluginLoadError, match=r"pip install 'interpstack\[ray\]'"):
        InterpreterStack("ray:quickjs")
    assert importlib.util.find_spec("interpstack_ray") is not None


def test_a_closed_engine_opens_nothing(make: Make) -> None:
    engine: Any = make().engine
    engine.close()
    with pytest.raises(Exception, match="the engine was closed; make a new stack"):
        RayEngine.open(engine, *[None] * 2)  # type: ignore[arg-type]
