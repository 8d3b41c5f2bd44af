"""Sessions: one conversation's interpreter each."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import attrs

from interpstack.cells.extensions import Extensions
from interpstack.cells.loop import Start, run_cell
from interpstack.cells.render import render
from interpstack.cells.wrappers import closing, notify_hibernation, transformed, wrapped_eval
from interpstack.checks import expect
from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.cell_checks import CellCheck, CellUnchecked
from interpstack.contracts.engine import Capability, Realm
from interpstack.contracts.errors import EngineFailure, SourceTooLarge
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.offer import HostOffer
from interpstack.contracts.outcome import CellContext, Outcome
from interpstack.contracts.protocol import Cell, GuestError, Image, SessionState
from interpstack.contracts.raised import GuestException
from interpstack.contracts.views import StackView
from interpstack.sessions.listening import ConsoleRelay
from interpstack.sessions.queue import SessionQueue
from interpstack.sessions.realm_slot import RealmSlot, off_loop
from interpstack.sessions.states import check_portable, load
from interpstack.sync import SyncToo, run_sync
from interpstack.threads import to_end

__all__ = ["Session"]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class _SessionPool(Protocol):
    """All sessions of a stack: `interpstack.sessions.pool.SessionPool`."""

    @property
    def stack(self) -> StackView: ...
    def touch(self, key: str) -> None: ...
    def forget(self, session: Session) -> None: ...
    async def trim(self) -> None: ...


@attrs.define(eq=False, kw_only=True, repr=False)
class _Runner:
    """Runs the cells of one session. The caller of a method has the session to itself.

    Attributes:
        queue: Knows which sessions the current code runs in.
        state: Holds the realm.
        notices: The session's notices for the reader of the next outcome.
    """

    queue: SessionQueue
    state: RealmSlot
    notices: list[str] = attrs.field(factory=list)
    _before: list[str] | None = None  #: those from before the last cell
    _check: tuple[BridgeSet | None, CellCheck | None] = (None, None)  #: of the bridges of the last
    _known: weakref.ref[Realm] | None = None  #: the realm whose variables the check knows

    async def run(self, session: Session, cell: Cell, listener: ConsoleRelay | None) -> Outcome:
        """Run a cell to its end; an engine that breaks is an outcome, too."""
        once = partial(self._run_once, session, cell, listener)
        with self.queue.running():
            if listener is not None:
                listener.begin()
            if not session.stack.each("interpstack_wrap_eval"):
                return await once()
            find = partial(session.stack.hook.interpstack_wrap_eval, session=session, cell=cell)
            return await wrapped_eval(find, once)

    async def _run_once(
        self, session: Session, cell: Cell, listener: ConsoleRelay | None
    ) -> Outcome:
        stack = session.stack
        code = _unfenced(stack, cell)
        if isinstance(code, GuestError):
            return Outcome(error=code)
        try:
            if each := stack.each("interpstack_transform_cell"):
                changed = transformed(each, session, code, partial(_checked, stack))
                cell, code = (cell, code) if changed is code else (changed, changed)
        except GuestException as error:
            return Outcome(error=error.error)
        bare = None if code is cell else code
        wrap = partial(stack.hook.interpstack_wrap_request, session=session)
        wraps = wrap if stack.each("interpstack_wrap_request") else None
        opens = stack.each("interpstack_open_cell")
        opened = stack.hook.interpstack_open_cell(session=session, cell=cell) if opens else ()
        extensions = Extensions.of(opened, wraps)
        steps = extensions.steps
        if cell.seed is None:
            seed = int.from_bytes(os.urandom(16)) if steps.seed is None else steps.seed
            cell = attrs.evolve(cell, seed=seed)
        try:
            start = Start(realm=await self.state.ready(), bridges=self.state.bridges(), bare=bare)
            context = CellContext(
                session.key, cell, record=steps, listener=listener, host=session.host
            )
            run = self._run_on_record if steps.repeats else self._run
            return self._with_notices(session, await run(session, start, context, extensions))
        except EngineFailure as error:
            loss = "the session starts over: all variables of earlier cells are lost"
            broke = GuestError("EngineFailure", f"the engine broke: {error}; {loss}")
            _log.error("session %r: the engine broke", session.key, exc_info=error)
            lost = Outcome(error=broke, stopped=True, state="lost", loss=loss)
            return self._with_notices(session, lost)

    def _with_notices(self, session: Session, outcome: Outcome) -> Outcome:
        """Return the outcome with all notices; log it, without guest texts, if it was stopped."""
        if outcome.stopped or outcome.state != "kept":
            level = logging.WARNING if outcome.state == "lost" else logging.INFO
            why = "" if outcome.error is None else outcome.error.name
            line = "session %r: a cell was stopped after %.1f s (%.100r); variables %s"
            _log.log(level, line, session.key, outcome.usage.wall_seconds, why, outcome.state)
        if not (self.notices or outcome.notices):
            return outcome
        notices, self.notices = dict.fromkeys([*self.notices, *outcome.notices]), []
        return attrs.evolve(outcome, notices=tuple(notices))

    async def _run_on_record(
        self, session: Session, start: Start, context: CellContext, extensions: Extensions
    ) -> Outcome:
        """Run a cell by a record, from its start or from where an earlier run of it paused.

        If the run ends early, the state is put back as it was before the cell, from which the next
        run starts.
        """
        capabilities = self.state.engine.capabilities
        middle = await self.state.open_in_the_middle(await extensions.steps.open(capabilities))
        if middle is None and Capability.UNDO in capabilities:
            return await self._run(session, attrs.evolve(start, undo=True), context, extensions)
        before = await self.state.take()
        if middle is not None:
            await self.state.replace(middle)
            start = attrs.evolve(start, realm=middle, resumed=True, before=before.image)
            self.notices = self.notices if self._before is None else self._before
        self._before = list(self.notices)
        try:
            return await self._run(session, start, context, extensions)
        except (EngineFailure, GeneratorExit):
            raise  # there is no realm, or no loop, any more
        except BaseException:
            await to_end(self.state.put_back(before))
            raise

    async def _refused(self, stack: StackView, start: Start, cell: Cell) -> GuestError | None:
        """The error of a cell that is not run, because it cannot be right."""
        check = self._check_for(stack, start)
        if check is None or not check.looks_at(cell):
            return None
        try:
            return await off_loop(partial(check.refusal, cell, start.realm.members))
        except CellUnchecked as unchecked:
            self.notices.append(str(unchecked))
            return None

    def _check_for(self, stack: StackView, start: Start) -> CellCheck | None:
        language = start.bridges.language
        make = language.type_check if stack.check == "types" else language.cell_check
        if make is None or stack.check == "off":
            return None
        bridges, before = self._check
        check = before
        if check is None or bridges is not start.bridges:
            check = make(start.bridges)
            if before is not None:
                check.follow(before)
            self._check = start.bridges, check
        if self._known is None or self._known() is not start.realm:
            check.forget()
            self._known = weakref.ref(start.realm)
        return check

    def forget(self) -> None:
        """Forget which variables the check knows: they change without a cell."""
        self._known = None

    async def _run(
        self, session: Session, start: Start, context: CellContext, extensions: Extensions
    ) -> Outcome:
        guards, limits = extensions.guards, self.state.limits()
        if not (start.resumed or extensions.steps.begun):
            refused = await self._refused(session.stack, start, start.bare or context.cell)
            if refused is not None:
                return Outcome(error=refused, refused=True)
        try:
            for guard in guards:
                guard.begin(context.cell, extensions.steps, resumed=start.resumed)
        except GuestException as error:  # as a guest would have to say it
            return Outcome(error=error.error)
        try:
            find, began = session.stack.hook.interpstack_resolve_module, self.queue.began
            stack, resolve = session.stack, lambda n: find(specifier=n, session=session)
            more = (stack.unawaited, stack.unhandled, resolve, began)
            with guards.running():
                known, self._known = self._known, None  # until the cell has ended
                outcome = await run_cell(start, context, extensions, limits, *more)
            if outcome.state == "kept" and known is not None and self._check[1] is not None:
                self._check[1].ended(start.bare or context.cell, ok=outcome.error is None)
                self._known = known
            extensions.steps.ended()
            return guards.finish(outcome, limits)
        except EngineFailure:
            await self.state.drop()
            raise


def _lost(session: Session, text: str) -> None:
    """Log a loss of state, and tell the reader of the next outcome."""
    _log.warning("session %r: %.300r", session.key, text)
    session.notify(text)


class Session(SyncToo):
    """One conversation's interpreter. Made by `InterpreterStack.session`.

    Cells run one after another in the order of the calls of `eval`, from any thread or event loop;
    a failed cell does not affect the next.

    Attributes:
        key: The key given to `InterpreterStack.session`, or a random one.
        stack: The stack that made the session.
        host: The object passed as `host` with the cell that is running; `None` between cells.
        cells: Cells run so far in this process.
    """

    _offer = HostOffer()  #: one for all sessions that are bound to none: plugins register once

    def __init__(self, pool: _SessionPool, key: str, anonymous: bool) -> None:
        self.key = key
        self._pool = pool
        stack = self.stack = pool.stack
        self._anonymous = anonymous
        self.host: Any = None
        self.cells = self._users = 0
        me: Callable[[], Any] = weakref.ref(self)  # a closed session is freed at once
        self._state = RealmSlot(
            engine=stack.engine,
            limits=lambda: me().stack.limits,
            bridges=lambda: me().stack.bridge_set(me().offer),
            used=partial(pool.touch, key),
            notify=lambda text: _lost(me(), text),
            on_hibernation=lambda *change: notify_hibernation(me(), *change),
        )
        self._queue = SessionQueue(key, self._state.abandon, lambda: me()._left())  # noqa: SLF001
        self._runner = _Runner(queue=self._queue, state=self._state)
        self._state.store_with(
            None if anonymous else stack.hook.interpstack_keep_state(session=self)
        )

    async def eval(
        self, cell: str | Cell, *, on_console: Callable[[str], None] | None = None, host: Any = None
    ) -> Outcome:
        """Run a cell to its end.

        Args:
            cell: Source text, or a `Cell`.
            on_console: Receives the console output in parts while the cell runs: the whole output
                of the outcome, and the output of a cancelled cell up to its end. It must return at
                once, and may be called from any thread. If it raises, the exception is attached to
                the outcome, and no more parts are passed.
            host: An object of the caller's own that bridge handlers find as
                `CellContext.host`, and plugins as `Session.host`; the guest never sees it.

        Returns:
            The outcome of the cell; its `error` is the error of the guest, if there is one.

        Raises:
            ConfigurationError: The source is not text; `on_console` is not a function; or a plugin
                around the eval found a fault of the host before the cell ran.
            SourceTooLarge: The source is longer than the limit.
            SessionClosed: The session was closed.
        """
        cell = _checked(self.stack, cell)
        listener = ConsoleRelay.of(on_console, self.stack.limits.console_chars)
        async with self._state.lock(self._queue):
            return await self._eval(cell, listener, host)

    async def eval_with_state(
        self,
        cell: str | Cell,
        *,
        wants_values: Callable[[Image], bool] = lambda image: True,
        on_console: Callable[[str], None] | None = None,
        host: Any = None,
    ) -> tuple[Outcome, SessionState | None]:
        """Run a cell, and return its outcome with the session's state after it.

        The calls of a cell have had their effects, so its outcome is returned even without a state:
        the state is then `None`, and a notice of the outcome gives the reason. If the state has no
        image, a notice names the data that its values lack.

        Args:
            cell: See `eval`; also for `on_console` and `host`.
            wants_values: Takes the image, and says whether the state gets values beside it;
                exporting much data takes longer than most cells do.

        Raises:
            NotImplementedError: The engine has neither images nor portable values.
        """
        cell = _checked(self.stack, cell)
        listener = ConsoleRelay.of(on_console, self.stack.limits.console_chars)
        async with self._state.lock(self._queue):
            outcome = await self._eval(cell, listener, host)
            state = None
            try:
                state = await self._state.take(wants_values)
                why = self._state.uncarried(state)
            except EngineFailure as error:
                why = f"Variables could not be kept: {error}."
            return (
                attrs.evolve(outcome, notices=(*outcome.notices, why)) if why else outcome
            ), state

    async def _eval(self, cell: Cell, listener: ConsoleRelay | None, host: Any) -> Outcome:
        self.host, self.cells = host, self.cells + 1
        try:
            return await self._runner.run(self, cell, listener)
        finally:
            self.host = None

    def eval_sync(self, cell: str | Cell) -> Outcome:
        """`eval` for synchronous callers; see there."""
        return run_sync(self.eval(cell))

    def render(self, outcome: Outcome) -> str:
        """The outcome as a model reads it, cut to the stack's limits."""
        expect(outcome, Outcome, "render takes an Outcome")
        hook, limits = self.stack.hook.interpstack_render_outcome, self.stack.limits
        text = hook(session=self, outcome=outcome)
        if text is not None:
            expect(text, str, "interpstack_render_outcome returns text or None")
            return str(text)
        return render(outcome, result_chars=limits.result_chars, console_chars=limits.console_chars)

    @property
    def language(self) -> GuestLanguage:
        """The guest language of the engine."""
        return self.stack.language

    @property
    def offer(self) -> HostOffer:
        """The host's current tools and parts."""
        return self._offer

    def bind(self, offer: HostOffer) -> None:
        """Offer these tools and parts instead, from the next cell on.

        Raises:
            BridgeNameClash: Two bridges of this offer cannot stand side by side.
        """
        expect(offer, HostOffer, "bind takes a HostOffer")
        self.stack.bridge_set(offer)
        self._offer = offer

    def notify(self, text: str) -> None:
        """Add a notice to the next outcome, such as a list of values that were not restored."""
        expect(text, str, "notify takes text")
        self._runner.notices.append(text)

    @property
    def live(self) -> bool:
        """Whether the session holds a realm; if not, it costs only its image."""
        return self._state.realm is not None

    async def image(self) -> Image | None:
        """The session's whole state; `None` if no cell has run yet.

        Raises:
            NotImplementedError: The engine has no images.
            ImageError: The engine has images only of cells that wait.
        """
        async with self._state.lock(self._queue, changes=False):
            return await self._state.whole_image()

    async def restore(self, image: Image) -> None:
        """Replace the state by an image's.

        Raises:
            ImageError: The image is damaged or of another build. The state is as it was.
        """
        expect(image, Image, "restore takes an Image, as image() gives it")
        await self.restore_state(SessionState(image=image))

    async def restore_state(self, state: SessionState) -> tuple[str, ...]:
        """Replace the state by one taken earlier, by this engine or another.

        The image is exact and is tried first. If it cannot be opened, the portable values are
        defined in a new realm; variables without one throw when code reads them.

        Returns:
            The notices for the reader: none if the image could be opened.

        Raises:
            ImageError: Neither the image nor the values can be opened. The state is as it was.
            UnsupportedValue: Its values are not plain JSON. The state is as it was.
        """
        expect(state, SessionState, "restore_state takes a SessionState")
        async with self._state.lock(self._queue):
            return await self._state.restore(state)

    async def names(self) -> Sequence[str]:
        """Names of the globals that cells have defined."""
        return await self._ask(lambda realm: realm.names())

    async def members(self, path: Sequence[str]) -> Sequence[str]:
        """Names that may follow a dotted path in code; see `Realm.members`."""
        return await self._ask(lambda realm: realm.members(path))

    async def values(self) -> Mapping[str, Any]:
        """Portable values of the guest's globals; see `Realm.values`."""
        return await self._ask(lambda realm: realm.values())

    async def load(self, values: Mapping[str, Any]) -> None:
        """Define globals from portable values; see `Realm.load`.

        Raises:
            ImageError: One of them is damaged, or the engine cannot load it.
            UnsupportedValue: One of them is not plain JSON.
        """
        await off_loop(partial(check_portable, values))
        self._runner.forget()
        await self._ask(partial(load, values=values), changes=True)

    async def _ask(self, question: Callable[[Realm], _T], *, changes: bool = False) -> _T:
        async with self._state.lock(self._queue, changes=changes):
            realm = await self._state.ready()
            return await off_loop(partial(question, realm))

    async def reset(self) -> None:
        """Forget the state, after the cells that are waiting; the next cell starts anew."""
        async with self._state.lock(self._queue):
            await self._state.clear()

    async def aclose(self) -> None:
        """Close, after the cells that are waiting. Closing twice is allowed.

        The state is lost, unless a plugin stores it outside of this process.
        """
        async with self._queue.lock_to_close() as first:
            if first:
                await closing(self.stack.each("interpstack_session_closing"), self)
            self._queue.close()
            try:
                if first:
                    await self._state.end()
            finally:
                self._pool.forget(self)

    def _enter(self) -> None:
        self._queue.check_open()
        self._users += 1

    async def __aexit__(self, *error: object) -> None:
        self._users -= 1
        await (self.aclose() if self._anonymous else self._pool.trim())

    @property
    def in_use(self) -> bool:
        """Whether a block keeps the session open or a cell runs in it."""
        return self._users > 0 or self._queue.slots.busy

    async def hibernate(self) -> bool:
        """Turn the realm into an image. False if the session is in use or the engine cannot."""
        if self.in_use or Capability.IMAGES not in self.stack.engine.capabilities:
            return False
        async with self._queue.slots.slot():
            return not self._users and await self._state.sleep()

    async def _left(self) -> None:
        if not self._users:  # used without a block
            await self._pool.trim()


def _unfenced(stack: StackView, cell: Cell) -> Cell | GuestError:
    """The cell without a fence of Markdown around it, or why it cannot be run."""
    if cell.source.lstrip()[:3] not in ("```", "~~~"):
        return cell
    from interpstack.cells.fences import unfenced  # loaded for such cells only

    return unfenced(cell, stack.language, stack.engine.languages())


def _checked(stack: StackView, cell: str | Cell) -> Cell:
    """A cell that the engine of a stack can run, from source text or a `Cell`."""
    if isinstance(cell, str):
        cell = Cell(source=cell)
    expect(cell, Cell, "eval takes source text or a Cell")
    stack.engine.check_language(cell)
    limit = stack.limits.source_bytes
    if (size := len(cell.source.encode("utf-8", "surrogatepass"))) > limit:
        raise SourceTooLarge(size, limit)
    return cell
