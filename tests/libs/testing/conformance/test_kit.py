"""The kit notices engines that are broken, and test classes that look away."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar

import attrs
import pytest

from interpstack import Capability, Engine, Isolation, Limits
from interpstack_testing import PYTHON, Area, Attack, EngineConformance, FakeEngine
from interpstack_testing.conformance import rules
from interpstack_testing.conformance.rules import check_skips


class Kit(EngineConformance):
    """The kit on the reference engine, for tests that are called one by one."""

    guest = attrs.evolve(PYTHON, attacks={})
    made: ClassVar[type[Engine]] = FakeEngine

    def make_engine(self) -> Engine:
        return self.made()


def kit(engine: type[Engine], **fields: Any) -> Kit:
    """The kit on another engine, without tripping its limits first."""
    made = type("Other", (Kit,), {"made": engine, **fields})()
    type(made).engine = engine()
    return made


# -- broken engines ------------------------------------------------------------------------


class _Deaf(FakeEngine):
    """Offers no bridge at all."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        return super().open(limits, type(bridges)(), image)


class _Boundless(FakeEngine):
    """Forgets its limits."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        return super().open(Limits(), bridges, image)


class _Mute(FakeEngine):
    """Prints nothing."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        realm = super().open(limits, bridges, image)
        realm.globals["print"] = lambda *values: None
        return realm


class _Shared(FakeEngine):
    """Has one realm for everybody."""

    realms: ClassVar[list[Any]] = []

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        realm = super().open(limits, bridges, image)
        self.realms.append(realm)
        realm.globals = self.realms[0].globals
        return realm


class _Random(FakeEngine):
    """Ignores the seed of its cells."""

    def open(self, limits: Any, bridges: Any, image: Any = None) -> Any:
        realm = super().open(limits, bridges, image)
        start = realm.start
        realm.start = lambda cell: start(attrs.evolve(cell, seed=None))  # type: ignore[method-assign]
        return realm


@pytest.mark.parametrize(
    ("engine", "test"),
    [
        (_Deaf, "test_await_works_at_top_level"),
        (_Deaf, "test_parallel_requests_cost_two_crossings"),
        (_Deaf, "test_calls_come_in_order"),
        (_Shared, "test_sessions_are_isolated"),
        (_Random, "test_same_seed_gives_the_same_run"),
        (_Mute, "test_output_is_bounded_and_says_how_much_is_missing"),
        (_Boundless, "test_values_that_are_too_large_are_refused_on_both_sides"),
    ],
)
def test_broken_engines_are_noticed(engine: type[Engine], test: str) -> None:
    getattr(kit(FakeEngine), test)()
    with pytest.raises(AssertionError):
        getattr(kit(engine), test)()


def test_limits_that_do_not_hold_stop_everything() -> None:
    class Boundless(Kit):
        made = _Boundless

    with pytest.raises(AssertionError, match="does not hold to: value_bytes;"):
        Boundless.setup_class()
    Kit.setup_class()


# -- isolation classes ---------------------------------------------------------------------


def claims(isolation: Isolation, *capabilities: Capability) -> type[Engine]:
    declared = {"isolation": isolation, "capabilities": frozenset(capabilities)}
    return type("Liar", (FakeEngine,), declared)


@pytest.mark.parametrize("isolation", [i for i in Isolation if i is not Isolation.NONE])
def test_python_in_this_process_may_claim_no_isolation(
    isolation: Isolation, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = kit(claims(isolation, Capability.CPU_LIMIT, Capability.MEMORY_LIMIT))
    with pytest.raises(AssertionError, match="guest code reads the host's"):
        liar.test_what_is_the_hosts_is_out_of_reach(PYTHON.reach[0], tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match="reads this process's memory"):
        liar.test_guests_cannot_end_the_host()
    with pytest.raises(AssertionError):
        liar.test_builtins_are_not_shared()


@pytest.mark.parametrize("isolation", [Isolation.PROCESS, Isolation.REMOTE])
def test_guests_of_another_process_use_nothing_of_this_one(isolation: Isolation) -> None:
    liar = kit(claims(isolation, Capability.CPU_LIMIT, Capability.MEMORY_LIMIT))
    with pytest.raises(AssertionError, match="1 s of the guest cost this process"):
        liar.test_guests_compute_elsewhere()


_LIAR = """
from interpstack import Isolation
from interpstack_testing import PYTHON, EngineConformance, FakeEngine

class Liar(FakeEngine):
    isolation = Isolation.PROCESS

class Kit(EngineConformance):
    guest, engine = PYTHON, Liar()

    def make_engine(self):
        return self.engine

Kit().test_guests_keep_their_memory_elsewhere()
"""


def test_guests_of_another_process_take_no_memory_of_this_one() -> None:
    """In a process of its own: where memory was used before, it is not seen to grow."""
    ran = subprocess.run([sys.executable, "-c", _LIAR], capture_output=True, text=True, check=False)
    assert "24 MiB of the guest took" in ran.stderr, ran


def test_sandboxes_without_limits_are_none() -> None:
    kit(claims(Isolation.ISOLATE)).test_sandboxes_have_limits()
    with pytest.raises(AssertionError):
        kit(claims(Isolation.WASM)).test_sandboxes_have_limits()


# -- the rules of the kit ------------------------------------------------------------------


def test_every_capability_has_its_area_and_its_tests() -> None:
    areas = {area.capability for area in Area} - {None}
    assert areas == set(Capability)
    tested = {f.area for f in _tests(EngineConformance).values()}
    assert tested == set(Area)


def _tests(cls: type) -> dict[str, Any]:
    return {name: getattr(cls, name) for name in dir(cls) if name.startswith("test_")}


def test_what_is_not_declared_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="does not declare images"):
        kit(FakeEngine).setup_method(Kit.test_images_restore_the_state)
    kit(FakeEngine).setup_method(Kit.test_values_move_to_a_new_realm)


def test_dialects_are_tested_where_the_engine_runs_the_one_of_the_guest() -> None:
    class Speaks(FakeEngine):
        dialects = ("old-python",)

    typed = {"guest": attrs.evolve(PYTHON, dialect="old-python", typed="40 + 2")}
    tested = kit(Speaks, **typed)
    tested.setup_method(Kit.test_cells_in_the_dialect)
    attack = Attack("6 * 7", shows="42", language="old-python")
    tested.test_hostile_guest(attack)
    for case in (kit(FakeEngine, **typed), kit(Speaks)):
        with pytest.raises(pytest.skip.Exception, match="does not declare dialects"):
            case.setup_method(Kit.test_cells_in_the_dialect)
    with pytest.raises(pytest.skip.Exception, match="does not run old-python"):
        kit(FakeEngine, **typed).test_hostile_guest(attack)


@pytest.mark.parametrize("replacement", [None, lambda self: None, pytest.mark.skip(lambda s: None)])
def test_tests_are_not_replaced_in_silence(replacement: Any) -> None:
    with pytest.raises(TypeError, match="replaces a test of the kit"):
        type("Blind", (Kit,), {"test_cpu_limit_trips": replacement})


def test_tests_may_be_expected_to_fail_with_a_reason() -> None:
    class Honest(Kit):
        @pytest.mark.xfail(reason="it has no clock")
        def test_the_clock_is_the_hosts(self) -> None:
            super().test_the_clock_is_the_hosts()

    assert Honest.test_the_clock_is_the_hosts.area is Area.DETERMINISM  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="replaces a test"):
        type(
            "Silent",
            (Kit,),
            {"test_the_clock_is_the_hosts": pytest.mark.xfail(lambda self: None)},
        )


def test_gaps_are_expected_failures() -> None:
    class Gap(Kit):
        gaps: ClassVar[dict[str, str]] = {"test_usage_is_reported": "it does not count"}

    (mark,) = Gap.test_usage_is_reported.pytestmark  # type: ignore[attr-defined]
    data = {"reason": "it does not count", "strict": True}
    assert (mark.name, mark.kwargs) == ("xfail", data)
    assert Gap.test_usage_is_reported.area is Area.CELLS  # type: ignore[attr-defined]
    assert not hasattr(Kit.test_usage_is_reported, "pytestmark")


def test_varying_gaps_may_stay_hidden() -> None:
    class Varying(Kit):
        varying: ClassVar[dict[str, str]] = {"test_usage_is_reported": "the clock is coarse"}

    (mark,) = Varying.test_usage_is_reported.pytestmark  # type: ignore[attr-defined]
    assert mark.kwargs == {"reason": "the clock is coarse", "strict": False}


def test_fatal_gaps_are_not_run() -> None:
    class Fatal(Kit):
        fatal: ClassVar[dict[str, str]] = {"test_usage_is_reported": "it crashes"}

    (mark,) = Fatal.test_usage_is_reported.pytestmark  # type: ignore[attr-defined]
    assert (mark.kwargs["reason"], mark.kwargs["run"]) == ("it crashes", False)


def test_gaps_name_cases_that_there_are() -> None:
    class Metafunc:
        function = Kit.test_hostile_guest

    for kind in ("gaps", "varying", "fatal"):
        wrong = type("Wrong", (Kit,), {kind: {"test_hostile_guest[unheard of]": "why"}})
        with pytest.raises(TypeError, match=r"unheard of.*the kit has no such test"):
            rules.parametrize(Metafunc(), "attack", PYTHON.attacks, wrong)  # type: ignore[arg-type]


def test_a_part_of_the_attacks_keeps_those_with_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    class Part(Kit):
        guest = PYTHON
        attacks_one_in = 10
        gaps: ClassVar[dict[str, str]] = {"test_hostile_guest[loops/caught]": "why"}

    monkeypatch.delenv("INTERPSTACK_ATTACKS", raising=False)
    names = list(PYTHON.attacks)
    part = [*dict.fromkeys([*names[::10], "loops/caught"])]
    assert sorted(Part().attacks()) == sorted(part)
    begun = [type("Later", (Part,), {"attacks_from": begin}) for begin in range(7, 17)]
    assert {name for later in begun for name in later().attacks()} == set(names)
    monkeypatch.setenv("INTERPSTACK_ATTACKS", "all")
    assert list(Part().attacks()) == names


@pytest.mark.parametrize(
    ("gaps", "message"),
    [
        ({"test_unheard_of": "why"}, "the kit has no such test"),
        ({"test_usage_is_reported": " "}, "gives no reason"),
    ],
)
def test_gaps_name_tests_and_reasons(gaps: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type("Wrong", (Kit,), {"gaps": gaps})


def test_single_tests_are_not_skipped() -> None:
    class Definition:
        name = "test_usage_is_reported"

        def iter_markers_with_node(self, name: str) -> Any:
            return [(self, pytest.mark.skip)] if name == "skip" else []

    with pytest.raises(TypeError, match="marked 'skip'"):
        check_skips(Definition())


def test_a_missing_sample_is_named() -> None:
    with pytest.raises(pytest.fail.Exception, match="no sample 'load_module'"):
        kit(FakeEngine).sample("load_module")
