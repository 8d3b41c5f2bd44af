"""Sessions: one conversation's interpreter each."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import attrs

from interpstack.bridges import BridgeSet
from interpstack.cells.extensions import Extensions
from interpstack.cells.loop import Start, run_cell
from interpstack.cells.outcome import CellContext, Outcome
from interpstack.cells.raised import GuestException
from interpstack.cells.wrappers import Wrapper, closing, transformed, wrapped_eval
from interpstack.checks import expect, shown
from interpstack.engine import Capability, Execution, Realm
from interpstack.errors import ConfigurationError, EngineFailure, ImageError, SessionClosed
from interpstack.languages import GuestLanguage
from interpstack.listening import Listener
from interpstack.modules import ModuleLoader
from interpstack.offer import HostOffer
from interpstack.protocol import Cell, GuestError, Image, Request, Settlement
from interpstack.realm_slot import RealmSlot, off_loop
from interpstack.render import render
from interpstack.slots import Slots, WaitGraph
from interpstack.states import (
    SessionState,
    check_portable,
    load,
    notice_of_values,
    sound,
    take_state,
)
from interpstack.threads import run_sync, to_end

if TYPE_CHECKING:
    from interpstack.pool import SessionPool
    from interpstack.stack import InterpreterStack

__all__ = ["Session"]

#: Sessions whose cells the current code runs in; bridge handlers inherit it.
_running: ContextVar[tuple[Session, ...]] = ContextVar("interpstack_running", default=())
#: Sessions whose cells wait for other sessions.
_waits = WaitGraph()


@contextmanager
def _running_in(session: Session) -> Iterator[None]:
    """A block in which no code may wait for a session."""
    token = _running.set((*_running.get(), session))
    try:
        yield
    finally:
        with suppress(ValueError):  # thrown away with its event loop, and so elsewhere
            _running.reset(token)


class Session:
    """One conversation's interpreter. Made by `InterpreterStack.session`.

    Cells run one after another in the order of the calls of `eval`, from any thread or event loop;
    a failed cell does not affect the next.
    """

    def __init__(self, pool: SessionPool, key: str, anonymous: bool) -> None:
        self.key = key
        self._pool = pool
        self._stack = pool.stack
        self._anonymous = anonymous
        self._queue = Slots(1)
        self._offer = HostOffer()
        self._host: Any = None
        self._users = 0
        self._closed = False
        self._notices: list[str] = []
        self._state = RealmSlot(self._stack.engine, lambda: self._stack.limits, self.notify)
        self._cells = 0
        self._entered = False
        self._execution: Execution | None = None

    # -- running code ----------------------------------------------------------------------

    async def eval(
        self,
        cell: str | Cell,
        *,
        on_console: Callable[[str], None] | None = None,
        host: Any = None,
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
            How it ended; what the guest does wrong is the outcome's `error`.

        Raises:
            ConfigurationError: The source is no text, or longer than the limit; or
                `on_console` is no function.
            SessionClosed: The session was closed.
        """
        cell = _checked(self._stack, cell)
        listener = None
        if on_console is not None:
            if not callable(on_console):
                raise ConfigurationError(f"on_console takes a function; got {shown(on_console)}")
            listener = Listener(on_console, self._stack.limits.console_chars)
        async with self._exclusive():
            return await self._eval(cell, listener, host)

    async def eval_with_state(
        self,
        cell: str | Cell,
        *,
        wants_values: Callable[[Image], bool] = lambda image: True,
        host: Any = None,
    ) -> tuple[Outcome, SessionState | None]:
        """Run a cell, and return its outcome with the session's state after it.

        The calls of a cell have had their effects, so its outcome is returned even without a state:
        the state is then `None`, and a notice of the outcome gives the reason.

        Args:
            cell: Source text, or a `Cell`.
            wants_values: Says whether the state is to have values beside such an image; to
                export much data takes longer than most cells.
            host: See `eval`.

        Raises:
            NotImplementedError: The engine has neither images nor portable values.
        """
        cell = _checked(self._stack, cell)
        async with self._exclusive():
            outcome = await self._eval(cell, None, host)
            try:
                realm, _ = await self._ready()
                take = partial(take_state, realm, self._stack.engine, wants_values)
                return outcome, await off_loop(take)
            except EngineFailure as error:
                why = f"Variables could not be kept: {error}."
                return attrs.evolve(outcome, notices=(*outcome.notices, why)), None

    async def _eval(self, cell: Cell, listener: Listener | None, host: Any) -> Outcome:
        hook, run = self._stack.hook, partial(self._eval_once, cell, listener)
        self._host = host
        try:
            with _running_in(self):
                if not self._stack.each("interpstack_wrap_eval"):
                    return await run()
                find = partial(hook.interpstack_wrap_eval, session=self, cell=cell)
                return await wrapped_eval(find, run)
        finally:
            self._host = None

    async def _eval_once(self, cell: Cell, listener: Listener | None) -> Outcome:
        self._cells += 1
        try:
            cell = transformed(
                self._stack.each("interpstack_transform_cell"),
                self,
                cell,
                partial(_checked, self._stack),
            )
        except GuestException as error:
            return Outcome(error=error.error)
        wraps = self._wrappers if self._stack.each("interpstack_wrap_request") else None
        opened = self._stack.hook.interpstack_open_cell(session=self, cell=cell)
        extensions = Extensions.of(opened, wraps)
        steps = extensions.steps
        if cell.seed is None:
            seed = int.from_bytes(os.urandom(16)) if steps.seed is None else steps.seed
            cell = attrs.evolve(cell, seed=seed)
        try:
            realm, bridges = await self._ready()
            context = CellContext(self.key, cell, record=steps, listener=listener, host=self._host)
            start = Start(realm=realm, bridges=bridges)
            run = self._run_again if steps.repeats else self._run
            outcome = await run(start, context, extensions)
        except EngineFailure as error:
            outcome = _failed(error)
        notices, self._notices = self._notices, []
        return attrs.evolve(outcome, notices=(*notices, *outcome.notices))

    def _wrappers(self, request: Request) -> Iterable[Wrapper[Settlement]]:
        hook = self._stack.hook.interpstack_wrap_request
        found: list[Wrapper[Settlement]] = hook(session=self, request=request)
        return found

    def eval_sync(self, cell: str | Cell) -> Outcome:
        """`eval` for synchronous callers; see there."""
        return run_sync(self.eval(cell))

    def render(self, outcome: Outcome) -> str:
        """The outcome as a model reads it, cut to the stack's limits.

        Raises:
            ConfigurationError: It is no `Outcome`.
        """
        expect(outcome, Outcome, "render takes an Outcome")
        limits, hook = self._stack.limits, self._stack.hook.interpstack_render_outcome
        text = hook(session=self, outcome=outcome)
        if text is not None:
            expect(text, str, "interpstack_render_outcome returns text or None")
            return str(text)
        return render(outcome, result_chars=limits.result_chars, console_chars=limits.console_chars)

    # -- the offer --------------------------------------------------------------------------

    @property
    def stack(self) -> InterpreterStack:
        """The stack that the session is of."""
        return self._stack

    @property
    def host(self) -> Any:
        """The object passed as `host` with the cell that is running; `None` between cells."""
        return self._host

    @property
    def language(self) -> GuestLanguage:
        """The guest language of the engine."""
        return self._stack.language

    @property
    def offer(self) -> HostOffer:
        """The host's current tools and parts."""
        return self._offer

    def bind(self, offer: HostOffer) -> None:
        """Offer something else from the next cell on.

        Raises:
            BridgeNameClash: Two bridges of this offer cannot stand side by side.
            ConfigurationError: It is no `HostOffer`.
        """
        expect(offer, HostOffer, "bind takes a HostOffer")
        self._stack.bridge_set(offer)
        self._offer = offer

    def notify(self, text: str) -> None:
        """Add a notice to the next outcome, such as a list of values that were not restored.

        Raises:
            ConfigurationError: It is no text.
        """
        expect(text, str, "notify takes text")
        self._notices.append(text)

    # -- state -----------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        """Cells run so far in this process."""
        return self._cells

    @property
    def live(self) -> bool:
        """Whether the session holds a realm; if not, it costs only its image."""
        return self._state.realm is not None

    async def image(self) -> Image | None:
        """The session's whole state; `None` if no cell has run yet.

        Raises:
            NotImplementedError: The engine has no images.
        """
        async with self._exclusive():
            return await self._state.whole_image()

    async def restore(self, image: Image) -> None:
        """Replace the state by an image's.

        Raises:
            ConfigurationError: It is no image.
            ImageError: The image is damaged or of another build. The state is as it was.
        """
        expect(image, Image, "restore takes an Image, as image() gives it")
        image = sound(image)
        async with self._exclusive():
            try:
                await self._replace(image, None)
            except EngineFailure as error:
                raise ImageError(f"the image cannot be opened: {error}") from error

    async def restore_state(self, state: SessionState) -> tuple[str, ...]:
        """Replace the state by one taken earlier, by this engine or another.

        The image is exact and is tried first. If it cannot be opened, the portable values are
        defined in a new realm; variables without one throw when code reads them.

        Returns:
            The notices for the reader: none if the image could be opened.

        Raises:
            ConfigurationError: It is no state.
            ImageError: Neither can be opened. The state is as it was.
            UnsupportedValue: Its values are no plain JSON. The state is as it was.
        """
        expect(state, SessionState, "restore_state takes a SessionState")
        if state.image is not None:
            expect(state.image, Image, "the image of a SessionState is an Image or None")
        async with self._exclusive():
            if state.image is not None:
                try:
                    await self._replace(sound(state.image), None)
                except (ImageError, EngineFailure) as error:
                    if state.values is None:
                        raise ImageError(str(error)) from error
                else:
                    return ()
            if state.values is None:
                raise ImageError("nothing of the state was stored")
            await off_loop(partial(check_portable, state.values))
            await self._replace(None, state.values)
        return (notice_of_values(state.values),)

    async def _replace(self, image: Image | None, values: Mapping[str, Any] | None) -> None:
        await self._state.replace(self._stack.bridge_set(self._offer), image, values)
        self._pool.touch(self)

    async def names(self) -> Sequence[str]:
        """Names of the globals that cells have defined."""
        async with self._exclusive():
            realm, _ = await self._ready()
            return await off_loop(realm.names)

    async def members(self, path: Sequence[str]) -> Sequence[str]:
        """Names that may follow a dotted path in code; see `Realm.members`."""
        async with self._exclusive():
            realm, _ = await self._ready()
            return await off_loop(partial(realm.members, path))

    async def values(self) -> Mapping[str, Any]:
        """Portable values of the guest's globals; see `Realm.values`."""
        async with self._exclusive():
            realm, _ = await self._ready()
            return await off_loop(realm.values)

    async def load(self, values: Mapping[str, Any]) -> None:
        """Define globals from portable values; see `Realm.load`.

        Raises:
            ConfigurationError: It is no mapping of names to values.
            ImageError: One of them is damaged, or the engine cannot load it.
            UnsupportedValue: One of them is no plain JSON.
        """
        await off_loop(partial(check_portable, values))
        async with self._exclusive():
            realm, _ = await self._ready()
            await off_loop(partial(load, realm, values))

    async def reset(self) -> None:
        """Forget the state, after the cells that are waiting; the next cell starts anew."""
        async with self._exclusive():
            await self._state.clear()

    async def aclose(self) -> None:
        """Close for good, after the cells that are waiting. Closing twice is allowed."""
        async with self._slot():
            self._abandon()
            if not self._closed:
                with _running_in(self):
                    await closing(self._stack.each("interpstack_session_closing"), self)
            self._closed = True
            await self._state.clear()
        self._pool.forget(self)

    def close(self) -> None:
        """`aclose` for synchronous callers."""
        run_sync(self.aclose())

    # -- leaving and entering --------------------------------------------------------------

    async def __aenter__(self) -> Session:
        self._enter()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._users -= 1
        if self._anonymous:
            await self.aclose()
        else:
            await self._pool.trim()

    def __enter__(self) -> Session:
        self._enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run_sync(self.__aexit__(kind, error, trace))

    def _enter(self) -> None:
        if self._closed:
            raise SessionClosed(f"session {self.key!r} was closed; ask the stack for a new one")
        self._users += 1

    @property
    def in_use(self) -> bool:
        """Whether a block holds the session open or a cell runs in it."""
        return self._users > 0 or self._queue.busy

    async def hibernate(self) -> bool:
        """Turn the realm into an image. False if the session is in use or the engine cannot."""
        if Capability.IMAGES not in self._stack.engine.capabilities:
            return False
        if self.in_use or not self.live:
            return False
        async with self._queue.slot():
            if not self.live or self._users:
                return False
            await self._state.hibernate()
            return True

    # -- inside ----------------------------------------------------------------------------

    async def _ready(self) -> tuple[Realm, BridgeSet]:
        bridges = self._stack.bridge_set(self._offer)
        realm = await self._state.ready(bridges)
        self._pool.touch(self)
        return realm, bridges

    async def _run_again(
        self, start: Start, context: CellContext, extensions: Extensions
    ) -> Outcome:
        """Run a cell that will be run again, from the same state, if it ends early."""
        engine, bridges = self._stack.engine, start.bridges
        image = await extensions.steps.open(engine.capabilities)
        middle = await self._state.open_in_the_middle(image, bridges)
        if middle is None and Capability.UNDO in engine.capabilities:
            return await self._run(attrs.evolve(start, undo=True), context, extensions)
        before = await off_loop(partial(take_state, start.realm, engine))
        if middle is not None:
            await self._state.drop()
            start = Start(realm=middle, bridges=bridges, resumed=True, before=before.image)
            self._state.realm, self._state.bound = middle, bridges
        try:
            return await self._run(start, context, extensions)
        except EngineFailure:
            raise
        except GeneratorExit:
            raise  # there is no loop any more
        except BaseException:
            await to_end(self._state.put_back(before, self._stack.bridge_set(self._offer)))
            raise

    async def _run(self, start: Start, context: CellContext, extensions: Extensions) -> Outcome:
        stack, guards = self._stack, extensions.guards
        try:
            guards.begin(context.cell, extensions.steps, resumed=start.resumed)
        except GuestException as error:  # as a guest would have to say it
            return Outcome(error=error.error)
        try:
            with guards.running():
                outcome = await run_cell(
                    start,
                    context,
                    extensions,
                    stack.limits,
                    stack.unawaited,
                    self._resolve_module,
                    self._note,
                )
            return guards.finish(outcome, stack.limits)
        except EngineFailure:
            await self._state.drop()
            raise

    def _resolve_module(self, specifier: str) -> ModuleLoader | None:
        hook = self._stack.hook.interpstack_resolve_module
        found: ModuleLoader | None = hook(specifier=specifier, session=self)
        return found

    def _slot(self) -> AbstractAsyncContextManager[None]:
        running = _running.get()
        if self in running:
            raise ConfigurationError(
                f"session {self.key!r} is asked for something by a bridge of its own running "
                "cell, which would wait for itself; use another session"
            )
        return self._queue.slot(_waits.waiting(running, self))

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        async with self._slot():
            if self._closed:
                raise SessionClosed(f"session {self.key!r} was closed; ask the stack for a new one")
            self._abandon()
            self._entered = True
            try:
                yield
            except GeneratorExit:
                raise  # the event loop is gone, but the realm still runs
            except BaseException:
                self._entered, self._execution = False, None
                raise
            self._entered, self._execution = False, None
        if not self._users:  # used without a block
            await self._pool.trim()

    def _abandon(self) -> None:
        """Let go of a realm whose user is gone, with the event loop that it ran on."""
        if not self._entered:
            return
        if self._execution is not None:
            self._execution.interrupt()  # it may still compute; its thread ends by itself
        if self._state.abandon():
            self.notify(
                "Variables of earlier cells are lost: the event loop of a cell was closed, or its "
                "process was forked, while it ran."
            )

    def forked(self) -> None:
        """In the child of a fork: the running cell continues in the parent."""
        self._execution = None

    def _note(self, execution: Execution | None) -> None:
        self._execution = execution


def _checked(stack: InterpreterStack, cell: str | Cell) -> Cell:
    if isinstance(cell, str):
        cell = Cell(source=cell)
    if not isinstance(cell, Cell):
        raise ConfigurationError(f"eval takes source text or a Cell; got a {type(cell).__name__}")
    stack.engine.check_language(cell)
    limit = stack.limits.source_bytes
    size = len(cell.source.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise ConfigurationError(
            f"the code has {size} bytes; at most {limit} are accepted "
            "(Limits.source_bytes); pass data through a tool or a bridge instead"
        )
    return cell


def _failed(error: EngineFailure) -> Outcome:
    loss = "the session starts anew: all variables of earlier cells are lost"
    broke = GuestError("EngineFailure", f"the engine broke: {error}; {loss}")
    return Outcome(error=broke, stopped=True, state="lost", loss=loss)
