"""The command line: finds the commands that distributions install, and runs one.

The command `interpstack` begins with `start`, which imports everything else: Ctrl-C ends a command
with one line, even while it is still being imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interpstack_cli.group import main

__all__ = ["main", "start"]

#: The exit status after Ctrl-C.
_INTERRUPTED = 130


def start() -> None:
    """Run the command line of this process, and end the process."""
    try:
        _group()(prog_name="interpstack")
    except KeyboardInterrupt:
        if sys.stderr is not None:  # closed by whoever started this process
            sys.stderr.write("Interrupted.\n")
        sys.exit(_INTERRUPTED)


def _group() -> Any:
    try:
        from interpstack_cli.group import main
    except ModuleNotFoundError as error:
        sys.exit(
            f"Error: the command line needs {error.name}, which is not installed; "
            "install it with: pip install --force-reinstall interpstack"
        )
    return main


def __getattr__(name: str) -> Any:
    """The group of all commands, `main`, which is imported when it is used."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from interpstack_cli.group import main

    return main


def __dir__() -> list[str]:
    """The names of the module, `main` among them."""
    return [*globals(), *__all__]
