"""Selectors of models, as scripts and hosts write them, and the models that they choose.

| Selector | Chooses |
|---|---|
| `fast` | what the host calls so; else a model of that name |
| `provider/model` | a model of a provider |
| `model?provider=X&thinking=Y` | the same, with an effort of thinking; characters as `%2F` |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import attrs

from interpstack import ConfigurationError

__all__ = ["ModelChoice", "Models", "SelectorFault"]

_PARAMETERS: Final = ("provider", "thinking")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
#: Characters of a selector.
_MAX_CHARS: Final = 500


class SelectorFault(ValueError):
    """A selector is wrong; the message says why."""


@attrs.frozen
class ModelChoice:
    """The model that a call asks for.

    Attributes:
        model: Its name; `None` for the agent's own.
        provider: Its provider; `None` if none is named.
        options: Further parameters: `thinking`.
    """

    model: str | None = None
    provider: str | None = None
    options: Mapping[str, str] = attrs.field(factory=dict)


class Models:
    """The names that a host gives to models.

    Args:
        aliases: A selector for each name, as in `{"fast": "provider/model"}`. A selector names a
            model itself, not another alias.

    Raises:
        ConfigurationError: A name or a selector is wrong.
    """

    def __init__(self, aliases: Mapping[str, str] | None = None) -> None:
        self._aliases: dict[str, ModelChoice] = {}
        chosen: dict[str, ModelChoice] = {}
        for name, selector in (aliases or {}).items():
            if not isinstance(name, str) or not name or {"/", "?", "%"} & set(name):
                raise ConfigurationError(
                    f"models takes names without '/', '?' and '%'; got {name!r:.100}"
                )
            try:
                chosen[name] = self._parsed(selector, None)
            except SelectorFault as error:
                raise ConfigurationError(f"models: {name!r}: {error}") from error
        self._aliases = chosen

    def choose(
        self, options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
    ) -> ModelChoice:
        """Return the model of a call.

        Args:
            options: The options of the call: `model`, `provider`.
            defaults: The same of its phase, for what the call leaves out. A provider of the phase
                does not change a model whose selector names its own.

        Raises:
            SelectorFault: A selector is wrong, or names another provider than the option does.
        """
        rest = defaults or {}
        own = "model" in options
        provider = options.get("provider") if own else {**rest, **options}.get("provider")
        selector = (options if own else rest).get("model")
        if selector is None:
            choice = ModelChoice(None, _named(provider, "provider"))
        else:
            choice = self._parsed(selector, provider)
        if choice.provider is None and "provider" not in options:
            return attrs.evolve(choice, provider=_named(rest.get("provider"), "provider"))
        return choice

    def _parsed(self, selector: Any, provider: Any) -> ModelChoice:
        provider = _named(provider, "provider")
        name, mark, query = _named(selector, "model", needed=True).partition("?")
        model = _decoded(name, selector)
        parameters = _read_query(query, selector) if mark else {}
        known = self._aliases.get(model, ModelChoice())
        for other in (parameters.pop("provider", None), known.provider):
            if provider is not None and other not in (None, provider):
                raise SelectorFault(
                    f"model {selector!r} is of provider {other!r}, not of {provider!r}"
                )
            provider = provider or other
        options = {**known.options, **parameters}
        if known.model is not None:
            return ModelChoice(known.model, provider, options)
        if provider is not None:
            return ModelChoice(model.removeprefix(f"{provider}/") or model, provider, options)
        before, slash, after = model.partition("/")
        if not slash:
            return ModelChoice(model, None, options)
        if not before or not after:
            raise SelectorFault(f"model {selector!r} takes a name on both sides of its first '/'")
        return ModelChoice(after, before, options)


def _read_query(query: str, selector: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        if name not in _PARAMETERS:
            known = " and ".join(_PARAMETERS)
            raise SelectorFault(f"model {selector!r} has the parameter {name!r}; known are {known}")
        if name in parameters:
            raise SelectorFault(f"model {selector!r} has the parameter {name!r} twice")
        if not equals or not value or "=" in value or "?" in value:
            raise SelectorFault(
                f"model {selector!r} takes one value for {name!r}, as in {name}=value"
            )
        parameters[name] = _decoded(value, selector)
    return parameters


def _decoded(text: str, selector: str) -> str:
    """Return a part of a selector without its escapes."""
    if not text:
        raise SelectorFault(f"model {selector!r} names no model")
    try:
        decoded = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        decoded = ""
    if _BAD_ESCAPE.search(text) or not decoded.isprintable() or not decoded.strip():
        raise SelectorFault(f"model {selector!r} has a bad escape; '%' itself is written as %25")
    return decoded


def _named(value: Any, option: str, *, needed: bool = False) -> Any:
    """Return an option that is a name, or `None`.

    Raises:
        SelectorFault: It is anything else.
    """
    if value is None and not needed:
        return None
    if not isinstance(value, str):
        raise SelectorFault(f"{option} takes a string; got {value!r:.100}")
    if not value.strip() or not value.isprintable() or len(value) > _MAX_CHARS:
        raise SelectorFault(
            f"{option} takes a printable name of up to {_MAX_CHARS} characters; got {value!r:.100}"
        )
    return value
