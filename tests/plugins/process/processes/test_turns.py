"""Tests of interpstack_process.processes.turns: who sends a command when, and who leads."""

from __future__ import annotations

import threading

import pytest

from interpstack_process.processes.turns import CommandQueue, ThreadAsker


class Asker:
    """Notes what it is told; a test says what it can do."""

    def __init__(self, name: str, found: list[str], *, ahead: bool = True) -> None:
        self.name, self._told, self.ahead = name, found, ahead
        self.refused = False

    def begin(self) -> bool:
        self._told.append(f"{self.name} begins")
        return not self.refused

    def lead(self) -> None:
        self._told.append(f"{self.name} leads")

    def refuse(self) -> None:
        self._told.append(f"{self.name} is refused")

    def skip(self, number: int) -> bool:
        return self.name == str(number)

    def look(self) -> None:
        self._told.append(f"{self.name} looks")


@pytest.fixture
def found() -> list[str]:
    return []


def _next(seen: list[str]) -> list[str]:
    found = list(seen)
    seen.clear()
    return found


def test_commands_are_sent_ahead_up_to_a_bound(found: list[str]) -> None:
    turns = CommandQueue()
    askers = [Asker(str(n), found) for n in range(6)]
    assert not turns.taken
    for asker in askers:
        turns.take(asker)
    assert _next(found) == ["0 begins", "0 leads", "1 begins", "2 begins", "3 begins"]
    turns.look()
    assert _next(found) == ["0 looks"]
    turns.give_back(askers[0])
    assert _next(found) == ["4 begins", "1 leads"]
    turns.give_back(askers[3])  # it could not be sent
    assert _next(found) == ["5 begins"]
    for number in (1, 2, 4, 5):
        turns.give_back(askers[number])
    assert _next(found) == ["2 leads", "4 leads", "5 leads"]
    assert not turns.taken
    turns.look()
    assert found == []


def test_some_have_the_worker_for_themselves(found: list[str]) -> None:
    turns = CommandQueue()
    first, alone, last = Asker("1", found), Asker("2", found, ahead=False), Asker("3", found)
    for asker in (first, alone, last):
        turns.take(asker)
    assert _next(found) == ["1 begins", "1 leads"]
    turns.give_back(first)
    assert _next(found) == ["2 begins", "2 leads"]
    turns.give_back(alone)
    assert _next(found) == ["3 begins", "3 leads"]


def test_a_command_that_is_sent_by_now_lets_others_in(found: list[str]) -> None:
    turns = CommandQueue()
    first, second = Asker("1", found, ahead=False), Asker("2", found)
    turns.take(first)
    turns.take(second)
    first.ahead = True
    assert _next(found) == ["1 begins", "1 leads"]
    turns.let_in()
    assert _next(found) == ["2 begins"]


def test_the_turn_of_a_skipped_command_ends(found: list[str]) -> None:
    turns = CommandQueue()
    for number in range(6):
        turns.take(Asker(str(number), found))
    _next(found)
    assert turns.skip(2)
    assert _next(found) == ["4 begins"]
    assert not turns.skip(2)
    assert not turns.skip(5)  # it was not sent
    assert turns.skip(0)
    assert _next(found) == ["5 begins", "1 leads"]
    turns.take(ThreadAsker())
    assert not turns.skip(9)


def test_only_a_turn_that_has_not_come_can_be_withdrawn(found: list[str]) -> None:
    turns = CommandQueue()
    first, second = Asker("1", found, ahead=False), Asker("2", found)
    turns.take(first)
    turns.take(second)
    assert not turns.withdraw(first)
    assert turns.withdraw(second)
    assert not turns.withdraw(second)
    _next(found)
    turns.give_back(first)
    assert found == []


def test_those_who_are_refused_leave_the_turn_to_the_next(found: list[str]) -> None:
    turns = CommandQueue()
    askers = [Asker(str(n), found, ahead=n == 0) for n in range(2000)]
    turns.take(Asker("first", found, ahead=False))
    for asker in askers[1:]:
        asker.refused = True
        turns.take(asker)
    turns.take(askers[0])
    _next(found)
    turns.give_back(turns._asking[0])
    assert _next(found)[-2:] == ["1998 is refused", "1999 is refused"]
    assert turns._leader is askers[0]


def test_a_thread_waits_until_its_turn(found: list[str]) -> None:
    turns = CommandQueue()
    first, second = ThreadAsker(), ThreadAsker()
    turns.take(first)
    turns.take(second)
    assert first.wait(0.0)
    assert not second.wait(0.0)
    turns.look()  # nobody but the thread itself can go on
    threading.Timer(0.05, turns.give_back, [first]).start()
    assert second.wait(5.0)


def test_threads_lose_no_turn() -> None:
    turns, done = CommandQueue(), []

    def work() -> None:
        for _ in range(200):
            asker = ThreadAsker()
            turns.take(asker)
            assert asker.wait(10.0)
            done.append(len(turns._asking))
            turns.give_back(asker)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [1] * 1600
    assert not turns.taken
