"""Values of runs."""

from __future__ import annotations

from interpstack_workflows.runs.values import ScopePlace, Script, phases_of


def test_phases_fill_what_a_call_leaves_out() -> None:
    metadata = {"phases": [{"title": "A", "model": "m", "provider": None}, {"title": "B"}, "odd"]}
    place = ScopePlace(
        scope="root", script=Script(""), args=None, names=(), phases=phases_of(metadata)
    )
    assert place.agent_options({"phase": "A", "key": "k"}) == {
        "phase": "A",
        "key": "k",
        "model": "m",
    }
    assert place.agent_options({"phase": "A", "model": "own"})["model"] == "own"
    assert place.agent_options({"phase": "B"}) == {"phase": "B"}
    assert place.agent_options({"phase": None}) == {"phase": None}
    assert phases_of({}) == {}
