"""Resolution of option values `MODULE:ATTR`, including modules in the current directory."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from interpstack import ConfigurationError
from interpstack.checks import listed
from interpstack.similar_names import similar_names

__all__ = ["attribute_named", "attribute_of", "import_named", "nearest"]

#: Names that a message lists at most.
_NAMES = 12


def import_named(given: str, module_name: str) -> ModuleType:
    """Import a module.

    Args:
        given: The option and its value, for error messages.
        module_name: The name of the module.

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


def attribute_named(option: str, reference: str) -> Any:
    """The object that an option names as `MODULE:ATTR`; the module itself for `MODULE:`.

    The module may be in the current directory, which can then be imported from.

    Args:
        option: Name of the option, for error messages, such as `--plugin`.
        reference: Its value.

    Raises:
        ConfigurationError: The module cannot be imported, or has no such attribute.
    """
    module_name, colon, attribute = reference.partition(":")
    given = f"{option} {reference}"
    if not colon:
        raise ConfigurationError(f"{given}: takes MODULE:ATTR, as in {option} mymodule:name")
    module = import_named(given, module_name)
    public = [name for name in vars(module) if not name.startswith("_")]
    return attribute_of(
        given, module, attribute, f"it has: {nearest(attribute, public) or 'nothing'}"
    )


def attribute_of(given: str, module: ModuleType, attribute: str, offer: str) -> Any:
    """The attribute of a dotted name; the module itself if the name is empty.

    Args:
        given: The option and its value, for error messages.
        module: The module to search.
        attribute: The name.
        offer: The advice to give if the object is missing.

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


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Names for a message, the most similar to the wanted one first; empty if there are none.

    Of many, only some are listed, and the others are counted.
    """
    known = list(names)
    near = similar_names(wanted, known, most=_NAMES, alike=0.5)
    return listed([*near, *(name for name in known if name not in near)], _NAMES)


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


def _place_of(error: BaseException) -> str:
    """Where the user's module raised an error; empty if that is unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, SyntaxError) or "importlib" in frames[-1].filename:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _not_importable(given: str, module_name: str, error: BaseException) -> ConfigurationError:
    message = " ".join(str(error).split())
    cause = f"{type(error).__name__}: {message}".rstrip(": ") + _place_of(error)
    return ConfigurationError(
        f"{given}: module {module_name!r} cannot be imported: {cause}; "
        f"'python -c \"import {module_name}\"' shows where"
    )
