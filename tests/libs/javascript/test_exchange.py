"""What engines and the JavaScript kernel tell each other."""

from __future__ import annotations

import json

import pytest

from interpstack import (
    Bridge,
    BridgeRegistry,
    Completion,
    GuestError,
    Limits,
    Notification,
    Progress,
    Request,
    Settlement,
)
from interpstack_javascript.exchange import (
    answer_text,
    bind_arguments,
    drained_progress,
    resume_text,
    seed_words,
)


def test_bind_offers_what_guests_may_see():
    registry = BridgeRegistry()
    registry.bridge(Bridge(name="tools.add", handler=_nothing))
    registry.bridge(Bridge(name="log", handler=_nothing, awaited=False))
    registry.bridge(Bridge(name="tools.$find", handler=_nothing, listed=False))
    registry.bridge(Bridge(name="task", handler=_nothing, counted=False))
    registry.bridge(Bridge(name="files.read", handler=_nothing, raw=True, positional=True))
    registry.bridge(Bridge(name="secret", handler=_nothing, hidden=True))
    offered, given = bind_arguments(registry.freeze(), Limits(requests=7, timers=3))
    assert sorted(offered) == [
        ["files.read", True, True, True, True],
        ["log", False],
        ["task", True, True, False],
        ["tools.$find", True, False, True],
        ["tools.add", True],
    ]
    assert (given["requests"], given["timers"]) == (7, 3)


def test_bind_names_errors_as_the_host_offers_them():
    registry = BridgeRegistry()
    _, given = bind_arguments(registry.freeze(), Limits())
    assert (given["tooMany"], given["noModule"]) == ("CallBudgetExceeded", "ModuleNotFound")
    _, given = bind_arguments(registry.freeze({"ModuleNotFound": "Gone"}), Limits())
    assert (given["tooMany"], given["noModule"]) == ("CallBudgetExceeded", "Gone")


@pytest.mark.parametrize(("shown", "found"), [(100, 8192), (5000, 10_000)])
def test_bind_renders_more_than_is_shown(shown, found):
    _, given = bind_arguments(BridgeRegistry().freeze(), Limits(result_chars=shown))
    assert given["renderChars"] == found


def test_answers_resume_the_guest():
    good = Settlement(1, text='{"a":[1,"é"]}')
    bad = Settlement(2, error=GuestError("TypeError", 'no "x"'))
    kind, now, answers = json.loads(resume_text(1.5, [answer_text(good), answer_text(bad)]))
    assert (kind, now) == ("resume", 1.5)
    assert answers[0][::2] == [1, {"a": [1, "é"]}]
    assert answers[1][0] == 2
    assert 'no "x"' in json.dumps(answers[1], ensure_ascii=False).replace("\\", "")


def test_drained_work_is_progress():
    drained = {
        "calls": [["log", "[1]"]],
        "requests": [[4, "tools.add", "{}"]],
        "cancelled": [3],
        "rejected": ["Error: lost"],
    }
    completion = Completion(text="2")
    assert drained_progress(drained, completion, 0.25) == Progress(
        notifications=[Notification("log", "[1]")],
        requests=[Request(4, "tools.add", "{}")],
        cancelled=[3],
        completion=completion,
        cpu_seconds=0.25,
        rejected=["Error: lost"],
    )


@pytest.mark.parametrize(
    ("seed", "words"),
    [(None, [0, 0, 0, 0]), (1, [1, 0, 0, 0]), (2**127 + 2**32, [0, 1, 0, 2**31])],
)
def test_seeds_are_words_lowest_first(seed, words):
    assert seed_words(seed) == words


def _nothing() -> None:
    return None
