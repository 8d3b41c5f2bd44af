"""Resolves what options name as `MODULE:ATTR`; modules of the current directory are found too."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from interpstack.errors import ConfigurationError

__all__ = ["attribute_of", "import_named"]


def import_named(given: str, module_name: str) -> ModuleType:
    """Import a module.

    Args:
        given: The option with its value, for messages.
        module_name: Of the module.

    Raises:
        ConfigurationError: It cannot be imported.
    """
    _check_name(given, module_name)
    folder = os.getcwd()  # noqa: PTH109
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(missing + "."):
            raise ConfigurationError(
                f"{given}: there is no module {missing!r}, neither in the current "
                "directory nor among the installed packages; install it, or change the directory"
            ) from error
        raise _not_importable(given, module_name, error) from error
    except (Exception, SystemExit) as error:
        raise _not_importable(given, module_name, error) from error


def attribute_of(given: str, module: ModuleType, attribute: str, offer: str) -> Any:
    """The attribute of a dotted name; the module itself if the name is empty.

    Args:
        given: The option with its value, for messages.
        module: Where it is looked for.
        attribute: The name.
        offer: What to say if it is not there.

    Raises:
        ConfigurationError: It is not there.
    """
    target: Any = module
    for part in attribute.split(".") if attribute else ():
        if not hasattr(target, part):
            raise ConfigurationError(
                f"{given}: module {module.__name__!r} has no {attribute!r}; {offer}"
            )
        target = getattr(target, part)
    return target


def _check_name(given: str, module_name: str) -> None:
    option, _, value = given.partition(" ")
    if module_name.endswith(".py") or "/" in module_name or "\\" in module_name:
        stem = module_name.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        raise ConfigurationError(
            f"{given}: takes a module name, not a path; change to the folder of the "
            f"file and use {option} {stem}:ATTR"
        )
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigurationError(
            f"{option} {value!r}: takes MODULE or MODULE:ATTR, as in {option} mymodule:name"
        )


def _not_importable(given: str, module_name: str, error: BaseException) -> ConfigurationError:
    cause = f"{type(error).__name__}: {error}".rstrip(": ")
    return ConfigurationError(
        f"{given}: module {module_name!r} cannot be imported: {cause}; "
        f"'python -c \"import {module_name}\"' shows where"
    )
