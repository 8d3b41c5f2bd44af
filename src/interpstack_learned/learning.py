"""Learning: tools whose answers are looked at, and the types that they show from the start.

The types that tools show are read once, when a `LearnedTypes` is made, and stay the same until
`refresh`. Signatures are in the system prompt, and providers cache a prompt as long as its
beginning does not change; a type that grew with each answer would make every turn of a
conversation pay for the whole prompt again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import CellContext, ConfigurationError, HostTool, LearnedSchema
from interpstack.checks import expect, shown
from interpstack_learned.reviewed import ReviewedType, read_reviewed
from interpstack_learned.shapes import Shape
from interpstack_learned.stored import SPACE, add_types, read_types
from interpstack_learned.table import LearnedTable, MalformedTypes, version_of
from interpstack_schemas import says_nothing
from interpstack_state import BlobStore, StateError, open_store

__all__ = ["VARIABLE", "LearnedTypes", "NotAnAnswer", "learned_types"]

_log = logging.getLogger(__name__)
#: The environment variable with the URL of the store for `learn_types=True`.
VARIABLE: Final = "INTERPSTACK_TYPES"
#: Seconds between two writes to the store.
_PERIOD: Final = 5.0
#: Tools whose warnings are remembered.
_WARNINGS: Final = 1000


class NotAnAnswer(str):
    """A text that code gets in place of a tool's answer; nothing is learned from it."""

    __slots__ = ()


@attrs.define(eq=False)
class _TypesWriter:
    """Collects what is learned, and adds it to the store from a thread of its own, now and then."""

    store: BlobStore
    _new: LearnedTable = attrs.field(factory=LearnedTable, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _saving: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _next: float = attrs.field(default=0.0, init=False)
    _failed: bool = attrs.field(default=False, init=False)

    def add(self, tool: str, version: str, shape: Shape) -> None:
        """Note an answer, and begin to write if it is time."""
        with self._lock:
            self._new.add(tool, version, shape)
            if time.monotonic() < self._next:
                return
            self._next = time.monotonic() + _PERIOD
        if self.store.threads == 0:  # no method of it waits
            self.save()
        else:
            threading.Thread(target=self.save, name="interpstack-types", daemon=True).start()

    def end(self, *, closes: bool) -> None:
        """Write what is new for the last time."""
        self.save()
        if closes:
            self.store.close()

    def save(self) -> None:
        """Write what is new; what cannot be written is kept for the next time."""
        with self._saving:
            with self._lock:
                new, self._new = self._new, LearnedTable()
            if not len(new):
                return
            try:
                add_types(self.store, new)
                self._failed = False
            except MalformedTypes as error:
                self._warn(_MALFORMED, error)
            except StateError as error:
                self._warn("learned types were not stored, and are kept in memory: %s", error)
                with self._lock:
                    new.merge(self._new)
                    self._new = new

    def _warn(self, text: str, error: Exception) -> None:
        """Log a failure, and not the same again with each write."""
        if not self._failed:
            _log.warning(text, error)
        self._failed = True


_MALFORMED: Final = (
    "stored types are ignored, and nothing is learned: %s; `interpstack types forget --all` removes"
    " them"
)


class LearnedTypes:
    """Types of the answers of tools that declare none, learned from their answers.

    ```python
    types = LearnedTypes("sqlite:///types.db")
    offer = HostOffer(tools=types.tools([search, save]))
    ```

    Args:
        store: The store of what is learned, or its URL; `None` to learn nothing.
        types: A file of reviewed types, as `interpstack types export` writes it. They are used as
            they are, in place of learned ones.

    Raises:
        ConfigurationError: An argument is wrong, or the file cannot be read.
    """

    def __init__(
        self, store: BlobStore | str | None = None, *, types: str | Path | None = None
    ) -> None:
        expect(
            store,
            (BlobStore, str, type(None)),
            "LearnedTypes takes a store or its URL, as 'sqlite:///types.db'",
        )
        expect(types, (str, Path, type(None)), "types takes the path of a file")
        if store is None and types is None:
            raise ConfigurationError(
                "LearnedTypes needs a store to learn with, as 'sqlite:///types.db', or types="
                " with a file of reviewed types"
            )
        self._reviewed = () if types is None else read_reviewed(types)
        owned = isinstance(store, str)
        opened = open_store(store, space=SPACE) if isinstance(store, str) else store
        self._writer = None if opened is None else _TypesWriter(opened)
        if self._writer is not None:
            self._end = weakref.finalize(self, self._writer.end, closes=owned)
        self._made: weakref.WeakValueDictionary[int, HostTool] = weakref.WeakValueDictionary()
        self._table = LearnedTable()
        self._warned: set[tuple[str, str]] = set()
        self.refresh()

    def refresh(self) -> None:
        """Read the store again: tools that are passed to `tools` from now on show what it has.

        Agents and offers that are there keep their signatures.
        """
        if self._writer is not None:
            self.save()
            try:
                self._table = read_types(self._writer.store)
            except MalformedTypes as error:
                _log.warning(_MALFORMED, error)
            except StateError as error:
                _log.warning("learned types cannot be read: %s", error)
        self._made = weakref.WeakValueDictionary()

    def tools(self, tools: Iterable[HostTool]) -> list[HostTool]:
        """Tools with the types of their answers, whose new answers are looked at."""
        return [self.tool(one) for one in tools]

    def tool(self, tool: HostTool) -> HostTool:
        """One tool, as `tools` returns it: the same object for the same tool.

        A tool that declares the type of its answers is returned as it is.
        """
        if tool.learned is not None or not says_nothing(tool.output_schema):
            return tool
        known = self._made.get(id(tool))
        if known is not None and isinstance(known.call, _LearningCall) and known.call.of is tool:
            return known
        version = version_of(tool)
        call = _LearningCall(tool, version, self._writer)
        made = attrs.evolve(tool, call=call, learned=self._known(tool.name, version))
        self._made[id(tool)] = made
        return made

    def save(self) -> None:
        """Write what was learned to the store now, and wait for it.

        It is written every few seconds, and when the process ends. A store that fails is logged.
        """
        if self._writer is not None:
            self._writer.save()

    def close(self) -> None:
        """Write what was learned, and close the store if this object has opened it."""
        if self._writer is not None:
            self._end()

    def _known(self, name: str, version: str) -> LearnedSchema | None:
        for one in self._reviewed:
            if one.tool == name and one.version in (None, version):
                return one.learned
        self._check_versions(name, version)
        learned = self._table.get(name, version)
        if learned is None:
            return None
        schema, is_partial = learned.shape.short_schema()
        return LearnedSchema(schema=schema, seen=learned.shape.seen, partial=is_partial)

    def _check_versions(self, name: str, version: str) -> None:
        """Log that the reviewed type of a tool is of another version, once for each."""
        other: ReviewedType | None = next((o for o in self._reviewed if o.tool == name), None)
        if other is not None and (name, version) not in self._warned:
            if len(self._warned) < _WARNINGS:  # beyond, a warning may come again
                self._warned.add((name, version))
            _log.warning(
                "the reviewed type of the tool %r is of its version %s, and is not used for "
                "version %s",
                name,
                other.version,
                version,
            )


@attrs.frozen(eq=False, repr=False)
class _LearningCall:
    """Calls a tool, and looks at its answer if there is a place for what it learns."""

    of: HostTool
    version: str
    writer: _TypesWriter | None

    def __call__(self, given: dict[str, Any], context: CellContext) -> Awaitable[Any]:
        answering = self.of.call(given, context)
        return answering if self.writer is None else self._learned(answering, self.writer)

    async def _learned(self, answering: Awaitable[Any], writer: _TypesWriter) -> Any:
        answer = await answering
        if not isinstance(answer, NotAnAnswer):
            try:
                shape = Shape.of(answer)
            except RuntimeError as error:  # another thread changes it meanwhile
                _log.info("nothing was learned from an answer of %r: %s", self.of.name, error)
            else:
                writer.add(self.of.name, self.version, shape)
        return answer


_shared: dict[str, LearnedTypes] = {}
_sharing = threading.Lock()


def learned_types(option: bool | str | LearnedTypes | None) -> LearnedTypes | None:
    """The learned types that the option `learn_types` of an adapter means.

    Args:
        option: `False` or `None` for none; a `LearnedTypes`; the URL of a store, whose
            `LearnedTypes` all of this process share; `True` for the URL in the environment variable
            `INTERPSTACK_TYPES`.

    Raises:
        ConfigurationError: The option is something else, or names no store that can be opened.
    """
    if option is None or option is False or isinstance(option, LearnedTypes):
        return option or None
    if option is True:
        option = os.environ.get(VARIABLE, "")
        if not option:
            raise ConfigurationError(
                f"learn_types=True needs the URL of a store in {VARIABLE}, as "
                "sqlite:////var/lib/types.db; or pass the URL itself"
            )
    if not isinstance(option, str):
        raise ConfigurationError(
            "learn_types takes True, False, the URL of a store or a LearnedTypes; got "
            f"{shown(option)}"
        )
    with _sharing:
        if option not in _shared:
            _shared[option] = LearnedTypes(option)
        return _shared[option]
