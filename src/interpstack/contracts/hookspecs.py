"""The hooks a plugin may implement.

A plugin is a module or an object with functions named as below, each decorated with
`interpstack.hookimpl`. It may leave out arguments it does not need. A stack calls its plugins
in the order it lists them.
"""

from __future__ import annotations

from collections.abc import Awaitable
from types import ModuleType

import pluggy

from interpstack.contracts.bridges import BridgeRegistry
from interpstack.contracts.engine import Engine
from interpstack.contracts.extensions import CellExtension, Wrapper
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.modules import ModuleLoader
from interpstack.contracts.offer import HostOffer
from interpstack.contracts.outcome import Outcome
from interpstack.contracts.protocol import Cell, Request, Settlement
from interpstack.contracts.views import SessionStorage, SessionView, StackView

__all__ = ["hookimpl"]

hookspec = pluggy.HookspecMarker("interpstack")
hookimpl = pluggy.HookimplMarker("interpstack")


# -- composing a stack ------------------------------------------------------------------------


@hookspec
def interpstack_register_engine() -> type[Engine]:
    """Return an engine class that a stack may ask for by its `name`.

    Called once, when a stack looks up its engine. The stack passes its options for this plugin to
    the class, as keyword arguments.

    Returns:
        A concrete subclass of `Engine`. `None` means that the plugin has no engine to offer
        on this machine.
    """


@hookspec
def interpstack_register_language() -> GuestLanguage:
    """Return the guest language of the plugin's engine.

    Called when a stack needs the language of its engine for prompts, names or signatures, and when
    a command looks up the language of a file. The implementation must not import packages that only
    the engine needs: the language must be available where the engine is not installed.

    Returns:
        The language; its `name` is what `Engine.language` says. Plugins may return equal
        languages of one name; different ones are an error that names both. `None` means that
        the plugin brings no language.
    """


@hookspec
def interpstack_add_hookspecs() -> ModuleType:
    """Return a module with hooks that this plugin brings and others may implement.

    Called when the plugins of a stack have been registered, and again whenever one more is; a
    module that is there already is not added again. Callers of such a hook find it as an attribute
    of `stack.hook`.

    Returns:
        A module of functions marked with `pluggy.HookspecMarker("interpstack")`. `None` brings
        nothing.
    """


@hookspec
def interpstack_register_bridges(
    register: BridgeRegistry, stack: StackView, offer: HostOffer
) -> None:
    """Offer bridges and guest sources.

    Called when a session is first bound and again whenever its offer has changed, never while a
    cell runs. A bridge that is not registered again is withdrawn.

    Args:
        register: Takes `register.bridge(…)` and `register.source(…)`. Guest sources must not
            depend on the offer: an engine installs them once, when it makes a realm.
        stack: The stack, for its options, engine and limits.
        offer: The host's current tools and parts.

    Nothing is returned; a name clash raises and names both owners.
    """


# -- talking to the model ---------------------------------------------------------------------


@hookspec
def interpstack_prompt_section(stack: StackView, offer: HostOffer) -> str:
    """Return text for the system prompt.

    Called for each offer, in the stack's plugin order; the sections are joined by blank lines.

    Args:
        stack: The stack, for its engine's language and its limits.
        offer: The host's current tools and parts.

    Returns:
        Markdown without outer blank lines. `None` or an empty string adds nothing.
    """


# -- the life of a session --------------------------------------------------------------------


@hookspec
def interpstack_session_opened(session: SessionView) -> None:
    """Prepare a session's resources.

    Called when `stack.session` makes a session; must return at once, and run no cell.

    Args:
        session: The new session.

    Nothing is returned; an exception reaches the caller of `stack.session`, and the session is
    not made.
    """


@hookspec(firstresult=True)
def interpstack_keep_state(session: SessionView) -> SessionStorage:
    """Return the storage of a session's state.

    Called by `stack.session` for each session with a key; the first plugin with an answer wins.

    Args:
        session: The new session.

    Returns:
        The storage. `None` leaves the state in memory, or to the next plugin.
    """


@hookspec
def interpstack_session_hibernation(
    session: SessionView, wakes: bool, seconds: float, image_bytes: int
) -> None:
    """Note that a session hibernated or woke.

    Called after its state left the realm, for an image in memory or for its storage, and after a
    realm was opened with a state that had been in no realm.

    Args:
        session: The session, which no other code uses meanwhile.
        wakes: Whether the session woke; if not, it hibernated.
        seconds: The time that this took.
        image_bytes: The size of the image; 0 without one, as with a storage.

    Nothing is returned; an exception is logged, and the session goes on.
    """


@hookspec
def interpstack_session_closing(session: SessionView) -> Awaitable[None] | None:
    """Release a session's resources.

    Called once, after the last cell of the session, before its realm is freed.

    Args:
        session: The session, in which no cell can be run any more.

    Returns:
        An awaitable to await before the session is closed, or `None`. An exception is logged,
        and keeps neither other plugins nor the session from closing.
    """


# -- around running code ----------------------------------------------------------------------


@hookspec
def interpstack_wrap_eval(session: SessionView, cell: Cell) -> Wrapper[Outcome]:
    """Return a wrapper of one eval, including the other hooks of its cell.

    Called once for each eval, when its turn in the session has come.

    Args:
        session: The session, which no other code uses meanwhile.
        cell: As the caller of `Session.eval` wrote it.

    Returns:
        `async def wrapper(run) -> Outcome`; see `Wrapper`. `None` adds nothing.
    """


@hookspec
def interpstack_transform_cell(session: SessionView, cell: Cell) -> Cell:
    """Return the cell to run in place of another one.

    Called before each run of the cell. Every call must return the same cell, because a journal
    records the cell that ran.

    Args:
        session: The session that runs the cell.
        cell: The cell that the previous plugin returned. Positions in errors refer to the returned
            cell, so lines should keep their numbers.

    Returns:
        A cell; `None` leaves it as it is. An exception refuses the cell: the outcome has a
        `GuestException` as its error, or a `CellRefused` that names the plugin.
    """


@hookspec
def interpstack_wrap_request(session: SessionView, request: Request) -> Wrapper[Settlement]:
    """Return a wrapper of one request of the guest.

    Called for each request that this run answers, the ones that limits refuse and imports
    included; not for timers. An answer from a record makes no call, so it is not surrounded;
    `CellGuard.replayed` sees it.

    Args:
        session: The session that runs the cell.
        request: The request; untrusted.

    Returns:
        `async def wrapper(make) -> Settlement`; see `Wrapper`. A `GuestException` refuses the
        request. `None` adds nothing.
    """


@hookspec(firstresult=True)
def interpstack_resolve_module(specifier: str, session: SessionView) -> ModuleLoader:
    """Return the loader of a module that guest code imports.

    Called when a cell runs `import(specifier)` or a static import; the first plugin with an
    answer wins.

    Args:
        specifier: As the guest wrote it; untrusted.
        session: The session that imports; `offer` holds its tools and parts.

    Returns:
        `async def load() -> ModuleBundle`, which may raise an error for the guest. `None` leaves
        the specifier to the next plugin; without any answer the import fails with
        `ModuleNotFound`.
    """


@hookspec
def interpstack_open_cell(session: SessionView, cell: Cell) -> CellExtension:
    """Return this plugin's extension of one run of a cell.

    Called once for each run, in the stack's plugin order, before the engine sees the cell's source.

    Args:
        session: The session that runs the cell; `offer` holds its tools and parts.
        cell: The cell to run.

    Returns:
        A `CellGuard`, which bounds and counts what the cell uses; or a `StepSource`,
        which decides what the guest receives next. A cell may have several guards and one source.
        `None` adds nothing.
    """


# -- showing an outcome -----------------------------------------------------------------------


@hookspec(firstresult=True)
def interpstack_render_outcome(session: SessionView, outcome: Outcome) -> str:
    """Return an outcome as the text that a model reads.

    Called by `Session.render`; the first plugin with an answer wins.

    Args:
        session: The session, for the limits of its stack.
        outcome: The result of a cell. Texts of the guest in it are untrusted.

    Returns:
        The text, in which guest text cannot be taken for the host's. `None` leaves the outcome to
        the next plugin; without any answer, `interpstack.render` renders it.
    """
