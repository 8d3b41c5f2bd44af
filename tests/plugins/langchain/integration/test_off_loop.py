"""What takes long runs in threads: the event loop of the agent goes on meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from interpstack_javascript.turns.guest_threads import GuestThreads
from interpstack_persistence.modes import ThreadMode


async def test_states_are_packed_and_unpacked_off_the_loop(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, threading.Thread] = {}
    for name in ("dump", "load"):
        real = getattr(ThreadMode, name)

        def noting(self: Any, *args: Any, _name: str = name, _real: Any = real) -> Any:
            threads[_name] = threading.current_thread()
            return _real(self, *args)

        monkeypatch.setattr(ThreadMode, name, noting)
    saver = InMemorySaver()
    assert "1" in (await talk(checkpointer=saver).run("var x = 1; x"))[0]
    assert "2" in (await talk(checkpointer=saver).run("x + 1"))[0]
    assert threads.keys() == {"dump", "load"}
    assert threading.current_thread() not in threads.values()


async def test_an_eval_takes_few_hops_to_the_threads_of_guests(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hops: list[str] = []
    submit, run = ThreadPoolExecutor.submit, GuestThreads.run

    def counting(self: Any, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._thread_name_prefix == "interpstack-guest":
            hops.append(threading.current_thread().name)
        return submit(self, *args, **kwargs)

    async def taking_turns(self: Any, *args: Any) -> Any:
        hops.append(threading.current_thread().name)
        return await run(self, *args)

    chat = talk()
    monkeypatch.setattr(ThreadPoolExecutor, "submit", counting)
    monkeypatch.setattr(GuestThreads, "run", taking_turns)
    assert "1" in (await chat.run("let x = 1; x"))[0]
    assert len(hops) == 4, "opens the realm, runs the cell, takes the state, packs it"
    hops.clear()
    assert "2" in (await chat.run("x += 1"))[0]
    assert len(hops) == 3, "runs the cell, takes the state, packs it"
