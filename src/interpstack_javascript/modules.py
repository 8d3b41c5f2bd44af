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
from typing import Any, Final, NamedTuple, TypeAlias

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
#: Lists and objects in the modules of one image; a cell may import a thousand bundles.
_MAX_CONTAINERS: Final = 200_000
#: Specifiers that are kept of the bundles that had a file.
_MAX_ORIGINS: Final = 20
#: Characters of a specifier that a message repeats.
_SHOWN_CHARS: Final = 100
#: Begin the names of a module that cannot be loaded, and of one that says why; as in
#: `kernel/imports.js`. Behind both is the same digest.
_BROKEN: Final = "interpstack:broken/"
_FAULT: Final = "interpstack:fault/"
_STRINGS: Final = rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*"'


_Origins: TypeAlias = dict[str, tuple[str, list[str]]]


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
        #: Digest of each name's source as it came, and the specifiers of the bundles that had it.
        self._origins: dict[str, tuple[str, list[str]]] = {}
        self._clock: Clock = ENDLESS
        for files, origins in _parse(stored) if stored else ():
            self._bundles.update(dict.fromkeys(files, files))
            self._origins.update(origins)

    @property
    def clock(self) -> Clock:
        """Says how long the preparation of a module may take."""
        return self._clock

    def keep_time_by(self, clock: Clock) -> None:
        """Let a clock say how long the preparation of a module may take."""
        self._clock = clock

    def clash(self, sources: Mapping[str, str], specifier: str) -> str:
        """Why a bundle cannot be added; empty if it can.

        A name is one module in a realm. The bundle of a specifier that had the name already may
        have changed: code keeps a module that it has loaded. Another bundle's module would be
        taken for the one of that name.

        Args:
            sources: The files of the bundle.
            specifier: What code imports; empty for bundles that are not compared.
        """
        for name, source in sources.items() if specifier else ():
            digest, specifiers = self._origins.get(name, ("", [specifier]))
            if specifier not in specifiers and digest != _digest(source):
                return (
                    f"the module {specifier[:_SHOWN_CHARS]!r} cannot be imported: its file "
                    f"{name[:_SHOWN_CHARS]!r} has the name of another file, which came with "
                    f"{specifiers[0][:_SHOWN_CHARS]!r}; the plugin that offers it has to give its "
                    "files names of their own, such as the specifier and the file's path"
                )
        return ""

    def add(self, sources: Mapping[str, str], specifier: str = "") -> None:
        """Make the modules of one bundle importable, in place of modules with the same names.

        Args:
            sources: The files of the bundle, without a `clash`.
            specifier: What code imports; empty for bundles that are not compared.
        """
        bundle: dict[str, str | None] = dict(sources)
        self._bundles.update(dict.fromkeys(bundle, bundle))
        self._ready.difference_update(bundle)
        for name, source in sources.items() if specifier else ():
            _, specifiers = self._origins.get(name, ("", []))
            others = [one for one in specifiers if one != specifier]
            self._origins[name] = _digest(source), [*others, specifier][-_MAX_ORIGINS:]

    def dump(self) -> str:
        """The table as text, without modules that are in the engine's heap."""
        bundles = {id(bundle): bundle for bundle in self._bundles.values()}
        kept = [
            {
                "files": {
                    name: None if name in self._loaded else source
                    for name, source in bundle.items()
                },
                "origins": {
                    name: [digest, *specifiers]
                    for name in bundle
                    if name in self._origins
                    for digest, specifiers in [self._origins[name]]
                },
            }
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


def _digest(source: str) -> str:
    return blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


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


def _parse(stored: str) -> list[tuple[dict[str, str | None], _Origins]]:
    """The files and the origins of each bundle; earlier releases stored files alone."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(stored), _MAX_STORED)
        if unpacker.unconsumed_tail or _containers(data) > _MAX_CONTAINERS:
            raise ValueError("its modules are too many, or too large")
        bundles: Any = json.loads(data)
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from error
    read = [_bundle(one) for one in bundles] if isinstance(bundles, list) else [None]
    if None in read:
        raise ValueError("its modules are malformed")
    return [one for one in read if one is not None]


def _containers(data: bytes) -> int:
    """The number of lists and objects in a JSON text; each takes more memory than its text."""
    bare = re.sub(_STRINGS, b"", data)
    return bare.count(b"[") + bare.count(b"{")


def _bundle(stored: Any) -> tuple[dict[str, str | None], _Origins] | None:
    if _is_mapping(stored, str | None):
        return stored, {}
    if not isinstance(stored, dict) or stored.keys() != {"files", "origins"}:
        return None
    files, origins = stored["files"], stored["origins"]
    if not _is_mapping(files, str | None) or not _is_mapping(origins, list):
        return None
    if not all(len(one) > 1 and all(isinstance(v, str) for v in one) for one in origins.values()):
        return None
    return files, {name: (one[0], one[1:]) for name, one in origins.items()}


def _is_mapping(value: Any, of: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, of) for one in value.values())
