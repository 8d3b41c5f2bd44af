"""Parses sources that nobody trusts: in linear time, under the caller's clock.

Trees are ESTree, with TypeScript's nodes as typescript-eslint names them, as dictionaries. `start`
and `end` are indexes of UTF-16 code units; `units_of` makes a source that can be indexed so.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import attrs
import wasmtime

from interpstack_javascript.parser.napi import AddOn, AddOnError, TooManyItems
from interpstack_wasm.compiled import load_module
from interpstack_wasm.host import TICK_SECONDS, wasm_host
from interpstack_wasm.stores import WasmStore

__all__ = [
    "CLASSES",
    "FUNCTIONS",
    "Node",
    "Parsed",
    "SourceFault",
    "children",
    "load",
    "parse",
    "text_of",
    "units_of",
    "walk",
]

Node = dict[str, Any]

#: Types of nodes that are classes, and that are functions.
CLASSES: Final = frozenset({"ClassDeclaration", "ClassExpression"})
FUNCTIONS: Final = frozenset(
    {"ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"}
)

_MODULE: Final = Path(__file__).with_name("parser.wasm")
#: Memory that an instance starts with is 61 MiB, most of it a stack that is never touched.
_MEMORY_BYTES: Final = 512 * 2**20
#: Memory in use after a source above which an instance is not used again: it would keep it.
_KEPT_BYTES: Final = 96 * 2**20
#: Seconds that a source may take at most, whatever the caller's limit.
_MOST_SECONDS: Final = 10.0
#: Objects of a tree between two questions to the caller's clock.
_PER_PAUSE: Final = 4096
#: Characters of a source whose tree is kept for the case that it comes again.
_SMALL: Final = 16_384
#: Characters of the JSON text of a tree with faults that is kept, unless it is wanted whole.
_RECOVERED: Final = 2**22
#: Characters of the JSON text of a tree that is read with an eye on its size.
_LARGE_TREE: Final = 2**18
#: Literals of a large tree that are held back at most: no node but a list or a call has so many.
_HELD: Final = 64
_HELD_BACK: Final = object()
_TOKEN: Final = re.compile(r'[{}\[\]]|(?P<text>"(?:[^"\\]|\\.)*+"|[^{}\[\],:\s"]++)')


@attrs.frozen
class SourceFault:
    """Why a source does not parse.

    Attributes:
        message: The reason, in a sentence without a place.
        start: Index of the first UTF-16 code unit that it is about.
        end: Index behind the last one.
        advice: What to do, or an empty text.
        at_end: The source ends where more of it is expected. `start` is then the beginning of what
            is open, if the parser knows it.
    """

    message: str
    start: int
    end: int
    advice: str = ""
    at_end: bool = False


@attrs.frozen(eq=False)
class Parsed:
    """A tree, or the reasons why there is none.

    Attributes:
        program: The node `Program`; its body is empty where there are faults.
        faults: The first ones, in the order in which the parser found them.
        is_module: The source has syntax that only modules have: `import`, `export`, or an `await`
            outside of functions.
    """

    program: Node
    faults: tuple[SourceFault, ...]
    is_module: bool
    _rest: str = ""

    def recovered(self, pause: Callable[[], None]) -> Node:
        """The tree of a source with faults behind which the parser could go on.

        Its body is empty where there is none. It is made anew for each caller.

        Args:
            pause: Called at intervals; an exception from it ends the work.
        """
        if not self._rest:
            return self.program
        tree: Node = _loads(self._rest, pause, False)["node"]
        return tree


class _ParserPool:
    """Instances that wait for a source.

    No guest's code runs in them: the parser is safe Rust inside WebAssembly, so an instance is used
    again by other conversations unless it was stopped or has grown.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[wasmtime.Store, AddOn]] = []
        self._module: wasmtime.Module | None = None

    def load(self) -> wasmtime.Module:
        with self._lock:
            if self._module is None:
                host = wasm_host()
                self._module = load_module(host.engine, _MODULE, host.variant).module
            return self._module

    def take(self) -> tuple[wasmtime.Store, AddOn]:
        module = self.load()
        with self._lock:
            if self._idle:
                return self._idle.pop()
        store = WasmStore(wasm_host().engine)
        store.set_limits(memory_size=_MEMORY_BYTES)
        store.set_epoch_deadline(_ticks(None))
        return store, AddOn(store, module)

    def give(self, store: wasmtime.Store, add_on: AddOn) -> None:
        with self._lock:
            if add_on.memory_bytes <= _KEPT_BYTES and len(self._idle) < (os.cpu_count() or 2):
                self._idle.append((store, add_on))
                return
        store.close()


_pool = _ParserPool()


def _start_anew() -> None:
    """After a fork, in the child: a thread of the parent may have held the lock."""
    global _pool
    _pool = _ParserPool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def load() -> None:
    """Compile the parser, or load it from the cache: seconds, or milliseconds."""
    _pool.load()


def parse(
    source: str,
    *,
    name: str = "cell.js",
    seconds: float | None = None,
    pause: Callable[[], None] = lambda: None,
    whole: bool = False,
    fresh: bool = False,
) -> Parsed:
    """The tree of a source.

    Args:
        source: JavaScript or TypeScript, without lone surrogates.
        name: A file name, whose ending decides: `.ts` and `.js` may be scripts or modules, `.mts`
            and `.mjs` are modules, `.tsx` and `.jsx` have JSX, too.
        seconds: CPU time for it on an idle machine; ten seconds at most.
        pause: Called at intervals; an exception from it ends the work.
        whole: Whether a large tree has all of its literals. Otherwise it has `None` for items of
            lists, and for keys and values of fields, unless these are text or regular expressions.
        fresh: Whether the caller changes the tree, so that nobody else may have it.

    Returns:
        The tree. A source that is too large or too deeply nested is reported as a fault.
    """
    if len(source) <= _SMALL and not whole and not fresh:
        return _parse_small(source, name)
    return _parse(source, name, seconds, pause, whole)


@lru_cache(maxsize=32)
def _parse_small(source: str, name: str) -> Parsed:
    """Cells come again where they are replayed; nobody changes a tree."""
    return _parse(source, name, None, lambda: None, False)


def _parse(
    source: str, name: str, seconds: float | None, pause: Callable[[], None], whole: bool
) -> Parsed:
    host = wasm_host()
    store, add_on = _pool.take()
    store.set_epoch_deadline(_ticks(seconds))
    try:
        with host.ticker:
            text, errors = add_on.read("parseSync", _args(name, source), ["program", "errors"])
    except TooManyItems as error:  # the first faults are as good as all
        store.close()
        pause()
        faults = tuple(_faults(error.items, len(units_of(source))))
        return Parsed(_empty(), faults, False) if faults else _refused(source, error)
    except (wasmtime.Trap, wasmtime.WasmtimeError, AddOnError) as error:
        store.close()
        pause()  # raises where the time of the caller is up
        return _refused(source, error)
    _pool.give(store, add_on)
    pause()
    faults = tuple(_faults(errors, len(units_of(source)))) if errors else ()
    if faults:
        return Parsed(_empty(), faults, False, text if whole or len(text) <= _RECOVERED else "")
    program: Node = _loads(text, pause, whole)["node"]
    return Parsed(program, (), program["sourceType"] == "module")


def _args(name: str, source: str) -> list[Any]:
    """The arguments of the parser. By its name alone, a module could have no `<T>(x: T) => x`."""
    options = {"lang": "ts", "sourceType": "module"}
    return [name, source, options] if name.endswith(".mts") else [name, source]


def _refused(source: str, error: Exception) -> Parsed:
    stopped = isinstance(error, wasmtime.Trap) and error.trap_code is wasmtime.TrapCode.INTERRUPT
    why = "takes too long to parse" if stopped else "is too large or too deeply nested"
    fault = SourceFault(f"the source {why}", 0, len(source), "Split it into several cells.")
    return Parsed(_empty(), (fault,), False)


def _empty() -> Node:
    return {"type": "Program", "body": []}


def _loads(text: str, pause: Callable[[], None], whole: bool) -> Any:
    """JSON of any depth, of which the caller's clock is asked at intervals."""
    try:
        if len(text) < _LARGE_TREE:
            return json.loads(text)
        return json.loads(text, object_hook=_Pruning(pause, whole))
    except RecursionError:
        return _deep(text, pause)


class _Pruning:
    """Drops items and fields of a large tree that are literals, unless it is wanted whole.

    Numbers take most of a table. A node is made after its parts, so a literal is held back until
    the node around it is made, which takes it back unless it is a list or a field. That node is
    made soon after, but for lists and the arguments of a call.
    """

    def __init__(self, pause: Callable[[], None], whole: bool) -> None:
        self._pause = pause
        self._whole = whole
        self._count = 0
        self._held: deque[Node] = deque(maxlen=_HELD)

    def __call__(self, node: Node) -> Any:
        self._count += 1
        if self._count % _PER_PAUSE == 0:
            self._pause()
        if self._whole:
            return node
        kind = node.get("type")
        if kind == "Literal" and not (isinstance(node.get("value"), str) or node.get("regex")):
            self._held.append(node)
            return _HELD_BACK
        if self._held and kind is not None:
            self._take_back(node, drop=kind in ("ArrayExpression", "Property"))
        return node

    def _take_back(self, node: Node, *, drop: bool) -> None:
        """Give a node its literals, the last ones that were held back, or drop them."""
        for key, value in reversed(node.items()):
            if value is _HELD_BACK:
                node[key] = self._literal(drop)
            elif isinstance(value, list):
                for index in range(len(value) - 1, -1, -1):
                    if value[index] is _HELD_BACK:
                        value[index] = self._literal(drop)

    def _literal(self, drop: bool) -> Node | None:
        held = self._held.pop() if self._held else None
        return None if drop else held


def _deep(text: str, pause: Callable[[], None]) -> Any:
    """JSON that nests deeper than Python's own reader goes, without recursion."""
    root: list[Any] = []
    waiting: list[Any] = [root]
    key: str | None = None
    for count, found in enumerate(_TOKEN.finditer(text)):
        if count % _PER_PAUSE == 0:
            pause()
        mark = found[0]
        if mark in "}]":
            waiting.pop()
            continue
        owner = waiting[-1]
        if isinstance(owner, dict) and key is None:
            key = json.loads(found["text"])
            continue
        value: Any = {} if mark == "{" else [] if mark == "[" else json.loads(found["text"])
        if isinstance(owner, dict):
            owner[key], key = value, None
        else:
            owner.append(value)
        if mark in "{[":
            waiting.append(value)
    return root[0]


def _faults(errors: list[Any], length: int) -> Iterator[SourceFault]:
    for error in errors:
        if error.get("severity") != "Error":
            continue
        labels = [label for label in error.get("labels") or [] if isinstance(label, dict)]
        # of two, such as a bracket and what is there instead of its end, the fault is the later one
        last = max(labels, key=lambda label: int(label["start"]), default=None)
        start, end = (length, length) if last is None else (last["start"], last["end"])
        at_end = any(label["end"] >= length for label in labels)
        advice = str(error.get("helpMessage") or "")
        yield SourceFault(str(error["message"]), start, end, advice, at_end)


def _ticks(seconds: float | None) -> int:
    """The clock also counts while other work has the processor, so the limit is doubled."""
    given = _MOST_SECONDS if seconds is None else min(_MOST_SECONDS, max(0.0, seconds))
    return int(2 * given / TICK_SECONDS) + 2


def units_of(source: str) -> str:
    """A source with one character for each UTF-16 code unit, as trees count them."""
    if source.isascii() or max(source) < "\U00010000":
        return source
    data = source.encode("utf-16-le", "surrogatepass")
    return "".join(
        chr(int.from_bytes(data[at : at + 2], "little")) for at in range(0, len(data), 2)
    )


def text_of(units: str) -> str:
    """The source that has these UTF-16 code units, as `units_of` returns them."""
    if units.isascii():
        return units
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node, in the order of the source's grammar."""
    for value in node.values():
        if isinstance(value, dict):
            if "type" in value:
                yield value
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict) and "type" in one:
                    yield one


def walk(node: Node, enter: Callable[[Node], bool | None]) -> None:
    """Visit a node and all below it, without recursion.

    Args:
        node: Where to begin.
        enter: Called with each node, parents first; `False` leaves out what is below it.
    """
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if enter(found) is not False:
            waiting.extend(reversed(list(children(found))))
