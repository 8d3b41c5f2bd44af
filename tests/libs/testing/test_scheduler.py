"""Guest tasks of the fake engine: in turn, within their time, none left behind."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from interpstack_testing.scheduler import Promise, ScriptScheduler, Stopped


def _scheduler(**names: Any) -> tuple[ScriptScheduler, dict[str, Any]]:
    """A scheduler, and the namespace of its guest, in which code is defined."""
    namespace: dict[str, Any] = dict(names)
    return ScriptScheduler(namespace), namespace


def test_tasks_run_in_turn_until_all_wait() -> None:
    log: list[str] = []
    scheduler, _ = _scheduler()
    first, second = Promise(), Promise()

    async def work(name: str, promise: Promise) -> str:
        log.append(f"{name} begins")
        answer: str = await promise
        log.append(f"{name} got {answer}")
        return name

    tasks = [scheduler.spawn(work("a", first)), scheduler.spawn(work("b", second))]
    scheduler.run()
    assert log == ["a begins", "b begins"]
    second.resolve("2")
    scheduler.run()
    assert log[2:] == ["b got 2"]
    assert [task.done for task in tasks] == [False, True]
    first.reject(ValueError("1"))
    scheduler.run()
    assert isinstance(tasks[0].error, ValueError)
    assert tasks[1].value == "b"


def test_gathered_values_keep_their_order_and_the_first_failure_wins() -> None:
    scheduler, _ = _scheduler()
    promises = [Promise() for _ in range(3)]

    async def through(promise: Promise) -> Any:
        return await promise

    good = scheduler.gather([through(promises[0]), promises[1]])
    bad = scheduler.gather([promises[0], through(promises[2])])
    scheduler.run()
    promises[1].resolve("b")
    promises[2].reject(LookupError("c"))
    promises[0].resolve("a")
    scheduler.run()
    assert good.value == ["a", "b"]
    assert isinstance(bad.error, LookupError)


def test_a_task_that_awaits_something_foreign_waits_for_ever() -> None:
    scheduler, _ = _scheduler()

    class Foreign:
        def __await__(self) -> Any:
            yield "what nobody here can settle"

    async def work() -> None:
        await Foreign()

    task = scheduler.spawn(work())
    for _ in range(3):
        scheduler.run()
    assert not task.done
    scheduler.close()


def test_guest_code_that_computes_too_long_is_stopped_even_on_one_line() -> None:
    scheduler, namespace = _scheduler()
    exec("async def spin():\n while True: pass", namespace)
    scheduler.spawn(namespace["spin"]())
    with pytest.raises(Stopped), scheduler.watch(0.01) as clock:
        scheduler.run()
    assert clock.stopped
    assert clock.spent > 0
    scheduler.close()


def test_code_of_the_host_is_not_stopped() -> None:
    scheduler, _ = _scheduler()

    async def work() -> int:
        return sum(range(10_000))

    task = scheduler.spawn(work())
    with scheduler.watch(0.0) as clock:
        scheduler.run()
    assert (task.value, clock.stopped) == (49_995_000, False)


def test_another_thread_stops_guest_code_once() -> None:
    scheduler, namespace = _scheduler(started=(started := threading.Event()))
    exec("async def spin():\n started.set()\n while True: pass", namespace)
    scheduler.spawn(namespace["spin"]())

    def stop() -> None:
        assert started.wait(20)
        scheduler.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Stopped), scheduler.watch(None):
        scheduler.run()
    thread.join()
    scheduler.close()
    exec("async def once(): return 1", namespace)
    task = scheduler.spawn(namespace["once"]())
    with scheduler.watch(None):
        scheduler.run()
    assert task.value == 1  # the interrupt was for the code before


def test_closing_runs_clean_up_code_which_can_start_nothing() -> None:
    scheduler, _ = _scheduler()
    log: list[str] = []
    never = Promise()

    async def clean() -> None:
        log.append("this must not run")

    async def work() -> None:
        try:
            await never
        finally:
            log.append("cleaned up")
            scheduler.spawn(clean())

    scheduler.spawn(work())
    scheduler.run()
    scheduler.close()
    scheduler.run()
    assert log == ["cleaned up"]


def test_clean_up_code_that_does_not_end_is_given_up() -> None:
    ended: list[int] = []
    scheduler, namespace = _scheduler(never=Promise(), ended=ended)
    source = """
async def spin():
    try:
        await never
    finally:
        while True: pass
async def clings():
    for _ in range(50):
        try:
            await never
        except BaseException:
            pass
    ended.append(1)
"""
    exec(source, namespace)
    for name in ("spin", "clings"):
        scheduler.spawn(namespace[name]())
    scheduler.run()
    scheduler.close()
    assert ended == [1]  # it is asked to end again, some times
    scheduler.run()  # nothing is left that could run
