"""Connections of each process: opened once, closed once, and left alone by a child."""

from __future__ import annotations

from interpstack_state.per_process import PerProcess, first_line, needed


def test_it_is_opened_once_and_again_after_it_was_closed() -> None:
    ended: list[int] = []
    numbers = iter(range(9))
    one = PerProcess(lambda: next(numbers), ended.append)
    assert [one.get(), one.get()] == [0, 0]
    one.close()
    one.close()
    assert ended == [0]
    assert one.get() == 1


def test_a_child_neither_uses_nor_closes_that_of_its_parent() -> None:
    ended: list[int] = []
    numbers = iter(range(9))
    one = PerProcess(lambda: next(numbers), ended.append)
    one.get()
    one.start_anew()  # as after a fork
    assert one.get() == 1
    one.close()
    assert ended == [1]


def test_messages_are_short() -> None:
    assert first_line(ValueError("\nbad thing\nand its details")) == "bad thing"
    assert first_line(ValueError()) == "ValueError"
    error = needed("a RedisStore", "redis", ImportError(name="redis"))
    assert str(error).startswith("a RedisStore needs the package redis; install it with: pip")
