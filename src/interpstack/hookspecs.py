"""The hooks a plugin may implement.

A plugin is a module or an object with functions named as below, each decorated with
`interpstack.hookimpl`. It may leave out arguments it does not need. A stack calls its plugins
in the order it lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from types import ModuleType

    from interpstack.bridges import BridgeRegistry
    from interpstack.cells.extensions import CellExtension
    from interpstack.engine import Engine
    from interpstack.languages import GuestLanguage
    from interpstack.modules import ModuleLoader
    from interpstack.offer import HostOffer
    from interpstack.protocol import Cell
    from interpstack.sessions import Session
    from interpstack.stack import InterpreterStack

__all__ = ["hookimpl"]

hookspec = pluggy.HookspecMarker("interpstack")
hookimpl = pluggy.HookimplMarker("interpstack")


# -------------------------------------------------------------------------
# Composing a stack
# -------------------------------------------------------------------------


@hookspec
def interpstack_register_engine() -> type[Engine]:
    """Return an engine class that a stack may ask for by its `name`.

    Called once, when a stack looks its engine up. The class is instantiated with the options
    given to the stack for this plugin, as keyword arguments.

    Returns:
        A concrete subclass of `Engine`. `None` means that the plugin has no engine to offer
        on this machine.
    """


@hookspec
def interpstack_register_language() -> GuestLanguage:
    """Return the guest language of the plugin's engine.

    Called when a stack needs the language of its engine, for prompts, names and signatures, and
    when a command looks for the language of a file. The implementation must not import packages
    that the engine alone needs, so that the language is known where the engine is not installed.

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
    register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
) -> None:
    """Offer bridges and guest sources.

    Called when a session is first bound and again whenever its offer has changed, never while
    a cell runs. What is not registered again is no longer offered.

    Args:
        register: Takes `register.bridge(…)` and `register.source(…)`. Guest sources must not
            depend on the offer: an engine installs them once, when it makes a realm.
        stack: The stack, for its options, engine and limits.
        offer: What the host offers for the time being.

    Nothing is returned; a name clash raises and names both owners.
    """


# -------------------------------------------------------------------------
# Talking to the model
# -------------------------------------------------------------------------


@hookspec
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str:
    """Return text for the system prompt.

    Called for each offer, in the stack's plugin order; the sections are joined by blank lines.

    Args:
        stack: The stack, for its engine's language and its limits.
        offer: What the host offers for the time being.

    Returns:
        Markdown without outer blank lines. `None` or an empty string adds nothing.
    """


# -------------------------------------------------------------------------
# Around running code
# -------------------------------------------------------------------------


@hookspec(firstresult=True)
def interpstack_resolve_module(specifier: str, session: Session) -> ModuleLoader:
    """Return what loads a module that guest code imports.

    Called when a cell runs `import(specifier)` or a static import; the first plugin with an
    answer wins.

    Args:
        specifier: As the guest wrote it; untrusted.
        session: The session that imports; its `offer` says what the host offers.

    Returns:
        `async def load() -> ModuleBundle`, which may raise what the guest is to catch. `None`
        leaves the specifier to the next plugin; without any answer the import fails with
        `ModuleNotFound`.
    """


@hookspec
def interpstack_open_cell(session: Session, cell: Cell) -> CellExtension:
    """Return what this plugin adds to one run of a cell.

    Called once a run, in the stack's plugin order, before the engine sees the cell's source.

    Args:
        session: The session that runs the cell; its `offer` says what the host offers.
        cell: What will be run.

    Returns:
        A `CellGuard`, which bounds and counts what the cell uses; or a `StepSource`,
        which decides what the guest is told next. A cell may have several guards and one source.
        `None` adds nothing.
    """
