"""The checks of `interpstack doctor`."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution, entry_points, metadata
from typing import Final

import attrs

from interpstack import (
    Capability,
    ConfigurationError,
    Engine,
    InterpreterStack,
    Isolation,
    Limits,
    Outcome,
    PluginManager,
    find_language,
    install_command,
)
from interpstack_cli.installed.extras import extras_of
from interpstack_cli.installed.survey import Survey, survey
from interpstack_wasm.addresses import (
    LEAST_BYTES,
    address_limit,
    address_room,
    is_narrow,
)

__all__ = ["Check", "all_checks"]

_OK, _ABSENT, _WARN, _FAIL = "ok", "absent", "warn", "fail"
#: Entry points of functions that return checks: the name, verdict, result and next step of each.
_GROUP: Final = "interpstack.checks"
_REINSTALL: Final = "pip install --force-reinstall interpstack"
_ADDRESSES: Final = (
    "raise that limit where it is set: 'ulimit -v unlimited' in the shell, LimitAS= of the service"
)
#: Extras that combine others, or that only developers of the project install.
_COMBINED: Final = {"all", "test"}
_CPU_SECONDS: Final = 0.2
_MEMORY_MIB: Final = 16


@attrs.frozen
class Check:
    """One finding.

    Attributes:
        name: The subject of the check.
        verdict: `ok`; `absent` for an option that is not installed; `warn`; or `fail`.
        found: The result of the check.
        fix: The next step for the user; empty if the check passed.
    """

    name: str
    verdict: str
    found: str
    fix: str = ""


def all_checks() -> Iterator[Check]:
    """Every check, in the order of the report."""
    yield check_python()
    yield check_terminal(getattr(sys.stdout, "encoding", None) or "unknown")
    yield check_addresses()
    found = survey()
    yield from check_plugins(found)
    alone = [engine.cls for engine in found.engines if engine.cls.language]
    for engine in found.engines:
        if engine.cls in alone:
            yield from check_engine(engine.cls)
        else:
            yield from check_outer(engine.cls, alone)
    yield from check_machine()
    yield from check_extras("interpstack")


def check_python() -> Check:
    """The Python version is one that this project is tested with."""
    running = platform.python_version()
    try:
        classifiers = metadata("interpstack").get_all("Classifier") or []
    except PackageNotFoundError:
        return Check("python", _FAIL, f"{running}; interpstack is not installed", _REINSTALL)
    prefix = "Programming Language :: Python :: "
    tested = [c.removeprefix(prefix) for c in classifiers if c.startswith(prefix)]
    if ".".join(running.split(".")[:2]) in tested:
        return Check("python", _OK, running)
    fix = f"use one of the tested versions: {', '.join(tested)}"
    return Check("python", _WARN, f"{running}, which is not tested", fix)


def check_terminal(encoding: str) -> Check:
    """All characters can be shown."""
    if encoding.lower().replace("-", "").replace("_", "") == "utf8":
        return Check("terminal encoding", _OK, encoding)
    found = f"{encoding}: characters it lacks are shown as escapes"
    return Check("terminal encoding", _WARN, found, "set the environment variable PYTHONUTF8=1")


def check_addresses() -> Check:
    """The process has addresses enough for sandboxes, which reserve many and use few."""
    limit, room = address_limit(), address_room()
    if limit is None or room is None:
        return Check("address space", _OK, "no limit")
    found = f"limited to {limit // 2**20} MiB (ulimit -v), of which {room // 2**20} are left"
    if room < LEAST_BYTES:
        return Check("address space", _FAIL, f"{found}; too few for a sandbox", _ADDRESSES)
    if is_narrow():
        return Check("address space", _WARN, f"{found}; sandboxes run slower", _ADDRESSES)
    return Check("address space", _OK, found)


def check_plugins(found: Survey) -> Iterator[Check]:
    """Every installed plugin loads, and one of them offers an engine."""
    for plugin in found.plugins:
        yield Check(f"plugin {plugin.name}", _OK, f"{plugin.distribution} {plugin.version}")
    for failed in found.failed:
        if failed.extra:
            name = f"plugin {failed.name}"
            yield _absent(name, failed.reason, failed.distribution, failed.extra)
            continue
        fix = install_command(failed.name)
        if failed.distribution != "interpstack":
            brings = failed.distribution or "the distribution that contains it"
            fix = f"install what it needs, or reinstall or uninstall {brings}"
        yield Check(f"plugin {failed.name}", _FAIL, failed.reason, fix)
    if not found.engines:
        yield Check("engines", _FAIL, "no installed plugin offers an engine", _REINSTALL)


def check_engine(cls: type[Engine]) -> Iterator[Check]:
    """The engine computes, holds to the limits it declares, and does so without warnings."""
    name = f"engine {cls.name}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [_or_optional(_guarded(name, lambda name: _computes(name, cls)), cls.name)]
        if found[0].verdict == _OK:
            found.append(_guarded(f"{name} CPU limit", lambda name: _cpu_limit(name, cls)))
            found.append(_guarded(f"{name} memory limit", lambda name: _memory_limit(name, cls)))
    yield from found
    yield _warned(f"{name} cache and warnings", [str(warning.message) for warning in caught])


def check_outer(outer: type[Engine], alone: Sequence[type[Engine]]) -> Iterator[Check]:
    """An engine that runs guests of others computes with the first one that it can run."""
    refused = ["no other engine is installed"]
    for inner in alone:
        try:
            cls = outer.around(inner)
        except ConfigurationError as error:
            refused.append(str(error))
            continue
        yield from check_engine(cls)
        return
    yield Check(f"engine {outer.name}", _WARN, refused[-1], _REINSTALL)


def check_machine() -> Iterator[Check]:
    """Run the checks that plugins bring as entry points of the group `interpstack.checks`."""
    for entry in entry_points(group=_GROUP):
        try:
            yield from map(_check_of, entry.load()())
        except Exception as error:  # noqa: BLE001 - of a plugin
            found = f"its checks failed to run: {type(error).__name__}: {error}"
            yield Check(f"plugin {entry.name}", _WARN, found, "report it to the plugin's authors")


def _check_of(found: Sequence[str]) -> Check:
    """The check that a plugin describes.

    Raises:
        ValueError: Its verdict is unknown.
    """
    name, verdict, result, fix = map(str, found)
    if verdict not in (_OK, _ABSENT, _WARN, _FAIL):
        raise ValueError(
            f"the verdict of {name!r:.60} is ok, absent, warn or fail; got {verdict!r:.60}"
        )
    return Check(name, verdict, result, fix)


def check_extras(name: str) -> Iterator[Check]:
    """Check that the packages of each extra are installed, without importing them."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for extra in extras_of(found):
        if extra.name in _COMBINED:
            continue
        versions = ", ".join(f"{package} {is_}" for package, is_ in extra.installed.items())
        if not extra.missing:
            yield Check(f"extra {extra.name}", _OK, versions)
            continue
        yield _absent(f"extra {extra.name}", ", ".join(extra.missing), name, extra.name)


def _or_optional(check: Check, extra: str, distribution_name: str = "interpstack") -> Check:
    """`absent` in place of a failure, where the extra of the engine's name is not installed."""
    if check.verdict != _FAIL:
        return check
    missing = {one.name for one in extras_of(distribution(distribution_name)) if one.missing}
    if extra not in missing:
        return check
    return _absent(check.name, check.found, distribution_name, extra)


def _absent(name: str, reason: str, distribution_name: str, extra: str) -> Check:
    """The finding about an option whose extra is not installed."""
    fix = f"to use it: pip install '{distribution_name}[{extra}]'"
    return Check(name, _ABSENT, f"not installed: {reason}", fix)


def _guarded(name: str, check: Callable[[str], Check]) -> Check:
    try:
        return check(name)
    except Exception as error:  # noqa: BLE001 - an engine that does not work may raise anything
        return Check(name, _FAIL, f"{type(error).__name__}: {error}", _fix())


def _computes(name: str, cls: type[Engine]) -> Check:
    outcome = _eval(cls, Limits(), "1+1")
    if outcome.text == "2":
        found = f"1+1 is 2, in {outcome.usage.wall_seconds * 1000:.0f} ms"
        if cls.worker_options:
            found += f"; not every guest stops at once: run and repl use process:{cls.name}"
        if cls.isolation is Isolation.ISOLATE:
            found += (
                "; no limit bounds its memory outside the guest's heap: "
                f"for code that is not trusted, use process:{cls.name}"
            )
        return Check(name, _OK, found)
    return Check(name, _FAIL, f"1+1 gave {_told(outcome)}", _fix())


def _fix() -> str:
    """The advice for an engine that does not work."""
    return _ADDRESSES if is_narrow() else _REINSTALL


def _warned(name: str, messages: list[str]) -> Check:
    if not messages:
        return Check(name, _OK, "no warnings")
    fix = "if it is about the cache, set INTERPSTACK_CACHE_DIR to a private directory of your own"
    return Check(name, _WARN, "; ".join(dict.fromkeys(messages)), fix)


def _cpu_limit(name: str, cls: type[Engine]) -> Check:
    limits = Limits(cpu_seconds=_CPU_SECONDS, wall_seconds=20)
    return _limit(name, cls, Capability.CPU_LIMIT, limits, "Timeout")


def _memory_limit(name: str, cls: type[Engine]) -> Check:
    limits = Limits(memory_bytes=_MEMORY_MIB * 2**20, cpu_seconds=20, wall_seconds=30)
    return _limit(name, cls, Capability.MEMORY_LIMIT, limits, "OutOfMemory")


def _limit(
    name: str, cls: type[Engine], capability: Capability, limits: Limits, error: str
) -> Check:
    """Run code that must end with `error`; an engine without the capability is not tried."""
    trusted = f"run only code you trust in {cls.name}"
    if capability not in cls.capabilities:
        return Check(name, _WARN, "the engine has none", trusted)
    language = find_language(cls, PluginManager())
    code = language.hoard if capability is Capability.MEMORY_LIMIT else language.endless
    if not code:
        return Check(name, _WARN, f"not tried: no test code in {language.title}", trusted)
    outcome = _eval(cls, limits, code)
    if outcome.error is not None and outcome.error.name == error:
        took = f"after {outcome.usage.wall_seconds:.1f} s"
        return Check(name, _OK, f"stopped the code {took}")
    return Check(name, _FAIL, f"expected {error}; got {_told(outcome)}", trusted)


def _eval(cls: type[Engine], limits: Limits, code: str) -> Outcome:
    with InterpreterStack(cls(), limits=limits) as stack, stack.session() as session:
        return session.eval_sync(code)


def _told(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"{outcome.error.name}: {outcome.error.message}"
    return repr(outcome.text[:100])
