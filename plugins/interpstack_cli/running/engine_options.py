"""The values of `--engine-option`: options of the engine's constructor."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any

from interpstack import ConfigurationError, Engine
from interpstack.checks import unique_fields

__all__ = ["engine_options", "engine_with"]


def engine_options(given: Iterable[str]) -> dict[str, Any]:
    """Options by name. A value that is JSON has its value, as in `kernels=4`; others are text.

    Args:
        given: As `NAME=VALUE`.

    Raises:
        ConfigurationError: One has another form, or a name or a field of JSON is there twice.
    """
    options: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigurationError(f"--engine-option takes NAME=VALUE; got {one!r}")
        if name in options:
            raise ConfigurationError(f"--engine-option names {name} twice; give it once")
        try:
            options[name] = json.loads(value, object_pairs_hook=unique_fields)
        except ConfigurationError as error:
            raise ConfigurationError(f"--engine-option {name}: {error}") from error
        except (ValueError, RecursionError):
            options[name] = value
    return options


def engine_with(cls: type[Engine], options: dict[str, Any]) -> Engine:
    """An engine with these options.

    Raises:
        ConfigurationError: The engine has no such option, or refuses its value.
    """
    known = [
        name
        for name, one in inspect.signature(cls).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    unknown = [name for name in options if name not in known]
    if unknown:
        offer = ", ".join(known) or "none"
        raise ConfigurationError(
            f"engine {cls.name!r} has no option {unknown[0]!r}; it has: {offer}"
        )
    try:
        return cls(**options)
    except (ConfigurationError, TypeError) as error:
        raise ConfigurationError(
            f"--engine-option: {error}. Values are JSON, as in NAME=true, NAME=4 and "
            'NAME=["a", "b"]; anything else is text'
        ) from error
