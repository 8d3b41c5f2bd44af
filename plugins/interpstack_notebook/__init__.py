"""Cells of guest code in notebooks: `%load_ext interpstack`, then `%%js`.

The extension registers magics and a formatter with IPython. The kernel does not know
of notebooks: the package `interpstack` has the functions below because this plugin offers them in
the entry-point group `interpstack.names`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Add the magics and the formatter to a shell, which IPython passes."""
    from interpstack_notebook.magics import install

    install(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove them, and close all sessions."""
    from interpstack_notebook.magics import remove

    remove(shell)
