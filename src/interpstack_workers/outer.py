"""Engines that run guests of another engine: their names, classes and options."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

from interpstack import Capability, ConfigurationError, Engine

__all__ = ["OuterEngine", "check_flag", "check_number", "load_engine"]

#: Capabilities of an engine whose cells are repeated when their worker has died.
_REPEATABLE: Final = {Capability.IMAGES, Capability.SUSPENSION, Capability.DETERMINISM}


class OuterEngine(Engine):
    """Base of engines that run guests of another engine elsewhere, selected as `outer:inner`."""

    language: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    #: The engine that workers run; set by `around`.
    inner: ClassVar[type[Engine] | None] = None
    #: The words for a worker in messages.
    worker_title: ClassVar[str]
    #: Whether workers may run an engine that runs another one itself.
    nests: ClassVar[bool] = False

    @classmethod
    def around(cls, inner: type[Engine]) -> type[Engine]:
        nested = issubclass(inner, OuterEngine) and not (
            cls.nests and inner.worker_title != cls.worker_title
        )
        if cls.inner is not None or nested:
            raise ConfigurationError(
                f"a {cls.worker_title} cannot run {inner.name!r}; name one engine"
            )
        if why := cls.refusal(inner):
            raise ConfigurationError(
                f"a {cls.worker_title} cannot run {inner.name!r}: {why}; ask for {inner.name!r} "
                "alone"
            )
        return _around(cls, inner)

    @classmethod
    def refusal(cls, inner: type[Engine]) -> str:
        """The reason why workers cannot run this engine; empty, the default, if they can."""
        return ""

    @classmethod
    def options_beside(cls, file: Path) -> Mapping[str, Any]:
        return {} if cls.inner is None else cls.inner.options_beside(file)

    @property
    def runs(self) -> type[Engine]:
        return self.inner or type(self)

    @classmethod
    def reference(cls) -> list[str]:
        """References to the inner engine's class, for `load_engine`."""
        found, engine = list[str](), cls.inner
        while engine is not None:
            outer = issubclass(engine, OuterEngine)
            base = engine.__mro__[1] if outer else engine
            found.append(f"{base.__module__}:{base.__qualname__}")
            engine = engine.inner if issubclass(engine, OuterEngine) else None
        return found

    @classmethod
    def named_inner(cls) -> type[Engine]:
        """The engine that workers run.

        Raises:
            ConfigurationError: No engine is named.
        """
        if cls.inner is None:
            raise ConfigurationError(
                f"name the engine that each {cls.worker_title} is to run, as in "
                f"'{cls.name}:quickjs'"
            )
        return cls.inner

    @classmethod
    def repeats_cells(cls) -> bool:
        """Whether a cell whose worker has died can be run again with the same result."""
        return cls.named_inner().capabilities >= _REPEATABLE

    @classmethod
    def inner_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the inner engine, checked here rather than in each worker.

        Raises:
            ConfigurationError: Options cannot cross to a worker, or are wrong.
            TypeError: The engine does not take them.
        """
        return _checked_options(cls.named_inner(), dict(options), cls.worker_title)


def load_engine(reference: Sequence[str]) -> type[Engine]:
    """The engine class of `OuterEngine.reference`, in a worker: each engine runs the next one."""
    module, _, name = reference[0].partition(":")
    cls: Any = importlib.import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls.around(load_engine(reference[1:])) if reference[1:] else cls  # type: ignore[no-any-return]


@cache
def _around(cls: type[OuterEngine], inner: type[Engine]) -> type[OuterEngine]:
    if inner.__module__ == "__main__" or "<" in inner.__qualname__:
        raise ConfigurationError(
            f"a {cls.worker_title} cannot import engine {inner.name!r} from {inner.__module__}; "
            "define its class at the top of a module"
        )
    fields = {
        "__doc__": f"{inner.__name__} in a {cls.worker_title}.",
        "__module__": cls.__module__,
        "name": f"{cls.name}:{inner.name}",
        "language": inner.language,
        "dialects": inner.dialects,
        "capabilities": inner.capabilities - {Capability.KEPT_REALMS},  # a worker may be replaced
        "inner": inner,
        "__signature__": _signature(cls, inner),
    }
    return type(f"{cls.__name__}Of{inner.__name__}", (cls,), fields)


def _signature(cls: type[OuterEngine], inner: type[Engine]) -> inspect.Signature:
    """The options of both engines, for messages that list them."""
    both = (inspect.signature(one).parameters.values() for one in (cls, inner))
    named = {one.name: one for one in chain(*both) if one.kind is inspect.Parameter.KEYWORD_ONLY}
    return inspect.Signature(list(named.values()))


def _checked_options(inner: type[Engine], options: dict[str, Any], title: str) -> dict[str, Any]:
    inspect.signature(inner).bind(**options)
    try:
        crossed = json.loads(json.dumps(options))
        reason = "" if crossed == options else "they come out as something else"
    except (TypeError, ValueError) as error:
        reason = str(error)
    if reason:
        raise ConfigurationError(
            f"options of {inner.name!r} must be plain JSON values to reach a {title}: {reason}"
        )
    _try(inner, crossed)
    return options


def _try(inner: type[Engine], options: dict[str, Any]) -> None:
    """Make the inner engine once and throw it away: it opens no realm, and so runs no guest.

    Raises:
        ConfigurationError: It refuses its options.
        TypeError: Likewise.
    """
    try:
        engine = inner(**options)
    except (ConfigurationError, TypeError):
        raise
    except ValueError as error:
        raise ConfigurationError(f"engine {inner.name!r} refuses its options: {error}") from error
    except Exception:  # noqa: BLE001 - what fails here need not fail in a worker, which tells it
        return
    with contextlib.suppress(Exception):
        engine.close()


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Raises:
        ConfigurationError: The value is something else.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} takes True or False; got {value!r}")


def check_number(name: str, value: Any, least: float) -> None:
    """Refuse what is not a finite number, or is too small.

    Args:
        name: The option.
        value: Its value.
        least: The smallest number that is accepted; if it is an `int`, so must the value be.

    Raises:
        ConfigurationError: The value is something else.
    """
    whole = isinstance(least, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise ConfigurationError(f"{name} takes a {'whole ' if whole else ''}number; got {value!r}")
    if not least <= value < float("inf"):
        raise ConfigurationError(f"{name} takes a number of at least {least}; got {value!r}")
