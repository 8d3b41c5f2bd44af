"""Sources of modules that the host has handed over, and how names in them resolve.

Engines ask for modules in the middle of running code, so this module only looks them up: the host
fetches a module's files before the guest may import it.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.cells import ENDLESS, Clock, TypeScriptError, escape, strip_types

__all__ = ["ModuleFault", "ModuleTable"]

_TYPED: Final = (".ts", ".mts", ".cts", ".tsx")
_ENDINGS: Final = (".js", ".mjs", ".cjs", ".jsx", *_TYPED)
#: TypeScript imports its own files by the name they will have once compiled.
_COMPILED: Final = {
    ".js": (".ts", ".tsx"),
    ".jsx": (".tsx",),
    ".mjs": (".mts",),
    ".cjs": (".cts",),
}
#: Bytes of sources in one image.
_MAX_STORED: Final = 64 * 2**20
#: Bundles in one image; a cell may import a thousand modules.
_MAX_BUNDLES: Final = 100_000
#: Characters of a specifier that a message repeats.
_SHOWN_CHARS: Final = 100
#: Begin the names of a module that cannot be loaded, and of one that says why; as in
#: `kernel/imports.js`. Behind both is the same digest.
_BROKEN: Final = "interpstack:broken/"
_FAULT: Final = "interpstack:fault/"
_STRINGS: Final = rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*"'


class ModuleFault(NamedTuple):
    """The place in a module that is no TypeScript.

    An engine reports of a module without source its name alone, and cuts long ones off. So a short
    name takes the place of the module's, and another module has the fault as data: the kernel finds
    the name in the engine's error, and imports that module.

    Attributes:
        name: The module's name.
        line: Line of the fault, from 1.
        column: Column of the fault, from 1.
        reason: What is wrong there.
    """

    name: str
    line: int
    column: int
    reason: str

    @property
    def digest(self) -> str:
        """Tells the fault from all others, in a heap that outlives the table, too."""
        return blake2b(self.as_module.encode(), digest_size=8).hexdigest()

    @property
    def as_module(self) -> str:
        """The source of the module that has the fault as data."""
        return f"export default {json.dumps(self)}"


class ModuleTable:
    """The modules of one realm, in bundles of modules that arrived together.

    Args:
        stored: A return value of `dump` of another realm's table.

    Raises:
        ValueError: `stored` is damaged.
    """

    def __init__(self, stored: str = "") -> None:
        #: Bundle of each name, and its files; `None` for bundles that the engine has loaded.
        self._bundles: dict[str, dict[str, str | None]] = {}
        self._ready: set[str] = set()  # names whose source is JavaScript by now
        self._loaded: set[str] = set()
        self._faults: dict[str, ModuleFault] = {}  # by the names of the modules that have them
        self._clock: Clock = ENDLESS
        for bundle in _parse(stored) if stored else ():
            self._bundles.update(dict.fromkeys(bundle, bundle))

    @property
    def clock(self) -> Clock:
        """Says how long the preparation of a module may take."""
        return self._clock

    def keep_time_by(self, clock: Clock) -> None:
        """Let a clock say how long the preparation of a module may take."""
        self._clock = clock

    def add(self, sources: Mapping[str, str]) -> None:
        """Make the modules of one bundle importable, in place of modules with the same names."""
        bundle: dict[str, str | None] = dict(sources)
        self._bundles.update(dict.fromkeys(bundle, bundle))
        self._ready.difference_update(bundle)

    def dump(self) -> str:
        """The table as text, without modules that are in the engine's heap."""
        bundles = {id(bundle): bundle for bundle in self._bundles.values()}
        kept = [
            {name: None if name in self._loaded else source for name, source in bundle.items()}
            for bundle in bundles.values()
        ]
        return base64.b64encode(zlib.compress(json.dumps(kept).encode())).decode() if kept else ""

    def resolve(self, base: str, specifier: str) -> str | None:
        """The name of a module as `base` imports it; `None` refuses.

        The kernel imports by name. Modules import each other by relative paths, which lead nowhere
        but to names in their own bundle, or by a name of their bundle that has a scheme, as in
        `team:prompts`. For others the name tells what is wrong, and `load` has no source for it.
        Engines quote the name of a module that they cannot load, so its text fits into quotes.
        """
        if base == KERNEL_NAME:
            if specifier in self._faults:
                return specifier
            return self._checked(specifier) if specifier in self._bundles else None
        bundle = self._bundles.get(base)
        if bundle is None:
            return None
        shown = specifier[:_SHOWN_CHARS]
        if not specifier.startswith(("./", "../")):
            if _is_named(specifier) and specifier in bundle:
                return self._checked(specifier)
            others = "".join(f"', or '{name}" for name in bundle if _is_named(name))
            return f"{shown}': {base} can import only files of its own, as in './helper.js{others}"
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), specifier))
        found = next((self._checked(name) for name in _candidates(path) if name in bundle), None)
        return found or f"{shown}': there is no such code file beside '{base}"

    def source(self, name: str) -> str | None:
        """The source of a module, to be shown; `None` if it is not known any more."""
        return self._bundles.get(name, {}).get(name)

    def is_typescript(self, name: str) -> bool:
        """Whether the source of a module is TypeScript still, as of one that does not parse."""
        return name.endswith(_TYPED) and name not in self._ready

    def load(self, name: str) -> str | None:
        """The JavaScript of a module that was resolved; `None` if there is none."""
        if name in self._faults:
            return self._faults[name].as_module
        source = self.source(name)
        if source is not None:
            self._loaded.add(name)
        return source

    def _checked(self, name: str) -> str:
        """The module's name, or a name that says why the module cannot be loaded.

        An engine says of a module without source no more than its name.
        """
        bundle = self._bundles[name]
        source = bundle[name]
        if source is None or name in self._ready:
            return name
        try:
            if name.endswith(_TYPED):
                source = strip_types(source, name, self._clock.left())
            bundle[name] = escape(source)
        except TypeScriptError as error:
            place = error.place
            if place is None:  # it took too long
                return f"{name}: {error}"
            fault = ModuleFault(name, place.line, place.column, error.reason)
            self._faults[_FAULT + fault.digest] = fault
            return _BROKEN + fault.digest
        self._ready.add(name)
        return name


def _is_named(specifier: str) -> bool:
    """Whether a specifier is a name with a scheme instead of a path."""
    return ":" in specifier


def _candidates(path: str) -> Iterator[str]:
    """Names a relative import may mean, the likeliest first."""
    yield path
    stem, ending = posixpath.splitext(path)
    for other in _COMPILED.get(ending, ()):
        yield stem + other
    for base in (path, f"{path}/index"):
        for other in _ENDINGS:
            yield base + other


def _parse(stored: str) -> list[dict[str, str | None]]:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(stored), _MAX_STORED)
        if unpacker.unconsumed_tail or _containers(data) > _MAX_BUNDLES:
            raise ValueError("its modules are too many, or too large")
        bundles: Any = json.loads(data)
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(bundles, list) or not all(_is_bundle(bundle) for bundle in bundles):
        raise ValueError("its modules are malformed")
    return bundles


def _containers(data: bytes) -> int:
    """The number of lists and objects in a JSON text; each takes more memory than its text."""
    bare = re.sub(_STRINGS, b"", data)
    return bare.count(b"[") + bare.count(b"{")


def _is_bundle(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str | None) for v in value.values())
