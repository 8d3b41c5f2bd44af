"""The chat model that a user names."""

from __future__ import annotations

from typing import Final

from langchain_core.language_models import BaseChatModel

from interpstack import ConfigurationError

__all__ = ["chosen_model", "no_answer"]

#: Characters of an error's message, at most: room for the names of all providers.
_CHARS: Final = 1200


def chosen_model(name: str) -> BaseChatModel:
    """A real model.

    Args:
        name: Its provider and its own name, as in `provider:name`.

    Raises:
        ConfigurationError: There is no such model, or no package for its provider.
    """
    from langchain.chat_models import init_chat_model

    try:
        model: BaseChatModel = init_chat_model(name)
    except Exception as error:
        raise ConfigurationError(
            f"--model {name!r} cannot be used: {_cause(error)}; give it as provider:name, install "
            "the provider's LangChain package and set its API key"
        ) from error
    return model


def no_answer(name: str, error: BaseException | str) -> ConfigurationError:
    """The error for a model that did not answer."""
    why = error if isinstance(error, str) else _cause(error)
    return ConfigurationError(
        f"--model {name!r} did not answer: {why}; check the network, the model's name and its API "
        "key"
    )


def _cause(error: BaseException) -> str:
    """An error and its cause, on one line."""
    lines = [_line(error)]
    while (error := error.__cause__ or error.__context__) is not None:  # type: ignore[assignment]
        line = _line(error)
        lines += [] if any(line in earlier for earlier in lines) else [line]
    return " <- ".join(lines[:3])


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if len(text) > _CHARS:  # not within a name
        text = f"{text[:_CHARS].rpartition(' ')[0] or text[:_CHARS]} …"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
