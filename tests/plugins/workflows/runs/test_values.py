"""Values of runs."""

from __future__ import annotations

from interpstack_workflows.runs.values import ScopePlace, Script, phases_of


def test_phases_have_defaults_for_their_calls() -> None:
    metadata = {"phases": [{"title": "A", "model": "m", "provider": None}, {"title": "B"}, "odd"]}
    place = ScopePlace(
        scope="root", script=Script(""), args=None, names=(), phases=phases_of(metadata)
    )
    assert place.phase_defaults({"phase": "A", "model": "own"}) == {"model": "m"}
    assert place.phase_defaults({"phase": "B"}) == {}
    assert place.phase_defaults({"phase": None}) == place.phase_defaults({}) == {}
    assert phases_of({}) == {}
