"""Modules: the guest imports modules that the host resolves."""

from __future__ import annotations

import attrs
import pytest

from interpstack.contracts.engine import Capability
from interpstack.contracts.hookspecs import hookimpl
from interpstack.contracts.limits import Limits
from interpstack.contracts.modules import ModuleBundle, ModuleLoader
from interpstack.contracts.protocol import Cell
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit

__all__ = ["DialectTests", "ModuleTests"]


@attrs.define(eq=False)
class _Modules:
    """A plugin that has `kit/answer`."""

    bundle: ModuleBundle
    loads: int = 0

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> ModuleLoader | None:
        async def load() -> ModuleBundle:
            self.loads += 1
            return self.bundle

        return load if specifier == "kit/answer" else None


class ModuleTests(EngineKit, area=Area.MODULES):
    """Tests of engines that declare `Capability.MODULES`."""

    def test_modules_of_the_host_are_imported(self) -> None:
        modules = self._modules()
        with self.session(plugins=[modules]) as session:
            assert self.eval(session, self.sample("load_module")) == "42"
            assert self.eval(session, self.sample("load_module")) == "42"
        assert modules.loads >= 1

    def test_empty_modules_are_imported(self) -> None:
        with self.session(plugins=[_Modules(ModuleBundle("empty", {"empty": ""}))]) as session:
            assert self.eval(session, self.sample("catch_module")) == "imported"

    def test_modules_that_cannot_be_had_are_an_error(self) -> None:
        with self.session(plugins=[self._modules()]) as session:
            session.eval_sync(self.guest.store)
            source = self.sample("miss_module")
            self.fails(session, source, "ModuleNotFound", "kit/absent")
            self.assert_usable(session)

    def test_modules_with_errors_are_an_error(self) -> None:
        bundle = ModuleBundle("broken", {"broken": self.guest.syntax_error})
        with self.session(plugins=[_Modules(bundle)]) as session:
            session.eval_sync(self.guest.store)
            error = session.eval_sync(self.sample("load_module")).error
            assert error is not None
            assert error.name == "SyntaxError"
            self.assert_usable(session)

    def test_syntax_errors_in_modules_have_a_place(self) -> None:
        bundle = ModuleBundle("broken", {"broken": self.guest.syntax_error})
        with self.session(plugins=[_Modules(bundle)]) as session:
            error = session.eval_sync(self.sample("load_module")).error
            assert error is not None
            assert error.place is not None
            assert error.place.line == 1
            assert "broken:1:" in error.stack

    def test_modules_that_compute_for_ever_are_stopped(self) -> None:
        if Capability.CPU_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare cpu-limit")
        modules = _Modules(ModuleBundle("endless", {"endless": self.guest.loop}))
        with self.session(plugins=[modules], limits=Limits(cpu_seconds=1)) as session:
            session.eval_sync(self.guest.store)
            self.fails(session, self.sample("load_module"), "Timeout", "computed")
            self.assert_usable(session)

    def test_modules_that_throw_what_never_answers(self) -> None:
        for name, source in self.guest.hostile_modules.items():
            modules = _Modules(ModuleBundle("hostile", {"hostile": source}))
            with self.session(plugins=[modules], limits=Limits(cpu_seconds=0.5)) as session:
                session.eval_sync(self.guest.store)
                outcome = session.eval_sync(self.sample("catch_module"))
                ends = outcome.text if outcome.error is None else outcome.error.name
                assert ends in ("caught", "Timeout"), (name, outcome)
                self.assert_usable(session)

    def _modules(self) -> _Modules:
        files = self.guest.modules
        assert files, "the guest gives no sample 'modules', which 'modules' needs"
        return _Modules(ModuleBundle(next(iter(files)), files))


class DialectTests(EngineKit, area=Area.DIALECTS):
    """Tests of engines that run a dialect of the guest's language."""

    def test_cells_in_the_dialect(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            outcome = session.eval_sync(
                Cell(source=self.sample("typed"), language=self.guest.dialect)
            )
            assert (outcome.error, outcome.text) == (None, "42")
            self.assert_usable(session)

    def test_syntax_errors_in_the_dialect(self) -> None:
        with self.session() as session:
            cell = Cell(source=self.guest.syntax_error, language=self.guest.dialect)
            error = session.eval_sync(cell).error
            assert error is not None
            assert error.name == "SyntaxError"
