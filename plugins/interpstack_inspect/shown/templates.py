"""Templates: every text that is put into one is made visible, and escaped."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from interpstack import ConfigurationError
from interpstack_inspect.shown.code import code_style
from interpstack_inspect.shown.texts import visible

__all__ = ["record_style", "static_file", "templates"]

_PACKAGE = "interpstack_inspect"


def templates(package: str = "", *, needed_by: str = "inspect", extra: str = "inspect") -> Any:
    """An environment of Jinja with this package's templates, and those of another one.

    Args:
        package: The package whose own templates, files of the same folder, come first.
        needed_by: The command or option that needs it, for messages.
        extra: The extra that brings the package for templates, for messages.

    Raises:
        ConfigurationError: The package for templates is missing.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ConfigurationError(
            f"{needed_by} needs a package that is not installed; "
            f"run: pip install 'interpstack[{extra}]'"
        ) from error

    def load(name: str) -> str | None:
        for folder in ([files(package)] if package else []) + [files(_PACKAGE) / "templates"]:
            if (folder / name).is_file():
                return (folder / name).read_text("utf-8")
        return None

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def record_style() -> str:
    """The style of pages with records."""
    return f"{static_file('records.css')}\n{code_style('.code')}"


def static_file(name: str) -> str:
    """The text of a script or a style of this package."""
    return (files(_PACKAGE) / "static" / name).read_text("utf-8")
