"""Recorded answers come back in recorded order, each once."""

from __future__ import annotations

import attrs

from interpstack_workflows.runs.scopes.replaying import RecordedAnswers, RecordedScopes
from interpstack_workflows.steps.entries import Entry, StepRecord


def _entry(now: float, *steps: StepRecord) -> Entry:
    return Entry(scope="root", now=now, settled=steps, budget={"total": None, "spent": int(now)})


def _step(name: str, value: object = None, **fields: object) -> StepRecord:
    return StepRecord(name=name, value=value, **fields)  # type: ignore[arg-type]


def test_the_earliest_entry_is_taken_whole() -> None:
    answers = RecordedAnswers(
        [_entry(1.0, _step("b", 2), _step("a", 1)), _entry(2.0, _step("c", 3))]
    )
    assert [answers.open(request, name) for request, name in (("1", "a"), ("2", "c"))] == [True] * 2
    assert answers.open("3", "b")
    first = answers.take()
    assert first is not None
    assert (first.now, first.budget["spent"]) == (1.0, 1)
    assert [(request, step.value) for request, step in first.answers] == [("3", 2), ("1", 1)]
    second = answers.take()
    assert second is not None
    assert [request for request, _ in second.answers] == ["2"]
    assert answers.take() is None


def test_a_step_is_answered_once() -> None:
    answers = RecordedAnswers([_entry(1.0, _step("a"))])
    assert answers.open("1", "a")
    assert not answers.open("2", "a")


def test_what_had_begun_is_known_and_not_answered() -> None:
    answers = RecordedAnswers([_entry(1.0, _step("a", {"now": 1.0}, started=True))])
    begun = answers.started("a")
    assert begun is not None
    assert begun.value == {"now": 1.0}
    assert not answers.open("1", "a")
    assert answers.started("b") is None


def test_failed_steps_fail_again_unless_they_are_to_be_tried() -> None:
    failed = _entry(1.0, _step("a", ok=False, error={"message": "no"}))
    assert RecordedAnswers([failed]).open("1", "a")
    assert not RecordedAnswers([failed], retry_failed=True).open("1", "a")
    later = _entry(2.0, _step("a", "done"))
    answers = RecordedAnswers([failed, later], retry_failed=True)
    assert answers.open("1", "a")
    taken = answers.take()
    assert taken is not None
    assert [step.value for _, step in taken.answers] == ["done"]


def test_unused_records_are_listed_in_order() -> None:
    answers = RecordedAnswers([_entry(1.0, _step("a"), _step("b")), _entry(2.0, _step("c"))])
    answers.open("1", "b")
    assert [step.name for step in answers.unused()] == ["a", "c"]


def test_a_step_that_began_again_after_its_end_has_not_ended() -> None:
    first, failed = _step("a", {"now": 1.0}, started=True, kind="exec"), _step("a", ok=False)
    again = _step("a", {"now": 3.0}, started=True, kind="exec")
    for retry_failed in (True, False):
        answers = RecordedAnswers(
            [_entry(1.0, first), _entry(2.0, failed), _entry(3.0, again)],
            retry_failed=retry_failed,
        )
        assert not answers.open("1", "a")
        assert answers.started("a") == again


def test_a_command_that_failed_may_begin_anew() -> None:
    begun = _step("a", {"now": 1.0}, started=True, kind="exec")
    failed = _step("a", ok=False, kind="exec")
    answers = RecordedAnswers([_entry(1.0, begun), _entry(2.0, failed)], retry_failed=True)
    assert not answers.open("1", "a")
    assert answers.started("a") is None


def _scopes() -> RecordedScopes:
    """The steps `one`, `a`, `b`, `c` and `d`, each in a scope of its own."""
    scopes = ("root", "root/one", "root/one/two", "root/oneself", "root/three")
    names = ("one", "a", "b", "c", "d")
    found = (attrs.evolve(_entry(1, _step(n)), scope=s) for n, s in zip(names, scopes, strict=True))
    return RecordedScopes(found, retry_failed=False)


def _undelivered(scopes: RecordedScopes, *, early: bool) -> list[str]:
    return [step.name for step in scopes.undelivered(early=early)]


def test_steps_inside_of_answered_children_are_undelivered_at_any_depth() -> None:
    scopes = _scopes()
    assert _undelivered(scopes, early=False) == []
    scopes.answered("root/one")
    assert _undelivered(scopes, early=False) == ["a", "b"]


def test_a_run_that_ends_early_leaves_unrepeated_steps_undelivered() -> None:
    scopes = _scopes()
    assert _undelivered(scopes, early=True) == ["one", "a", "b", "c", "d"]
    root = scopes.open("root")
    assert not scopes.has("root")
    assert scopes.has("root/one")
    root.open("1", "one")  # asked for
    assert _undelivered(scopes, early=True) == ["one", "a", "b", "c", "d"]
    root.take()  # and delivered
    assert _undelivered(scopes, early=True) == ["a", "b", "c", "d"]
